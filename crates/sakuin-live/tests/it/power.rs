//! Power cuts and failing disks, at every call: what was acknowledged is there, what was not is there as a whole or
//! not at all, and a store whose disk failed goes on reading and says so.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
};

use fastrand::Rng;
use sakuin_live::{
    CommitError, Committed, Durability, Filter, IndexKind, OpenError, Schema, Store, Type, Value,
};

use crate::disk::{Disk, Fault};

const TABLES: [&str; 2] = ["one", "two"];

/// A log is folded when it is longer: after a few commits.
const FOLD_AT: u64 = 600;

/// By table and id, what records have.
type State = BTreeMap<(usize, u64), i64>;

/// A store, and what it must have after each commit.
struct Run {
    store: Store,
    states: Vec<State>,
    acknowledged: u64,
    under_way: Vec<Receiver<Result<Committed, CommitError>>>,
}

fn open(disk: &Disk) -> Result<Store, OpenError> {
    let schema = || Schema::new().with("value", Type::Int, Some(IndexKind::Equal));
    let tables = TABLES.map(|table| (table, schema()));
    Store::open_on(disk.clone(), Durability::Sync, tables, FOLD_AT)
}

fn state(store: &Store) -> State {
    let snapshot = store.snapshot();
    let mut state = State::new();
    for (at, table) in TABLES.into_iter().enumerate() {
        for record in snapshot.search(table, &Filter::all()).unwrap() {
            let Some(Value::Int(value)) = record.value("value") else { panic!("{record:?}") };
            state.insert((at, record.id()), value);
            let found = snapshot.search_ids(table, &Filter::equal("value", value)).unwrap();
            assert!(found.contains(&record.id()), "the index knows it");
        }
    }
    state
}

impl Run {
    /// Goes on where `states` end, which is at the latest what the disk can have.
    fn begin(disk: &Disk, states: Vec<State>, acknowledged: u64) -> Result<Run, OpenError> {
        let store = open(disk)?;
        let mut run = Run { store, states, acknowledged, under_way: Vec::new() };
        let sequence = run.store.snapshot().sequence();
        assert!(sequence >= acknowledged, "{sequence} of {acknowledged} acknowledged");
        assert_eq!(state(&run.store), run.states[sequence as usize], "at {sequence}");
        run.states.truncate(sequence as usize + 1);
        run.acknowledged = sequence;
        Ok(run)
    }

    /// Submits a commit that changes several records of both tables.
    fn submit(&mut self, random: &mut Rng) {
        let mut state = self.states.last().unwrap().clone();
        let mut transaction = self.store.begin();
        let value = self.states.len() as i64;
        for (at, table) in TABLES.into_iter().enumerate() {
            for _ in 0..random.usize(1..4) {
                let id = random.u64(1..200);
                transaction.put(table, id, [("value", value.into())]).unwrap();
                state.insert((at, id), value);
            }
        }
        // To delete reads, and so only what is published can be deleted.
        if self.under_way.is_empty()
            && random.u8(..) < 80
            && let Some((&(at, id), _)) = state.iter().nth(random.usize(..state.len()))
            && self.states.len() > 1
            && transaction.delete(TABLES[at], id).is_ok()
        {
            state.remove(&(at, id));
        }
        let (sender, receiver) = mpsc::channel();
        self.store.submit(transaction, move |outcome| drop(sender.send(outcome)));
        self.under_way.push(receiver);
        self.states.push(state);
    }

    /// Waits for all that was submitted; whether the disk has not failed.
    fn wait(&mut self) -> bool {
        let mut is_well = true;
        for receiver in self.under_way.drain(..) {
            match receiver.recv().expect("everybody is told") {
                Ok(committed) => {
                    assert!(is_well, "acknowledged after a failure");
                    self.acknowledged += 1;
                    assert_eq!(committed.sequence, self.acknowledged);
                }
                Err(CommitError::Unknown { .. } | CommitError::ReadOnly { .. }) => is_well = false,
                Err(error) => panic!("{error}"),
            }
        }
        is_well
    }

    /// Commits until the disk fails or enough is done; whether it has not failed.
    fn work(&mut self, commits: u64, random: &mut Rng) -> bool {
        for _ in 0..commits {
            for _ in 0..random.usize(1..4) {
                self.submit(random);
            }
            if !self.wait() {
                return false;
            }
        }
        true
    }
}

/// How many power cuts; more are asked for by the environment.
fn count(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |count| count.parse().unwrap())
}

#[test]
fn nothing_acknowledged_is_lost_when_the_power_goes() {
    let seeds = &AtomicU64::new(0);
    let count = count("SAKUIN_POWER_CUTS", 1_000);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let seed @ 0.. = seeds.fetch_add(1, Ordering::Relaxed)
                    && seed < count
                {
                    println!("seed {seed}");
                    power_cuts(&mut Rng::with_seed(seed));
                }
            });
        }
    });
}

/// Three lives of a disk, each of which ends when it is full of work, or of a sudden.
fn power_cuts(random: &mut Rng) {
    let mut disk = Disk::default();
    let (mut states, mut acknowledged) = (vec![State::new()], 0);
    let mut is_begun = false;
    for _ in 0..3 {
        disk.cut_at(random.u64(..600));
        // The power may go while the store is opened.
        if let Ok(mut run) = Run::begin(&disk, states.clone(), acknowledged) {
            is_begun = true;
            run.work(40, random);
            (states, acknowledged) = (run.states.clone(), run.acknowledged);
        }
        // A file has its name only when it is whole, and so a new one is begun again.
        disk = if is_begun { disk.after_power_cut(random) } else { Disk::default() };
    }
    Run::begin(&disk, states, acknowledged).unwrap();
}

/// Every call in turn answers with an error, once or from then on.
#[test]
fn a_store_whose_disk_fails_reads_on_and_writes_no_more() {
    let kinds = [io::ErrorKind::Other, io::ErrorKind::StorageFull];
    for (kind, calls) in kinds.into_iter().flat_map(|kind| [(kind, 1), (kind, 1 << 40)]) {
        let whole = Disk::default();
        let mut run = Run::begin(&whole, vec![State::new()], 0).unwrap();
        assert!(run.work(10, &mut Rng::with_seed(1)));
        let (states, acknowledged) = (run.states.clone(), run.acknowledged);
        drop(run);
        for at in 1.. {
            let disk = whole.copy();
            disk.fail(Fault { at, calls, kind });
            let random = &mut Rng::with_seed(at);
            let (mut states, mut acknowledged) = (states.clone(), acknowledged);
            let mut is_over = false;
            if let Ok(mut run) = Run::begin(&disk, states.clone(), acknowledged) {
                let is_well = run.work(12, random);
                (states, acknowledged) = (run.states.clone(), run.acknowledged);
                assert_eq!(state(&run.store), states[acknowledged as usize], "what is durable");
                // A fold may fail later, when nobody waits.
                let is_read_only = run.store.status().read_only.is_some();
                assert!(is_well || is_read_only);
                assert!(!is_read_only || is_refused(&run.store), "no more is written");
                is_over = is_well && disk.calls() < at;
            }
            disk.heal();
            drop(Run::begin(&disk, states, acknowledged).unwrap());
            if is_over {
                assert!(at > 100, "{at} calls");
                break;
            }
        }
    }
}

fn is_refused(store: &Store) -> bool {
    let inserted = store.update(|transaction| transaction.insert(TABLES[0], []));
    matches!(inserted, Err(CommitError::ReadOnly { cause }) if cause.starts_with("its disk failed"))
}
