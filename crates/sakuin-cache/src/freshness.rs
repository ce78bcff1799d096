//! When an entry may be served: fresh, then stale while a new one is fetched, then stale only if fetching
//! fails, then gone.

use std::time::Duration;

use crate::Tick;

/// How long an answer lives. Both stale spans are counted from the end of `fresh`, so the longer one decides
/// when it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Served as it is, counted from the moment the request for it was sent.
    pub fresh: Duration,
    /// Served at once while one new answer is fetched.
    pub stale_while_revalidate: Duration,
    /// Served if fetching fails, is refused or is late.
    pub stale_if_error: Duration,
}

/// What may be done with an entry at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Serve it.
    Fresh,
    /// Serve it, and fetch a new one once.
    Stale,
    /// Fetch first; serve it if that fails.
    Failing,
    /// Do not serve it.
    Gone,
}

impl Lifetimes {
    /// The state at `now` of an answer asked for at `asked`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use sakuin_cache::{Lifetimes, State, Tick};
    /// let seconds = Duration::from_secs;
    /// let lifetimes = Lifetimes {
    ///     fresh: seconds(15),
    ///     stale_while_revalidate: seconds(15),
    ///     stale_if_error: seconds(600),
    /// };
    /// let state = |age| lifetimes.state(Tick::default(), Tick::default() + seconds(age));
    /// assert_eq!(state(14), State::Fresh);
    /// assert_eq!(state(15), State::Stale);
    /// assert_eq!(state(30), State::Failing);
    /// assert_eq!(state(615), State::Gone);
    /// ```
    pub fn state(&self, asked: Tick, now: Tick) -> State {
        self.state_of_age(now.since(asked))
    }

    /// The state of an answer of an age.
    pub fn state_of_age(&self, age: Duration) -> State {
        let Some(stale) = age.checked_sub(self.fresh) else { return State::Fresh };
        if stale < self.stale_while_revalidate {
            State::Stale
        } else if stale < self.stale_if_error {
            State::Failing
        } else {
            State::Gone
        }
    }

    /// The age from which on it is gone.
    pub(crate) fn end(&self) -> Duration {
        self.fresh.saturating_add(self.stale_while_revalidate.max(self.stale_if_error))
    }
}
