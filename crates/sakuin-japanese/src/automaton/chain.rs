//! Chains of reasons as the automaton carries them: eight bytes, a link each, and the same control of
//! chains that [`Rules::admits`] spells out for the oracle.

use std::collections::BTreeMap;

use crate::rules::{CHAIN_LINKS_MAX, CHAIN_TE_MAX, Kind, Reason, Rules};

/// A chain of reasons, interned in [`Chains`]; 0 is the empty chain.
///
/// Up to three reasons are spelled by the number itself, a byte each; longer chains are numbered
/// from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainId(pub u32);

/// The long chains of reasons met during a scan, each stored once.
#[derive(Default)]
pub struct Chains {
    long: Vec<Links>,
    ids: BTreeMap<Links, ChainId>,
}

/// Reasons plus one, a byte each, the first in the lowest byte; 0 where no link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Links(u64);

/// The part each reason plays in a chain.
pub(super) struct Control {
    kinds: Vec<Kind>,
}

impl Chains {
    /// The reasons of a chain, the one nearest the dictionary form first.
    ///
    /// # Panics
    /// If the chain was interned elsewhere.
    pub fn reasons(&self, chain: ChainId) -> Vec<Reason> {
        let bytes = self.links(chain).0.to_le_bytes();
        bytes.into_iter().take_while(|byte| *byte != 0).map(|byte| Reason(byte - 1)).collect()
    }

    /// The number of links.
    ///
    /// # Panics
    /// If the chain was interned elsewhere.
    pub fn length(&self, chain: ChainId) -> usize {
        self.links(chain).length()
    }

    pub(super) fn id(&mut self, links: Links) -> ChainId {
        if let Some(id) = links.spelled() {
            return id;
        }
        *self.ids.entry(links).or_insert_with(|| {
            self.long.push(links);
            ChainId(LONG + (self.long.len() - 1) as u32)
        })
    }

    /// How many chains are stored, those that do not spell themselves.
    pub(super) fn long(&self) -> usize {
        self.long.len()
    }

    fn links(&self, ChainId(id): ChainId) -> Links {
        if id < LONG { Links(u64::from(id)) } else { self.long[(id - LONG) as usize] }
    }
}

/// The first number that does not spell its chain.
const LONG: u32 = 1 << 24;

impl Links {
    pub(super) const NONE: Links = Links(0);

    fn spelled(self) -> Option<ChainId> {
        (self.0 < u64::from(LONG)).then_some(ChainId(self.0 as u32))
    }

    fn length(self) -> usize {
        CHAIN_LINKS_MAX - self.0.leading_zeros() as usize / 8
    }
}

impl Control {
    pub(super) fn new(rules: &Rules) -> Control {
        Control { kinds: rules.reasons().map(|reason| rules.kind(reason)).collect() }
    }

    /// The chain with one more link, if it may have it.
    #[inline]
    pub(super) fn extend(&self, links: Links, reason: Reason) -> Option<Links> {
        if links == Links::NONE {
            return Some(Links(u64::from(reason.0) + 1));
        }
        let length = links.length();
        if length == CHAIN_LINKS_MAX {
            return None;
        }
        let kind = self.kinds[usize::from(reason.0)];
        let (mut te, mut open) = (usize::from(kind == Kind::Te), false);
        for at in (0..length).rev() {
            let earlier = (links.0 >> (8 * at)) as u8 - 1;
            if earlier == reason.0 && !(kind == Kind::Voice && open) {
                return None;
            }
            let kind = self.kinds[usize::from(earlier)];
            te += usize::from(kind == Kind::Te);
            open |= matches!(kind, Kind::Te | Kind::Open);
        }
        (te <= CHAIN_TE_MAX).then_some(Links(links.0 | (u64::from(reason.0) + 1) << (8 * length)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::rules;

    /// Few reasons, so that they repeat, and of every kind.
    fn reasons() -> impl Strategy<Value = Reason> {
        let of_kind = |kind| rules().reasons().filter(move |r| rules().kind(*r) == kind).take(4);
        let kinds = [Kind::Voice, Kind::Te, Kind::Open, Kind::Plain];
        prop::sample::select(kinds.into_iter().flat_map(of_kind).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn grows_exactly_the_chains_that_the_rules_admit(
            chain in prop::collection::vec(reasons(), 1..10)
        ) {
            let control = Control::new(rules());
            let step = |links: Links, reason: &Reason| control.extend(links, *reason);
            let grown = chain.iter().try_fold(Links::NONE, step);
            prop_assert_eq!(grown.is_some(), rules().admits(&chain));
            if let Some(links) = grown {
                let mut chains = Chains::default();
                let id = chains.id(links);
                prop_assert_eq!(chains.id(links), id);
                prop_assert_eq!(chains.length(id), chain.len());
                prop_assert_eq!(chains.reasons(id), chain);
            }
        }
    }
}
