//! The forward automaton: reads the kana after a stem and tells every way they inflect it.
//!
//! A paradigm is a small trie of its endings. Where the stem of an auxiliary that inflects in turn
//! has been read, a trail goes on in that auxiliary's paradigm as well, with one more link in its
//! chain. Equal subtries are stored once, whichever paradigm they belong to. A trail knows no words:
//! it carries the number its stem was begun with. Several trails live at once; how many at most is
//! proven by a test over all texts ([`TRAILS_PER_STEM_MAX`]).

#[cfg(test)]
mod bound;
mod chain;
mod compile;

use std::fmt;
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
    stems: Vec<Beginning>,
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
    next: [u64; 2],
    children: u32,
    outputs: u16,
    outputs_end: u16,
}

/// A stem as a trail begins with it.
#[derive(Clone)]
struct Beginning {
    node: u16,
    /// The chains with which the bare stem is a form of its own.
    bare: Box<[ChainId]>,
    /// Where other paradigms go on at the end of the stem: 勉強 may be followed by する.
    more: Box<[(Links, u16)]>,
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
        let Beginning { node, bare, more } = &self.stems[usize::from(stem.0)];
        trails.live.push(Trail { links: Links::NONE, origin, node: *node });
        for chain in bare {
            trails.accepted.push((origin, *chain));
        }
        for (links, node) in more {
            trails.live.push(Trail { links: *links, origin, node: *node });
        }
    }

    /// Moves every trail of `from` over one character into `to`, which is cleared first.
    #[inline]
    pub fn step(&self, symbol: Symbol, from: &Trails, to: &mut Trails, chains: &mut Chains) {
        to.clear();
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
        let Node { next, children, .. } = &self.nodes[usize::from(node)];
        let (word, bit) = (usize::from(symbol.0 >> 6 & 1), 1_u64 << (symbol.0 & 63));
        if next[word] & bit == 0 {
            return None;
        }
        let before = if word == 0 { 0 } else { next[0].count_ones() };
        let rank = before + (next[word] & (bit - 1)).count_ones();
        Some(self.children[(children + rank) as usize])
    }

    /// Puts a trail at a node, and on wherever a step is complete there.
    #[inline]
    fn arrive(&self, trail: Trail, trails: &mut Trails, chains: &mut Chains) {
        let node = &self.nodes[usize::from(trail.node)];
        if node.next != [0; 2] {
            trails.live.push(trail);
        }
        if node.outputs != node.outputs_end {
            self.complete(node, trail, trails, chains);
        }
    }

    fn complete(&self, node: &Node, trail: Trail, trails: &mut Trails, chains: &mut Chains) {
        for output in &self.outputs[usize::from(node.outputs)..usize::from(node.outputs_end)] {
            let Some(links) = self.control.extend(trail.links, output.reason) else { continue };
            match output.onward {
                None => trails.accept(trail.origin, chains.id(links)),
                Some(node) => self.arrive(Trail { links, node, ..trail }, trails, chains),
            }
        }
    }
}

/// Its size, in numbers.
impl fmt::Debug for Automaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes =
            size_of_val(&*self.nodes) + size_of_val(&*self.children) + size_of_val(&*self.outputs);
        f.debug_struct("Automaton")
            .field("states", &self.nodes.len())
            .field("stems", &self.stems.len())
            .field("bytes", &bytes)
            .finish()
    }
}

impl Trails {
    /// Whether no reading is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.accepted.is_empty()
    }

    /// Forgets every reading, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.live.clear();
        self.accepted.clear();
    }

    /// Two ways through the rules with the same steps are one reading.
    fn accept(&mut self, origin: u32, chain: ChainId) {
        if !self.accepted.contains(&(origin, chain)) {
            self.accepted.push((origin, chain));
        }
    }
}
