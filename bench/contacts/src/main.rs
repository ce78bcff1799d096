//! Measures contacts: one card asked for by eight clients, beside the services that teams wrote, Radicale, Xandikos and
//! `pgbench -S`; what programs do with a book of ten thousand cards, and of a hundred thousand. CPU is that of a server
//! and its database together.
//!
//! `cargo run --release -p bench-contacts -- DATE OUTPUT.jsonl PYTHON PEERS`, from the folder `bench`, after `make build`;
//! `PYTHON` is an interpreter that has `directory/requirements.txt`, `PEERS` one that has `contacts/requirements.txt`, and
//! Debian's `postgresql`, `git` and `wrk` are installed.

mod book;
mod get;
mod large;
mod programs;
mod served;

use bench_sampler::Sampler;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [date, output, python, peers, parts @ ..] = arguments.as_slice() else {
        eprintln!("usage: bench-contacts DATE OUTPUT.jsonl PYTHON PEERS [get|programs|large]…");
        std::process::exit(2);
    };
    let mut sampler = Sampler::new("contacts", date);
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|it| it == part);
    if is_wanted("get") {
        get::measure(&mut sampler, python, peers);
    }
    if is_wanted("programs") {
        programs::measure(&mut sampler, peers);
    }
    if is_wanted("large") {
        large::measure(&mut sampler);
    }
    std::fs::write(output, sampler.lines()).expect("the output can be written");
}
