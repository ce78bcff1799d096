//! How many retries: a tenth of all calls, and one every ten seconds in any case, so that a quiet table has
//! them too and a failing origin is never asked much more often than a well one.

use std::time::Duration;

use crate::Tick;

/// A retry costs as much as this many calls earn.
const CALLS: u32 = 10;

/// What can be saved up: ten retries.
const SAVED_MAX: u32 = 10 * CALLS;

const FLOOR: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Budget {
    saved: u32,
    floor_used: Option<Tick>,
}

impl Budget {
    /// Counts a call.
    pub(super) fn earn(&mut self) {
        self.saved = (self.saved + 1).min(SAVED_MAX);
    }

    /// Whether a retry can be afforded; if so, it is paid.
    pub(super) fn spend(&mut self, now: Tick) -> bool {
        if self.saved >= CALLS {
            self.saved -= CALLS;
            return true;
        }
        let rested = self.floor_used.is_none_or(|used| now.since(used) >= FLOOR);
        if rested {
            self.floor_used = Some(now);
        }
        rested
    }
}
