//! What the tests share.

pub(crate) mod bodies;
mod clock;
mod origin;

use std::time::Duration;

use sakuin_cache::{CachedTable, Lifetimes, Options, Strategy};
use tokio::runtime::Handle;

pub(crate) use clock::Simulated;
pub(crate) use origin::{Scripted, fill, refusal};

pub(crate) type Table = CachedTable<Scripted, Simulated>;

/// Fresh for 10 s, stale at once until 30 s, stale on failure until 100 s; absences for 5 s.
pub(crate) fn options(strategy: Strategy) -> Options {
    Options {
        lifetimes: lifetimes(10, 20, 90),
        missing: seconds(5),
        strategy,
        max_bytes: 64 << 20,
        max_waiters: 4,
        wait: seconds(3),
    }
}

/// A table with its clock and origin, on the runtime of the caller.
pub(crate) fn table(options: Options) -> (Table, Simulated, Scripted) {
    let (clock, origin) = (Simulated::new(), Scripted::default());
    let table = CachedTable::new(origin.clone(), options, clock.clone(), Handle::current());
    (table, clock, origin)
}

/// Lets every task run until it waits for something that only the test can do.
pub(crate) async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn lifetimes(fresh: u64, while_revalidate: u64, if_error: u64) -> Lifetimes {
    Lifetimes {
        fresh: seconds(fresh),
        stale_while_revalidate: seconds(while_revalidate),
        stale_if_error: seconds(if_error),
    }
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
