//! The proof of [`TRAILS_PER_STEM_MAX`]: every set of trails that any text can bring about is visited.
//!
//! Chains are left out, which can only make more trails live. What remains of a set is how many trails
//! stand at each node, and of such sets there are only some hundreds, unless the tables hold two ways to
//! take the same step over and over, each doubling the trails: then there is no end, and the test fails.

use std::collections::{BTreeMap, HashSet};

use super::{Automaton, Symbol, TRAILS_PER_STEM_MAX, automaton};

/// How many trails stand at each node.
type Places = BTreeMap<u16, usize>;

#[test]
fn no_text_makes_more_trails_live() {
    let automaton = automaton();
    let begin = |stem: &super::Beginning| {
        let mut places = Places::new();
        arrive(automaton, stem.node, 1, &mut places);
        places
    };
    let mut open: Vec<Places> = automaton.stems.iter().map(begin).collect();
    let mut seen: HashSet<Places> = HashSet::new();
    let mut most = 0;
    while let Some(places) = open.pop() {
        if places.is_empty() || !seen.insert(places.clone()) {
            continue;
        }
        most = most.max(places.values().sum());
        assert!(most <= TRAILS_PER_STEM_MAX, "{most} trails at {places:?}");
        open.extend((1..128).map(|symbol| step(automaton, Symbol(symbol), &places)));
    }
    assert_eq!(most, TRAILS_PER_STEM_MAX);
    assert!(seen.len() > 100);
}

fn step(automaton: &Automaton, symbol: Symbol, from: &Places) -> Places {
    let mut to = Places::new();
    for (node, trails) in from {
        if let Some(child) = automaton.child(*node, symbol) {
            arrive(automaton, child, *trails, &mut to);
        }
    }
    to
}

fn arrive(automaton: &Automaton, node: u16, trails: usize, places: &mut Places) {
    let at = &automaton.nodes[usize::from(node)];
    if at.next != [0; 2] {
        *places.entry(node).or_default() += trails;
    }
    let outputs = &automaton.outputs[usize::from(at.outputs)..usize::from(at.outputs_end)];
    for onward in outputs.iter().filter_map(|output| output.onward) {
        arrive(automaton, onward, trails, places);
    }
}
