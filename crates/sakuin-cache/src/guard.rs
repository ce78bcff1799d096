//! What stands between a table and its origin: how often, how many at once, how long, and whether at all.
//!
//! One guard an origin, however many tables read from it. A call waits for its turn, then for the rate, then
//! runs, all within one deadline; it is tried again where that may help and the budget of retries allows; and
//! an origin that fails too often is left in peace until a single probe succeeds. Everything goes by the
//! [`Clock`], so that a day of quota and an hour of outage are tested in milliseconds.

mod breaker;
mod budget;
mod quota;
mod rate;

use std::{
    path::PathBuf,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::Poll,
    time::Duration,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    Clock, Failure, FailureKind, Tick,
    sync::{Mutex, MutexGuard, lock},
};

use self::{breaker::Breaker, budget::Budget, quota::Ledger, rate::Bucket};

/// The pause before the first retry; the second waits four times as long.
const PAUSE: Duration = Duration::from_millis(50);

/// When to come back after a refusal for want of a turn.
const TURN_WAIT: Duration = Duration::from_secs(1);

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
    /// The day's quota is used up, or cannot be kept.
    Quota,
    /// Too many requests are under way.
    Concurrency,
    /// The origin failed too often, or said when it wants to be asked again.
    Open,
}

impl Refusal {
    /// Every reason.
    pub const ALL: [Refusal; 4] =
        [Refusal::Rate, Refusal::Quota, Refusal::Concurrency, Refusal::Open];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Refusal::Rate => "rate",
            Refusal::Quota => "quota",
            Refusal::Concurrency => "concurrency",
            Refusal::Open => "open",
        }
    }
}

/// Whether a guard lets calls through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// It does.
    #[default]
    Closed,
    /// One call is on its way to find out.
    Probing,
    /// It does not.
    Open,
}

/// Counts since a guard was made, and how it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardStats {
    /// Requests sent to the origin, retries among them.
    pub calls: u64,
    /// Those that failed.
    pub failures: u64,
    /// Those that were retries.
    pub retries: u64,
    /// Those under way.
    pub under_way: u64,
    /// Whether calls are let through.
    pub breaker: BreakerState,
    /// What is left of the day's quota.
    pub quota_left: Option<u64>,
    refused: [u64; Refusal::ALL.len()],
}

impl GuardStats {
    /// Calls that were not let through, by reason.
    pub fn refused(&self, refusal: Refusal) -> u64 {
        self.refused[refusal as usize]
    }
}

/// The guard of one origin; cheap to clone.
pub struct Guard<C: Clock> {
    inner: Arc<Inner<C>>,
}

struct Inner<C: Clock> {
    timeout: Duration,
    concurrency: usize,
    clock: Arc<C>,
    turns: Semaphore,
    rate: Option<Bucket<C>>,
    quota: Option<Mutex<Ledger>>,
    breaker: Mutex<Breaker>,
    budget: Mutex<Budget>,
    calls: AtomicU64,
    failures: AtomicU64,
    retries: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
}

impl<C: Clock> Guard<C> {
    /// A guard that lets everything through but what the limits forbid.
    pub fn new(limits: GuardLimits, clock: C) -> Guard<C> {
        let clock = Arc::new(clock);
        let (rate, quota) = match limits.rate {
            Some(rate) => (Some(Bucket::new(&rate, clock.clone())), rate.per_day),
            None => (None, None),
        };
        let concurrency = limits.concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Guard {
            inner: Arc::new(Inner {
                timeout: limits.timeout,
                concurrency,
                turns: Semaphore::new(concurrency),
                rate,
                quota: quota.map(|quota| Mutex::new(Ledger::new(quota))),
                breaker: Mutex::default(),
                budget: Mutex::default(),
                calls: AtomicU64::default(),
                failures: AtomicU64::default(),
                retries: AtomicU64::default(),
                refused: Default::default(),
                clock,
            }),
        }
    }

