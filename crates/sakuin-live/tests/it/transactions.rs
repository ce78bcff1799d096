//! Conflicts: read records, missing records, searches and the phantoms in them; and what holds under threads.

use std::thread;

use sakuin_live::{
    Assignment, CommitError, Conflict, Filter, IndexKind, Record, Schema, Store, Transaction, Type,
    Value,
};

const TABLE: &str = "accounts";

fn store(values: &[i64]) -> Store {
    let schema = Schema::new()
        .with("value", Type::Int, Some(IndexKind::Equal))
        .with("rank", Type::Int, Some(IndexKind::Ordered))
        .with("note", Type::Text, None);
    let store = Store::in_memory([(TABLE, schema)]);
    insert(&store, values);
    store
}

fn insert(store: &Store, values: &[i64]) -> Vec<u64> {
    let inserted = store.update(|transaction| {
        values.iter().try_for_each(|value| {
            transaction.insert(TABLE, [("value", (*value).into()), ("rank", (*value).into())])
        })
    });
    inserted.unwrap().1.ids
}

fn set(store: &Store, id: u64, value: i64) {
    let change = [("value", value.into()), ("rank", value.into())];
    store.update(|transaction| transaction.patch(TABLE, id, change.clone())).unwrap();
}

fn value(transaction: &mut Transaction, id: u64) -> i64 {
    match transaction.get(TABLE, id).unwrap().unwrap().value("value") {
        Some(Value::Int(value)) => value,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn conflict(store: &Store, transaction: Transaction) -> Conflict {
    match store.commit(transaction) {
        Err(CommitError::Conflict(conflict)) => conflict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_that_changed_since_it_was_read_is_named() {
    let store = store(&[1, 2]);
    let mut late = store.begin();
    value(&mut late, 1);
    late.patch(TABLE, 2, [("value", 9.into())]).unwrap();
    set(&store, 1, 5);
    let conflict = conflict(&store, late);
    assert_eq!(conflict.records, [(TABLE.to_owned(), 1, Some(2))]);
    assert_eq!((conflict.searches.len(), conflict.retry_at), (0, 2));
    assert_eq!(store.snapshot().get(TABLE, 2).unwrap().unwrap().version(), 1, "nothing is written");
}

/// A version that a caller saw elsewhere counts, before and after what the transaction reads itself.
#[test]
fn an_expected_version_counts_whatever_is_read() {
    let store = store(&[1]);
    set(&store, 1, 5);
    let mut before = store.begin();
    before.expect(TABLE, 1, Some(1)).unwrap();
    before.patch(TABLE, 1, [("value", 9.into())]).unwrap();
    let mut after = store.begin();
    after.patch(TABLE, 1, [("value", 9.into())]).unwrap();
    after.expect(TABLE, 1, Some(1)).unwrap();
    for transaction in [before, after] {
        assert_eq!(conflict(&store, transaction).records, [(TABLE.to_owned(), 1, Some(2))]);
    }
}

#[test]
fn a_record_that_came_or_went_since_is_a_conflict() {
    let store = store(&[1, 2]);
    let (mut came, mut went) = (store.begin(), store.begin());
    assert!(came.get(TABLE, 3).unwrap().is_none());
    came.patch(TABLE, 1, [("value", 9.into())]).unwrap();
    went.get(TABLE, 2).unwrap();
    went.patch(TABLE, 1, [("value", 9.into())]).unwrap();
    insert(&store, &[3]);
    store.update(|transaction| transaction.delete(TABLE, 2)).unwrap();
    assert_eq!(conflict(&store, came).records, [(TABLE.to_owned(), 3, Some(2))]);
    assert_eq!(conflict(&store, went).records, [(TABLE.to_owned(), 2, None)]);
}

/// A row that would enter an answer, one that would leave it, and one that does neither.
#[test]
fn a_search_conflicts_with_what_would_change_its_answer_alone() {
    let ranges = [
        Filter::equal("value", 7),
        Filter::within("rank", Value::Int(7)..Value::Int(8)),
        Filter::missing("note").and_equal("value", 7),
    ];
    for filter in ranges {
        let check = |values: &[i64], change: &dyn Fn(&Store), conflicts: bool| {
            let store = store(values);
            let mut late = store.begin();
            late.search(TABLE, &filter).unwrap();
            late.insert(TABLE, [("value", 0.into())]).unwrap();
            change(&store);
            match conflicts {
                true => assert_eq!(conflict(&store, late).searches, [0], "{filter:?}"),
                false => drop(store.commit(late).unwrap()),
            }
        };
        check(&[1], &|store| drop(insert(store, &[7])), true);
        check(&[1], &|store| set(store, 1, 7), true);
        check(&[7], &|store| set(store, 1, 1), true);
        check(&[7], &|store| drop(store.update(|it| it.delete(TABLE, 1)).unwrap()), true);
        check(&[1, 7], &|store| set(store, 1, 2), false);
        check(&[1], &|store| drop(insert(store, &[8])), false);
    }
}

#[test]
fn a_transaction_sees_its_own_changes() {
    let store = store(&[1, 7, 7]);
    let mut own = store.begin();
    own.patch(TABLE, 1, [("value", 7.into())]).unwrap();
    own.delete(TABLE, 2).unwrap();
    let found = own.search(TABLE, &Filter::equal("value", 7)).unwrap();
    assert_eq!(found.iter().map(Record::id).collect::<Vec<_>>(), [1, 3]);
    assert!(own.get(TABLE, 2).unwrap().is_none());
    assert!(matches!(own.patch(TABLE, 2, []), Err(CommitError::NotFound { id: 2, .. })));
    assert_eq!(store.snapshot().search(TABLE, &Filter::equal("value", 7)).unwrap().len(), 2);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let store = store(&[1]);
    let mut own = store.begin();
    let refused = |error: CommitError| error.to_string();
    let unknown = own.insert(TABLE, [("valeu", 1.into())]).unwrap_err();
    assert!(refused(unknown).starts_with("there is no attribute `valeu`"));
    let text = own.insert(TABLE, [("value", "one".into())]).unwrap_err();
    assert_eq!(refused(text), "attribute `value` takes int, not \"one\"");
    let table = own.insert("acounts", []).unwrap_err();
    assert_eq!(refused(table), "there is no live table `acounts`");
    let mut large = store.begin();
    (0..10_001).try_for_each(|_| large.insert(TABLE, [])).unwrap();
    assert!(matches!(store.commit(large), Err(CommitError::TooLarge { writes: 10_001, .. })));
}

/// Money moves between accounts in four threads; a fifth always counts the same sum.
#[test]
fn a_bank_keeps_its_sum() {
    const ACCOUNTS: u64 = 8;
    let store = store(&[100; ACCOUNTS as usize]);
    let sum = || {
        let all = store.snapshot().search(TABLE, &Filter::all()).unwrap();
        all.iter()
            .map(|it| if let Some(Value::Int(value)) = it.value("value") { value } else { 0 })
            .sum::<i64>()
    };
    let moved: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread: u64| {
                let store = &store;
                scope.spawn(move || {
                    let mut moved = 0;
                    for step in 0..500 {
                        let (from, to) = ((step * 7 + thread) % ACCOUNTS + 1, step % ACCOUNTS + 1);
                        if from == to {
                            continue;
                        }
                        let done = store.update(|transaction| {
                            let [had, has] = [from, to].map(|id| value(transaction, id));
                            transaction.patch(TABLE, from, [("value", (had - 1).into())])?;
                            transaction.patch(TABLE, to, [("value", (has + 1).into())])
                        });
                        match done {
                            Ok(_) => moved += 1,
                            Err(error) => {
                                assert!(matches!(error, CommitError::Conflict(_)), "{error}");
                            }
                        }
                    }
                    moved
                })
            })
            .collect();
        for _ in 0..200 {
            assert_eq!(sum(), 100 * ACCOUNTS as i64);
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(sum(), 100 * ACCOUNTS as i64);
    assert_eq!(store.snapshot().sequence(), moved + 1, "every commit counted once");
}

/// Four threads count on one record, and nobody loses or waits to be told of a conflict.
#[test]
fn what_is_added_without_reading_is_never_lost() {
    let store = store(&[0, 0]);
    let first = Filter::equal("rank", 0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let added = [("value", Assignment::Add(1.into()))];
                    assert_eq!(store.update_where(TABLE, &first, &added).unwrap().matched, [1, 2]);
                }
            });
        }
    });
    for record in store.snapshot().search(TABLE, &Filter::equal("value", 2_000)).unwrap() {
        assert_eq!(record.value("rank"), Some(Value::Int(0)));
    }
    assert_eq!(store.snapshot().search_ids(TABLE, &Filter::equal("value", 2_000)).unwrap(), [1, 2]);
    assert_eq!(store.snapshot().sequence(), 2_001);
}

