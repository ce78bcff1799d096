//! One map behind one read-write lock. The map is searched by a hash the caller made, so that the shards, which
//! are such maps, hash once.

use std::{hash::BuildHasher, sync::Arc};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Map;
use crate::{
    Entry,
    evict::Slot,
    sync::{RwLock, read, write},
};

pub(crate) struct Locked<V> {
    hasher: RandomState,
    shard: Shard<V>,
}

/// A map that leaves hashing to others.
pub(super) struct Shard<V>(RwLock<HashTable<Place<V>>>);

struct Place<V> {
    slot: Arc<Slot>,
    entry: Arc<Entry<V>>,
}

impl<V> Default for Locked<V> {
    fn default() -> Locked<V> {
        Locked { hasher: RandomState::default(), shard: Shard::default() }
    }
}

impl<V> Map<V> for Locked<V> {
    fn hash(&self, key: &str) -> u64 {
        self.hasher.hash_one(key)
    }

    #[inline]
    fn get(&self, key: &str) -> Option<Arc<Entry<V>>> {
        self.shard.get(self.hash(key), key)
    }

    fn place(&self, key: &str) -> Option<(Arc<Slot>, Arc<Entry<V>>)> {
        self.shard.place(self.hash(key), key)
    }

    fn put(&self, slot: Arc<Slot>, entry: Arc<Entry<V>>) -> Option<Arc<Entry<V>>> {
        self.shard.put(slot, entry)
    }

    fn take(&self, slot: &Slot) -> Option<Arc<Entry<V>>> {
        self.shard.take(slot)
    }

    fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        self.shard.for_each(visit);
    }
}

impl<V> Default for Shard<V> {
    fn default() -> Shard<V> {
        Shard(RwLock::new(HashTable::new()))
    }
}

impl<V> Shard<V> {
    #[inline]
    pub(super) fn get(&self, hash: u64, key: &str) -> Option<Arc<Entry<V>>> {
        let table = read(&self.0);
        let place = table.find(hash, |place| place.slot.key() == key)?;
        place.slot.hit();
        Some(place.entry.clone())
    }

    pub(super) fn place(&self, hash: u64, key: &str) -> Option<(Arc<Slot>, Arc<Entry<V>>)> {
        let table = read(&self.0);
        let place = table.find(hash, |place| place.slot.key() == key)?;
        Some((place.slot.clone(), place.entry.clone()))
    }

    pub(super) fn put(&self, slot: Arc<Slot>, entry: Arc<Entry<V>>) -> Option<Arc<Entry<V>>> {
        let mut table = write(&self.0);
        match table.find_mut(slot.hash(), |place| place.slot.key() == slot.key()) {
            Some(place) => Some(std::mem::replace(&mut place.entry, entry)),
            None => {
                table.insert_unique(slot.hash(), Place { slot, entry }, |place| place.slot.hash());
                None
            }
        }
    }

    pub(super) fn take(&self, slot: &Slot) -> Option<Arc<Entry<V>>> {
        let mut table = write(&self.0);
        let found = table.find_entry(slot.hash(), |place| place.slot.key() == slot.key());
        Some(found.ok()?.remove().0.entry)
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        for place in &*read(&self.0) {
            visit(place.slot.key(), &place.entry);
        }
    }
}
