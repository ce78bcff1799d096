//! The automaton against the oracle: two engines, one truth.
//!
//! For a string, the oracle strips endings from its end; the automaton reads it from every stem that any
//! word could put at its beginning. Both must find the same forms, classes and chains.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sakuin_japanese::automaton::{Automaton, Chains, Trails, automaton};
use sakuin_japanese::deinflect::{Deinflector, Reading};
use sakuin_japanese::rules::{Place, Rules, rules};

#[test]
fn agrees_with_the_oracle_on_random_strings() {
    agree(20_000);
}

#[test]
#[ignore = "the long run: some minutes"]
fn agrees_with_the_oracle_on_a_million_random_strings() {
    agree(1_000_000);
}

/// Every part of up to sixteen characters of the texts that `SAKUIN_TEXTS` names, separated by spaces.
#[test]
#[ignore = "reads texts named by SAKUIN_TEXTS"]
fn agrees_with_the_oracle_on_texts() {
    let oracle = Deinflector::new(rules());
    let files = std::env::var("SAKUIN_TEXTS").expect("SAKUIN_TEXTS names files");
    let mut seen = BTreeSet::new();
    for file in files.split_whitespace() {
        let text = sakuin_japanese::fold::fold(&std::fs::read_to_string(file).unwrap());
        let characters: Vec<char> = text.chars().collect();
        for start in 0..characters.len() {
            for end in start + 1..=characters.len().min(start + 16) {
                let part: String = characters[start..end].iter().collect();
                if seen.insert(part.clone()) {
                    check(rules(), automaton(), &oracle, &part);
                }
            }
        }
    }
    println!("{} parts", seen.len());
}

/// Words at the edges of the control of chains, and of classes whose words may vanish with their cut.
#[test]
fn agrees_with_the_oracle_on_authored_words() {
    let oracle = Deinflector::new(rules());
    let words = [
        ("食べさせられたくなかった", "食べる", true),
        ("勉強していませんでした", "勉強", true),
        ("来なければ", "来る", true),
        ("なさそうでなければ", "ない", false),
        ("ござりますまい", "ござる", true),
        ("飲んでみてしまっている", "飲む", true),
        ("飲んでみておいてしまっている", "飲む", false),
        ("飲ませてしまわせていた", "飲む", true),
        ("飲ませすぎさせる", "飲む", true),
        ("書かせさせる", "書く", false),
        ("飲ませていてしまっていた", "飲む", false),
        ("飲ませていてしまっていてしまった", "飲む", false),
        ("飲ませられすぎてしまいたがりません", "飲む", true),
        ("飲ませられすぎてしまいたがりませんでした", "飲む", false),
    ];
    for (word, form, is_read) in words {
        let found = oracle.readings(word);
        assert_eq!(found.iter().any(|r| r.form == form), is_read, "{word}: {found:?}");
        check(rules(), automaton(), &oracle, word);
    }
}

fn agree(cases: u32) {
    let oracle = Deinflector::new(rules());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&surfaces(rules()), |surface| {
            check(rules(), automaton(), &oracle, &surface);
            Ok(())
        })
        .unwrap();
}

/// Strings that look inflected: a beginning, then endings and parts of endings, and sometimes a slip.
fn surfaces(rules: &Rules) -> impl Strategy<Value = String> + use<> {
    let endings: BTreeSet<String> = rules.suffixes().iter().map(|r| r.ending.clone()).collect();
    let endings: Vec<String> = endings.into_iter().collect();
    let cuts: Vec<String> = rules.paradigms().iter().map(|p| p.cut.clone()).collect();
    let kana: Vec<String> = ('ぁ'..='ん').chain("来過得ー食".chars()).map(String::from).collect();
    let beginning = prop::sample::select(vec!["", "食", "か", "あ", "こ", "泳", "とする", "勉強"]);
    let ending = prop::sample::select(endings);
    let piece = prop_oneof![
        8 => ending.clone(),
        4 => (ending, 1..3_usize).prop_map(|(ending, drop)| {
            let kept = ending.chars().count().saturating_sub(drop);
            ending.chars().take(kept).collect()
        }),
        1 => prop::sample::select(cuts),
        1 => prop::sample::select(kana),
    ];
    (beginning, prop::collection::vec(piece, 1..5))
        .prop_map(|(beginning, pieces)| format!("{beginning}{}", pieces.concat()))
}

fn check(rules: &Rules, automaton: &Automaton, oracle: &Deinflector<'_>, surface: &str) {
    let stripped: BTreeSet<Reading> = oracle.readings(surface).into_iter().collect();
    let read = forward(rules, automaton, surface);
    let (oracle_only, automaton_only): (Vec<_>, Vec<_>) =
        (stripped.difference(&read).collect(), read.difference(&stripped).collect());
    assert!(
        oracle_only.is_empty() && automaton_only.is_empty(),
        "{surface}: only the oracle finds {oracle_only:?}, only the automaton {automaton_only:?}"
    );
}

/// Every reading of the whole string by the automaton, from every stem of every possible word.
fn forward(rules: &Rules, automaton: &Automaton, surface: &str) -> BTreeSet<Reading> {
    let mut words = BTreeSet::new();
    for paradigm in rules.paradigms().iter().filter(|p| rules.tag(p.class).is_some()) {
        for (end, _) in surface.char_indices().chain([(surface.len(), ' ')]) {
            if end == 0 || paradigm.place != Place::Whole {
                words.insert((paradigm.class, format!("{}{}", &surface[..end], paradigm.cut)));
            }
        }
    }
    let mut readings = BTreeSet::new();
    for (class, form) in words {
        for (text, stem) in rules.stems(class, &form) {
            let Some(rest) = surface.strip_prefix(&text) else { continue };
            let (mut chains, mut trails, mut next) =
                (Chains::default(), Trails::default(), Trails::default());
            automaton.begin(stem, 7, &mut trails);
            for kana in rest.chars() {
                automaton.step(automaton.symbol(kana), &trails, &mut next, &mut chains);
                std::mem::swap(&mut trails, &mut next);
            }
            for (origin, chain) in automaton.accepted(&trails) {
                assert_eq!(origin, 7);
                let reasons = chains.reasons(chain);
                assert_eq!(reasons.len(), chains.length(chain));
                let reading = Reading { form: form.clone(), class, reasons };
                assert!(readings.insert(reading), "{surface}: {form} is read twice");
            }
        }
    }
    readings
}