#[test]
fn an_update_that_fails_for_one_changes_none() {
    let store = store(&[1, i64::MAX]);
    let add = |name, value: Value| {
        store.update_where(TABLE, &Filter::all(), &[(name, Assignment::Add(value))])
    };
    let error = add("value", 1.into()).unwrap_err().to_string();
    assert_eq!(error, "the sum for attribute `value` is too large");
    let error = add("note", "x".into()).unwrap_err().to_string();
    assert_eq!(error, "attribute `note` is text: nothing can be added to it");
    assert!(add("value", 0.5.into()).is_err());
    assert_eq!(store.snapshot().sequence(), 1);
    let cleared = [("rank", Assignment::Clear), ("note", Assignment::Set("x".into()))];
    let updated = store.update_where(TABLE, &Filter::equal("value", 1), &cleared).unwrap();
    assert_eq!((updated.sequence, updated.matched), (2, vec![1]));
    let record = store.snapshot().get(TABLE, 1).unwrap().unwrap();
    assert_eq!((record.value("rank"), record.value("note")), (None, Some("x".into())));
    // Nothing to change is no commit.
    assert_eq!(
        store.update_where(TABLE, &Filter::equal("value", 5), &cleared).unwrap().sequence,
        2
    );
}

#[test]
fn a_follower_sees_every_commit_in_order() {
    let store = store(&[1, 2]);
    let start = store.snapshot();
    set(&store, 2, 5);
    store.update(|transaction| transaction.delete(TABLE, 1)).unwrap();
    insert(&store, &[7]);
    let seen: Vec<_> = store
        .changes_since(start.sequence())
        .unwrap()
        .into_iter()
        .flat_map(|commit| {
            let changed = commit.records.into_iter();
            changed.map(move |it| {
                let value = it.record.and_then(|record| {
                    assert_eq!(record.version(), commit.sequence);
                    record.value("value")
                });
                (commit.sequence, it.id, value)
            })
        })
        .collect();
    assert_eq!(seen, [(2, 2, Some(5.into())), (3, 1, None), (4, 3, Some(7.into()))]);
    assert!(store.changes_since(store.snapshot().sequence()).unwrap().is_empty());
}

