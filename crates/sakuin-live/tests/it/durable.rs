//! What a store has after it was closed and opened again, in each mode; and what it refuses to open.

use std::{path::Path, sync::mpsc};

use redb::{Database, ReadableTable, TableDefinition};
use sakuin_live::{
    CommitError, Durability, Filter, IndexKind, Metric, OpenError, Schema, Store, Transaction,
    Type, VECTOR, Value,
};
use tempfile::TempDir;

const TABLE: &str = "things";

fn schema() -> Schema {
    Schema::new().with("number", Type::Int, Some(IndexKind::Equal)).with(
        "name",
        Type::Text,
        Some(IndexKind::Ordered),
    )
}

fn open(folder: &TempDir, durability: Durability) -> Store {
    Store::open(&path(folder), durability, [(TABLE, schema())]).unwrap()
}

fn path(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("live.redb")
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn insert(store: &Store, number: i64) -> u64 {
    let inserted =
        store.update(|transaction| transaction.insert(TABLE, [("number", number.into())]));
    inserted.unwrap().1.ids[0]
}

fn all(store: &Store) -> Vec<String> {
    let records = store.snapshot().search(TABLE, &Filter::all()).unwrap();
    records.iter().map(|record| format!("{record:?}")).collect()
}

fn refused(path: &Path, tables: Vec<(&str, Schema)>) -> String {
    let opened = Store::open(path, Durability::Sync, tables);
    opened.err().expect("it is refused").to_string().replace(path.to_str().unwrap(), "FILE")
}

#[test]
fn every_mode_keeps_everything_when_it_is_closed() {
    for durability in Durability::ALL {
        let folder = folder();
        let store = open(&folder, durability);
        for number in 0..10 {
            insert(&store, number);
        }
        let (_, committed) = store
            .update(|transaction| {
                transaction.delete(TABLE, 3)?;
                transaction.delete(TABLE, 10)?;
                transaction.patch(TABLE, 4, [("name", "four".into()), ("number", 44.into())])
            })
            .unwrap();
        assert_eq!((committed.sequence, committed.durability), (11, durability));
        let before = all(&store);
        assert_eq!(before.len(), 8);
        store.close().unwrap();
        let refused = store.update(|transaction| transaction.insert(TABLE, []));
        assert!(matches!(refused, Err(CommitError::ReadOnly { .. })), "{refused:?}");
        assert_eq!(all(&store), before, "reading goes on");
        drop(store);

        let store = open(&folder, durability);
        assert_eq!(all(&store), before);
        assert_eq!(store.snapshot().sequence(), 11);
        let found = |filter| store.snapshot().search_ids(TABLE, &filter).unwrap();
        assert_eq!(found(Filter::equal("number", 44)), [4]);
        assert_eq!(found(Filter::equal("number", 3)), [0; 0]);
        assert_eq!(found(Filter::equal("name", "four")), [4]);
        assert_eq!(insert(&store, 7), 11, "no id comes again");
    }
}

#[test]
fn a_sync_commit_is_on_the_disk_when_it_is_acknowledged_and_seen() {
    let folder = folder();
    let store = open(&folder, Durability::Sync);
    let (sender, receiver) = mpsc::channel();
    for number in 0..100 {
        let mut transaction = store.begin();
        transaction.insert(TABLE, [("number", number.into())]).unwrap();
        let sender = sender.clone();
        store.submit(transaction, move |outcome| sender.send(outcome).unwrap());
    }
    let sequences: Vec<u64> =
        receiver.iter().take(100).map(|outcome| outcome.unwrap().sequence).collect();
    assert_eq!(sequences, (1..=100).collect::<Vec<_>>(), "told in order");
    // A copy of the file as a power cut now would leave it.
    let copy = folder.path().join("copy.redb");
    std::fs::copy(path(&folder), &copy).unwrap();
    let copy = Store::open(&copy, Durability::Sync, [(TABLE, schema())]).unwrap();
    assert_eq!(all(&copy), all(&store));
}

#[test]
fn what_is_built_on_the_newest_state_conflicts_with_nobody() {
    const WRITERS: i64 = 8;
    const ROUNDS: i64 = 40;
    let folder = folder();
    let store = open(&folder, Durability::Sync);
    insert(&store, 0);
    let add = || {
        for _ in 0..ROUNDS {
            let (sender, receiver) = mpsc::channel();
            let add = |transaction: &mut Transaction| {
                let number = transaction.get(TABLE, 1)?.and_then(|record| record.value("number"));
                let Some(Value::Int(number)) = number else { panic!("{number:?}") };
                transaction.patch(TABLE, 1, [("number", (number + 1).into())])
            };
            store.submit_newest(add, move |outcome| sender.send(outcome).unwrap()).unwrap();
            receiver.recv().unwrap().unwrap();
        }
    };
    std::thread::scope(|scope| (0..WRITERS).for_each(|_| drop(scope.spawn(add))));
    let record = store.snapshot().get(TABLE, 1).unwrap().unwrap();
    assert_eq!(record.value("number"), Some((WRITERS * ROUNDS).into()));

    // What cannot be built says up to where it looked; who panics harms nobody else.
    let missing =
        store.submit_newest(|transaction| transaction.delete(TABLE, 2), |_| unreachable!());
    let sequence = store.snapshot().sequence();
    assert!(
        matches!(missing, Err((CommitError::NotFound { id: 2, .. }, seen)) if seen == sequence)
    );
    let panics = || store.submit_newest(|_| -> Result<(), ()> { panic!("in the work") }, |_| ());
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
    assert_eq!(insert(&store, 1), 2);
}

#[test]
fn a_request_is_answered_as_the_first_time_after_a_restart_too() {
    let folder = folder();
    let ask = |store: &Store, request: &str| {
        let mut transaction = store.begin();
        transaction.set_request(request);
        transaction.insert(TABLE, [("number", 1.into())]).unwrap();
        store.commit(transaction).unwrap()
    };
    let nothing = |store: &Store| {
        let mut transaction = store.begin();
        transaction.set_request("nothing");
        transaction.update_where(TABLE, &Filter::equal("number", 5), &[]).unwrap();
        store.commit(transaction).unwrap()
    };
    for durability in Durability::ALL {
        let folder = tempfile::tempdir_in(folder.path()).unwrap();
        let store = open(&folder, durability);
        let (first, second) = (ask(&store, "a"), ask(&store, "b"));
        let third = nothing(&store);
        assert_ne!(first.ids, second.ids);
        assert_eq!(ask(&store, "a"), first);
        drop(store);
        for _ in 0..2 {
            let store = open(&folder, durability);
            insert(&store, 5);
            assert_eq!((ask(&store, "a"), ask(&store, "b")), (first.clone(), second.clone()));
            assert_eq!(nothing(&store), third, "what changed nothing changes nothing again");
        }
    }
}

#[test]
fn a_repeat_of_a_request_under_way_waits_for_it() {
    let folder = folder();
    let store = open(&folder, Durability::Sync);
    let (sender, receiver) = mpsc::channel();
    for _ in 0..50 {
        let mut transaction = store.begin();
        transaction.set_request("once");
        transaction.insert(TABLE, [("number", 1.into())]).unwrap();
        let sender = sender.clone();
        store.submit(transaction, move |outcome| sender.send(outcome.unwrap().ids).unwrap());
    }
    assert!(receiver.iter().take(50).all(|ids| ids == [1]));
    assert_eq!(store.snapshot().count(TABLE).unwrap(), 1);
}

#[test]
fn tables_and_attributes_come_in_any_order_and_may_be_added_to() {
    let folder = folder();
    let other = || Schema::new().with("flag", Type::Bool, None);
    let tables = [(TABLE, schema()), ("other", other())];
    let store = Store::open(&path(&folder), Durability::Sync, tables).unwrap();
    store
        .update(|transaction| {
            transaction.insert(TABLE, [("number", 1.into()), ("name", "one".into())])?;
            transaction.insert("other", [("flag", true.into())])
        })
        .unwrap();
    drop(store);
    let turned = Schema::new()
        .with("more", Type::Float, Some(IndexKind::Ordered))
        .with("name", Type::Text, None)
        .with("number", Type::Int, Some(IndexKind::Ordered))
        .with_vectors(2, Metric::Dot);
    let tables = || [("new", other()), ("other", other()), (TABLE, turned.clone())];
    for more in [1.5, 2.5] {
        let store = Store::open(&path(&folder), Durability::Sync, tables()).unwrap();
        let record = store.snapshot().get(TABLE, 1).unwrap().unwrap();
        assert_eq!(record.value("number"), Some(1.into()));
        assert_eq!(record.value("name"), Some("one".into()));
        assert_eq!(record.value("more").is_some(), more > 2.0);
        assert_eq!(store.snapshot().count("other").unwrap(), 1);
        let vector: Value = [1.0f32, 2.0][..].into();
        let change = [("more", more.into()), (VECTOR, vector.clone())];
        store.update(|transaction| transaction.patch(TABLE, 1, change.clone())).unwrap();
        let found = store.snapshot().search(TABLE, &Filter::equal("more", more)).unwrap();
        assert_eq!(found[0].value(VECTOR), Some(vector));
    }
}

#[test]
fn what_the_file_knows_otherwise_is_refused() {
    let folder = folder();
    let path = path(&folder);
    let vectors = |dimensions| schema().with_vectors(dimensions, Metric::L2);
    drop(Store::open(&path, Durability::Sync, [(TABLE, vectors(3))]).unwrap());
    let check = |tables, wanted: &str| {
        let refused = refused(&path, tables);
        assert!(refused.starts_with(&format!("FILE: table `things` {wanted}")), "{refused}");
    };
    check(vec![], "is in the file and not among the tables; hint: ");
    check(vec![(TABLE, vectors(4))], "has vectors of 3 dimensions in the file and of 4 now");
    let retyped = vectors(3).with("number", Type::Float, None);
    check(vec![(TABLE, retyped)], "has int for `number` in the file and float now; hint: ");
    let fewer = Schema::new().with("name", Type::Text, None).with_vectors(3, Metric::L2);
    check(vec![(TABLE, fewer)], "has attribute `number` in the file and no more; hint: ");
    drop(Store::open(&path, Durability::Sync, [(TABLE, vectors(3))]).unwrap());
}

#[test]
fn a_file_has_one_store_at_a_time() {
    let folder = folder();
    let store = open(&folder, Durability::Sync);
    let refused = refused(&path(&folder), vec![(TABLE, schema())]);
    assert_eq!(refused, "FILE is open in another process");
    drop(store);
    open(&folder, Durability::Sync);
}

#[test]
fn a_path_where_no_file_can_be_is_refused() {
    let folder = folder();
    let opened = Store::open(&folder.path().join("no/such/x"), Durability::Sync, []);
    assert!(matches!(opened.err(), Some(OpenError::File { .. })));
    let text = path(&folder);
    std::fs::write(&text, "this is no store").unwrap();
    assert!(!refused(&text, vec![]).is_empty());
    assert_eq!(std::fs::read(&text).unwrap(), b"this is no store");
}

#[test]
fn who_waits_for_a_commit_is_called_once() {
    let folder = folder();
    let store = open(&folder, Durability::Sync);
    let (sender, receiver) = mpsc::channel();
    let told = |sequence: u64| {
        let sender = sender.clone();
        store.when_published(sequence, move || sender.send(sequence).unwrap());
    };
    told(0);
    told(1);
    insert(&store, 1);
    assert_eq!(receiver.recv(), Ok(0));
    told(0);
    assert_eq!(receiver.try_recv(), Ok(0), "at once");
    insert(&store, 1);
    assert_eq!(receiver.recv(), Ok(1));
    told(2);
    drop(sender);
    drop(store);
    assert!(receiver.recv().is_err(), "dropped without a call");
}

/// Every byte of every value, flipped.
#[test]
fn damage_is_refused_by_name() {
    let folder = folder();
    let store = open(&folder, Durability::None);
    insert(&store, 1);
    let mut named = store.begin();
    named.set_request("r");
    named.insert(TABLE, [("name", "a name".into())]).unwrap();
    store.commit(named).unwrap();
    drop(store);
    let store = open(&folder, Durability::Sync);
    insert(&store, 2);
    let whole = all(&store);
    drop(store);

    let check = |wanted: &str, change: &dyn Fn(&Database, usize) -> bool| {
        let mut at = 0;
        loop {
            let flip = || {
                let database = Database::open(path(&folder)).unwrap();
                change(&database, at)
            };
            if !flip() {
                break;
            }
            let refused = refused(&path(&folder), vec![(TABLE, schema())]);
            assert!(refused.starts_with(&format!("FILE is damaged: {wanted}")), "{refused}");
            assert!(flip());
            at += 1;
        }
        assert!(at > 8, "{wanted}");
    };
    check("`record` of table 0, id 2: ", &|database, at| {
        flip::<(u32, u64)>(database, "record", &(0, 2), at)
    });
    check("`log` at sequence 3: ", &|database, at| flip::<u64>(database, "log", &3, at));
    check("`request` up to sequence 2: ", &|database, at| {
        let read = database.begin_write().unwrap();
        let requests = TableDefinition::<(u64, u64), &[u8]>::new("request");
        let key = read.open_table(requests).unwrap().first().unwrap().unwrap().0.value();
        drop(read);
        flip::<(u64, u64)>(database, "request", &key, at)
    });
    check("`meta`, state: ", &|database, at| flip::<&str>(database, "meta", &"state", at));
    check("`meta`, schema: ", &|database, at| flip::<&str>(database, "meta", &"schema", at));
    assert_eq!(all(&open(&folder, Durability::Sync)), whole);
}

/// Flips a bit of a value's byte, if it has so many.
fn flip<K: redb::Key + 'static>(
    database: &Database,
    table: &str,
    key: &K::SelfType<'static>,
    at: usize,
) -> bool {
    let write = database.begin_write().unwrap();
    let mut values = write.open_table(TableDefinition::<K, &[u8]>::new(table)).unwrap();
    let mut value = values.get(key).unwrap().unwrap().value().to_vec();
    let Some(byte) = value.get_mut(at) else { return false };
    *byte ^= 1 << (at % 8);
    values.insert(key, value.as_slice()).unwrap();
    drop(values);
    write.commit().unwrap();
    true
}
