//! Measures packed tables beside the structures they would replace, and writes the raw samples as JSON Lines.
//!
//! `cargo run --release -p bench-pack -- DATE OUTPUT.jsonl [QUICK]`, from the folder `bench`. Every row first compares
//! all answers of all subjects; then the subjects alternate, nine rounds. Times are CPU times of the measuring thread,
//! or of the process where a peer starts threads of its own. With a third argument the tables are ten times smaller.

mod data;
mod rows;

use bench_sampler::Sampler;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [date, output, quick @ ..] = arguments.as_slice() else {
        eprintln!("usage: bench-pack DATE OUTPUT.jsonl [QUICK]");
        std::process::exit(2);
    };
    let scale = if quick.is_empty() { 1 } else { 10 };
    let mut sampler = Sampler::new("pack", date);
    rows::perfect_hash(&mut sampler, 10_000_000 / scale);
    rows::lookups(&mut sampler, 1_000_000 / scale);
    rows::opening(&mut sampler, scale);
    rows::sizes(&mut sampler, 1_000_000 / scale);
    std::fs::write(output, sampler.lines()).expect("the output can be written");
}
