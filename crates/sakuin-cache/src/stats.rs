//! What a table counts.

use std::time::Duration;

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