    /// Calls `attempt` within the limits, and again where a retry is worth it: one retry, two if `needed`
    /// (nothing stale can be served), never more than a tenth of all calls. A failure's `retry_after` closes
    /// the guard for that long, at most an hour.
    ///
    /// Only what may be asked twice belongs here. An attempt that is late is dropped where it stands.
    pub async fn call<T, F>(
        &self,
        needed: bool,
        attempt: impl Fn() -> F + Send,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + Send,
        T: Send,
    {
        let guard = &*self.inner;
        let end = guard.clock.now() + guard.timeout;
        let mut pass = guard.pass(end).await?;
        guard.budget().earn();
        let mut pauses = [PAUSE, PAUSE * 4].into_iter().take(if needed { 2 } else { 1 });
        loop {
            let failure = match guard.run(pass, end, attempt()).await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let Some(pause) = pauses.next().filter(|_| worth_a_retry(&failure)) else {
                return Err(failure);
            };
            let now = guard.clock.now();
            if now + pause >= end || !guard.budget().spend(now) {
                return Err(failure);
            }
            guard.clock.sleep(pause).await;
            // A retry that is not let through changes nothing about why the call failed.
            let Ok(again) = guard.pass(end).await else { return Err(failure) };
            guard.retries.fetch_add(1, Relaxed);
            pass = again;
        }
    }

    /// Makes `attempt` within the limits, once: for what may not be asked twice.
    pub async fn once<T>(
        &self,
        attempt: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let guard = &*self.inner;
        let end = guard.clock.now() + guard.timeout;
        let pass = guard.pass(end).await?;
        guard.run(pass, end, attempt).await
    }

    /// What happened so far, and how it stands.
    pub fn stats(&self) -> GuardStats {
        let guard = &*self.inner;
        GuardStats {
            calls: guard.calls.load(Relaxed),
            failures: guard.failures.load(Relaxed),
            retries: guard.retries.load(Relaxed),
            under_way: (guard.concurrency - guard.turns.available_permits()) as u64,
            breaker: guard.breaker().state(),
            quota_left: guard.quota.as_ref().map(|quota| lock(quota).left()),
            refused: guard.refused.each_ref().map(|count| count.load(Relaxed)),
        }
    }
}

impl<C: Clock> Clone for Guard<C> {
    fn clone(&self) -> Self {
        Guard { inner: self.inner.clone() }
    }
}

/// One request's way through the guard. Dropped without a word, as when its time is over, it has failed.
struct Pass<'g, C: Clock> {
    guard: &'g Inner<C>,
    probe: bool,
    _turn: SemaphorePermit<'g>,
    told: bool,
}

impl<C: Clock> Inner<C> {
    /// Waits until one request may be sent.
    async fn pass(&self, end: Tick) -> Result<Pass<'_, C>, Failure> {
        self.breaker().look(self.clock.now()).map_err(|wait| self.left_in_peace(wait))?;
        let turn = self.within(end, self.turns.acquire()).await;
        let Some(Ok(turn)) = turn else {
            let cause = "too many requests to the origin are under way";
            return Err(self.refuse(Refusal::Concurrency, cause, TURN_WAIT));
        };
        self.rate(end).await?;
        let now = self.clock.now();
        let probe = self.breaker().enter(now).map_err(|wait| self.left_in_peace(wait))?;
        let pass = Pass { guard: self, probe, _turn: turn, told: false };
        if let Some(quota) = &self.quota
            && let Err(over) = lock(quota).take(self.clock.unix(), now)
        {
            pass.forget();
            return Err(self.refuse(Refusal::Quota, &over.cause, over.wait));
        }
        Ok(pass)
    }

    async fn rate(&self, end: Tick) -> Result<(), Failure> {
        let Some(rate) = &self.rate else { return Ok(()) };
        while let Err(wait) = rate.take() {
            if self.clock.now() + wait >= end {
                let cause = "the origin's rate is used up";
                return Err(self.refuse(Refusal::Rate, cause, wait));
            }
            self.clock.sleep(wait).await;
        }
        Ok(())
    }

    async fn run<T>(
        &self,
        mut pass: Pass<'_, C>,
        end: Tick,
        attempt: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.calls.fetch_add(1, Relaxed);
        let result = self.within(end, attempt).await.unwrap_or_else(|| {
            let cause = format!("no whole answer within {:?}", self.timeout);
            Err(Failure { kind: FailureKind::TimedOut, cause, retry_after: None })
        });
        pass.tell(result.as_ref().err());
        result
    }

    /// What `future` gives, if it does before `end`.
    async fn within<T>(&self, end: Tick, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        let mut late = self.clock.sleep(end.since(self.clock.now()));
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => late.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    fn left_in_peace(&self, wait: Duration) -> Failure {
        self.refuse(Refusal::Open, "the origin failed and is left in peace", wait)
    }

    fn refuse(&self, refusal: Refusal, cause: &str, wait: Duration) -> Failure {
        self.refused[refusal as usize].fetch_add(1, Relaxed);
        Failure { kind: FailureKind::Guarded, cause: cause.to_owned(), retry_after: Some(wait) }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        lock(&self.breaker)
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        lock(&self.budget)
    }
}

impl<C: Clock> Pass<'_, C> {
    fn tell(&mut self, failure: Option<&Failure>) {
        self.told = true;
        if failure.is_some() {
            self.guard.failures.fetch_add(1, Relaxed);
        }
        let well = failure.is_none_or(|failure| !is_unwell(failure.kind));
        let rest = failure.and_then(|failure| failure.retry_after);
        self.guard.breaker().leave(self.probe, well, rest, self.guard.clock.now());
    }

    /// As if it had never been given.
    fn forget(mut self) {
        self.told = true;
        self.guard.breaker().step_back(self.probe, self.guard.clock.now());
    }
}

impl<C: Clock> Drop for Pass<'_, C> {
    fn drop(&mut self) {
        if !self.told {
            self.guard.breaker().leave(self.probe, false, None, self.guard.clock.now());
        }
    }
}

/// Failures that say something about the origin as a whole, not about one answer.
fn is_unwell(kind: FailureKind) -> bool {
    use FailureKind::{Broken, Refused, TimedOut, Unreachable};
    matches!(kind, Unreachable | TimedOut | Refused | Broken)
}

fn worth_a_retry(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::Unreachable | FailureKind::Refused)
        && failure.retry_after.is_none()
}
