//! The forward automaton: reads the kana after a stem and tells every way they inflect it.
//!
//! A paradigm is a small trie of its endings. Where the stem of an auxiliary that inflects in turn
//! has been read, a trail goes on in that auxiliary's paradigm as well, with one more link in its
//! chain. Equal subtries are stored once, whichever paradigm they belong to. A trail knows no words:
//! it carries the number its stem was begun with. Several trails of one stem live at once, at most
//! [`TRAILS_PER_STEM_MAX`] on any text, and so a scan takes linear time.

mod chain;
mod compile;

#[cfg(test)]
mod bound;

use std::fmt;
use std::sync::LazyLock;

pub use chain::{ChainId, Chains};
use chain::{Control, Links};
use compile::Symbols;

use crate::rules::{Reason, Rules, RulesError, Stem, rules};

/// The most trails of one stem that any text keeps alive at once: a fact of the tables, not a limit. A
/// test visits every set of trails there can be.
pub const TRAILS_PER_STEM_MAX: usize = 20;

/// The rules compiled for reading forward.
///
/// ```
/// use sakuin_japanese::automaton::{Chains, Trails, automaton};
/// use sakuin_japanese::rules::rules;
///
/// let (mut chains, mut here, mut next) = (Chains::default(), Trails::default(), Trails::default());
/// automaton().begin(rules().stem("v1").unwrap(), 7, &mut here);
/// for kana in "ました".chars() {
///     automaton().step(automaton().symbol(kana), &here, &mut next, &mut chains);
///     std::mem::swap(&mut here, &mut next);
/// }
/// let (origin, chain) = automaton().accepted(&here).next().unwrap();
/// let steps = chains.reasons(chain).into_iter().map(|reason| rules().label(reason));
/// assert_eq!((origin, steps.collect::<Vec<_>>()), (7, vec!["polite", "past"]));
/// ```
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
    /// The symbols that may follow; all, if the bare stem is a form of its own.
    worth: [u64; 2],
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
    ///
    /// # Panics
    /// If the stem is none of the rules the automaton was compiled from.
    #[inline]
    pub fn begin(&self, stem: Stem, origin: u32, trails: &mut Trails) {
        let Beginning { node, bare, more, .. } = &self.stems[usize::from(stem.0)];
        trails.live.push(Trail { links: Links::NONE, origin, node: *node });
        for chain in bare {
            trails.accepted.push((origin, *chain));
        }
        for (links, node) in more {
            trails.live.push(Trail { links: *links, origin, node: *node });
        }
    }

    /// As [`Automaton::begin`], for a caller that knows the next character: leaves out stems that are no
    /// form of their own and that it cannot follow, which most are.
    #[inline]
    pub fn begin_before(&self, next: Symbol, stem: Stem, origin: u32, trails: &mut Trails) {
        if has(self.stems[usize::from(stem.0)].worth, next) {
            self.begin(stem, origin, trails);
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
        let node = &self.nodes[usize::from(node)];
        has(node.next, symbol).then(|| self.children[node.children as usize + node.rank(symbol)])
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

/// Whether the bit of the symbol is set.
#[inline]
fn has(symbols: [u64; 2], symbol: Symbol) -> bool {
    symbols[usize::from(symbol.0 >> 6 & 1)] >> (symbol.0 & 63) & 1 != 0
}

impl Node {
    /// How many children come before that of the symbol.
    #[inline]
    fn rank(&self, symbol: Symbol) -> usize {
        let below = !(u64::MAX << (symbol.0 & 63));
        let [low, high] = self.next;
        let rank = match symbol.0 {
            0..64 => (low & below).count_ones(),
            _ => low.count_ones() + (high & below).count_ones(),
        };
        rank as usize
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
