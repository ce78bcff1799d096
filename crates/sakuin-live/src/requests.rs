//! What was answered to requests that had a name, so that who lost the answer may ask again.
//!
//! Kept for ten minutes, in the order of commits. Times are given and never go back: a clock that
//! was set back forgets nothing too early.

use std::{collections::VecDeque, sync::Arc, time::SystemTime};

use rustc_hash::FxHashMap;

use crate::{Committed, Durability};

/// The answers of the last ten minutes.
#[derive(Default)]
pub(crate) struct Requests {
    /// By name, the sequence.
    sequences: FxHashMap<Arc<str>, u64>,
    /// In the order of sequences.
    known: VecDeque<Arc<Known>>,
    bytes: usize,
}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) request: Arc<str>,
    pub(crate) sequence: u64,
    /// When it was committed, in milliseconds since 1970.
    pub(crate) time: u64,
    pub(crate) ids: Vec<u64>,
    pub(crate) matched: Vec<u64>,
}

/// How long an answer is kept, in milliseconds.
pub(crate) const KEPT: u64 = 10 * 60 * 1000;

/// So many answers at most, whatever their age, and so many bytes of them.
const MOST: usize = 1 << 20;
const BYTES_MAX: usize = 128 << 20;

impl Requests {
    pub(crate) fn get(&self, request: &str) -> Option<&Known> {
        let sequence = *self.sequences.get(request)?;
        self.known.get(self.place(sequence)).map(|known| &**known)
    }

    /// The time for an answer that is to be remembered now.
    pub(crate) fn time(&self, now: u64) -> u64 {
        self.known.back().map_or(now, |last| last.time.max(now))
    }

    /// Remembers an answer that is later than every other, and forgets those that are too old beside it.
    pub(crate) fn remember(&mut self, known: Known) {
        let oldest = known.time.saturating_sub(KEPT);
        while self.known.front().is_some_and(|first| first.time < oldest)
            || self.known.len() >= MOST
            || self.bytes > BYTES_MAX
        {
            let Some(known) = self.known.pop_front() else { break };
            self.forget(&known);
        }
        self.bytes += known.bytes();
        self.sequences.insert(known.request.clone(), known.sequence);
        self.known.push_back(Arc::new(known));
    }

    /// Forgets everything later than a commit.
    pub(crate) fn truncate(&mut self, sequence: u64) {
        while let Some(known) = self.known.pop_back_if(|last| last.sequence > sequence) {
            self.forget(&known);
        }
    }

    /// The answers of the commits after one and up to another, the oldest first and no more than `most`.
    pub(crate) fn between(&self, after: u64, to: u64, most: usize) -> Vec<Arc<Known>> {
        let later = self.known.range(self.place(after + 1)..);
        later.take_while(|known| known.sequence <= to).take(most).cloned().collect()
    }

    fn place(&self, sequence: u64) -> usize {
        self.known.partition_point(|known| known.sequence < sequence)
    }

    fn forget(&mut self, known: &Known) {
        self.bytes -= known.bytes();
        // The same name may have come again after ten minutes.
        if self.sequences.get(&known.request) == Some(&known.sequence) {
            self.sequences.remove(&known.request);
        }
    }
}

impl Known {
    pub(crate) fn committed(&self, durability: Durability) -> Committed {
        let (ids, matched) = (self.ids.clone(), self.matched.clone());
        Committed { sequence: self.sequence, ids, matched, durability }
    }

    fn bytes(&self) -> usize {
        size_of::<Known>() + self.request.len() + 8 * (self.ids.len() + self.matched.len())
    }
}

/// The time by the clock of the wall, which is the only one that outlives a restart.
pub(crate) fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(request: &str, sequence: u64, time: u64) -> Known {
        Known { request: request.into(), sequence, time, ids: vec![sequence], matched: Vec::new() }
    }

    #[test]
    fn an_answer_is_kept_for_ten_minutes_and_no_longer() {
        let mut requests = Requests::default();
        requests.remember(known("a", 1, 1_000));
        requests.remember(known("b", 2, 1_000 + KEPT));
        assert_eq!(
            requests.get("a"),
            Some(&known("a", 1, 1_000)),
            "ten minutes to the millisecond"
        );
        requests.remember(known("c", 5, 1_001 + KEPT));
        assert_eq!(requests.get("a"), None);
        assert!(requests.get("b").is_some() && requests.get("c").is_some());
    }

    #[test]
    fn a_clock_that_goes_back_forgets_nothing() {
        let mut requests = Requests::default();
        requests.remember(known("a", 1, requests.time(9_000_000)));
        requests.remember(known("b", 2, requests.time(5)));
        assert_eq!(requests.get("b").unwrap().time, 9_000_000);
    }

    #[test]
    fn what_was_not_written_is_forgotten() {
        let mut requests = Requests::default();
        (1..=9).for_each(|at| requests.remember(known(&at.to_string(), at, 0)));
        requests.truncate(4);
        assert!(requests.get("4").is_some() && requests.get("5").is_none());
        requests.remember(known("5", 5, 0));
        let sequences = |found: Vec<Arc<Known>>| -> Vec<u64> {
            found.iter().map(|known| known.sequence).collect()
        };
        assert_eq!(sequences(requests.between(1, 9, 3)), [2, 3, 4]);
        assert_eq!(sequences(requests.between(3, 4, 3)), [4]);
    }

    #[test]
    fn memory_is_bounded_by_bytes_too() {
        let mut requests = Requests::default();
        for at in 1..=40 {
            let mut known = known(&at.to_string(), at, 0);
            known.matched = vec![0; BYTES_MAX / 8 / 10];
            requests.remember(known);
        }
        assert!((8..=12).contains(&requests.known.len()), "{}", requests.known.len());
        assert_eq!(requests.known.len(), requests.sequences.len());
    }
}
