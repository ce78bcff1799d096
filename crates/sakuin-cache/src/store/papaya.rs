//! The `papaya` crate: readers take no lock. What is taken out is freed once no reader can still see it.

use std::{hash::BuildHasher, sync::Arc};

use foldhash::fast::RandomState;
use papaya::HashMap;

use super::{Map, bounded::Named};
use crate::{Entry, evict::Slot};

pub(crate) struct Papaya<V> {
    hasher: RandomState,
    map: HashMap<Named, Arc<Entry<V>>, RandomState>,
}

impl<V> Default for Papaya<V> {
    fn default() -> Papaya<V> {
        let hasher = RandomState::default();
        Papaya { hasher: hasher.clone(), map: HashMap::with_hasher(hasher) }
    }
}

impl<V> Map<V> for Papaya<V> {
    fn hash(&self, key: &str) -> u64 {
        self.hasher.hash_one(key)
    }

    #[inline]
    fn get(&self, key: &str) -> Option<Arc<Entry<V>>> {
        let map = self.map.pin();
        let (named, entry) = map.get_key_value(key)?;
        named.0.hit();
        Some(entry.clone())
    }

    fn place(&self, key: &str) -> Option<(Arc<Slot>, Arc<Entry<V>>)> {
        let map = self.map.pin();
        let (named, entry) = map.get_key_value(key)?;
        Some((named.0.clone(), entry.clone()))
    }

    fn put(&self, slot: Arc<Slot>, entry: Arc<Entry<V>>) -> Option<Arc<Entry<V>>> {
        self.map.pin().insert(Named(slot), entry).cloned()
    }

    fn take(&self, slot: &Slot) -> Option<Arc<Entry<V>>> {
        self.map.pin().remove(slot.key()).cloned()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        for (named, entry) in &self.map.pin() {
            visit(named.0.key(), entry);
        }
    }
}
