//! Thousands of orders in which those who commit, those who read, those who wait and the thread that writes may meet.
//!
//! Run under shuttle, whose locks and threads `sync` gives the crate in its unit tests. A failure prints the
//! schedule; `shuttle::replay` plays it again. What would wait for ever is found as a deadlock.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use redb::{StorageBackend, backends::InMemoryBackend};
use shuttle::{Config, Runner, scheduler::RandomScheduler, thread};

use crate::{
    CommitError, Committed, Durability, IndexKind, Schema, Store, Transaction, Type, Value,
    sync::mpsc,
};

const TABLE: &str = "t";

fn check(schedules: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    Runner::new(RandomScheduler::new(schedules), config).run(run);
}

fn tables() -> [(&'static str, Schema); 1] {
    [(TABLE, Schema::new().with("value", Type::Int, Some(IndexKind::Equal)))]
}

fn on_disk() -> Arc<Store> {
    let disk = InMemoryBackend::new();
    Arc::new(Store::open_on(disk, Durability::Sync, tables(), 200).unwrap())
}

fn insert(store: &Store) -> Transaction {
    let mut transaction = store.begin();
    transaction.insert(TABLE, [("value", 1.into())]).unwrap();
    transaction
}

fn add_one(store: &Store) -> Result<((), Committed), CommitError> {
    store.update(|transaction| {
        let record = transaction.get(TABLE, 1)?.expect("it is there");
        let Some(Value::Int(value)) = record.value("value") else { panic!("{record:?}") };
        transaction.patch(TABLE, 1, [("value", (value + 1).into())])
    })
}

fn spawn<T: Send + 'static>(
    store: &Arc<Store>,
    work: impl FnOnce(&Store) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let store = store.clone();
    thread::spawn(move || work(&store))
}

/// Whoever commits then sees it, and readers only ever go forward.
fn commits_are_seen_in_order(store: &Arc<Store>) {
    let commit = |store: &Store| {
        for _ in 0..3 {
            let committed = store.commit(insert(store)).unwrap();
            assert!(store.snapshot().sequence() >= committed.sequence);
        }
    };
    let writers = [spawn(store, commit), spawn(store, commit)];
    let reader = spawn(store, |store| {
        let mut before = 0;
        for _ in 0..6 {
            let snapshot = store.snapshot();
            assert!(snapshot.sequence() >= before, "readers go forward");
            before = snapshot.sequence();
            assert_eq!(snapshot.count(TABLE).unwrap(), before, "one record a commit");
            let changes = store.changes_since(before).unwrap();
            let sequences: Vec<_> = changes.iter().map(|change| change.sequence).collect();
            let wanted: Vec<_> = (before + 1..).take(sequences.len()).collect();
            assert_eq!(sequences, wanted);
            assert!(before + sequences.len() as u64 <= store.snapshot().sequence(), "published");
            thread::yield_now();
        }
    });
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    reader.join().unwrap();
    assert_eq!(store.snapshot().sequence(), 6);
}

#[test]
fn commits_in_memory_are_seen_in_order() {
    check(2_000, || commits_are_seen_in_order(&Arc::new(Store::in_memory(tables()))));
}

#[test]
fn commits_on_the_disk_are_seen_in_order() {
    check(500, || commits_are_seen_in_order(&on_disk()));
}

#[test]
fn no_update_is_lost_and_none_gives_up() {
    check(500, || {
        let store = on_disk();
        store.commit(insert(&store)).unwrap();
        let writers = [0; 3].map(|_| spawn(&store, |store| add_one(store).map(drop)));
        writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
        let record = store.snapshot().get(TABLE, 1).unwrap().unwrap();
        assert_eq!(record.value("value"), Some(4.into()));
    });
}

#[test]
fn whoever_waits_for_a_commit_is_called() {
    check(500, || {
        let store = on_disk();
        let waits = |after: u64| {
            move |store: &Store| {
                let (sender, receiver) = mpsc::channel();
                store.when_published(after, move || sender.send(()).unwrap());
                receiver.recv().expect("a commit is published");
                assert!(store.snapshot().sequence() > after);
            }
        };
        let waiting = [spawn(&store, waits(0)), spawn(&store, waits(1))];
        for _ in 0..2 {
            let transaction = insert(&store);
            store.submit(transaction, |outcome| drop(outcome.unwrap()));
        }
        waiting.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn a_request_asked_twice_at_once_is_done_once() {
    check(500, || {
        let store = on_disk();
        let ask = |store: &Store| {
            let mut transaction = insert(store);
            transaction.set_request("once");
            let committed = store.commit(transaction).unwrap();
            assert!(store.snapshot().sequence() >= committed.sequence);
            committed
        };
        let answers = [spawn(&store, ask), spawn(&store, ask)].map(|one| one.join().unwrap());
        assert_eq!(answers[0], answers[1]);
        assert_eq!(store.snapshot().count(TABLE).unwrap(), 1);
    });
}

/// In these tests a group is full after a few commits.
#[test]
fn a_full_group_makes_room_again() {
    check(500, || {
        let store = on_disk();
        let (sender, receiver) = mpsc::channel();
        let writers = [0; 2].map(|_| {
            let sender = sender.clone();
            spawn(&store, move |store| {
                for _ in 0..5 {
                    let sender = sender.clone();
                    store.submit(insert(store), move |outcome| sender.send(outcome).unwrap());
                }
            })
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        drop(sender);
        assert_eq!(receiver.iter().filter(Result::is_ok).count(), 10);
    });
}

#[test]
fn a_store_that_is_closed_has_all_that_it_acknowledged() {
    check(500, || {
        let store = on_disk();
        let commits = [0; 2].map(|_| spawn(&store, |store| store.commit(insert(store)).is_ok()));
        store.close().unwrap();
        let done = commits.map(|commit| commit.join().unwrap()).into_iter().filter(|done| *done);
        assert_eq!(done.count() as u64, store.snapshot().count(TABLE).unwrap());
        assert!(store.status().read_only.is_some());
    });
}

/// A disk on which nothing can be synced after some time.
#[derive(Debug)]
struct Failing {
    disk: InMemoryBackend,
    left: AtomicU64,
}

impl StorageBackend for Failing {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        let left =
            self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| io::ErrorKind::Other.into())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.write(offset, data)
    }
}

#[test]
fn when_the_disk_fails_everybody_hears_of_it() {
    check(500, || {
        let disk = Failing { disk: InMemoryBackend::new(), left: AtomicU64::new(8) };
        let store = Arc::new(Store::open_on(disk, Durability::Sync, tables(), 200).unwrap());
        let commit = |store: &Store| {
            let mut done = 0;
            loop {
                match store.commit(insert(store)) {
                    Ok(_) => done += 1,
                    Err(CommitError::Unknown { .. } | CommitError::ReadOnly { .. }) => return done,
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let follower = spawn(&store, |store| {
            for after in 0.. {
                let (sender, receiver) = mpsc::channel::<()>();
                store.when_published(after, move || sender.send(()).unwrap());
                if receiver.recv().is_err() {
                    return after;
                }
            }
            0
        });
        let done: u64 = [spawn(&store, commit), spawn(&store, commit)]
            .map(|one| one.join().unwrap())
            .iter()
            .sum();
        assert_eq!(store.snapshot().sequence(), done, "what is not acknowledged is not seen");
        assert_eq!(follower.join().unwrap(), done);
        assert!(add_one(&store).is_err());
    });
}
