//! Flights: one fetch for a key, however many ask meanwhile.
//!
//! A flight begins under its shard's lock, is joined under it and lands under it, and a purge marks it under
//! it. So whoever looks finds either the flight or what it brought, and a purge meets every flight either in
//! the air or with its answer already stored. Those who wait are woken by the landing, all at once.

use std::{
    collections::HashMap,
    hash::BuildHasher,
    ops::ControlFlow,
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use foldhash::fast::RandomState;
use tokio::{runtime::Handle, sync::Notify};

use crate::{
    Depth,
    sync::{Mutex, MutexGuard, lock, spawn},
};

const SHARDS: usize = 64;

/// The flights of one table or one origin, by key. `T` is what a flight brings; all who wait share it.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// use sakuin_cache::{Flights, Outcome};
/// let flights = Flights::new(100);
/// let (one, two) = runtime.block_on(async {
///     let runtime = tokio::runtime::Handle::current();
///     tokio::join!(
///         flights.join(&runtime, "key", || async { 1 }),
///         flights.join(&runtime, "key", || async { 2 }),
///     )
/// });
/// assert!(matches!(one, Outcome::Landed { value, collapsed: false } if *value == 1));
/// assert!(matches!(two, Outcome::Landed { value, collapsed: true } if *value == 1));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Flights<T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    shards: Vec<Mutex<Shard<T>>>,
    hasher: RandomState,
    max_waiters: usize,
}

type Shard<T> = HashMap<Arc<str>, Aloft<T>, RandomState>;

struct Aloft<T> {
    flight: Arc<Flight<T>>,
    purged: Option<Depth>,
}

struct Flight<T> {
    /// Nothing if it broke.
    landed: OnceLock<Option<Arc<T>>>,
    wake: Notify,
    waiters: AtomicUsize,
}

/// How joining a flight ended.
#[derive(Clone, Debug)]
pub enum Outcome<T> {
    /// It landed.
    Landed {
        /// What it brought.
        value: Arc<T>,
        /// Whether another request had begun it.
        collapsed: bool,
    },
    /// Too many wait for it already.
    Crowded,
    /// It panicked.
    Broken,
}

/// What came of asking for a flight.
pub(crate) enum Boarding<T, S, R> {
    /// One is under way.
    Joined {
        ticket: Ticket<T>,
        /// Whether a purge came after it began: its answer is none for a request that came after the purge.
        outdated: bool,
    },
    /// There was none: this caller has to fly it.
    Begun { ticket: Ticket<T>, pilot: Pilot<T>, seed: S },
    /// There was none, and none is needed.
    Needless(R),
    /// Too many wait.
    Crowded,
}

/// A place among those who wait.
pub(crate) struct Ticket<T> {
    flight: Arc<Flight<T>>,
}

/// The duty to land a flight; dropped without, it lands broken.
pub(crate) struct Pilot<T> {
    inner: Arc<Inner<T>>,
    key: Arc<str>,
    flight: Arc<Flight<T>>,
}

