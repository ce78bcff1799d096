//! Measures live tables: in process, and over gRPC beside the original question's servers, which keep a million values
//! in a vector under a lock and look at all of them.
//!
//! `cargo run --release -p bench-live -- DATE OUTPUT.jsonl [PART]`, from the folder `bench`; `make bench-live` builds
//! all it starts. PART is a name of [`PARTS`].

mod durable;
mod in_process;
mod live;
mod load;
mod original;
mod over_grpc;
mod peers;
mod readers;

use bench_sampler::Sampler;

const PARTS: [(&str, fn(&mut Sampler)); 4] = [
    ("process", in_process::measure),
    ("readers", readers::measure),
    ("durable", durable::measure),
    ("grpc", over_grpc::measure),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [date, output, only @ ..] = arguments.as_slice() else {
        eprintln!("usage: bench-live DATE OUTPUT.jsonl [PART]");
        std::process::exit(2);
    };
    let mut sampler = Sampler::new("live", date);
    for (part, measure) in PARTS {
        if only.first().is_none_or(|only| only == part) {
            measure(&mut sampler);
        }
    }
    std::fs::write(output, sampler.lines()).expect("the results can be written");
}
