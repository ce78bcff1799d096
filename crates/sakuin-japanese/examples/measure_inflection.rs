//! Measures the rules: how many forms of a case file they read, or how fast the automaton steps.
//!
//! `cases FILE` reads tab-separated lines: surface, dictionary form, class tags joined by `|` (none: any).
//! `speed FILE` begins stems of six common classes at every character of a text and steps to their ends.

use std::hint::black_box;
use std::time::Instant;

use sakuin_japanese::automaton::{Automaton, Chains, Trails};
use sakuin_japanese::deinflect::deinflect;
use sakuin_japanese::fold::fold_char;
use sakuin_japanese::rules::{AUXILIARIES, CLASSES, Rules};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, file] = arguments.as_slice() else { panic!("usage: cases|speed FILE") };
    let text = std::fs::read_to_string(file).expect("a file of UTF-8 text");
    match mode.as_str() {
        "cases" => cases(&text),
        "speed" => speed(&text),
        _ => panic!("usage: cases|speed FILE"),
    }
}

fn cases(text: &str) {
    let (mut read, mut count) = (0, 0);
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().unwrap_or("");
        let (surface, form, classes) = (cell(), cell(), cell());
        let has_class = |tag: &&str| classes.is_empty() || classes.split('|').any(|c| c == *tag);
        let found = deinflect(surface);
        count += 1;
        if found.iter().any(|i| i.form == form && i.classes.iter().any(has_class)) {
            read += 1;
        } else {
            println!("not read: {line}");
        }
    }
    println!("{read} of {count} read");
}

fn speed(text: &str) {
    let best = |work: &dyn Fn()| {
        let time = |_| {
            let started = Instant::now();
            work();
            started.elapsed()
        };
        (0..50).map(time).min()
    };
    let parse = || Rules::parse(CLASSES, AUXILIARIES).expect("the built-in tables");
    let rules = parse();
    let compile = || Automaton::new(&rules).expect("the built-in tables");
    let automaton = compile();
    println!(
        "{} suffix rules; tables read in {:?}",
        rules.suffixes().len(),
        best(&|| drop(parse()))
    );
    println!("{automaton:?} compiled in {:?}", best(&|| drop(compile())));

    let symbols: Vec<_> = text.chars().map(|c| automaton.symbol(fold_char(c))).collect();
    let stems =
        ["v1", "v5r", "v5k", "v5u", "vs", "adj-i"].map(|name| rules.stem(name).expect(name));
    for _ in 0..3 {
        let (mut chains, mut trails, mut next) =
            (Chains::default(), Trails::default(), Trails::default());
        let (mut steps, mut accepted) = (0_u64, 0_u64);
        let started = Instant::now();
        for start in 0..symbols.len() {
            trails.clear();
            for (origin, stem) in (0..).zip(stems) {
                automaton.begin(stem, origin, &mut trails);
            }
            for symbol in &symbols[start..] {
                automaton.step(*symbol, &trails, &mut next, &mut chains);
                std::mem::swap(&mut trails, &mut next);
                accepted += automaton.accepted(&trails).map(black_box).count() as u64;
                steps += 1;
                if trails.is_empty() {
                    break;
                }
            }
        }
        let nanoseconds = started.elapsed().as_nanos() as f64;
        println!(
            "{:.1} ns a character with {} stems, {:.1} ns a step, {steps} steps, {accepted} accepted",
            nanoseconds / symbols.len() as f64,
            stems.len(),
            nanoseconds / steps as f64,
        );
    }
}
