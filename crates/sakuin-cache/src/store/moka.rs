//! The `moka` crate, which admits and evicts by frequency (W-TinyLFU), and does so late: changes wait in a log.
//! We make it catch up whenever what waits may weigh more than a little of the limit.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use foldhash::fast::RandomState;
use moka::{notification::RemovalCause, sync::Cache};

use crate::{Entry, entry::ALLOCATION};

/// What it needs for a key beside the entry, by measuring.
const OVERHEAD: usize = 22 * ALLOCATION;

/// A cache catches up at the latest when one part in so many of its limit waits in the log.
const LAG: usize = 64;

pub(crate) struct Moka<V> {
    cache: Cache<Arc<str>, Arc<Entry<V>>, RandomState>,
    max_bytes: usize,
    waiting: AtomicUsize,
    evictions: Arc<AtomicU64>,
}

impl<V: Send + Sync + 'static> Moka<V> {
    pub(super) fn new(max_bytes: usize) -> Moka<V> {
        let evictions = Arc::new(AtomicU64::new(0));
        let counted = evictions.clone();
        let cache = Cache::builder()
            .max_capacity(max_bytes as u64)
            .weigher(|_: &Arc<str>, entry: &Arc<Entry<V>>| {
                u32::try_from(entry.weight() + OVERHEAD).unwrap_or(u32::MAX)
            })
            .eviction_listener(move |_, _, cause| {
                if cause == RemovalCause::Size {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            })
            .build_with_hasher(RandomState::default());
        Moka { cache, max_bytes, waiting: AtomicUsize::new(0), evictions }
    }

    #[inline]
    pub(super) fn get(&self, key: &str) -> Option<Arc<Entry<V>>> {
        self.cache.get(key)
    }

    /// A plain `get` would make the key more popular.
    pub(super) fn look(&self, key: &str) -> Option<Arc<Entry<V>>> {
        if self.cache.contains_key(key) { self.cache.get(key) } else { None }
    }

    pub(super) fn insert(&self, key: &str, entry: Arc<Entry<V>>) {
        let weight = entry.weight() + OVERHEAD;
        if weight > self.max_bytes {
            return self.cache.invalidate(key);
        }
        self.cache.insert(key.into(), entry);
        let waiting = self.waiting.fetch_add(weight, Ordering::Relaxed) + weight;
        if waiting > self.max_bytes / LAG {
            self.waiting.store(0, Ordering::Relaxed);
            self.cache.run_pending_tasks();
        }
    }

    pub(super) fn remove_if(&self, key: &str, condition: impl Fn(&Entry<V>) -> bool) {
        if self.look(key).is_some_and(|entry| condition(&entry)) {
            self.cache.invalidate(key);
        }
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        for (key, entry) in &self.cache {
            visit(&key, &entry);
        }
    }

    pub(super) fn clear(&self) {
        self.cache.invalidate_all();
        self.cache.run_pending_tasks();
    }

    pub(super) fn len(&self) -> usize {
        self.cache.run_pending_tasks();
        self.cache.entry_count() as usize
    }

    pub(super) fn bytes(&self) -> usize {
        self.cache.run_pending_tasks();
        self.cache.weighted_size() as usize
    }

    pub(super) fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }
}
