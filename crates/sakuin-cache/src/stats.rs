//! What a table counts. What every hit counts is counted near the thread that counts it, so that no cache line
//! travels between cores; the rest happens once a fetch.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// Counts since a table was made, and what it holds now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Answers from the table, fresh.
    pub hits: u64,
    /// Answers that waited for the origin.
    pub misses: u64,
    /// Answers past their freshness.
    pub stale: u64,
    /// Requests that got no answer.
    pub refused: u64,
    /// Fetches begun.
    pub fetches: u64,
    /// Fetches that failed.
    pub failures: u64,
    /// Fetches under way.
    pub flights: u64,
    /// Entries dropped for room.
    pub evictions: u64,
    /// Entries kept.
    pub entries: u64,
    /// Bytes they take, as counted against the limit.
    pub bytes: u64,
    /// Fetch times: how many took at most each of [`Stats::LATENCY_BOUNDS`], then all the slower ones.
    pub latency: [u64; 12],
    /// The sum of all fetch times.
    pub latency_sum: Duration,
    /// While fetches fail: how long the entry closest to its end can still be served; none while they succeed.
    pub stale_cover: Option<Duration>,
}

impl Stats {
    /// The upper bounds of [`Stats::latency`]'s places, in milliseconds.
    pub const LATENCY_BOUNDS: [u64; 11] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000];
}

/// How a request ended.
#[derive(Clone, Copy)]
pub(crate) enum Ending {
    Hit,
    Miss,
    Stale,
    Refused,
}

#[derive(Debug)]
pub(crate) struct Counters {
    /// A power of two of them.
    near: Box<[Near]>,
    fetches: AtomicU64,
    failures: AtomicU64,
    flights: AtomicU64,
    latency: [AtomicU64; 12],
    latency_nanos: AtomicU64,
    failing: AtomicBool,
}

/// The counts of some threads, by [`Ending`], on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Near([AtomicU64; 4]);

impl Default for Counters {
    fn default() -> Counters {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Counters {
            near: (0..(4 * cores).next_power_of_two()).map(|_| Near::default()).collect(),
            fetches: AtomicU64::default(),
            failures: AtomicU64::default(),
            flights: AtomicU64::default(),
            latency: Default::default(),
            latency_nanos: AtomicU64::default(),
            failing: AtomicBool::default(),
        }
    }
}

impl Counters {
    #[inline]
    pub(crate) fn count(&self, ending: Ending) {
        let near = &self.near[thread_number() & (self.near.len() - 1)];
        near.0[ending as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fetch_began(&self) {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        self.flights.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fetch_ended(&self, time: Duration, failed: bool) {
        self.flights.fetch_sub(1, Ordering::Relaxed);
        self.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
        self.failing.store(failed, Ordering::Relaxed);
        let place = Stats::LATENCY_BOUNDS
            .iter()
            .position(|bound| time <= Duration::from_millis(*bound))
            .unwrap_or(Stats::LATENCY_BOUNDS.len());
        self.latency[place].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.latency_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Whether the last fetch failed.
    pub(crate) fn failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Everything but what only the store knows.
    pub(crate) fn sum(&self) -> Stats {
        let of = |ending: Ending| {
            self.near.iter().map(|near| near.0[ending as usize].load(Ordering::Relaxed)).sum()
        };
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            hits: of(Ending::Hit),
            misses: of(Ending::Miss),
            stale: of(Ending::Stale),
            refused: of(Ending::Refused),
            fetches: read(&self.fetches),
            failures: read(&self.failures),
            flights: read(&self.flights),
            latency: self.latency.each_ref().map(read),
            latency_sum: Duration::from_nanos(read(&self.latency_nanos)),
            ..Stats::default()
        }
    }
}

/// A small number of this thread's own.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}
