//! Which records have a value: for each indexed attribute, a map that shares with its older versions.

mod equal;

use std::{collections::BTreeSet, ops::Bound};

use imbl::OrdSet;

use crate::{IndexKind, value::Cell};

use equal::Equal;

/// The index of one attribute at one moment.
#[derive(Clone)]
pub(crate) enum Index {
    Equal(Equal),
    Ordered(OrdSet<(Cell, u64)>),
}

impl Index {
    pub(crate) fn new(kind: IndexKind) -> Index {
        match kind {
            IndexKind::Equal => Index::Equal(Equal::new()),
            IndexKind::Ordered => Index::Ordered(OrdSet::new()),
        }
    }

    /// The index of these records, each with its value.
    pub(crate) fn of(kind: IndexKind, mut entries: Vec<(Cell, u64)>) -> Index {
        match kind {
            IndexKind::Equal => Index::Equal(Equal::of(&entries)),
            IndexKind::Ordered => {
                entries.sort_unstable();
                Index::Ordered(entries.into_iter().collect())
            }
        }
    }

    pub(crate) fn insert(&mut self, cell: &Cell, id: u64) {
        match self {
            Index::Equal(index) => index.insert(cell, id),
            Index::Ordered(set) => drop(set.insert((cell.clone(), id))),
        }
    }

    pub(crate) fn remove(&mut self, cell: &Cell, id: u64) {
        match self {
            Index::Equal(index) => index.remove(cell, id),
            Index::Ordered(set) => drop(set.remove(&(cell.clone(), id))),
        }
    }

    /// The records with this value, in the order of ids; perhaps others too, unless this index
    /// [tells](Index::tells) such values apart.
    pub(crate) fn equal(&self, cell: &Cell) -> Vec<u64> {
        match self {
            Index::Equal(index) => index.get(cell),
            Index::Ordered(set) => {
                set.range((cell.clone(), 0)..=(cell.clone(), u64::MAX)).map(|(_, id)| *id).collect()
            }
        }
    }

    /// Whether what is found for a value has that value.
    pub(crate) fn tells(&self, cell: &Cell) -> bool {
        matches!((self, cell), (Index::Ordered(_), _) | (_, Cell::Word(_)))
    }

    /// The records with a value within bounds, in the order of ids; none if this index has no order.
    pub(crate) fn range(&self, from: Bound<&Cell>, to: Bound<&Cell>) -> Option<Vec<u64>> {
        let Index::Ordered(set) = self else { return None };
        let from = match from {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(cell) => Bound::Included((cell.clone(), 0)),
            Bound::Excluded(cell) => Bound::Excluded((cell.clone(), u64::MAX)),
        };
        let to = match to {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(cell) => Bound::Included((cell.clone(), u64::MAX)),
            Bound::Excluded(cell) => Bound::Excluded((cell.clone(), 0)),
        };
        let ids: BTreeSet<u64> = set.range((from, to)).map(|(_, id)| *id).collect();
        Some(ids.into_iter().collect())
    }
}
