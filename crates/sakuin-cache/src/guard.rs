//! What stands between a table and its origin: how often, how many at once, how long, and whether at all.
//!
//! One guard an origin, however many tables read from it. Everything goes by the [`Clock`], so that a day of
//! quota and an hour of outage are tested in milliseconds.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{Clock, Failure};

/// How much an origin is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardLimits {
    /// Connecting, headers and body together.
    pub timeout: Duration,
    /// Requests at once; more wait, within their time.
    pub concurrency: usize,
    /// How many a second, and how many a day.
    pub rate: Option<Rate>,
}

/// A token bucket, and perhaps a day's quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests a second, in the long run.
    pub per_second: u32,
    /// Requests at once after a rest.
    pub burst: u32,
    /// Requests a day (UTC), across restarts.
    pub per_day: Option<Quota>,
}

/// A day's quota. It is reserved from a file in blocks of one hundredth, so that a restart can waste that much
/// and never exceed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Requests from midnight to midnight, UTC.
    pub requests: u64,
    /// Where the reservation is kept.
    pub state: PathBuf,
}

/// Why a guard let nothing through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The second's rate is used up.
    Rate,
    /// The day's quota is used up.
    Quota,
    /// Too many requests are under way.
    Concurrency,
    /// The origin failed too often, and is left in peace.
    Open,
}

/// The guard of one origin; cheap to clone.
#[derive(Clone)]
pub struct Guard<C: Clock> {
    clock: Arc<C>,
}

impl<C: Clock> Guard<C> {
    /// A guard with everything closed but the limits.
    pub fn new(limits: GuardLimits, clock: C) -> Guard<C> {
        let _ = limits;
        Guard { clock: Arc::new(clock) }
    }

    /// Calls `attempt` within the limits, and again where a retry is worth it: one retry, two if `needed`
    /// (nothing stale can be served), never more than a tenth of all calls. A failure's `retry_after` closes
    /// the guard for that long.
    pub async fn call<T, F>(
        &self,
        needed: bool,
        attempt: impl Fn() -> F + Send,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + Send,
        T: Send,
    {
        let _ = (needed, attempt, &self.clock);
        unimplemented!()
    }
}
