//! The forward automaton: reads the kana after a stem and tells every way they inflect it.

use crate::rules::{Reason, Stem};

/// The rules compiled for reading forward.
pub struct Automaton {}

/// A character as the automaton knows it; 0 is every character that no inflection contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol(pub u8);

/// A chain of reasons, interned in [`Chains`]; 0 is the empty chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainId(pub u32);

/// Chains of reasons met during a scan, each stored once as its last reason and the chain before it.
#[derive(Default)]
pub struct Chains {}

/// The live readings of the kana so far.
#[derive(Clone, Default)]
pub struct Trails {}

/// The automaton of the built-in rules, compiled at first use.
pub fn automaton() -> &'static Automaton {
    unimplemented!()
}

impl Automaton {
    /// The symbol of a folded character.
    pub fn symbol(&self, _folded: char) -> Symbol {
        unimplemented!()
    }
    /// Adds the trail of a stem just read; `origin` comes back from [`Automaton::accepted`].
    pub fn begin(&self, _stem: Stem, _origin: u32, _trails: &mut Trails) {
        unimplemented!()
    }
    /// Moves every trail of `from` over one character into `to`, which is cleared first.
    pub fn step(&self, _symbol: Symbol, _from: &Trails, _to: &mut Trails, _chains: &mut Chains) {
        unimplemented!()
    }
    /// The trails at which a whole inflected form ends: origin and chain, never the empty chain.
    pub fn accepted<'t>(&self, _trails: &'t Trails) -> impl Iterator<Item = (u32, ChainId)> + 't {
        std::iter::empty()
    }
}

impl Trails {
    /// Forgets every reading.
    pub fn clear(&mut self) {
        unimplemented!()
    }
    /// Whether no reading is left.
    pub fn is_empty(&self) -> bool {
        unimplemented!()
    }
}

impl Chains {
    /// The reasons of a chain, the one nearest the dictionary form first.
    pub fn reasons(&self, _chain: ChainId) -> Vec<Reason> {
        unimplemented!()
    }
    /// The number of links.
    pub fn length(&self, _chain: ChainId) -> usize {
        unimplemented!()
    }
}
