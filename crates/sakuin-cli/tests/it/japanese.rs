//! `japanese pack`, `deinflect` and `scan`.

use serde_json::Value;

use crate::command::Folder;

const WORDS: &str =
    "食べる [たべる] /(v1,vt) to eat/(P)/\n猫 [ねこ] /(n) cat/(P)/\nno gloss here\n";
const NAMES: &str = "猫田 [ねこた] /(s) Nekota/\n";

fn folder() -> Folder {
    Folder::with(&[("words", WORDS), ("names", NAMES), ("text.txt", "猫田が食べた")])
}

#[test]
fn pack_names_what_it_leaves_out_and_strict_refuses_it() {
    let folder = folder();
    let pack = ["japanese", "pack", "--words", "words", "--names", "names", "-o", "j.skn"];
    let ran = folder.run(&pack);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: words:3: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 words, 1 names"), "{}", ran.stderr);
    let error = folder.refused(&[&pack[..], &["--strict"]].concat());
    assert!(error.contains("`words` has 1 lines that are not understood"), "{error}");
}

#[test]
fn scan_prints_matches_and_entries() {
    let folder = folder();
    folder.ok(&["japanese", "pack", "--words", "words", "--names", "names", "-o", "j.skn"]);
    let answer = folder.ok(&["japanese", "scan", "--dictionary", "j.skn", "text.txt"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["characters"], 6);
    let matches = answer["matches"].as_array().unwrap();
    let find = |surface: &str| matches.iter().find(|found| found["surface"] == surface).unwrap();
    assert_eq!(find("猫田")["kind"], "name");
    assert_eq!(find("食べた")["form"], "食べる");
    assert_eq!(find("食べた")["reasons"], serde_json::json!(["past"]));
    assert_eq!((&find("食べた")["start"], &find("食べた")["end"]), (&3.into(), &6.into()));
    let entry = &find("食べた")["entries"][0];
    let entries = answer["entries"].as_array().unwrap();
    let eat = entries.iter().find(|found| &found["id"] == entry).unwrap();
    assert_eq!(eat["senses"][0]["glosses"], serde_json::json!(["to eat"]));
    assert_eq!(eat["headwords"], serde_json::json!(["食べる"]));
    assert!(answer["licence"].as_str().unwrap().contains("Electronic Dictionary Research"));
    assert_eq!(answer["dictionaries"].as_array().unwrap().len(), 2);
}

#[test]
fn deinflect_reads_arguments_or_lines() {
    let folder = Folder::with(&[]);
    let of_arguments = folder.ok(&["japanese", "deinflect", "行った", "食べた"]);
    let of_lines = folder.run_with(&["japanese", "deinflect"], "行った\n食べた\n").stdout;
    assert_eq!(of_arguments, of_lines);
    let candidates: Vec<Value> =
        of_lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let go = |candidate: &&Value| candidate["form"] == "行く";
    let go = candidates.iter().find(go).unwrap();
    assert_eq!(go["word"], "行った");
    assert_eq!(go["reasons"], serde_json::json!(["past"]));
    assert!(go["classes"].as_array().unwrap().contains(&"v5k-s".into()));
    let ran = folder.run_with(&["japanese", "deinflect"], &"られ".repeat(50_000));
    assert_eq!(ran.code, 0);
}

#[test]
fn what_is_no_dictionary_is_refused() {
    let folder = folder();
    let error = folder.refused(&["japanese", "pack", "--words", "text.txt", "-o", "j.skn"]);
    assert!(error.contains("not a dictionary of a known format"), "{error}");
    let error = folder.refused(&["japanese", "scan", "--dictionary", "words", "text.txt"]);
    assert!(error.contains("not a packed table"), "{error}");
    std::fs::write(folder.path("i.json"), "{}").unwrap();
    folder.ok(&["pack", "i.json", "-o", "t.skn"]);
    let error = folder.refused(&["japanese", "scan", "--dictionary", "t.skn", "text.txt"]);
    assert!(error.contains("no Japanese dictionary") && error.contains("hint: "), "{error}");
}