/// What is remembered has an end: whoever is behind it is told to begin again.
#[test]
fn who_is_too_far_behind_begins_again() {
    let store = store(&[0; 10_000]);
    let start = store.snapshot();
    let mut late = store.begin();
    late.search(TABLE, &Filter::equal("value", -1)).unwrap();
    late.patch(TABLE, 1, [("value", 1.into())]).unwrap();
    for _ in 0..106 {
        store.update_where(TABLE, &Filter::all(), &[("value", Assignment::Add(1.into()))]).unwrap();
    }
    let expired = |error| matches!(error, CommitError::SnapshotExpired { at: 1, oldest: 2.. });
    assert!(expired(store.changes_since(start.sequence()).unwrap_err()));
    assert!(expired(store.commit(late).unwrap_err()));
}

/// Two who each look whether the other is there, and leave if so: one stays.
#[test]
fn write_skew_is_caught() {
    let store = store(&[1, 1]);
    let leave = |id| {
        let mut transaction = store.begin();
        assert_eq!(transaction.search(TABLE, &Filter::equal("value", 1)).unwrap().len(), 2);
        transaction.patch(TABLE, id, [("value", 0.into())]).unwrap();
        transaction
    };
    let (one, other) = (leave(1), leave(2));
    store.commit(one).unwrap();
    assert_eq!(conflict(&store, other).searches, [0]);
}
