//! Scanning and packing from Python, beside the same in Rust and by the command.
//!
//! `bench-bindings DATE RECORD.jsonl PYTHON STORY.txt`, where PYTHON has this repository's package and pyarrow.

use std::{env, fs, hint::black_box, path::Path, process::Command, time::Instant};

use bench_sampler::{Sampler, thread_time};
use sakuin_japanese::{dictionary::Dictionary, text::Text};
use serde_json::Value;

const DICTIONARY: &str = "../examples/reader/japanese.skn";
const SCRIPT: &str = "bindings/bindings.py";
const COMMAND: &str = "../target/release/sakuin";
const ROUNDS: usize = 5;
const TIMES: usize = 50;
const ITEMS: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [date, record, python, story] = &arguments[..] else {
        panic!("bench-bindings DATE RECORD.jsonl PYTHON STORY.txt");
    };
    let mut sampler = Sampler::new("bindings", date);
    scan(&mut sampler, python, story);
    pack(&mut sampler, python);
    fs::write(record, sampler.lines()).expect("the record can be written");
}

/// What a script prints: a figure for each name.
fn python(python: &str, arguments: &[&str]) -> Value {
    let output =
        Command::new(python).arg(SCRIPT).args(arguments).output().expect("Python is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

fn figure(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().expect("the script prints figures")
}

fn scan(sampler: &mut Sampler, interpreter: &str, story: &str) {
    let dictionary = Dictionary::open(Path::new(DICTIONARY)).expect("it was packed");
    let text = fs::read_to_string(story).expect("the story is there");
    let [mut rust, mut lazy, mut whole, mut built, mut together] = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        let answers = || {
            for _ in 0..TIMES {
                let mut answer = Vec::new();
                dictionary.answer(&Text::plain(&text), &mut answer).expect("sound");
                black_box(answer);
            }
        };
        rust.push(thread_time(TIMES, answers) / 1e3);
        let figures = python(interpreter, &["scan", DICTIONARY, story]);
        lazy.push(figure(&figures, "scan"));
        whole.push(figure(&figures, "everything"));
        built.push(figure(&figures, "loads"));
        together.push(figure(&figures, "two threads"));
    }
    let row = format!("scan of a story from Python, {} characters", text.chars().count());
    let allowed: Vec<f64> =
        rust.iter().zip(&built).map(|(rust, built)| 1.1 * rust + built).collect();
    sampler.samples(&row, "µs", "sakuin, what is found and not yet asked for", &lazy);
    sampler.samples(&row, "µs", "sakuin", &whole);
    sampler.samples(&row, "µs", "the answer as JSON, Rust", &rust);
    sampler.samples(&row, "µs", "json.loads of the answer", &built);
    sampler.samples(&row, "µs", "1.1 × Rust, and json.loads", &allowed);
    sampler.target(&row, 1.0, Some((&row, "1.1 × Rust, and json.loads")));
    let row = "scans of two threads of Python, in the time of one thread's";
    sampler.samples(row, "times", "sakuin", &together);
    sampler.target_least(row, 1.8);
}

fn pack(sampler: &mut Sampler, interpreter: &str) {
    let folder = tempfile::tempdir().expect("there is room");
    let input = folder.path().join("pairs.jsonl");
    let pairs: String = (0..ITEMS)
        .map(|at| format!("[\"key {:08x}\",\"value of {at}\"]\n", at.wrapping_mul(0x9e37_79b1)))
        .collect();
    fs::write(&input, pairs).expect("there is room");
    let (file, place) =
        (input.display().to_string(), folder.path().join("t.skn").display().to_string());
    let kinds = ["by the command", "sakuin, of an iterator", "sakuin, of columns of Arrow"];
    let (mut wall, mut cpu) = (vec![Vec::new(); kinds.len()], vec![Vec::new(); kinds.len()]);
    for _ in 0..ROUNDS {
        let (before, begun) = (children(), Instant::now());
        let arguments = ["pack", &file, "--content-type", "text", "--output", &place];
        let packed = Command::new(COMMAND).args(arguments).output().expect("the command is there");
        assert!(packed.status.success());
        wall[0].push(begun.elapsed().as_secs_f64());
        cpu[0].push(children() - before);
        for (at, kind) in ["iterator", "arrow"].into_iter().enumerate() {
            let figures = python(interpreter, &["pack", kind, &file, &place]);
            wall[at + 1].push(figure(&figures, "wall"));
            cpu[at + 1].push(figure(&figures, "cpu"));
        }
    }
    for (what, samples) in [("time", wall), ("CPU time", cpu)] {
        let row = format!("packing a million pairs, {what}");
        for (kind, samples) in kinds.iter().zip(&samples) {
            sampler.samples(&row, "s", kind, samples);
        }
        sampler.target_of_ratio(&row, kinds[1], 3.0, kinds[0]);
        sampler.target_of_ratio(&row, kinds[2], 1.3, kinds[0]);
    }
}

/// The processor time of all processes that have ended, in seconds.
fn children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux tells it");
    let after_name = stat.rsplit(')').next().expect("there is more");
    let fields = after_name.split_whitespace().skip(13).take(2);
    let ticks: f64 = fields.map(|field| field.parse::<f64>().expect("ticks are numbers")).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}
