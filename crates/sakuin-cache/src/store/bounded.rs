//! A map that knows nothing of room, and the evictor beside it.
//!
//! All changes happen under the evictor's lock, one after the other; readers know only the map. What leaves the
//! map is freed after the lock is given back.

use std::{
    borrow::Borrow,
    hash::{Hash, Hasher},
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    Entry,
    evict::{Evictor, Slot},
    sync::{Mutex, lock},
};

/// A map from keys to slots and entries that many threads read while one changes it.
pub(crate) trait Map<V>: Default {
    /// The hash a slot of `key` is made with.
    fn hash(&self, key: &str) -> u64;

    /// The entry of `key`, noting the hit.
    fn get(&self, key: &str) -> Option<Arc<Entry<V>>>;

    /// The slot and the entry of `key`.
    fn place(&self, key: &str) -> Option<(Arc<Slot>, Arc<Entry<V>>)>;

    /// Puts an entry; the slot is the one there is for its key, or a new one. Returns what was there.
    fn put(&self, slot: Arc<Slot>, entry: Arc<Entry<V>>) -> Option<Arc<Entry<V>>>;

    /// Takes an entry out.
    fn take(&self, slot: &Slot) -> Option<Arc<Entry<V>>>;

    /// Walks over all.
    fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>));
}

/// A map within so many bytes.
pub(crate) struct Bounded<V, M> {
    map: M,
    evictor: Mutex<Evictor>,
    evictions: AtomicU64,
    entries: PhantomData<fn(V)>,
}

impl<V, M: Map<V>> Bounded<V, M> {
    pub(super) fn new(max_bytes: usize) -> Bounded<V, M> {
        Bounded {
            map: M::default(),
            evictor: Mutex::new(Evictor::new(max_bytes)),
            evictions: AtomicU64::new(0),
            entries: PhantomData,
        }
    }

    #[inline]
    pub(super) fn get(&self, key: &str) -> Option<Arc<Entry<V>>> {
        self.map.get(key)
    }

    pub(super) fn look(&self, key: &str) -> Option<Arc<Entry<V>>> {
        self.map.place(key).map(|(_, entry)| entry)
    }

    pub(super) fn insert(&self, key: &str, entry: Arc<Entry<V>>) {
        // Declared before the lock is taken, so dropped after it is given back.
        let mut freed: Vec<Option<Arc<Entry<V>>>> = Vec::new();
        let weight = entry.weight() + Slot::OVERHEAD;
        let mut evictor = lock(&self.evictor);
        if weight > evictor.max_bytes() {
            drop(evictor);
            return self.remove_if(key, |_| true);
        }
        let slot = match self.map.place(key) {
            Some((slot, _)) => slot,
            None => Arc::new(Slot::new(key, self.map.hash(key))),
        };
        freed.push(self.map.put(slot.clone(), entry));
        evictor.put(&slot, weight);
        while let Some(victim) = evictor.victim() {
            freed.push(self.map.take(&victim));
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn remove_if(&self, key: &str, condition: impl Fn(&Entry<V>) -> bool) {
        let _freed;
        let mut evictor = lock(&self.evictor);
        if let Some((slot, entry)) = self.map.place(key)
            && condition(&entry)
        {
            evictor.forget(&slot);
            _freed = self.map.take(&slot);
        }
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        self.map.for_each(visit);
    }

    pub(super) fn clear(&self) {
        let mut keys: Vec<Box<str>> = Vec::new();
        self.for_each(&mut |key, _| keys.push(key.into()));
        for key in keys {
            self.remove_if(&key, |_| true);
        }
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.evictor).len()
    }

    pub(super) fn bytes(&self) -> usize {
        lock(&self.evictor).bytes()
    }

    pub(super) fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }
}

/// A slot as the key of a map: it is found by its text.
#[derive(Clone, Debug)]
pub(super) struct Named(pub(super) Arc<Slot>);

impl Borrow<str> for Named {
    fn borrow(&self) -> &str {
        self.0.key()
    }
}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key().hash(state);
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Eq for Named {}
