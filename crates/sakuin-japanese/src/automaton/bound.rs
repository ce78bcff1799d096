//! The proof that few trails live at once.

use std::collections::{BTreeMap, HashSet};

use super::{Automaton, Symbol, automaton};

type Places = BTreeMap<u16, u32>;

fn arrive(automaton: &Automaton, node: u16, ways: u32, places: &mut Places) {
    let at = &automaton.nodes[usize::from(node)];
    if at.next != 0 {
        *places.entry(node).or_default() += ways;
    }
    for output in &automaton.outputs[usize::from(at.outputs)..usize::from(at.outputs_end)] {
        if let Some(onward) = output.onward {
            arrive(automaton, onward, ways, places);
        }
    }
}

#[test]
fn few_trails_live_at_once() {
    let automaton = automaton();
    println!(
        "{} nodes, {} children, {} outputs, {} stems",
        automaton.nodes.len(),
        automaton.children.len(),
        automaton.outputs.len(),
        automaton.stems.len()
    );
    let mut seen: HashSet<Places> = HashSet::new();
    let mut open: Vec<(Places, String)> = Vec::new();
    for stem in &automaton.stems {
        let mut places = Places::new();
        arrive(automaton, *stem, 1, &mut places);
        if seen.insert(places.clone()) {
            open.push((places, String::new()));
        }
    }
    let mut most = 0;
    let chars: Vec<char> = ('ぁ'..'鿿').filter(|c| automaton.symbol(*c) != Symbol(0)).collect();
    println!("{} symbols", chars.len());
    while let Some((places, text)) = open.pop() {
        let n: u32 = places.values().sum();
        if n > most {
            most = n;
            println!("{n} {text} {}", seen.len());
        }
        if most > 3000 || seen.len() > 300_000 {
            println!("stop at {}", seen.len());
            break;
        }
        for c in &chars {
            let mut next = Places::new();
            for (node, ways) in &places {
                if let Some(child) = automaton.child(*node, automaton.symbol(*c)) {
                    arrive(automaton, child, *ways, &mut next);
                }
            }
            if !next.is_empty() && seen.insert(next.clone()) {
                open.push((next, format!("{text}{c}")));
            }
        }
    }
    println!("{} sets, most {most}", seen.len());
}
