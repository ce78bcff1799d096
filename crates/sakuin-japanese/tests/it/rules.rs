//! The tables: every line earns its place, and what they refuse.

use sakuin_japanese::deinflect::{Deinflector, Reading};
use sakuin_japanese::rules::{AUXILIARIES, CLASSES, Rules};

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
