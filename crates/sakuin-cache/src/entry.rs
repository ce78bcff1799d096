//! An answer as it is kept, and as it is handed out.

use std::{sync::Arc, time::Duration};

use crate::{Lifetimes, Tick};

/// One value in a table, never changed once it is there.
#[derive(Debug)]
pub struct Entry<V> {
    value: V,
    lifetimes: Lifetimes,
    asked: Tick,
}

impl<V> Entry<V> {
    /// The value the origin gave.
    pub fn value(&self) -> &V {
        &self.value
    }

    /// Time since it was asked for, so never less than its true age.
    pub fn age(&self, now: Tick) -> Duration {
        now.since(self.asked)
    }

    /// How long it lives.
    pub fn lifetimes(&self) -> Lifetimes {
        self.lifetimes
    }
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// From the table, fresh.
    Hit,
    /// From the origin; `collapsed` if another request had already asked for it.
    Miss {
        /// Whether this request waited for another's flight.
        collapsed: bool,
    },
    /// From the table, past its freshness.
    Stale,
}

/// A value with its age and where it came from.
#[derive(Debug)]
pub struct Answer<V> {
    /// The entry; it stays valid when the table forgets it.
    pub entry: Arc<Entry<V>>,
    /// Time since it was asked for.
    pub age: Duration,
    /// Where it came from.
    pub source: Source,
}
