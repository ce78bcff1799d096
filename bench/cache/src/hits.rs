//! What a hit costs: CPU of the whole process for each, with threads that ask as fast as they can.

use std::{
    collections::HashMap,
    hint::black_box,
    sync::{Arc, RwLock},
    thread,
    time::Duration,
};

use bench_sampler::{Sampler, Subject, process_time};
use sakuin_cache::{Peek, Strategy};

use crate::tables::{Numbers, Table, Zipf, fill, table};

const KEYS: usize = 5_000;
const BYTES: usize = 2_048;
const HOUR: Duration = Duration::from_secs(3600);
/// An entry is fresh for so long where entries expire; 5,000 keys then make 50,000 refreshes a second.
const SHORT: Duration = Duration::from_millis(100);

pub fn run(sampler: &mut Sampler, quick: usize) {
    let keys: Vec<String> = (0..KEYS).map(|key| format!("{key:05}")).collect();
    let (zipf, mut numbers) = (Zipf::new(KEYS, 1.0), Numbers(1));
    let order: Vec<u16> = (0..1 << 16).map(|_| zipf.place(&mut numbers) as u16).collect();
    let asked: Vec<&str> = order.iter().map(|place| keys[usize::from(*place)].as_str()).collect();
    let operations = 4_000_000 / quick;

    for threads in [1, 2, 20] {
        let mut subjects: Vec<Subject<'_>> = Vec::new();
        for strategy in Strategy::ALL {
            let table = full(strategy, HOUR, &keys);
            let asked = &asked;
            subjects.push((
                strategy.name(),
                Box::new(move || each(threads, operations, asked, |key| is_served(&table, key))),
            ));
        }
        subjects.push(("RwLock<HashMap> alone", {
            let map: HashMap<String, Arc<Vec<u8>>> =
                keys.iter().map(|key| (key.clone(), Arc::new(vec![1; BYTES]))).collect();
            let (map, asked) = (RwLock::new(map), &asked);
            Box::new(move || {
                each(threads, operations, asked, |key| {
                    map.read().expect("no panic").get(key).cloned().is_some()
                })
            })
        }));
        sampler.row(&format!("a hit, read only: {}", name(threads)), "ns/op", subjects);
    }
    for threads in [1, 2, 20] {
        let mut subjects: Vec<Subject<'_>> = Vec::new();
        for strategy in Strategy::ALL {
            let table = full(strategy, SHORT, &keys);
            let asked = &asked;
            subjects.push((
                strategy.name(),
                Box::new(move || each(threads, operations, asked, |key| is_served(&table, key))),
            ));
        }
        let row = format!("a hit, entries fresh for 100 ms: {}", name(threads));
        sampler.row(&row, "ns/op", subjects);
    }
}

fn name(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

fn full(strategy: Strategy, fresh: Duration, keys: &[String]) -> Table {
    let table = table(strategy, 64 << 20, fresh, BYTES);
    table.load(keys.iter().map(|key| (key, fill(BYTES))));
    table
}

fn is_served(table: &Table, key: &str) -> bool {
    match table.peek(key) {
        Peek::Fresh(entry) | Peek::Stale(entry) => !black_box(entry).value().is_empty(),
        Peek::Absent => false,
    }
}

/// CPU for each of so many operations, done by so many threads.
fn each(
    threads: usize,
    operations: usize,
    asked: &[&str],
    served: impl Fn(&str) -> bool + Sync,
) -> f64 {
    let share = operations / threads;
    process_time(share * threads, || {
        thread::scope(|scope| {
            for thread in 0..threads {
                let served = &served;
                scope.spawn(move || {
                    let from = thread * 7919;
                    let keys = asked.iter().cycle().skip(from % asked.len()).take(share);
                    assert!(keys.filter(|key| !served(key)).count() == 0, "a key was not served");
                });
            }
        });
    })
}
