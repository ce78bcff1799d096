//! Compiling rules into nodes: a trie of endings for each paradigm, then equal subtries merged.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::chain::Control;
use super::{Automaton, Node, Output, Symbol};
use crate::rules::{Reason, Rules, RulesError};

const SYMBOLS_MAX: usize = 127;
const NODES_MAX: usize = u16::MAX as usize;

pub(super) fn compile(rules: &Rules) -> Result<Automaton, RulesError> {
    let symbols = Symbols::new(rules);
    let mut nodes = Merged::default();
    let roots: Vec<u16> = tries(rules, &symbols).iter().map(|trie| nodes.add(trie)).collect();
    count("characters", symbols.count, SYMBOLS_MAX)?;
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
    let stems = rules.stem_places().map(|(paradigm, consumed)| {
        let down = |node, kana| automaton.child(node, automaton.symbol(kana));
        let node = consumed.chars().try_fold(roots[paradigm], down);
        node.expect("a stem lies on the endings of its paradigm")
    });
    automaton.stems = stems.collect();
    Ok(automaton)
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
        let used: BTreeSet<char> = rules.suffixes().iter().flat_map(|r| r.ending.chars()).collect();
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

#[derive(Default)]
struct Trie {
    children: BTreeMap<u8, Trie>,
    complete: BTreeSet<Complete>,
}

impl Trie {
    fn insert(&mut self, symbols: impl Iterator<Item = Symbol>, complete: Complete) {
        let mut trie = self;
        for symbol in symbols {
            trie = trie.children.entry(symbol.0).or_default();
        }
        trie.complete.insert(complete);
    }
}

/// The endings of each paradigm.
fn tries(rules: &Rules, symbols: &Symbols) -> Vec<Trie> {
    let mut tries: Vec<Trie> = rules.paradigms().iter().map(|_| Trie::default()).collect();
    for rule in rules.suffixes() {
        let trie = &mut tries[rule.paradigm];
        trie.insert(rule.ending.chars().map(|c| symbols.of(c)), (rule.reason, None));
        for then in &rule.then {
            let stem = rule.ending.strip_suffix(rules.paradigms()[*then].cut.as_str());
            let stem = stem.expect("an auxiliary ends as the paradigm that inflects it");
            trie.insert(stem.chars().map(|c| symbols.of(c)), (rule.reason, Some(*then)));
        }
    }
    tries
}

/// Nodes, each subtrie once.
#[derive(Default)]
struct Merged {
    nodes: Vec<Node>,
    children: Vec<u16>,
    outputs: Vec<Complete>,
    known: HashMap<(Vec<(u8, u16)>, Vec<Complete>), u16>,
}

impl Merged {
    fn add(&mut self, trie: &Trie) -> u16 {
        let children = trie.children.iter().map(|(symbol, child)| (*symbol, self.add(child)));
        let key = (children.collect::<Vec<_>>(), trie.complete.iter().copied().collect::<Vec<_>>());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let node = Node {
            next: key.0.iter().fold(0, |next, (symbol, _)| next | 1 << symbol),
            children: self.children.len() as u32,
            outputs: self.outputs.len() as u16,
            outputs_end: (self.outputs.len() + key.1.len()) as u16,
        };
        self.children.extend(key.0.iter().map(|(_, child)| child));
        self.outputs.extend(&key.1);
        self.nodes.push(node);
        let number = (self.nodes.len() - 1) as u16;
        self.known.insert(key, number);
        number
    }
}
