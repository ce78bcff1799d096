//! Measures the six strategies of a cached table: what a hit costs alone and among other threads, with and
//! without entries that expire, which share of requests they answer, and what memory they take.
//!
//! `cargo run --release -p bench-cache -- DATE OUTPUT.jsonl [QUICK [PART]]`, from the folder `bench`. With QUICK
//! the workloads are that many times smaller; PART is `hits`, `ratio` or `memory`.

mod hits;
mod memory;
mod ratio;
mod tables;

use std::{env, fs};

use bench_sampler::Sampler;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [command, strategy, keys] = arguments.as_slice()
        && command == memory::COMMAND
    {
        return memory::fill(strategy, keys);
    }
    let [date, output, rest @ ..] = arguments.as_slice() else {
        panic!("usage: bench-cache DATE OUTPUT.jsonl [QUICK [PART]]");
    };
    let quick = rest.first().map_or(1, |quick| quick.parse().expect("a number"));
    let wanted = |part| rest.get(1).is_none_or(|only| only == part);
    let mut sampler = Sampler::new("cache", date);
    for (part, run) in [
        ("hits", hits::run as fn(&mut Sampler, usize)),
        ("ratio", ratio::run),
        ("memory", memory::run),
    ] {
        if wanted(part) {
            run(&mut sampler, quick);
        }
    }
    fs::write(output, sampler.lines()).expect("the results can be written");
}
