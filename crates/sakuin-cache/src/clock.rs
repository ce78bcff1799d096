//! Time, as something that is passed in: freshness counts on a clock that never goes back, headers and logs
//! read the wall clock, and a test moves both by hand.

use std::{
    ops::Add,
    pin::Pin,
    time::{Duration, Instant, SystemTime},
};

/// A moment on a [`Clock`], in nanoseconds since the clock was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// The moment `nanoseconds` after the clock was started.
    pub const fn from_nanos(nanoseconds: u64) -> Tick {
        Tick(nanoseconds)
    }

    /// Nanoseconds since the clock was started.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; nothing if that is later.
    pub const fn since(self, earlier: Tick) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Tick {
    type Output = Tick;

    fn add(self, time: Duration) -> Tick {
        Tick(self.0.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// What a table, a guard and an origin know of time.
pub trait Clock: Send + Sync + 'static {
    /// Now, for freshness. Never goes back, whatever happens to the wall clock.
    fn now(&self) -> Tick;

    /// Now, for headers, logs and the days of a quota.
    fn unix(&self) -> SystemTime;

    /// Done when `time` has passed.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The machine's clock; sleeps on tokio's timer.
#[derive(Clone, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Tick {
        Tick::default() + self.start.elapsed()
    }

    fn unix(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(time))
    }
}
