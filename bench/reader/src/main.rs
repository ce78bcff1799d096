//! Measures the scan beside plain ways to do the same, and the reading site under load.
//!
//! `cargo run --release -p bench-reader -- DATE OUTPUT.jsonl [TEXT…]`, from the folder `bench`, after `make build` and with
//! Debian's `edict`, `enamdict`, `kanjidic`, `python3` and `wrk` installed. Texts are UTF-8 files; without any, the demo
//! stories are scanned, once and ninety times over.

mod plain;
mod scan;
mod site;

use std::path::{Path, PathBuf};
use std::process::Command;

use bench_sampler::Sampler;

pub const EDICT: &str = "/usr/share/edict/edict";
pub const ENAMDICT: &str = "/usr/share/edict/enamdict";
pub const KANJIDIC: &str = "/usr/share/edict/kanjidic";
pub const SAKUIN: &str = "../target/release/sakuin";
pub const STORIES: &str = "../examples/reader/stories.jsonl";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [date, output, texts @ ..] = arguments.as_slice() else {
        eprintln!("usage: bench-reader DATE OUTPUT.jsonl [TEXT…]");
        std::process::exit(2);
    };
    let mut sampler = Sampler::new("reader", date);
    let folder = tempfile::tempdir().expect("a folder");
    let dictionary = folder.path().join("japanese.skn");
    pack(&mut sampler, &dictionary);
    let texts = if texts.is_empty() { scan::demo_texts() } else { scan::texts(texts) };
    scan::scans(&mut sampler, &dictionary, &texts);
    site::site(&mut sampler, folder.path(), &dictionary);
    std::fs::write(output, sampler.lines()).expect("the output can be written");
}

/// Packs all three dictionaries by the command, as a user would, and notes how long that takes.
fn pack(sampler: &mut Sampler, dictionary: &Path) {
    let row = "pack EDICT, ENAMDICT and KANJIDIC";
    let mut seconds = Vec::new();
    for _ in 0..3 {
        let mut command = Command::new(SAKUIN);
        command
            .args(["japanese", "pack", "--words", EDICT, "--names", ENAMDICT, "--kanji", KANJIDIC]);
        seconds.push(site::cpu_seconds_of(command.arg("--output").arg(dictionary)));
    }
    sampler.samples(row, "s", "sakuin", &seconds);
    let megabytes = dictionary.metadata().expect("it was packed").len() as f64 / 1e6;
    sampler.samples("file of all three dictionaries", "MB", "sakuin", &[megabytes]);
    let text: PathBuf = dictionary.with_file_name("hello.txt");
    std::fs::write(&text, "本を読んでいます。").expect("the text can be written");
    let first_answer = || {
        let mut command = Command::new(SAKUIN);
        command.args(["japanese", "scan", "--dictionary"]).arg(dictionary).arg(&text);
        site::cpu_seconds_of(&mut command) * 1e3
    };
    sampler.row(
        "a fresh process, from start to first answer",
        "ms",
        vec![("sakuin", Box::new(first_answer))],
    );
}
