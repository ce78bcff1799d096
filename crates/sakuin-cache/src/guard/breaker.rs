//! Leaving an origin in peace that fails: five failures in a row, or half of the last twenty, and nothing is
//! asked for a second; then one probe decides. The rest does not grow, so that an origin that is back is known
//! to be back within a second; an origin that names its own time is asked again after that.

use std::time::Duration;

use super::BreakerState;
use crate::Tick;

/// Failures in a row that open it.
const IN_A_ROW: u32 = 5;

/// Of this many calls …
const WINDOW: u32 = 20;

/// … this many failures open it.
const IN_WINDOW: u32 = 10;

const REST: Duration = Duration::from_secs(1);

/// The longest an origin can ask to be left alone: a word of the origin must not end a table for good.
const REST_MAX: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: State,
    /// The last calls, the newest in the lowest bit, a failure as a one.
    recent: u32,
    seen: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Closed,
    Probing,
    Open {
        until: Tick,
    },
}

impl Breaker {
    pub(super) fn state(&self) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Probing => BreakerState::Probing,
            State::Open { .. } => BreakerState::Open,
        }
    }

    /// Whether a call could be let through now; if not, how long to wait.
    pub(super) fn look(&self, now: Tick) -> Result<(), Duration> {
        match self.state {
            State::Closed => Ok(()),
            State::Probing => Err(REST),
            State::Open { until } if now < until => Err(until.since(now)),
            State::Open { .. } => Ok(()),
        }
    }

    /// Lets a call through, if one may be: says whether it is a probe.
    pub(super) fn enter(&mut self, now: Tick) -> Result<bool, Duration> {
        self.look(now)?;
        let probe = matches!(self.state, State::Open { .. });
        if probe {
            self.state = State::Probing;
        }
        Ok(probe)
    }

    /// A call that was let through has ended; `rest` is what the origin asked for.
    pub(super) fn leave(&mut self, probe: bool, well: bool, rest: Option<Duration>, now: Tick) {
        match self.state {
            // The word of a call that began before is old: the probe decides. But a wish counts.
            State::Open { .. } | State::Probing if !probe => {}
            _ if well => self.count(false),
            _ if probe => self.open(REST, now),
            _ => {
                self.count(true);
                let row = (1 << IN_A_ROW) - 1;
                let half = self.seen >= WINDOW && self.recent.count_ones() >= IN_WINDOW;
                if self.recent & row == row || half {
                    self.open(REST, now);
                }
            }
        }
        if let Some(rest) = rest {
            self.open(rest.min(REST_MAX), now);
        }
    }

    /// A call that was let through was not made after all.
    pub(super) fn step_back(&mut self, probe: bool, now: Tick) {
        if probe {
            self.state = State::Open { until: now };
        }
    }

    fn count(&mut self, failed: bool) {
        if matches!(self.state, State::Probing) {
            *self = Breaker::default();
        }
        self.recent = (self.recent << 1 | u32::from(failed)) & ((1 << WINDOW) - 1);
        self.seen = (self.seen + 1).min(WINDOW);
    }

    fn open(&mut self, rest: Duration, now: Tick) {
        let until = match self.state {
            State::Open { until } => until.max(now + rest),
            _ => now + rest,
        };
        self.state = State::Open { until };
    }
}
