//! How entries are stored: six ways, chosen by name.
//!
//! Four are maps that know nothing of room ([`Map`]), each with the evictor of this crate ([`Bounded`]); two are
//! caches of their own. No lock and no guard of a store ever leaves it: what comes out is a counted reference.

mod bounded;
mod dashmap;
mod moka;
mod papaya;
mod quick_cache;
mod rwlock;
mod sharded;

use std::{fmt, str::FromStr, sync::Arc};

use crate::Entry;
use bounded::{Bounded, Map};

/// A way of storing entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// One map behind one read-write lock.
    RwLock,
    /// Many maps, each behind its own lock.
    #[default]
    Sharded,
    /// The `dashmap` crate.
    DashMap,
    /// The `papaya` crate: readers take no lock.
    Papaya,
    /// The `moka` crate, with its own eviction (W-TinyLFU).
    Moka,
    /// The `quick_cache` crate, with its own eviction (S3-FIFO).
    QuickCache,
}

impl Strategy {
    /// Every strategy, in the order of the documentation.
    pub const ALL: [Strategy; 6] = [
        Strategy::RwLock,
        Strategy::Sharded,
        Strategy::DashMap,
        Strategy::Papaya,
        Strategy::Moka,
        Strategy::QuickCache,
    ];

    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::RwLock => "rwlock",
            Strategy::Sharded => "sharded",
            Strategy::DashMap => "dashmap",
            Strategy::Papaya => "papaya",
            Strategy::Moka => "moka",
            Strategy::QuickCache => "quick_cache",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = ();

    fn from_str(name: &str) -> Result<Strategy, ()> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or(())
    }
}

/// Entries by key, within so many bytes.
pub(crate) enum Store<V> {
    RwLock(Bounded<V, rwlock::Locked<V>>),
    Sharded(Bounded<V, sharded::Sharded<V>>),
    DashMap(Bounded<V, dashmap::Dash<V>>),
    Papaya(Bounded<V, papaya::Papaya<V>>),
    Moka(moka::Moka<V>),
    QuickCache(quick_cache::Quick<V>),
}

/// The same for every strategy.
macro_rules! each {
    ($store:expr, $inner:ident => $what:expr) => {
        match $store {
            Store::RwLock($inner) => $what,
            Store::Sharded($inner) => $what,
            Store::DashMap($inner) => $what,
            Store::Papaya($inner) => $what,
            Store::Moka($inner) => $what,
            Store::QuickCache($inner) => $what,
        }
    };
}

impl<V: Send + Sync + 'static> Store<V> {
    pub(crate) fn new(strategy: Strategy, max_bytes: usize) -> Store<V> {
        match strategy {
            Strategy::RwLock => Store::RwLock(Bounded::new(max_bytes)),
            Strategy::Sharded => Store::Sharded(Bounded::new(max_bytes)),
            Strategy::DashMap => Store::DashMap(Bounded::new(max_bytes)),
            Strategy::Papaya => Store::Papaya(Bounded::new(max_bytes)),
            Strategy::Moka => Store::Moka(moka::Moka::new(max_bytes)),
            Strategy::QuickCache => Store::QuickCache(quick_cache::Quick::new(max_bytes)),
        }
    }

    /// The entry of `key`, which thereby was asked for. Allocates nothing.
    #[inline]
    pub(crate) fn get(&self, key: &str) -> Option<Arc<Entry<V>>> {
        each!(self, store => store.get(key))
    }

    /// The same without anyone having asked for it.
    pub(crate) fn look(&self, key: &str) -> Option<Arc<Entry<V>>> {
        each!(self, store => store.look(key))
    }

    /// Puts an entry in place of an earlier one, makes room for it, or lets it go: a store may refuse what it
    /// thinks will not be asked for again, and refuses what is larger than itself.
    pub(crate) fn insert(&self, key: &str, entry: Arc<Entry<V>>) {
        each!(self, store => store.insert(key, entry));
    }

    pub(crate) fn remove_if(&self, key: &str, condition: impl Fn(&Entry<V>) -> bool) {
        each!(self, store => store.remove_if(key, condition));
    }

    /// Walks over all entries. `visit` must not come back to the store.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(&str, &Entry<V>)) {
        each!(self, store => store.for_each(visit));
    }

    pub(crate) fn clear(&self) {
        each!(self, store => store.clear());
    }

    pub(crate) fn len(&self) -> usize {
        each!(self, store => store.len())
    }

    pub(crate) fn bytes(&self) -> usize {
        each!(self, store => store.bytes())
    }

    /// How many entries went for want of room.
    pub(crate) fn evictions(&self) -> u64 {
        each!(self, store => store.evictions())
    }
}
