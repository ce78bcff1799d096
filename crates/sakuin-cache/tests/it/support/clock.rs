//! A clock that stands still until it is advanced.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};

use sakuin_cache::{Clock, Tick};

/// Cheap to clone; all clones show the same time.
#[derive(Clone)]
pub(crate) struct Simulated(Arc<Mutex<State>>);

struct State {
    now: Tick,
    /// What is to be added to the ticks to get the time of day.
    start: SystemTime,
    sleepers: Vec<(Tick, Waker)>,
}

impl Simulated {
    /// Starts at 2026-01-01 00:00:00 UTC.
    pub(crate) fn new() -> Simulated {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        Simulated(Arc::new(Mutex::new(State { now: Tick::default(), start, sleepers: Vec::new() })))
    }

    /// Lets time pass; wakes whose sleep is over.
    pub(crate) fn advance(&self, time: Duration) {
        let mut state = self.0.lock().unwrap();
        state.now = state.now + time;
        let now = state.now;
        let woken: Vec<Waker> =
            state.sleepers.extract_if(.., |(at, _)| *at <= now).map(|(_, waker)| waker).collect();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Clock for Simulated {
    fn now(&self) -> Tick {
        self.0.lock().unwrap().now
    }

    fn unix(&self) -> SystemTime {
        let state = self.0.lock().unwrap();
        state.start + state.now.since(Tick::default())
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(Sleep { clock: self.clone(), until: self.now() + time })
    }
}

struct Sleep {
    clock: Simulated,
    until: Tick,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.0.lock().unwrap();
        if self.until <= state.now {
            return Poll::Ready(());
        }
        state.sleepers.push((self.until, context.waker().clone()));
        Poll::Pending
    }
}
