//! Many who change the same: nobody overwrites what he has not seen, and nobody is told what is old.

use std::{sync::atomic::AtomicU64, thread};

use sakuin_contacts::Servers;

use super::*;

on_both!(one_of_a_round_wins, processes_lose_nothing, what_others_removed_and_forgot_is_gone);

/// Each writer replaces the card it read, if it is still that one.
fn one_of_a_round_wins(store: &Store) {
    const WRITERS: usize = 64;
    const ROUNDS: usize = 20;
    let (contacts, book, _) = store.ada();
    put(&contacts, book, "1", &card("a", "0")).unwrap();
    for round in 0..ROUNDS {
        let root = contacts.block_on(contacts.root_with(&[book])).unwrap();
        let etag = root.collection(book).unwrap().entry("1").unwrap().etag;
        let write = |writer: usize| {
            let new = card("a", &format!("{round} {writer}"));
            contacts.block_on(contacts.change(&[book], move |change| {
                let now = change.collection(book)?.entry("1").map(|entry| entry.etag);
                if now != Some(etag) {
                    return Err(Failed::Stale);
                }
                Ok(change.put_card(book, "1", &new)?)
            }))
        };
        let write = &write;
        let won = thread::scope(|scope| {
            let writers: Vec<_> =
                (0..WRITERS).map(|writer| scope.spawn(move || write(writer).is_ok())).collect();
            writers.into_iter().filter_map(|writer| writer.join().unwrap().then_some(())).count()
        });
        assert_eq!(won, 1, "round {round}");
    }
    let seq = contacts.block_on(contacts.root()).unwrap().collection(book).unwrap().seq();
    assert_eq!(seq, 1 + ROUNDS as u64);
}

fn what_others_removed_and_forgot_is_gone(store: &Store) {
    let (one, book, _) = store.ada();
    let other = store.open(Servers::Many);
    for name in ["1", "2"] {
        put(&one, book, name, &card(name, "")).unwrap();
    }
    assert_eq!(all(&other, book).len(), 2);
    remove(&one, book, "1").unwrap();
    let pruned: Result<(), Failed> = one.block_on(one.change(&[book], move |change| {
        let seq = change.collection(book)?.seq();
        Ok(change.prune(book, seq)?)
    }));
    pruned.unwrap();
    assert_eq!(all(&other, book), all(&one, book));
    assert_eq!(all(&other, book).len(), 1);
}

/// Three that know nothing of each other but the store: each counts up, each looks, and whoever looks sees all that was
/// acknowledged before it looked.
fn processes_lose_nothing(store: &Store) {
    const COUNTS: u64 = 60;
    let (first, book, _) = store.ada();
    put(&first, book, "1", &card("a", "0")).unwrap();
    drop(first);
    let acknowledged = AtomicU64::new(0);
    let number = |text: &str| -> u64 {
        text.lines().find_map(|line| line.strip_prefix("NOTE:")).unwrap().parse().unwrap()
    };
    let (acknowledged, number) = (&acknowledged, &number);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                let contacts = store.open(Servers::Many);
                for _ in 0..COUNTS {
                    let added = contacts.block_on(contacts.change(&[book], move |change| {
                        let entry = change.collection(book)?.entry("1").unwrap();
                        let next = 1 + entry
                            .lean()
                            .lines()
                            .find_map(|line| line.strip_prefix("NOTE:"))
                            .unwrap()
                            .parse::<u64>()
                            .unwrap();
                        change.put_card(book, "1", &card("a", &next.to_string()))?;
                        Ok::<_, Failed>(next)
                    }));
                    acknowledged.fetch_max(added.unwrap(), Relaxed);
                    let before = acknowledged.load(Relaxed);
                    let root = contacts.block_on(contacts.root_with(&[book])).unwrap();
                    let seen = number(root.collection(book).unwrap().entry("1").unwrap().lean());
                    assert!(seen >= before, "saw {seen} after {before}");
                }
            });
        }
    });
    let contacts = store.open(Servers::One);
    assert_eq!(number(&all(&contacts, book)[0].1), 3 * COUNTS);
}
