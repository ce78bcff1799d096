//! Which records have a value, found by the value alone: pairs of a digest and an id in buckets (Litwin, "Linear
//! Hashing: A New Tool for File and Table Addressing", 1980) under a tree that shares with its older versions. A look
//! costs the way down and one bucket; a change writes one bucket anew.
//!
//! The digest of a word is the word. Texts and bytes have a hash, which two of them may share: who searches for one
//! looks at the records too.

use std::{
    hash::{BuildHasher, RandomState},
    iter,
    ops::Range,
    sync::{Arc, LazyLock},
};

use imbl::{GenericHashMap, OrdSet, shared_ptr::DefaultSharedPtr};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{tree::Tree, value::Cell};

/// The index of one attribute at one moment.
#[derive(Clone)]
pub(crate) struct Equal {
    /// The digests of some pairs in order, and then as many ids in the same order.
    buckets: Tree<Arc<[u64]>>,
    count: u64,
    pairs: u64,
    /// The records of values that many have.
    many: GenericHashMap<u64, OrdSet<u64>, FxBuildHasher, DefaultSharedPtr>,
}

/// Pairs of a bucket, on average at most.
const LOAD: u64 = 32;

/// A value that more records have than this lies in no bucket.
const FEW: usize = 64;

/// Whoever chooses values cannot choose buckets.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// What a value is found by.
fn digest(cell: &Cell) -> u64 {
    match cell {
        Cell::Word(word) => *word,
        Cell::Blob(bytes) => xxh3_64_with_seed(bytes, *SEED),
    }
}

impl Equal {
    pub(crate) fn new() -> Equal {
        Equal { buckets: Tree::new(), count: 1, pairs: 0, many: GenericHashMap::default() }
    }

    /// The index of these records, each with its value.
    pub(crate) fn of(entries: &[(Cell, u64)]) -> Equal {
        let mut index = Equal::new();
        index.count = (entries.len() as u64).div_ceil(LOAD).max(1);
        let pairs = entries.iter().map(|(cell, id)| {
            let digest = digest(cell);
            (index.bucket(digest), digest, *id)
        });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        pairs.dedup();
        for same in pairs.chunk_by(|one, other| one.0 == other.0) {
            let mut few = Vec::with_capacity(same.len());
            for same in same.chunk_by(|one, other| one.1 == other.1) {
                match same.len() {
                    ..=FEW => few.extend_from_slice(same),
                    _ => {
                        let ids = same.iter().map(|(.., id)| *id).collect();
                        index.many.insert(same[0].1, ids);
                    }
                }
            }
            let (digests, ids) = (few.iter().map(|it| it.1), few.iter().map(|it| it.2));
            *index.buckets.leaf_mut(same[0].0, Arc::default) = digests.chain(ids).collect();
            index.pairs += few.len() as u64;
        }
        index
    }

    pub(crate) fn insert(&mut self, cell: &Cell, id: u64) {
        let digest = digest(cell);
        if let Some(ids) = self.many.get_mut(&digest) {
            ids.insert(id);
            return;
        }
        let at = self.bucket(digest);
        let bucket = self.buckets.leaf_mut(at, Arc::default);
        let (digests, ids) = halves(bucket);
        let same = range(digests, digest);
        if same.len() == FEW {
            let ids = ids[same.clone()].iter().copied().chain([id]).collect();
            self.many.insert(digest, ids);
            *bucket = replaced(bucket, same, None);
            self.pairs -= FEW as u64;
            return;
        }
        let place = same.start + ids[same].partition_point(|before| *before < id);
        *bucket = replaced(bucket, place..place, Some((digest, id)));
        self.pairs += 1;
        if self.pairs > self.count * LOAD {
            self.split();
        }
    }

    pub(crate) fn remove(&mut self, cell: &Cell, id: u64) {
        let digest = digest(cell);
        if let Some(ids) = self.many.get_mut(&digest) {
            ids.remove(&id);
            if ids.is_empty() {
                self.many.remove(&digest);
            }
            return;
        }
        let at = self.bucket(digest);
        let bucket = self.buckets.leaf_mut(at, Arc::default);
        let (digests, ids) = halves(bucket);
        let same = range(digests, digest);
        if let Ok(place) = ids[same.clone()].binary_search(&id) {
            let place = same.start + place;
            *bucket = replaced(bucket, place..place + 1, None);
            self.pairs -= 1;
        }
    }

