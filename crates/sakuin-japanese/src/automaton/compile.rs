//! Compiling rules into nodes: a trie of endings for each paradigm, then equal subtries merged.

use std::collections::{BTreeSet, HashMap};

use super::chain::{Chains, Control, Links};
use super::{Automaton, Beginning, Node, Output, Symbol, Trail, Trails};
use crate::rules::{Reason, Rules, RulesError};

const SYMBOLS_MAX: usize = 127;
const NODES_MAX: usize = u16::MAX as usize;

pub(super) fn compile(rules: &Rules) -> Result<Automaton, RulesError> {
    let symbols = Symbols::new(rules);
    count("characters", symbols.count, SYMBOLS_MAX)?;
    let mut nodes = Merged::default();
    let mut roots = Vec::new();
    let endings = endings(rules, &symbols)?;
    for of_paradigm in endings.chunk_by(|a, b| a.paradigm == b.paradigm) {
        roots.resize(of_paradigm[0].paradigm + 1, 0);
        roots[of_paradigm[0].paradigm] = nodes.add(of_paradigm, 0);
    }
    roots.resize(rules.paradigms().len(), nodes.add(&[], 0));
    count("states", nodes.nodes.len().max(nodes.outputs.len()), NODES_MAX)?;
    let onward = |(reason, paradigm): (Reason, Option<usize>)| Output {
        reason,
        onward: paradigm.map(|paradigm| roots[paradigm]),
    };
    let mut automaton = Automaton {
        nodes: nodes.nodes,
        children: nodes.children,
        outputs: nodes.outputs.into_iter().map(onward).collect(),
        stems: Vec::new(),
        control: Control::new(rules),
        symbols,
    };
    let mut chains = Chains::default();
    let mut beginning = |(paradigm, consumed): (usize, &str)| {
        let down = |node, kana| automaton.child(node, automaton.symbol(kana));
        let node = consumed.chars().try_fold(roots[paradigm], down);
        let node = node.expect("a stem lies on the endings of its paradigm");
        automaton.beginning(node, &mut chains)
    };
    let stems = rules.stem_places().map(&mut beginning).collect::<Result<_, _>>()?;
    automaton.stems = stems;
    Ok(automaton)
}

impl Automaton {
    /// Arrives at a stem once and for all. Every scan shares the result, and so its chains must be short
    /// enough to spell themselves.
    fn beginning(&self, node: u16, chains: &mut Chains) -> Result<Beginning, RulesError> {
        let mut trails = Trails::default();
        self.arrive(Trail { links: Links::NONE, origin: 0, node }, &mut trails, chains);
        count("long chains at stems", chains.long(), 0)?;
        let bare = trails.accepted.iter().map(|(_, chain)| *chain).collect();
        let mut worth = if trails.accepted.is_empty() { [0; 2] } else { [u64::MAX; 2] };
        for trail in &trails.live {
            let next = self.nodes[usize::from(trail.node)].next;
            worth = [worth[0] | next[0], worth[1] | next[1]];
        }
        let more = trails.live.iter().filter(|trail| trail.links != Links::NONE);
        let more = more.map(|trail| (trail.links, trail.node)).collect();
        Ok(Beginning { node, worth, bare, more })
    }
}

fn count(what: &'static str, found: usize, most: usize) -> Result<(), RulesError> {
    if found <= most { Ok(()) } else { Err(RulesError::TooMany { what, found, most }) }
}

/// The symbol of each character that endings contain, numbered from 1.
pub(super) struct Symbols {
    kana: [u8; KANA],
    others: Vec<(char, u8)>,
    count: usize,
}

const KANA: usize = 0x60;
const KANA_FIRST: u32 = 0x3040;

