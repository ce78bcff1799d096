//! Which share of requests is answered from a table that has room for a part of the keys: each strategy beside
//! the raw caches, on requests by Zipf's law, with and without scans over keys asked for once.

use bench_sampler::{Sampler, thread_time};
use sakuin_cache::{Peek, Strategy};
use std::time::Duration;

use crate::tables::{Numbers, Zipf, fill, table};

const KEYS: usize = 100_000;
const BYTES: usize = 64;

pub fn run(sampler: &mut Sampler, quick: usize) {
    let requests = 2_000_000 / quick;
    for (exponent, scans) in [(0.8, false), (1.0, false), (1.0, true), (1.1, false)] {
        let asked = requests_by(exponent, scans, requests);
        for room in [KEYS / 100, KEYS / 10] {
            let scans = if scans { " with scans" } else { "" };
            let row = format!("hits by Zipf {exponent}{scans}, room for {}%", room * 100 / KEYS);
            let mut cost = Vec::new();
            for strategy in Strategy::ALL {
                let (share, nanoseconds) = of_table(strategy, room, &asked);
                sampler.samples(&row, "%", strategy.name(), &[share]);
                cost.push((strategy.name(), nanoseconds));
            }
            let quick_cache = quick_cache::sync::Cache::new(room);
            let get = |key: u32| quick_cache.get(&key).is_some();
            let raw = share(&asked, get, |key| quick_cache.insert(key, ()));
            sampler.samples(&row, "%", "raw quick_cache", &[raw]);
            let moka = moka::sync::Cache::new(room as u64);
            let get = |key: u32| moka.get(&key).is_some();
            let raw = share(&asked, get, |key| moka.insert(key, ()));
            sampler.samples(&row, "%", "raw moka", &[raw]);
            for (strategy, nanoseconds) in cost {
                let row = format!("{row}: a get, with the fills");
                sampler.samples(&row, "ns/op", strategy, &[nanoseconds]);
            }
        }
    }
}

/// One in five requests is part of a scan, if there are scans.
fn requests_by(exponent: f64, scans: bool, count: usize) -> Vec<u32> {
    let (zipf, mut numbers) = (Zipf::new(KEYS, exponent), Numbers(7));
    let mut once = KEYS as u32;
    let mut next = |_| {
        if scans && numbers.next() % 5 == 0 {
            once += 1;
            once
        } else {
            zipf.place(&mut numbers) as u32
        }
    };
    (0..count).map(&mut next).collect()
}

fn share(asked: &[u32], get: impl Fn(u32) -> bool, insert: impl Fn(u32)) -> f64 {
    let mut hits = 0;
    for key in asked {
        if get(*key) {
            hits += 1;
        } else {
            insert(*key);
        }
    }
    100.0 * f64::from(hits) / asked.len() as f64
}

fn of_table(strategy: Strategy, room: usize, asked: &[u32]) -> (f64, f64) {
    let hour = Duration::from_secs(3600);
    let name = |key: u32| format!("{key:08}");
    // What one entry counts, by the strategy's own word.
    let one = table(strategy, 64 << 20, hour, BYTES);
    one.load([(name(0), fill(BYTES))]);
    let table = table(strategy, room * one.stats().bytes as usize, hour, BYTES);
    let names: Vec<String> = asked.iter().map(|key| name(*key)).collect();
    let mut hits = 0;
    let nanoseconds = thread_time(asked.len(), || {
        for name in &names {
            match table.peek(name) {
                Peek::Fresh(_) => hits += 1,
                _ => table.load([(name, fill(BYTES))]),
            }
        }
    });
    (100.0 * f64::from(hits) / asked.len() as f64, nanoseconds)
}
