//! One fetch: a task from its start to its landing, whatever happens on the way.
//!
//! It belongs to nobody who waits. It may end by an answer, a failure, a panic or the end of its runtime, and
//! each of them lands: what came is stored if it may be, and those who wait are told.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::sync::oneshot;

use crate::{
    CacheError, Clock, Depth, Entry, Failure, FailureKind, Fetched, Fill, Kind, Lifetimes, Origin,
    Tick,
    entry::FORGOTTEN,
    flight::Pilot,
    sync::{lock, spawn},
    table::{Inner, Seed},
};

/// How long a key is remembered whose answer could not be kept.
const UNSTORABLE: Duration = Duration::from_secs(120);

/// How many such keys are remembered at most.
const UNSTORABLE_KEYS: usize = 16_384;

/// What a flight brought.
pub(crate) enum Landing<V> {
    Filled(Arc<Entry<V>>),
    Failed(Failure),
}

/// A fetch under way.
pub(crate) struct Fetch<O: Origin, C: Clock> {
    table: Arc<Inner<O, C>>,
    key: Box<str>,
    seed: Seed<O::Value>,
    asked: Tick,
    /// Where it lands; nothing once it has.
    landing: Option<Strip<O::Value>>,
}

/// Where a fetch lands.
enum Strip<V> {
    Flight(Pilot<Landing<V>>),
    /// With the one request that asked: its key's answers cannot be kept.
    Request(oneshot::Sender<Arc<Landing<V>>>),
}

impl<O: Origin, C: Clock> Fetch<O, C> {
    /// Begins the fetch of a flight.
    pub(crate) fn begin(
        table: &Arc<Inner<O, C>>,
        key: &str,
        seed: Seed<O::Value>,
        pilot: Pilot<Landing<O::Value>>,
    ) {
        Fetch::spawn(table, key, seed, Strip::Flight(pilot));
    }

    /// Fetches for one request alone. As many at once as may wait for one flight.
    pub(crate) async fn alone(
        table: &Arc<Inner<O, C>>,
        key: &str,
    ) -> Result<Arc<Landing<O::Value>>, CacheError> {
        if table.alone.fetch_add(1, Ordering::Relaxed) >= table.options.max_waiters {
            table.alone.fetch_sub(1, Ordering::Relaxed);
            return Err(CacheError::Crowded);
        }
        let (sender, landing) = oneshot::channel();
        let seed = Seed { previous: None, generation: FORGOTTEN };
        Fetch::spawn(table, key, seed, Strip::Request(sender));
        landing.await.map_err(|_| CacheError::Origin(Failure::broken()))
    }

    fn spawn(table: &Arc<Inner<O, C>>, key: &str, seed: Seed<O::Value>, landing: Strip<O::Value>) {
        table.counters.fetch_began();
        let fetch = Fetch {
            table: table.clone(),
            key: key.into(),
            seed,
            asked: table.clock.now(),
            landing: Some(landing),
        };
        spawn(&table.runtime, fetch.run());
    }

    async fn run(mut self) {
        let previous = self.seed.previous.as_ref().map(|entry| entry.value());
        let fetched = self.table.origin.fetch(&self.key, previous).await;
        self.land(fetched);
    }

    fn land(&mut self, fetched: Result<Fetched<O::Value>, Failure>) {
        let Some(strip) = self.landing.take() else { return };
        let now = self.table.clock.now();
        self.table.counters.fetch_ended(now.since(self.asked), fetched.is_err());
        match strip {
            Strip::Flight(pilot) => pilot.land(|purged| self.settle(fetched, purged, now)),
            Strip::Request(sender) => {
                self.table.alone.fetch_sub(1, Ordering::Relaxed);
                // The one who asked may have left.
                let _ = sender.send(Arc::new(self.pass(fetched)));
            }
        }
    }

    /// Stores what came, if it may be. Runs under the lock of the flight.
    fn settle(
        &self,
        fetched: Result<Fetched<O::Value>, Failure>,
        purged: Option<Depth>,
        now: Tick,
    ) -> Landing<O::Value> {
        let generation = match purged {
            None => self.seed.generation,
            Some(_) => self.table.generations.outdated(),
        };
        let entry = match (fetched, &self.seed.previous) {
            (Ok(Fetched::New(fill)), _) if fill.kind == Kind::Unstorable => {
                self.table.store.remove_if(&self.key, |_| true);
                self.remember_unstorable(now);
                return Landing::Filled(self.unkept(fill));
            }
            (Ok(Fetched::New(fill)), _) => {
                let lifetimes = self.table.lifetimes(&fill);
                Entry::new(&self.key, fill, lifetimes, self.asked, generation)
            }
            (Ok(Fetched::NotModified(lifetimes)), Some(previous)) => {
                let lifetimes =
                    lifetimes.unwrap_or_else(|| self.table.usual_lifetimes(previous.is_missing()));
                previous.confirmed(&self.key, lifetimes, self.asked, generation)
            }
            (Ok(Fetched::NotModified(_)), None) => {
                return Landing::Failed(Failure::confirmed_nothing());
            }
            (Err(failure), previous) => {
                if let Some(previous) = previous {
                    previous.hold_back(now, failure.retry_after);
                }
                return Landing::Failed(failure);
            }
        };
        let entry = Arc::new(entry);
        if purged != Some(Depth::Hard) {
            self.table.keep(&self.key, entry.clone());
        }
        Landing::Filled(entry)
    }

    /// Hands on what came without storing it. If it could have been kept, the next request begins a flight.
    fn pass(&self, fetched: Result<Fetched<O::Value>, Failure>) -> Landing<O::Value> {
        match fetched {
            Ok(Fetched::New(fill)) => {
                if fill.kind != Kind::Unstorable {
                    lock(&self.table.unstorable).remove(&self.table.flights.hash(&self.key));
                }
                Landing::Filled(self.unkept(fill))
            }
            Ok(Fetched::NotModified(_)) => Landing::Failed(Failure::confirmed_nothing()),
            Err(failure) => Landing::Failed(failure),
        }
    }

    fn unkept(&self, fill: Fill<O::Value>) -> Arc<Entry<O::Value>> {
        let lifetimes = Lifetimes {
            fresh: Duration::ZERO,
            stale_while_revalidate: Duration::ZERO,
            stale_if_error: Duration::ZERO,
        };
        Arc::new(Entry::new(&self.key, fill, lifetimes, self.asked, FORGOTTEN))
    }

    fn remember_unstorable(&self, now: Tick) {
        let mut unstorable = lock(&self.table.unstorable);
        if unstorable.len() >= UNSTORABLE_KEYS {
            unstorable.retain(|_, until| now < *until);
        }
        if unstorable.len() < UNSTORABLE_KEYS {
            unstorable.insert(self.table.flights.hash(&self.key), now + UNSTORABLE);
        }
    }
}

/// A fetch that panicked, or whose runtime ended.
impl<O: Origin, C: Clock> Drop for Fetch<O, C> {
    fn drop(&mut self) {
        self.land(Err(Failure::broken()));
    }
}

impl Failure {
    pub(crate) fn broken() -> Failure {
        Failure {
            kind: FailureKind::Broken,
            cause: "the fetch broke".to_owned(),
            retry_after: None,
        }
    }

    fn confirmed_nothing() -> Failure {
        Failure {
            kind: FailureKind::BadAnswer,
            cause: "the origin answered `not modified` to a request without validators".to_owned(),
            retry_after: None,
        }
    }
}
