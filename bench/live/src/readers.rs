//! Readers while large commits are written, beside the same readers when nothing is: they take what is published and
//! wait for nobody, so what they notice is memory and caches.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use bench_sampler::Sampler;
use sakuin_live::{Filter, IndexKind, Schema, Store, Type};

const TABLE: &str = "features";
const RECORDS: u64 = 1_000_000;
const VALUES: i64 = 100_000;
/// Records of a commit.
const LARGE: u64 = 10_000;
const SEARCHES: usize = 200_000;
const ROUNDS: usize = 5;

pub fn measure(sampler: &mut Sampler) {
    let store = store();
    let [mut quiet, mut busy] = [const { Vec::new() }; 2];
    let mut commits = 0;
    for _ in 0..ROUNDS {
        quiet.push(searches(&store));
        let ends = AtomicBool::new(false);
        thread::scope(|scope| {
            let writing = scope.spawn(|| write(&store, &ends));
            busy.push(searches(&store));
            ends.store(true, Ordering::Relaxed);
            commits += writing.join().expect("it does not panic");
        });
    }
    assert!(commits > ROUNDS, "{commits} commits are no stream");
    let row = "search by value while commits of 10,000 records are written: p99";
    sampler.samples(row, "µs", "sakuin", &busy);
    sampler.samples(row, "µs", "quiet", &quiet);
    sampler.target(row, 2.0, Some((row, "quiet")));
}

fn store() -> Store {
    let schema = Schema::new().with("value", Type::Int, Some(IndexKind::Equal));
    let store = Store::in_memory([(TABLE, schema)]);
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..RECORDS / LARGE {
        let filled = store.update(|transaction| {
            (0..LARGE).try_for_each(|_| {
                transaction.insert(TABLE, [("value", random.i64(0..VALUES).into())])
            })
        });
        filled.expect("it fits");
    }
    store
}

/// Microseconds that 99 of 100 searches do not exceed.
fn searches(store: &Store) -> f64 {
    let mut random = fastrand::Rng::with_seed(8);
    let mut times: Vec<f64> = Vec::with_capacity(SEARCHES);
    for _ in 0..SEARCHES {
        let filter = Filter::equal("value", random.i64(0..VALUES));
        let start = Instant::now();
        let found = store.snapshot().search(TABLE, &filter).expect("it has the attribute");
        times.push(start.elapsed().as_secs_f64() * 1e6);
        assert!(found.len() < 100, "{} records", found.len());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() * 99 / 100]
}

/// Large commits until told to end; how many there were.
fn write(store: &Store, ends: &AtomicBool) -> usize {
    let mut random = fastrand::Rng::with_seed(9);
    let mut commits = 0;
    while !ends.load(Ordering::Relaxed) {
        let first = random.u64(1..=RECORDS - LARGE);
        let written = store.update(|transaction| {
            (first..first + LARGE).try_for_each(|id| {
                transaction.patch(TABLE, id, [("value", random.i64(0..VALUES).into())])
            })
        });
        written.expect("nobody else writes");
        commits += 1;
    }
    commits
}
