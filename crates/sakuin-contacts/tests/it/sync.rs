//! Clients that follow a book through whatever happens to it.

use std::collections::BTreeMap;

use sakuin_contacts::{Changed, Servers, SyncToken};

use super::*;

on_both!(twenty_clients_end_with_what_there_is);

#[derive(Clone, Default)]
struct Client {
    held: BTreeMap<String, String>,
    token: Option<SyncToken>,
}

impl Client {
    /// Asks once; says whether there is more.
    fn follow(&mut self, contacts: &Contacts, book: CollectionId, limit: Option<usize>) -> bool {
        let root = contacts.block_on(contacts.root_with(&[book])).unwrap();
        let Ok(changes) = root.collection(book).unwrap().changes(self.token, limit) else {
            *self = Client::default();
            return true;
        };
        for changed in changes.changed {
            match changed {
                Changed::There(entry) => {
                    drop(self.held.insert(entry.name.to_string(), entry.etag.to_string()));
                }
                Changed::Gone(name) => drop(self.held.remove(&*name)),
            }
        }
        self.token = Some(changes.token);
        changes.is_cut
    }
}

/// `SAKUIN_STEPS` says how many things happen.
fn twenty_clients_end_with_what_there_is(store: &Store) {
    let steps = std::env::var("SAKUIN_STEPS").map_or(1_500, |steps| steps.parse().unwrap());
    let (mut contacts, book, _) = store.ada();
    let mut clients = vec![Client::default(); 20];
    let mut random = 7_u64;
    let mut below = |most: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    for step in 0..steps {
        let name = format!("n{}", below(40));
        match below(100) {
            // Names and UIDs go together, so that nothing is refused but what was moved onto another.
            0..40 => {
                drop(put(&contacts, book, &name, &card(&format!("u-{name}"), &step.to_string())));
            }
            40..55 => drop(remove(&contacts, book, &name)),
            55..62 => {
                let to = format!("n{}", below(40));
                let moved: Result<(), Failed> =
                    contacts.block_on(contacts.change(&[book], move |change| {
                        Ok(change.rename((book, &name), (book, &to))?)
                    }));
                drop(moved);
            }
            62..65 => {
                let pruned: Result<(), Failed> =
                    contacts.block_on(contacts.change(&[book], move |change| {
                        let floor = change.collection(book)?.seq().saturating_sub(5);
                        Ok(change.prune(book, floor)?)
                    }));
                pruned.unwrap();
            }
            65 => contacts = store.open(Servers::One),
            66 if below(10) == 0 => {
                let emptied: Result<(), Failed> = contacts.block_on(
                    contacts.change(&[book], move |change| Ok(change.empty_collection(book)?)),
                );
                emptied.unwrap();
            }
            _ => {
                let (client, limit) = (below(20) as usize, 1 + below(8) as usize);
                clients[client].follow(&contacts, book, Some(limit));
            }
        }
    }
    let root = contacts.block_on(contacts.root_with(&[book])).unwrap();
    let entries = root.collection(book).unwrap().entries();
    let wanted: BTreeMap<_, _> =
        entries.map(|entry| (entry.name.to_string(), entry.etag.to_string())).collect();
    assert!(!wanted.is_empty());
    for client in &mut clients {
        let mut rounds = 0;
        while client.follow(&contacts, book, Some(7)) {
            rounds += 1;
            assert!(rounds < 1_000);
        }
        assert_eq!(client.held, wanted);
    }
}
