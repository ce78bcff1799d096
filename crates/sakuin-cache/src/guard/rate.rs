//! Requests a second: the `governor` crate's token bucket, under our clock.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    RateLimiter,
    clock::Clock as GovernorClock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};

use super::Rate;
use crate::Clock;

pub(super) struct Bucket<C: Clock> {
    clock: Ours<C>,
    limiter: RateLimiter<NotKeyed, InMemoryState, Ours<C>, NoOpMiddleware<Duration>>,
}

impl<C: Clock> Bucket<C> {
    pub(super) fn new(rate: &Rate, clock: Arc<C>) -> Bucket<C> {
        let some = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota =
            governor::Quota::per_second(some(rate.per_second)).allow_burst(some(rate.burst));
        let clock = Ours(clock);
        Bucket { limiter: RateLimiter::direct_with_clock(quota, clock.clone()), clock }
    }

    /// Takes one, or says when there will be one.
    pub(super) fn take(&self) -> Result<(), Duration> {
        self.limiter.check().map_err(|early| early.wait_time_from(self.clock.now()))
    }
}

/// Our clock as governor knows clocks: time since a start.
struct Ours<C>(Arc<C>);

impl<C> Clone for Ours<C> {
    fn clone(&self) -> Self {
        Ours(self.0.clone())
    }
}

impl<C: Clock> GovernorClock for Ours<C> {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.now().as_nanos())
    }
}