    /// The records with this value, or one of the same digest, in the order of ids.
    pub(crate) fn get(&self, cell: &Cell) -> Vec<u64> {
        let digest = digest(cell);
        if !self.many.is_empty()
            && let Some(ids) = self.many.get(&digest)
        {
            return ids.iter().copied().collect();
        }
        let Some(bucket) = self.buckets.get(self.bucket(digest)) else { return Vec::new() };
        let (digests, ids) = halves(bucket);
        ids[range(digests, digest)].to_vec()
    }

    fn bucket(&self, digest: u64) -> u64 {
        let hash = xxh3_64_with_seed(&digest.to_le_bytes(), *SEED);
        let places = self.count.next_power_of_two();
        let place = hash & (places - 1);
        // Those that are not there yet are with the bucket that they will be split from.
        if place < self.count { place } else { place - places / 2 }
    }

    /// Makes one bucket more, of a part of another.
    fn split(&mut self) {
        let new = self.count;
        let old = new - (1 << new.ilog2());
        self.count += 1;
        let Some(bucket) = self.buckets.get(old).cloned() else { return };
        let (digests, ids) = halves(&bucket);
        for at in [old, new] {
            let pairs = iter::zip(digests, ids).filter(|(digest, _)| self.bucket(**digest) == at);
            let (digests, ids): (Vec<u64>, Vec<u64>) = pairs.unzip();
            *self.buckets.leaf_mut(at, Arc::default) = [digests, ids].concat().into();
        }
    }
}

fn halves(bucket: &[u64]) -> (&[u64], &[u64]) {
    bucket.split_at(bucket.len() / 2)
}

/// Where a digest is among some in order.
fn range(digests: &[u64], digest: u64) -> Range<usize> {
    // They are few: looking at all costs less than guessing where to look.
    let count = |is: fn(&u64, &u64) -> bool| digests.iter().filter(|one| is(one, &digest)).count();
    let before = count(u64::lt);
    before..before + count(u64::eq)
}

/// A bucket with a pair, or none, in place of those in a range.
fn replaced(bucket: &[u64], range: Range<usize>, pair: Option<(u64, u64)>) -> Arc<[u64]> {
    let (digests, ids) = halves(bucket);
    let (digest, id) = pair.unzip();
    let mut new = SmallVec::<[u64; 4 * LOAD as usize]>::new();
    for (half, one) in [(digests, digest), (ids, id)] {
        new.extend_from_slice(&half[..range.start]);
        new.extend(one);
        new.extend_from_slice(&half[range.end..]);
    }
    new.as_slice().into()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn cell(number: u64) -> Cell {
        match number % 2 {
            0 => Cell::Word(number),
            _ => Cell::Blob(number.to_le_bytes().into()),
        }
    }

    proptest! {
        /// Against a map, with values that few and that many records have; an older copy stays as it was, and one
        /// built at once is the same.
        #[test]
        fn an_index_is_a_map_of_sets(
            changes in prop::collection::vec(
                (prop_oneof![0..3u64, 0..2_000u64], 1..400u64, any::<u8>()), 1..3_000,
            ),
        ) {
            let (mut index, mut model) = (Equal::new(), BTreeMap::<u64, BTreeSet<u64>>::new());
            let mut before = (index.clone(), model.clone());
            let middle = changes.len() / 2;
            for (at, (value, id, chance)) in changes.into_iter().enumerate() {
                let ids = model.entry(value).or_default();
                if chance < 160 && ids.insert(id) {
                    index.insert(&cell(value), id);
                } else if ids.remove(&id) {
                    index.remove(&cell(value), id);
                }
                if at == middle {
                    before = (index.clone(), model.clone());
                }
            }
            let entries = model.iter().flat_map(|(value, ids)| ids.iter().map(|id| (cell(*value), *id)));
            let built = Equal::of(&entries.collect::<Vec<_>>());
            for (index, model) in [(built, model.clone()), (index, model), before] {
                for value in 0..2_001 {
                    let wanted: Vec<u64> = model.get(&value).into_iter().flatten().copied().collect();
                    prop_assert_eq!(index.get(&cell(value)), wanted);
                }
            }
        }
    }

    #[test]
    fn buckets_stay_small() {
        let mut index = Equal::new();
        (0..20_000).for_each(|number| index.insert(&Cell::Word(number << 40), number));
        assert_eq!((index.pairs, index.count), (20_000, 20_000 / LOAD));
        let longest =
            (0..index.count).filter_map(|at| index.buckets.get(at)).map(|it| it.len() / 2);
        assert!(longest.max() < Some(4 * LOAD as usize));
    }
}
