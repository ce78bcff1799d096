//! What memory a table of 64 MiB takes while ten million different keys go through it: the most a process of its
//! own ever had, less what it has without entries.

use std::{env, fs, process::Command, time::Duration};

use bench_sampler::Sampler;
use sakuin_cache::Strategy;

use crate::tables::{Numbers, table};

pub const COMMAND: &str = "fill-a-table";

const MAX_BYTES: usize = 64 << 20;

pub fn run(sampler: &mut Sampler, quick: usize) {
    let row = "most memory of a table of 64 MiB under 10 M keys, above the empty process";
    for strategy in Strategy::ALL {
        let own = env::current_exe().expect("a program");
        let keys = (10_000_000 / quick).to_string();
        let output = Command::new(own).args([COMMAND, strategy.name(), &keys]).output();
        let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
        let kibibytes: f64 = text.trim().parse().expect("a number");
        sampler.samples(row, "MiB", strategy.name(), &[kibibytes / 1024.0]);
        sampler.target_of(row, strategy.name(), 64.0 * 1.15);
    }
}

/// In a process of its own.
pub fn fill(strategy: &str, keys: &str) {
    let strategy = strategy.parse().expect("a strategy");
    let keys: u64 = keys.parse().expect("a number");
    let table = table(strategy, MAX_BYTES, Duration::from_secs(3600), 0);
    table.load([("first", body(0))]);
    let before = status("VmRSS:");
    let mut numbers = Numbers(3);
    for _ in 0..keys {
        let number = numbers.next();
        // Up to 1,000 bytes, most of them short.
        let bytes = ((number % 32) * (number >> 8 & 31)) as usize;
        table.load([(format!("{number:016x}"), body(bytes))]);
    }
    println!("{}", status("VmHWM:") - before);
}

fn body(bytes: usize) -> sakuin_cache::Fill<Vec<u8>> {
    crate::tables::fill(bytes)
}

/// A line of the kernel's word on this process, in KiB.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("it is there");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
