//! Many maps, each behind its own lock and on cache lines of its own: threads meet only on the same shard.

use std::{hash::BuildHasher, sync::Arc, thread};

use foldhash::fast::RandomState;

use super::{Map, rwlock::Shard};
use crate::{Entry, evict::Slot};

pub(crate) struct Sharded<V> {
    hasher: RandomState,
    /// A power of two of them.
    shards: Box<[Apart<Shard<V>>]>,
}

/// Something that shares no cache line with its neighbours.
#[derive(Default)]
#[repr(align(128))]
struct Apart<T>(T);

impl<V> Default for Sharded<V> {
    fn default() -> Sharded<V> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let shards = (8 * cores).next_power_of_two();
        Sharded {
            hasher: RandomState::default(),
            shards: (0..shards).map(|_| Apart(Shard::default())).collect(),
        }
    }
}

impl<V> Sharded<V> {
    /// By bits in the middle: a map takes its buckets from the lowest and its tags from the highest.
    #[inline]
    fn shard(&self, hash: u64) -> &Shard<V> {
        &self.shards[(hash >> 40) as usize & (self.shards.len() - 1)].0
    }
}

impl<V> Map<V> for Sharded<V> {
    fn hash(&self, key: &str) -> u64 {
        self.hasher.hash_one(key)
    }

    #[inline]
    fn get(&self, key: &str) -> Option<Arc<Entry<V>>> {
        let hash = self.hash(key);
        self.shard(hash).get(hash, key)
    }

    fn place(&self, key: &str) -> Option<(Arc<Slot>, Arc<Entry<V>>)> {
        let hash = self.hash(key);
        self.shard(hash).place(hash, key)
    }

    fn put(&self, slot: Arc<Slot>, entry: Arc<Entry<V>>) -> Option<Arc<Entry<V>>> {
        self.shard(slot.hash()).put(slot, entry)
    }

    fn take(&self, slot: &Slot) -> Option<Arc<Entry<V>>> {
        self.shard(slot.hash()).take(slot)
    }

    fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        for shard in &self.shards {
            shard.0.for_each(visit);
        }
    }
}
