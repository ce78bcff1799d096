//! When an entry may be served: fresh, then stale while a new one is fetched, then stale only if fetching
//! fails, then gone.

use std::time::Duration;

use crate::Tick;

/// How long an answer lives, each span counted from the end of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Served as it is, counted from the moment the request for it was sent.
    pub fresh: Duration,
    /// Served at once while one new answer is fetched.
    pub stale_while_revalidate: Duration,
    /// Served if fetching fails, is refused or is late; counted from the end of `fresh`.
    pub stale_if_error: Duration,
}

/// What may be done with an entry at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub fn state(&self, asked: Tick, now: Tick) -> State {
        let _ = (asked, now);
        unimplemented!()
    }
}
