//! A cached table: entries and flights together.

use std::{sync::Arc, time::Duration};

use tokio::runtime::Handle;

use crate::{Answer, Clock, Entry, Failure, Lifetimes, Origin, Stats, Strategy, SystemClock};

/// How a table keeps and serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a found value lives.
    pub lifetimes: Lifetimes,
    /// How long a known absence is believed.
    pub missing: Duration,
    /// How entries are stored.
    pub strategy: Strategy,
    /// Keys, values and what surrounds them may take this much.
    pub max_bytes: usize,
    /// Requests that may wait for one flight; the next is answered stale or refused.
    pub max_waiters: usize,
    /// How long a request waits for a flight before it is answered stale or refused.
    pub wait: Duration,
}

/// What a table can say without waiting.
#[derive(Debug)]
pub enum Peek<V> {
    /// A fresh entry.
    Fresh(Arc<Entry<V>>),
    /// A stale one that may be served; its refresh has begun.
    Stale(Arc<Entry<V>>),
    /// Nothing to serve at once: [`CachedTable::answer`] waits for the origin.
    Absent,
}

/// Which entries to purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge<'a> {
    /// The one with this key.
    Key(&'a str),
    /// Those whose keys begin so.
    Prefix(&'a str),
    /// Those the origin gave this tag.
    Tag(&'a str),
    /// Every one.
    All,
}

/// How an entry is purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// It must be fetched anew, and is served stale only if that fails.
    Soft,
    /// It is forgotten.
    Hard,
}

/// Why a table has no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The origin failed, and nothing stale may be served.
    #[error("the origin does not answer")]
    Origin(#[source] Failure),
    /// Too many wait for this key already.
    #[error("too many wait for this key")]
    Crowded,
    /// The origin took longer than a request may wait; its answer is still awaited.
    #[error("the origin takes too long")]
    Late,
}

/// A table that answers from memory what an origin said; cheap to clone.
pub struct CachedTable<O: Origin, C: Clock = SystemClock> {
    inner: Arc<(O, C)>,
}

impl<O: Origin, C: Clock> CachedTable<O, C> {
    /// An empty table. Fetches run as tasks on `runtime`.
    pub fn new(origin: O, options: Options, clock: C, runtime: Handle) -> CachedTable<O, C> {
        let _ = (options, runtime);
        CachedTable { inner: Arc::new((origin, clock)) }
    }

    /// What can be served without waiting; begins a refresh when that is stale. Allocates nothing on a hit.
    pub fn peek(&self, key: &str) -> Peek<O::Value> {
        let _ = key;
        unimplemented!()
    }

    /// The answer for `key`, waiting for the origin if need be.
    pub async fn answer(&self, key: &str) -> Result<Answer<O::Value>, CacheError> {
        let _ = key;
        unimplemented!()
    }

    /// Purges entries, and keeps flights under way from storing what they began to fetch before. Returns how
    /// many entries it found; for [`Purge::All`] that costs nothing, for a prefix or tag a walk over all.
    pub fn purge(&self, purge: Purge<'_>, depth: Depth) -> usize {
        let _ = (purge, depth);
        unimplemented!()
    }

    /// Takes over every entry of another table, as after a change of strategy; ages go on.
    pub fn adopt(&self, other: &CachedTable<O, C>) {
        let _ = other;
        unimplemented!()
    }

    /// What happened so far, and what is kept.
    pub fn stats(&self) -> Stats {
        unimplemented!()
    }

    /// The clock it goes by.
    pub fn clock(&self) -> &C {
        &self.inner.1
    }

    /// The origin it reads from.
    pub fn origin(&self) -> &O {
        &self.inner.0
    }
}

impl<O: Origin, C: Clock> Clone for CachedTable<O, C> {
    fn clone(&self) -> Self {
        CachedTable { inner: self.inner.clone() }
    }
}
