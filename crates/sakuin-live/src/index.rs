//! Which records have a value: for each indexed attribute, a map that shares with its older versions.

use std::{collections::BTreeSet, ops::Bound};

use imbl::{GenericHashMap, OrdSet, shared_ptr::DefaultSharedPtr};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::{IndexKind, value::Cell};

/// The index of one attribute at one moment.
#[derive(Clone)]
pub(crate) enum Index {
    Equal(GenericHashMap<Cell, Posting, FxBuildHasher, DefaultSharedPtr>),
    Ordered(OrdSet<(Cell, u64)>),
}

/// The ids of the records that have one value, in order.
#[derive(Clone)]
pub(crate) enum Posting {
    Few(SmallVec<[u64; 2]>),
    Many(OrdSet<u64>),
}

/// More ids than this become a tree.
const FEW: usize = 64;

impl Index {
    pub(crate) fn new(kind: IndexKind) -> Index {
        match kind {
            IndexKind::Equal => Index::Equal(GenericHashMap::default()),
            IndexKind::Ordered => Index::Ordered(OrdSet::new()),
        }
    }

    /// The index of these records, each with its value.
    pub(crate) fn of(kind: IndexKind, mut entries: Vec<(Cell, u64)>) -> Index {
        entries.sort_unstable();
        let mut index = Index::new(kind);
        match &mut index {
            Index::Ordered(set) => set.extend(entries),
            Index::Equal(map) => {
                for same in entries.chunk_by(|(one, _), (other, _)| one == other) {
                    let ids = same.iter().map(|(_, id)| *id);
                    let posting = match same.len() {
                        ..=FEW => {
                            let mut few: SmallVec<_> = ids.collect();
                            few.shrink_to_fit();
                            Posting::Few(few)
                        }
                        _ => Posting::Many(ids.collect()),
                    };
                    map.insert(same[0].0.clone(), posting);
                }
            }
        }
        index
    }

    pub(crate) fn insert(&mut self, cell: Cell, id: u64) {
        match self {
            Index::Equal(map) => map.entry(cell).or_insert_with(Posting::new).insert(id),
            Index::Ordered(set) => drop(set.insert((cell, id))),
        }
    }

    pub(crate) fn remove(&mut self, cell: &Cell, id: u64) {
        match self {
            Index::Equal(map) => {
                let is_empty = map.get_mut(cell).is_some_and(|posting| posting.remove(id));
                if is_empty {
                    map.remove(cell);
                }
            }
            Index::Ordered(set) => drop(set.remove(&(cell.clone(), id))),
        }
    }

    /// The records with this value, in the order of ids.
    pub(crate) fn equal(&self, cell: &Cell) -> Vec<u64> {
        match self {
            Index::Equal(map) => match map.get(cell) {
                None => Vec::new(),
                Some(Posting::Few(ids)) => ids.to_vec(),
                Some(Posting::Many(ids)) => ids.iter().copied().collect(),
            },
            Index::Ordered(set) => {
                set.range((cell.clone(), 0)..=(cell.clone(), u64::MAX)).map(|(_, id)| *id).collect()
            }
        }
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

impl Posting {
    fn new() -> Posting {
        Posting::Few(SmallVec::new())
    }

    fn insert(&mut self, id: u64) {
        match self {
            Posting::Few(ids) => {
                if let Err(at) = ids.binary_search(&id) {
                    ids.insert(at, id);
                }
                if ids.len() > FEW {
                    *self = Posting::Many(ids.iter().copied().collect());
                }
            }
            Posting::Many(ids) => drop(ids.insert(id)),
        }
    }

    /// Whether none is left.
    fn remove(&mut self, id: u64) -> bool {
        match self {
            Posting::Few(ids) => {
                if let Ok(at) = ids.binary_search(&id) {
                    ids.remove(at);
                }
                ids.is_empty()
            }
            Posting::Many(ids) => {
                ids.remove(&id);
                ids.is_empty()
            }
        }
    }
}