impl Symbols {
    fn new(rules: &Rules) -> Symbols {
        // Not collected, which would sort some ten thousand characters to find a hundred.
        let mut used = BTreeSet::new();
        used.extend(rules.suffixes().iter().flat_map(|rule| rule.ending.chars()));
        let mut symbols = Symbols { kana: [0; KANA], others: Vec::new(), count: used.len() };
        for (number, character) in (1..).zip(used.into_iter().take(SYMBOLS_MAX)) {
            match kana(character) {
                Some(kana) => symbols.kana[kana] = number,
                None => symbols.others.push((character, number)),
            }
        }
        symbols
    }

    #[inline]
    pub(super) fn of(&self, character: char) -> Symbol {
        if let Some(kana) = kana(character) {
            return Symbol(self.kana[kana]);
        }
        let found = self.others.binary_search_by_key(&character, |(other, _)| *other);
        Symbol(found.map_or(0, |at| self.others[at].1))
    }
}

#[inline]
fn kana(character: char) -> Option<usize> {
    let at = (character as u32).wrapping_sub(KANA_FIRST) as usize;
    (at < KANA).then_some(at)
}

/// What is complete at a place: a reason, and the paradigm that goes on from there, or none at the end
/// of a form.
type Complete = (Reason, Option<usize>);

/// A way through a paradigm: the symbols read, 0 from its end on, and what is then complete.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    paradigm: usize,
    symbols: [u8; ENDING_MAX + 1],
    complete: Complete,
}

/// The most characters in an ending.
const ENDING_MAX: usize = 15;

/// The endings of all paradigms, in order, each once.
fn endings(rules: &Rules, symbols: &Symbols) -> Result<Vec<Ending>, RulesError> {
    let mut endings = Vec::new();
    for rule in rules.suffixes() {
        let mut symbols_read = [0; ENDING_MAX + 1];
        let characters = rule.ending.chars().count();
        count("characters in an ending", characters, ENDING_MAX)?;
        for (read, character) in symbols_read.iter_mut().zip(rule.ending.chars()) {
            *read = symbols.of(character).0;
        }
        let mut push = |characters: usize, then| {
            let mut symbols = symbols_read;
            symbols[characters..].fill(0);
            let (paradigm, complete) = (rule.paradigm, (rule.reason, then));
            endings.push(Ending { paradigm, symbols, complete });
        };
        push(characters, None);
        for then in &rule.then {
            let cut = rules.paradigms()[*then].cut.chars().count();
            push(characters - cut, Some(*then));
        }
    }
    endings.sort_unstable();
    endings.dedup();
    Ok(endings)
}

/// Nodes, each once.
#[derive(Default)]
struct Merged {
    nodes: Vec<Node>,
    children: Vec<u16>,
    outputs: Vec<Complete>,
    known: HashMap<NodeKey, u16>,
}

/// The children of a node by symbol, and what is complete there.
type NodeKey = (Vec<(u8, u16)>, Vec<Complete>);

impl Merged {
    /// The node behind the first `depth` symbols, which all these endings share.
    fn add(&mut self, endings: &[Ending], depth: usize) -> u16 {
        let ended = endings.partition_point(|ending| ending.symbols[depth] == 0);
        let (ended, going_on) = endings.split_at(ended);
        let by_symbol = going_on.chunk_by(|a, b| a.symbols[depth] == b.symbols[depth]);
        let children = by_symbol.map(|same| (same[0].symbols[depth], self.add(same, depth + 1)));
        let key = (children.collect::<Vec<_>>(), ended.iter().map(|e| e.complete).collect());
        *self.known.entry(key).or_insert_with_key(|(children, complete)| {
            let (first_child, first_output) = (self.children.len(), self.outputs.len());
            self.children.extend(children.iter().map(|(_, child)| child));
            self.outputs.extend(complete);
            self.nodes.push(Node {
                next: [0, 64].map(|first| {
                    let bits = children.iter().filter(|(symbol, _)| symbol & 64 == first);
                    bits.fold(0, |next, (symbol, _)| next | 1 << (symbol & 63))
                }),
                children: first_child as u32,
                outputs: first_output as u16,
                outputs_end: self.outputs.len() as u16,
            });
            (self.nodes.len() - 1) as u16
        })
    }
}
