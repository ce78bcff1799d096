//! An answer as it is kept, and as it is handed out.
//!
//! An entry's value and times never change. What changes are three marks beside them: the generation, by which
//! a purge takes back its freshness without touching the store, and when the origin may be asked again.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use crate::{Depth, Fill, Kind, Lifetimes, State, Tick, sync::AtomicU64};

/// One value in a table, never changed once it is there.
#[derive(Debug)]
pub struct Entry<V> {
    body: Arc<Body<V>>,
    /// When it was asked for, and how old it was then by the origin's word.
    asked: Tick,
    age: Duration,
    lifetimes: Lifetimes,
    fresh_until: Tick,
    weight: usize,
    generation: AtomicU64,
    retry_at: AtomicU64,
    failures: AtomicU32,
}

/// What an origin said, shared by the entries that it confirmed later.
#[derive(Debug)]
struct Body<V> {
    value: V,
    kind: Kind,
    bytes: usize,
    tags: Vec<Box<str>>,
}

/// The generations of a table's entries: a purge of all raises them and touches no entry.
#[derive(Debug)]
pub(crate) struct Generations {
    /// Entries of earlier ones must be fetched anew. Even.
    current: AtomicU64,
    /// Entries of earlier ones are forgotten. Odd, and less than `current`: no entry is made with it, but one
    /// whose freshness alone was taken gets it.
    kept: AtomicU64,
}

/// The generation of an entry that is in no table, or that a purge took out.
pub(crate) const FORGOTTEN: u64 = 0;

/// An allocation costs this much beside what was asked for: a header, and rounding up.
pub(crate) const ALLOCATION: usize = 16;

impl<V> Entry<V> {
    /// What `fill` says of `key`, asked for at `asked`.
    pub(crate) fn new(
        key: &str,
        fill: Fill<V>,
        lifetimes: Lifetimes,
        asked: Tick,
        generation: u64,
    ) -> Entry<V> {
        let Fill { value, kind, bytes, tags, age, .. } = fill;
        let body = Arc::new(Body { value, kind, bytes, tags });
        Entry::of(key, body, asked, age, lifetimes, generation)
    }

    /// The same value, confirmed by an origin asked at `asked`.
    pub(crate) fn confirmed(
        &self,
        key: &str,
        lifetimes: Lifetimes,
        asked: Tick,
        generation: u64,
    ) -> Entry<V> {
        Entry::of(key, self.body.clone(), asked, Duration::ZERO, lifetimes, generation)
    }

    /// The same value and age for a table with another clock and other generations.
    pub(crate) fn adopted(&self, key: &str, age: Duration, now: Tick, generation: u64) -> Entry<V> {
        Entry::of(key, self.body.clone(), now, age, self.lifetimes, generation)
    }

    fn of(
        key: &str,
        body: Arc<Body<V>>,
        asked: Tick,
        age: Duration,
        lifetimes: Lifetimes,
        generation: u64,
    ) -> Entry<V> {
        let tags = body.tags.iter().map(|tag| tag.len() + mem::size_of::<Box<str>>() + ALLOCATION);
        let weight = key.len()
            + body.bytes
            + tags.sum::<usize>()
            + mem::size_of::<Entry<V>>()
            + mem::size_of::<Body<()>>()
            + 3 * ALLOCATION;
        Entry {
            body,
            asked,
            age,
            lifetimes,
            fresh_until: asked + lifetimes.fresh.saturating_sub(age),
            weight,
            generation: AtomicU64::new(generation),
            retry_at: AtomicU64::new(0),
            failures: AtomicU32::new(0),
        }
    }

    /// The value the origin gave.
    pub fn value(&self) -> &V {
        &self.body.value
    }

    /// Time since it was asked for, so never less than its true age.
    pub fn age(&self, now: Tick) -> Duration {
        now.since(self.asked).saturating_add(self.age)
    }

    /// How long it lives.
    pub fn lifetimes(&self) -> Lifetimes {
        self.lifetimes
    }

    /// Whether it is a known absence.
    pub fn is_missing(&self) -> bool {
        self.body.kind == Kind::Missing
    }

    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        self.body.tags.iter().any(|own| **own == *tag)
    }

    /// What it takes in memory, without what a store needs to find it.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    pub(crate) fn asked(&self) -> Tick {
        self.asked
    }

    #[inline]
    pub(crate) fn is_fresh(&self, now: Tick, generations: &Generations) -> bool {
        now < self.fresh_until
            && self.generation.load(Ordering::Acquire)
                >= generations.current.load(Ordering::Acquire)
    }

    pub(crate) fn state(&self, now: Tick, generations: &Generations) -> State {
        let by_age = self.lifetimes.state_of_age(self.age(now));
        match generations.purged(self) {
            None => by_age,
            Some(Depth::Soft) => by_age.max(State::Failing),
            Some(Depth::Hard) => State::Gone,
        }
    }

    /// Takes back its freshness, or all of it.
    pub(crate) fn purge(&self, depth: Depth, generations: &Generations) {
        let generation = match depth {
            Depth::Soft => generations.outdated(),
            Depth::Hard => FORGOTTEN,
        };
        self.generation.fetch_min(generation, Ordering::AcqRel);
    }

    pub(crate) fn is_forgotten(&self) -> bool {
        self.generation.load(Ordering::Acquire) == FORGOTTEN
    }

    /// Whether the origin failed and is not to be asked again yet.
    pub(crate) fn is_held_back(&self, now: Tick) -> bool {
        now.as_nanos() < self.retry_at.load(Ordering::Acquire)
    }

    /// Notes that fetching a newer one failed: the next try is in a second, then in twice as long up to 30,
    /// or when the origin says.
    pub(crate) fn hold_back(&self, now: Tick, retry_after: Option<Duration>) {
        let doublings = self.failures.fetch_add(1, Ordering::AcqRel).min(5);
        let pause = retry_after.unwrap_or(Duration::from_secs((1 << doublings).min(30)));
        self.retry_at.store((now + pause).as_nanos(), Ordering::Release);
    }
}

impl Default for Generations {
    fn default() -> Generations {
        Generations { current: AtomicU64::new(2), kept: AtomicU64::new(1) }
    }
}

impl Generations {
    pub(crate) fn current(&self) -> u64 {
        self.current.load(Ordering::Acquire)
    }

    /// That of an entry which is kept and must be fetched anew.
    pub(crate) fn outdated(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// How much of an entry a purge took: all of it, its freshness, or nothing.
    pub(crate) fn purged<V>(&self, entry: &Entry<V>) -> Option<Depth> {
        let generation = entry.generation.load(Ordering::Acquire);
        if generation < self.outdated() {
            Some(Depth::Hard)
        } else {
            (generation < self.current()).then_some(Depth::Soft)
        }
    }

    /// Puts every entry there is in the past.
    pub(crate) fn purge(&self, depth: Depth) {
        let next = self.current.fetch_add(2, Ordering::AcqRel) + 2;
        if depth == Depth::Hard {
            self.kept.fetch_max(next - 1, Ordering::AcqRel);
        }
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
