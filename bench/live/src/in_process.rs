//! A search by value among a million records beside the scan under a lock that teams write first, and commits in memory
//! of one record and of ten.

use std::{hint::black_box, sync::RwLock};

use bench_sampler::{Sampler, Subject, process_time};
use sakuin_live::{Filter, IndexKind, Schema, Store, Type, Value};

const RECORDS: usize = 1_000_000;
/// Ten records have each value.
const VALUES: i64 = 100_000;
const TABLE: &str = "features";

pub fn measure(sampler: &mut Sampler) {
    let mut random = fastrand::Rng::with_seed(7);
    let values: Vec<i64> = (0..RECORDS).map(|_| random.i64(0..VALUES)).collect();
    search(sampler, &values);
    commits(sampler, &values);
}

fn store(values: &[i64], index: Option<IndexKind>) -> Store {
    let store = Store::in_memory([(TABLE, Schema::new().with("value", Type::Int, index))]);
    for part in values.chunks(10_000) {
        let filled = store.update(|transaction| {
            part.iter()
                .try_for_each(|value| transaction.insert(TABLE, [("value", (*value).into())]))
        });
        filled.expect("it fits");
    }
    store
}

/// The original's `Search`: where the records with a value are.
fn search(sampler: &mut Sampler, values: &[i64]) {
    let (equal, ordered) =
        (store(values, Some(IndexKind::Equal)), store(values, Some(IndexKind::Ordered)));
    let scanned = RwLock::new(values.iter().map(|value| *value as i32).collect::<Vec<_>>());
    let row = "search by value, 10 of 1 M records";
    sampler.row(
        row,
        "ns/op",
        vec![
            subject("sakuin", 20_000, |value| {
                equal.snapshot().search_ids(TABLE, &Filter::equal("value", value))
            }),
            subject("sakuin, ordered index", 20_000, |value| {
                ordered.snapshot().search_ids(TABLE, &Filter::equal("value", value))
            }),
            subject("sakuin, whole records", 20_000, |value| {
                equal.snapshot().search(TABLE, &Filter::equal("value", value))
            }),
            subject("scan under a lock", 50, |value| {
                let value = value as i32;
                let values = scanned.read().expect("nobody panics");
                let found = values.iter().enumerate().filter(|(_, it)| **it == value);
                found.map(|(at, it)| (at as i32, *it)).collect::<Vec<_>>()
            }),
        ],
    );
    sampler.target(row, 0.001, Some((row, "scan under a lock")));
}

/// Does something with random values, so many times a sample.
fn subject<'s, T>(name: &'static str, count: usize, work: impl Fn(i64) -> T + 's) -> Subject<'s> {
    let mut random = fastrand::Rng::with_seed(8);
    let sample = move || {
        process_time(count, || {
            (0..count).for_each(|_| drop(black_box(work(random.i64(0..VALUES)))))
        })
    };
    (name, Box::new(sample))
}

/// Read, add one, write: what a transaction that conflicts with nobody costs.
fn commits(sampler: &mut Sampler, values: &[i64]) {
    for (index, name) in [(None, "no index"), (Some(IndexKind::Equal), "one index")] {
        let store = store(values, index);
        for (records, count) in [(1u64, 20_000), (10, 4_000)] {
            let mut random = fastrand::Rng::with_seed(9);
            let row = format!("read and change {records} of 1 M records in a transaction, {name}");
            let mut once = || {
                let first = random.u64(1..RECORDS as u64 - 1_000);
                let done = store.update(|transaction| {
                    for id in (0..records).map(|at| first + at * 97) {
                        let record = transaction.get(TABLE, id)?.expect("it is there");
                        let Some(Value::Int(value)) = record.value("value") else {
                            unreachable!("it has one")
                        };
                        let next = (value + 1) % VALUES;
                        transaction.patch(TABLE, id, [("value", next.into())])?;
                    }
                    Ok(())
                });
                black_box(done.expect("nobody else writes"));
            };
            sampler.row(
                &row,
                "ns/op",
                vec![(
                    "sakuin",
                    Box::new(|| process_time(count, || (0..count).for_each(|_| once()))),
                )],
            );
            sampler.target(&row, if records == 1 { 3_333.0 } else { 20_000.0 }, None);
        }
    }
}