impl<T: Send + Sync + 'static> Flights<T> {
    /// No flights yet; at most `max_waiters` may wait for each.
    pub fn new(max_waiters: usize) -> Flights<T> {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect();
        let max_waiters = max_waiters.max(1);
        Flights { inner: Arc::new(Inner { shards, hasher: RandomState::default(), max_waiters }) }
    }

    /// Waits for the flight of `key`, beginning it with `fetch` if there is none. The fetch is a task of its
    /// own on `runtime`: it goes on when the one who began it leaves.
    pub async fn join<F>(
        &self,
        runtime: &Handle,
        key: &str,
        fetch: impl FnOnce() -> F + Send,
    ) -> Outcome<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let start = || ControlFlow::<std::convert::Infallible, ()>::Continue(());
        let (ticket, collapsed) = match self.board(key, start) {
            Boarding::Joined { ticket, .. } => (ticket, true),
            Boarding::Begun { ticket, pilot, .. } => {
                let fetch = fetch();
                spawn(runtime, async move {
                    let value = fetch.await;
                    pilot.land(|_| value);
                });
                (ticket, false)
            }
            Boarding::Crowded => return Outcome::Crowded,
        };
        match ticket.landing().await {
            Some(value) => Outcome::Landed { value, collapsed },
            None => Outcome::Broken,
        }
    }

    /// Joins the flight of `key` or begins one. If there is none, `start` decides under the lock whether one
    /// is needed: what an earlier flight stored is there by then.
    pub(crate) fn board<S, R>(
        &self,
        key: &str,
        start: impl FnOnce() -> ControlFlow<R, S>,
    ) -> Boarding<T, S, R> {
        let mut shard = self.inner.shard(key);
        if let Some(aloft) = shard.get(key) {
            return match Ticket::take(&aloft.flight, self.inner.max_waiters) {
                Some(ticket) => Boarding::Joined { ticket, outdated: aloft.purged.is_some() },
                None => Boarding::Crowded,
            };
        }
        match start() {
            ControlFlow::Break(answer) => Boarding::Needless(answer),
            ControlFlow::Continue(seed) => {
                let pilot = self.begin(&mut shard, key);
                let ticket = Ticket::take(&pilot.flight, usize::MAX).expect("the first always may");
                Boarding::Begun { ticket, pilot, seed }
            }
        }
    }

    /// Begins a flight that nobody waits for, unless there is one or `start` sees no need.
    pub(crate) fn refresh<S>(
        &self,
        key: &str,
        start: impl FnOnce() -> Option<S>,
    ) -> Option<(Pilot<T>, S)> {
        let mut shard = self.inner.shard(key);
        if shard.contains_key(key) {
            return None;
        }
        let seed = start()?;
        Some((self.begin(&mut shard, key), seed))
    }

    /// Does something while no flight of `key` can begin or land.
    pub(crate) fn hold<R>(&self, key: &str, what: impl FnOnce() -> R) -> R {
        let _shard = self.inner.shard(key);
        what()
    }

    /// A number of a key's own, another in every process.
    pub(crate) fn hash(&self, key: &str) -> u64 {
        self.inner.hasher.hash_one(key)
    }

    /// Marks flights as begun before a purge.
    pub(crate) fn purge(&self, depth: Depth, covers: impl Fn(&str) -> bool) {
        for shard in &self.inner.shards {
            for (_, aloft) in lock(shard).iter_mut().filter(|(key, _)| covers(key)) {
                aloft.purged = aloft.purged.max(Some(depth));
            }
        }
    }

    /// Marks the flight of one key.
    pub(crate) fn purge_key(&self, depth: Depth, key: &str) {
        if let Some(aloft) = self.inner.shard(key).get_mut(key) {
            aloft.purged = aloft.purged.max(Some(depth));
        }
    }

    fn begin(&self, shard: &mut Shard<T>, key: &str) -> Pilot<T> {
        let key: Arc<str> = key.into();
        let flight = Arc::new(Flight {
            landed: OnceLock::new(),
            wake: Notify::new(),
            waiters: AtomicUsize::new(0),
        });
        shard.insert(key.clone(), Aloft { flight: flight.clone(), purged: None });
        Pilot { inner: self.inner.clone(), key, flight }
    }
}

impl<T> Inner<T> {
    fn shard(&self, key: &str) -> MutexGuard<'_, Shard<T>> {
        lock(&self.shards[self.hasher.hash_one(key) as usize % SHARDS])
    }
}

impl<T> Pilot<T> {
    /// Lands with what `settle` makes under the lock, told whether a purge came in mid-flight.
    pub(crate) fn land(self, settle: impl FnOnce(Option<Depth>) -> T) {
        let mut shard = self.inner.shard(&self.key);
        let purged = shard.get(&self.key).and_then(|aloft| aloft.purged);
        let value = Arc::new(settle(purged));
        shard.remove(&self.key);
        drop(shard);
        self.flight.land(Some(value));
    }
}

impl<T> Drop for Pilot<T> {
    fn drop(&mut self) {
        if self.flight.landed.get().is_none() {
            self.inner.shard(&self.key).remove(&self.key);
            self.flight.land(None);
        }
    }
}

impl<T> Flight<T> {
    fn land(&self, value: Option<Arc<T>>) {
        // The pilot alone lands, and once.
        let _ = self.landed.set(value);
        self.wake.notify_waiters();
    }
}

impl<T> Ticket<T> {
    fn take(flight: &Arc<Flight<T>>, max_waiters: usize) -> Option<Ticket<T>> {
        // Taken and counted under the shard's lock, given back without: the count may only be too high.
        if flight.waiters.load(Ordering::Relaxed) >= max_waiters {
            return None;
        }
        flight.waiters.fetch_add(1, Ordering::Relaxed);
        Some(Ticket { flight: flight.clone() })
    }

    /// What the flight brings; nothing if it broke.
    pub(crate) async fn landing(self) -> Option<Arc<T>> {
        let mut woken = pin!(self.flight.wake.notified());
        // Registered before looking, so that a landing in between wakes it.
        woken.as_mut().enable();
        if let Some(landed) = self.flight.landed.get() {
            return landed.clone();
        }
        woken.await;
        self.flight.landed.get().expect("woken by the landing").clone()
    }
}

impl<T> Drop for Ticket<T> {
    fn drop(&mut self) {
        self.flight.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}
