//! The `dashmap` crate. Its guards lock a shard, so none lives longer than a statement here.

use std::{hash::BuildHasher, sync::Arc};

use dashmap::DashMap;
use foldhash::fast::RandomState;

use super::{Map, bounded::Named};
use crate::{Entry, evict::Slot};

pub(crate) struct Dash<V>(DashMap<Named, Arc<Entry<V>>, RandomState>);

impl<V> Default for Dash<V> {
    fn default() -> Dash<V> {
        Dash(DashMap::default())
    }
}

impl<V> Map<V> for Dash<V> {
    fn hash(&self, key: &str) -> u64 {
        self.0.hasher().hash_one(key)
    }

    #[inline]
    fn get(&self, key: &str) -> Option<Arc<Entry<V>>> {
        let found = self.0.get(key)?;
        found.key().0.hit();
        Some(found.value().clone())
    }

    fn place(&self, key: &str) -> Option<(Arc<Slot>, Arc<Entry<V>>)> {
        let found = self.0.get(key)?;
        Some((found.key().0.clone(), found.value().clone()))
    }

    fn put(&self, slot: Arc<Slot>, entry: Arc<Entry<V>>) -> Option<Arc<Entry<V>>> {
        self.0.insert(Named(slot), entry)
    }

    fn take(&self, slot: &Slot) -> Option<Arc<Entry<V>>> {
        self.0.remove(slot.key()).map(|(_, entry)| entry)
    }

    fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        for found in &self.0 {
            visit(found.key().0.key(), found.value());
        }
    }
}
