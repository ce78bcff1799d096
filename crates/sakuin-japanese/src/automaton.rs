//! The forward automaton: reads the kana after a stem and tells every way they inflect it.
//!
//! A paradigm is a small trie of its endings. Where the stem of an auxiliary that inflects in turn
//! has been read, a trail goes on in that auxiliary's paradigm as well, with one more link in its
//! chain. Equal subtries are stored once, whichever paradigm they belong to. A trail knows no words:
//! it carries the number its stem was begun with. Several trails live at once; how many at most is
//! proven by a test over all texts ([`TRAILS_PER_STEM_MAX`]).

mod chain;
mod compile;

use std::sync::LazyLock;

pub use chain::{ChainId, Chains};
use chain::{Control, Links};
use compile::Symbols;

use crate::rules::{Reason, Rules, RulesError, Stem, rules};

/// The rules compiled for reading forward.
pub struct Automaton {
    symbols: Symbols,
    nodes: Vec<Node>,
    children: Vec<u16>,
    outputs: Vec<Output>,
    stems: Vec<u16>,
    control: Control,
}

/// A character as the automaton knows it; 0 is every character that no inflection contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol(pub u8);

/// The live readings of the kana so far.
#[derive(Clone, Default)]
pub struct Trails {
    live: Vec<Trail>,
    accepted: Vec<(u32, ChainId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trail {
    links: Links,
    origin: u32,
    node: u16,
}

/// A place in the endings of one or more paradigms: which symbols may follow, and what ends here.
#[derive(Clone, Copy)]
struct Node {
    /// Bit n stands for symbol n; the children lie in the order of the bits.
    next: u128,
    children: u32,
    outputs: u16,
    outputs_end: u16,
}

/// A step that is complete at a node: the form may end here, or the paradigm at `onward` inflects it.
#[derive(Clone, Copy)]
struct Output {
    reason: Reason,
    onward: Option<u16>,
}

/// The automaton of the built-in rules, compiled at first use.
pub fn automaton() -> &'static Automaton {
    static AUTOMATON: LazyLock<Automaton> =
        LazyLock::new(|| Automaton::new(rules()).expect("the tables of this version are tested"));
    &AUTOMATON
}

impl Automaton {
    /// Compiles rules.
    ///
    /// # Errors
    /// [`RulesError::TooMany`] if the endings hold more than 127 different characters or 65,535 states.
    pub fn new(rules: &Rules) -> Result<Automaton, RulesError> {
        compile::compile(rules)
    }

    /// The symbol of a folded character.
    #[inline]
    pub fn symbol(&self, folded: char) -> Symbol {
        self.symbols.of(folded)
    }

    /// Adds the trail of a stem just read; `origin` comes back from [`Automaton::accepted`].
    #[inline]
    pub fn begin(&self, stem: Stem, origin: u32, trails: &mut Trails) {
        let node = self.stems[usize::from(stem.0)];
        let trail = Trail { links: Links::NONE, origin, node };
        self.arrive(trail, trails, &mut Chains::default());
    }

    /// Moves every trail of `from` over one character into `to`, which is cleared first.
    #[inline]
    pub fn step(&self, symbol: Symbol, from: &Trails, to: &mut Trails, chains: &mut Chains) {
        to.live.clear();
        to.accepted.clear();
        for trail in &from.live {
            if let Some(node) = self.child(trail.node, symbol) {
                self.arrive(Trail { node, ..*trail }, to, chains);
            }
        }
    }

    /// The trails at which a whole inflected form ends: origin and chain, never the empty chain.
    #[inline]
    pub fn accepted<'t>(&self, trails: &'t Trails) -> impl Iterator<Item = (u32, ChainId)> + 't {
        trails.accepted.iter().copied()
    }

    #[inline]
    fn child(&self, node: u16, symbol: Symbol) -> Option<u16> {
        let node = &self.nodes[usize::from(node)];
        let bit = 1u128 << symbol.0;
        if node.next & bit == 0 {
            return None;
        }
        let rank = (node.next & (bit - 1)).count_ones();
        Some(self.children[(node.children + rank) as usize])
    }

    fn arrive(&self, trail: Trail, trails: &mut Trails, chains: &mut Chains) {
        let node = &self.nodes[usize::from(trail.node)];
        if node.next != 0 {
            trails.go_on(trail);
        }
        for output in &self.outputs[usize::from(node.outputs)..usize::from(node.outputs_end)] {
            let Some(links) = self.control.extend(trail.links, output.reason) else { continue };
            match output.onward {
                None => trails.accept(trail.origin, chains.id(links)),
                Some(node) => self.arrive(Trail { links, node, ..trail }, trails, chains),
            }
        }
    }
}

impl Trails {
    /// Forgets every reading.
    pub fn clear(&mut self) {
        unimplemented!()
    }
    /// Whether no reading is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.accepted.is_empty()
    }

    /// How many readings are alive.
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Two ways through the rules with the same steps are one reading.
    fn accept(&mut self, origin: u32, chain: ChainId) {
        if !self.accepted.contains(&(origin, chain)) {
            self.accepted.push((origin, chain));
        }
    }

    fn go_on(&mut self, trail: Trail) {
        self.live.push(trail);
    }
}
