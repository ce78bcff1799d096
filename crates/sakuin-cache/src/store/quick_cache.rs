//! The `quick_cache` crate, which admits and evicts by S3-FIFO in shards that each have their part of the limit.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use foldhash::fast::RandomState;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter, sync::Cache};

use crate::{Entry, entry::ALLOCATION};

/// What it needs for a key beside the entry, by measuring.
const OVERHEAD: usize = 9 * ALLOCATION;

pub(crate) struct Quick<V> {
    cache: Cache<Arc<str>, Arc<Entry<V>>, Weight, RandomState, Evictions>,
    evictions: Arc<AtomicU64>,
}

#[derive(Clone)]
struct Weight;

#[derive(Clone)]
struct Evictions(Arc<AtomicU64>);

impl<V> Weighter<Arc<str>, Arc<Entry<V>>> for Weight {
    fn weight(&self, _: &Arc<str>, entry: &Arc<Entry<V>>) -> u64 {
        (entry.weight() + OVERHEAD) as u64
    }
}

impl<V> Lifecycle<Arc<str>, Arc<Entry<V>>> for Evictions {
    type RequestState = ();

    fn on_evict(&self, (): &mut (), _: Arc<str>, _: Arc<Entry<V>>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<V: Send + Sync + 'static> Quick<V> {
    pub(super) fn new(max_bytes: usize) -> Quick<V> {
        let evictions = Arc::new(AtomicU64::new(0));
        // A shard below half a megabyte would refuse answers of ordinary size.
        let shards = (max_bytes >> 19).clamp(1, 64);
        let options = OptionsBuilder::new()
            .weight_capacity(max_bytes as u64)
            .estimated_items_capacity(max_bytes / 1024)
            .shards(shards)
            .build()
            .expect("both capacities are given");
        let lifecycle = Evictions(evictions.clone());
        let cache = Cache::with_options(options, Weight, RandomState::default(), lifecycle);
        Quick { cache, evictions }
    }

    #[inline]
    pub(super) fn get(&self, key: &str) -> Option<Arc<Entry<V>>> {
        self.cache.get(key)
    }

    pub(super) fn look(&self, key: &str) -> Option<Arc<Entry<V>>> {
        self.cache.peek(key)
    }

    pub(super) fn insert(&self, key: &str, entry: Arc<Entry<V>>) {
        if (entry.weight() + OVERHEAD) as u64 > self.cache.shard_capacity() {
            return self.remove_if(key, |_| true);
        }
        self.cache.insert(key.into(), entry);
    }

    pub(super) fn remove_if(&self, key: &str, condition: impl Fn(&Entry<V>) -> bool) {
        self.cache.remove_if(key, |entry| condition(entry));
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        for (key, entry) in self.cache.iter() {
            visit(&key, &entry);
        }
    }

    pub(super) fn clear(&self) {
        self.cache.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.cache.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.cache.weight() as usize
    }

    pub(super) fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }
}
