//! Scans of whole texts: the scan, the sub-dictionary of a page, the plain way in Rust and in Python.

use std::path::Path;
use std::process::Command;

use bench_sampler::{Sampler, thread_time};
use sakuin_japanese::dictionary::Dictionary;
use sakuin_japanese::sub_dictionary::Tier;
use sakuin_japanese::text::Text;
use serde_json::Value;

use crate::plain::Plain;
use crate::{EDICT, ENAMDICT, STORIES};

pub struct Sample {
    name: String,
    text: String,
}

/// From here on a text is long, and has the target of one.
const LONG_CHARACTERS: usize = 20_000;

pub fn texts(files: &[String]) -> Vec<Sample> {
    let read = |file: &String| {
        let text = std::fs::read_to_string(file).expect("the text can be read");
        let name = Path::new(file)
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into());
        Sample { name, text }
    };
    files.iter().map(read).collect()
}

/// The demo stories without markup, and ninety times as much.
pub fn demo_texts() -> Vec<Sample> {
    let stories = std::fs::read_to_string(STORIES).expect("the stories are there");
    let mut text = String::new();
    for line in stories.lines() {
        let story: Value = serde_json::from_str(line).expect("a story a line");
        let html = story["content"].as_str().expect("stories have content");
        for (at, part) in html.split("<rt>").enumerate() {
            let base =
                if at == 0 { part } else { part.split_once("</rt>").map_or("", |(_, rest)| rest) };
            let mut in_tag = false;
            text.extend(base.chars().filter(|&c| {
                in_tag = in_tag && c != '>' || c == '<';
                !in_tag && c != '>'
            }));
        }
        text.push('\n');
    }
    let story: String = text.chars().take(1000).collect();
    let long = text.repeat(90_000 / text.chars().count() + 1);
    [("demo stories", story), ("demo stories, repeated", long)]
        .map(|(name, text)| Sample { name: name.to_owned(), text })
        .into()
}

pub fn scans(sampler: &mut Sampler, dictionary: &Path, texts: &[Sample]) {
    let dictionary = Dictionary::open(dictionary).expect("it was packed");
    let plain = Plain::new(EDICT, ENAMDICT);
    for Sample { name, text } in texts {
        let characters = text.chars().count();
        let long = characters >= LONG_CHARACTERS;
        let rounds = if long { 5 } else { 400 };
        let prepared = [Text::plain(text)];
        let scan = || {
            let times =
                || (0..rounds).map(|_| dictionary.scan(&Text::plain(text)).expect("sound").len());
            thread_time(rounds, || times().sum::<usize>()) / 1e3
        };
        let page = || {
            let times = || {
                (0..rounds)
                    .map(|_| dictionary.sub_dictionary(&prepared, Tier::Page).expect("sound").len())
            };
            thread_time(rounds, || times().sum::<usize>()) / 1e3
        };
        let by_hand = || thread_time(1, || plain.scan(text)) / 1e3;
        let row = format!("scan, words and names: {name}, {characters} characters");
        sampler.row(
            &row,
            "µs",
            vec![
                ("sakuin", Box::new(scan)),
                ("plain deinflector and hash map, Rust", Box::new(by_hand)),
            ],
        );
        sampler.samples(
            &row,
            "µs",
            "plain deinflector and dict, Python, words alone",
            &[python(text) * 1e6],
        );
        sampler.target(&row, if long { 60_000.0 } else { 200.0 }, None);
        let row = format!("sub-dictionary of a page: {name}, {characters} characters");
        sampler.row(&row, "µs", vec![("sakuin", Box::new(page))]);
    }
    if let [.., long] = texts {
        linear(sampler, &dictionary, &long.text);
    }
}

/// Time a character over once, twice and four times the text: a scan is linear.
fn linear(sampler: &mut Sampler, dictionary: &Dictionary, text: &str) {
    let row = "scan of a long text, a character";
    let subjects =
        [("sakuin", 1), ("sakuin, twice the text", 2), ("sakuin, four times the text", 4)];
    let subjects = subjects.map(|(name, times)| {
        let text = text.repeat(times);
        let characters = text.chars().count();
        let scan = move || {
            thread_time(characters, || dictionary.scan(&Text::plain(&text)).expect("sound").len())
        };
        (name, Box::new(scan) as Box<dyn FnMut() -> f64>)
    });
    sampler.row(row, "ns", subjects.into());
}

/// CPU seconds of a scan by the plain deinflector in Python, EDICT alone.
fn python(text: &str) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let (rules, file) = (folder.path().join("rules.json"), folder.path().join("text.txt"));
    std::fs::write(&file, text).expect("the text can be written");
    let dump =
        ["run", "--quiet", "--release", "--package", "sakuin-japanese", "--example", "dump_rules"];
    let dumped = Command::new("cargo").current_dir("..").args(dump).output().expect("cargo runs");
    std::fs::write(&rules, dumped.stdout).expect("the rules can be written");
    let output = Command::new("python3")
        .arg("reader/deinflect.py")
        .args(["--dictionary", EDICT, "--rules"])
        .args([&rules, &file])
        .output()
        .expect("python3 runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("the script prints JSON");
    answer["cpu_seconds"].as_f64().expect("the script tells its time")
}
