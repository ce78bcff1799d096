//! The tables: every line earns its place, and what they refuse.

use sakuin_japanese::deinflect::{Deinflector, Reading};
use sakuin_japanese::rules::{AUXILIARIES, CLASSES, Reason, Rules, RulesError, Stem, rules};

use crate::cases::cases;

const ROWS: &str = include_str!("../data/rows.tsv");

#[test]
fn every_line_of_the_tables_has_a_case() {
    let mut missing: Vec<String> = lines(CLASSES).chain(lines(AUXILIARIES)).map(row).collect();
    for case in cases(ROWS) {
        let at = missing.iter().position(|row| row == case[0]);
        missing.remove(at.unwrap_or_else(|| panic!("no line `{}` in the tables", case[0])));
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_line_reads_its_case_and_refuses_its_near_miss() {
    let rules = Rules::parse(CLASSES, AUXILIARIES).unwrap();
    let failures = failures(&rules, true);
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Takes away one line of the tables at a time: its own case, at least, must break.
#[test]
fn no_line_can_be_taken_away() {
    let mut idle = Vec::new();
    for (classes, line) in without_each(CLASSES) {
        let broken = Rules::parse(&classes, AUXILIARIES).map(|rules| failures(&rules, false));
        idle.extend(broken.is_ok_and(|broken| !broken.contains(&row(&line))).then_some(line));
    }
    for (auxiliaries, line) in without_each(AUXILIARIES) {
        let broken = Rules::parse(CLASSES, &auxiliaries).map(|rules| failures(&rules, false));
        idle.extend(broken.is_ok_and(|broken| !broken.contains(&row(&line))).then_some(line));
    }
    assert_eq!(idle, [""; 0]);
}

/// The rows whose case is not read, or whose near miss is.
fn failures(rules: &Rules, near_misses: bool) -> Vec<String> {
    let deinflector = Deinflector::new(rules);
    let mut failures = Vec::new();
    for case in cases(ROWS) {
        let &[row, surface, form, class, steps, near_miss] = case.as_slice() else {
            panic!("{case:?}");
        };
        let is_word =
            |reading: &Reading| reading.form == form && rules.tag(reading.class) == Some(class);
        let is_case = |reading: &Reading| {
            let labels = reading.reasons.iter().map(|reason| rules.label(*reason));
            is_word(reading) && labels.eq(steps.split("; "))
        };
        let missed = near_misses && deinflector.readings(near_miss).iter().any(is_word);
        if !deinflector.readings(surface).iter().any(is_case) || missed {
            failures.push(row.to_owned());
        }
    }
    failures
}

fn lines(table: &str) -> impl Iterator<Item = &str> {
    let is_row = |line: &&str| !line.starts_with('#') && !line.is_empty() && !header(line);
    table.lines().filter(is_row)
}

fn header(line: &str) -> bool {
    line.starts_with("class\t") || line.starts_with("base\t")
}

/// The table without each of its lines, and that line.
fn without_each(table: &str) -> impl Iterator<Item = (String, String)> {
    lines(table).map(|line| (table.replacen(&format!("{line}\n"), "", 1), line.to_owned()))
}

/// The first two cells.
fn row(line: impl AsRef<str>) -> String {
    line.as_ref().split('\t').take(2).collect::<Vec<_>>().join(" ")
}

/// The list of steps in the reference is made from the tables and their cases. `SAKUIN_UPDATE=1` makes it anew.
#[test]
fn the_reference_lists_every_step() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/inflection.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- steps -->\n").unwrap();
    let (listed, after) = rest.split_once("<!-- /steps -->").unwrap();
    let list = list_of_steps();
    if std::env::var_os("SAKUIN_UPDATE").is_some() {
        let page = format!("{before}<!-- steps -->\n{list}<!-- /steps -->{after}");
        std::fs::write(path, page).unwrap();
    } else {
        assert!(listed == list, "the list of steps is old: run with SAKUIN_UPDATE=1");
    }
}

fn list_of_steps() -> String {
    let rules = Rules::parse(CLASSES, AUXILIARIES).unwrap();
    let mut list = String::from("| step | 日本語 | example |\n| --- | --- | --- |\n");
    for reason in rules.reasons() {
        let label = rules.label(reason);
        let has_step = |case: &Vec<&str>| case[4].split("; ").last() == Some(label);
        let example = cases(ROWS).find(has_step).unwrap_or_else(|| panic!("no case of {label}"));
        let label_ja = rules.label_ja(reason);
        list += &format!("| {label} | {label_ja} | {} ← {} |\n", example[1], example[2]);
    }
    list
}

#[test]
fn stems_are_what_the_trie_holds() {
    let stems = |tag: &str, word: &str| {
        let stems = rules().stems(rules().class(tag).unwrap(), word);
        let named = stems.iter().map(|(text, stem)| format!("{text} {}", rules().stem_name(*stem)));
        named.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(stems("v1", "食べる"), "食べ v1");
    assert_eq!(stems("vs", "勉強"), "勉強 vs");
    assert_eq!(stems("vk", "來る"), "來 vk/來る/來");
    assert_eq!(stems("vk", "持って来る"), "持って来 vk/来る/来");
    assert_eq!(stems("vk", "くる"), "き vk/くる/き, く vk/くる/く, け vk/くる/け, こ vk/くる/こ");
    assert_eq!(stems("vs-i", "とする"), "と vs-i");
    assert_eq!(stems("adj-i", "ありがたい"), "ありがた adj-i, ありが adj-i/たい");
    assert_eq!(stems("adj-i", "ない"), "な adj-i/ない/な, ね adj-i/ない/ね, の adj-i/ない/の");
    assert_eq!(stems("v5k", "食べる"), "");
    assert_eq!(stems("v1", "る"), "");
    assert_eq!(stems("v1", ""), "");
}

#[test]
fn stems_and_classes_are_found_by_name() {
    let mut count = 0;
    for number in 0..=u8::MAX {
        let Some(name) = rules().stem_names().nth(usize::from(number)) else { break };
        assert_eq!(rules().stem(name), Some(Stem(number)), "{name}");
        count += 1;
    }
    assert!(count > 100);
    assert_eq!(rules().stem("no such stem"), None);
    assert_eq!(rules().class("n"), None);
    assert_eq!(rules().class("(ます)"), None);
    assert_eq!(rules().class("v5k").and_then(|class| rules().tag(class)), Some("v5k"));
}

#[test]
fn chains_hold_eight_steps_and_three_auxiliaries_of_te_and_no_step_twice() {
    let reason = |label: &str| rules().reasons().find(|reason| rules().label(*reason) == label);
    let admits = |labels: &[&str]| {
        let chain: Vec<Reason> = labels.iter().map(|label| reason(label).unwrap()).collect();
        rules().admits(&chain)
    };
    assert!(admits(&["causative", "completion", "causative"]));
    assert!(admits(&["passive", "too much", "passive"]));
    assert!(!admits(&["causative", "polite", "causative"]));
    assert!(!admits(&["causative", "completion", "causative", "causative"]));
    assert!(!admits(&["completion", "causative", "completion"]));
    assert!(!admits(&["negative", "completion", "negative"]));
    assert!(admits(&["trying", "completion", "progressive"]));
    assert!(!admits(&["trying", "completion", "in advance", "progressive"]));
    let eight =
        ["causative", "passive", "too much", "completion", "desiderative", "negative", "past"];
    let eight = [eight.as_slice(), &["polite (desu)"]].concat();
    assert!(admits(&eight));
    assert!(!admits(&[eight.as_slice(), &["conjecture"]].concat()));
}

#[test]
fn bad_tables_are_refused_by_line() {
    let classes = "class\tcut\tplain\tbare\nv1\t〜る\tる\t∅\n";
    let auxiliaries = |line: &str| format!("base\tsurface\tclass\treason\tlabel\tkind\n{line}\n");
    let refusal = |classes: &str, line: &str| match Rules::parse(classes, &auxiliaries(line)) {
        Ok(_) => panic!("accepted: {line}"),
        Err(refusal) => refusal,
    };
    let good = "bare\tたい\t-\tdesiderative\t希望\t-";
    assert!(Rules::parse(classes, &auxiliaries(good)).is_ok());

    let short = refusal(&format!("{classes}v5k\t〜く\n"), good);
    assert!(matches!(short, RulesError::Cells { line: 3, found: 2, expected: 4, .. }), "{short}");
    let headless = refusal("v1\t〜る\tる\t∅\n", good);
    assert!(matches!(headless, RulesError::NoHeader { line: 1, .. }), "{headless}");
    let base = refusal(classes, "stem\tたい\t-\tdesiderative\t希望\t-");
    assert!(matches!(base, RulesError::Base { line: 2, .. }), "{base}");
    let then = refusal(classes, "bare\tたい\tv1\tdesiderative\t希望\t-");
    assert!(matches!(then, RulesError::Then { line: 2, .. }), "{then}");
    let kind = refusal(classes, "bare\tたい\t-\tdesiderative\t希望\tmood");
    assert!(matches!(kind, RulesError::Kind { line: 2, .. }), "{kind}");
    let label = refusal(classes, &format!("{good}\nbare\tたし\t-\tdesiderative\t願望\t-"));
    assert!(matches!(label, RulesError::Reason { line: 3, .. }), "{label}");
    let endless = refusal(classes, "plain\t∅\tv1\tagain\t又\t-");
    assert!(matches!(endless, RulesError::Then { .. } | RulesError::Empty { .. }), "{endless}");
}
