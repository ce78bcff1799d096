//! Pages: what a page token says, and the snapshots that tokens are bound to.
//!
//! A token names its snapshot, the last record of its page and what was asked, so that all pages show one moment. The
//! snapshot is kept for a minute after its last page; a token that comes later is told so.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use sakuin_live::Snapshot;
use tokio::time::Instant;
use tonic::Code;
use xxhash_rust::xxh3::xxh3_64;

use super::refusal::Refusal;

/// How long a token is good, and how many moments are kept at most: each holds on to what was changed since.
const KEPT_TIME: Duration = Duration::from_secs(60);
const KEPT_MAX: usize = 256;

/// What a page token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The snapshot's sequence.
    pub(crate) snapshot: u64,
    /// The last record that was told.
    pub(crate) after: u64,
    /// A hash of what was asked.
    pub(crate) asked: u64,
}

const BYTES: usize = 24;

impl Token {
    /// The token as a client gets it.
    pub(crate) fn write(&self) -> String {
        let mut bytes = [0; BYTES];
        let (parts, _) = bytes.as_chunks_mut();
        for (part, number) in parts.iter_mut().zip([self.snapshot, self.after, self.asked]) {
            *part = number.to_le_bytes();
        }
        BASE64.encode(bytes)
    }

    /// What a client sent; none if no page ever had it.
    pub(crate) fn read(text: &str) -> Option<Token> {
        let mut bytes = [0; BYTES];
        let length = BASE64.decode_slice(text, &mut bytes).ok()?;
        let (parts, _) = bytes.as_chunks();
        let [snapshot, after, asked] = *parts else { return None };
        let [snapshot, after, asked] = [snapshot, after, asked].map(u64::from_le_bytes);
        (length == BYTES).then_some(Token { snapshot, after, asked })
    }
}

/// A hash of what a page is a page of.
pub(crate) fn asked(parts: &[&str]) -> u64 {
    // No part has this byte: all are text.
    xxh3_64(parts.join("\u{0}").as_bytes())
}

/// Snapshots that pages come from.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<VecDeque<(Instant, Snapshot)>>>);

impl Kept {
    /// The snapshot that a page comes from, and the record it begins after: those of its token, or `now` from the
    /// first record on.
    pub(crate) fn begin(
        &self,
        text: &str,
        asked: u64,
        time: Instant,
        now: impl FnOnce() -> Snapshot,
    ) -> Result<(Snapshot, u64), Refusal> {
        if text.is_empty() {
            return Ok((now(), 0));
        }
        let refused = |cause: &str, cure: &str| {
            let reason = "INVALID_PAGE_TOKEN";
            Err(Refusal::of_field(Code::InvalidArgument, reason, "page_token", cause, cure))
        };
        let Some(token) = Token::read(text) else {
            return refused("it is none of this server's", "send `next_page_token` as it came");
        };
        if token.asked != asked {
            return refused("it is of another question", "ask as for the page before");
        }
        let found = take(&mut self.at(time), token.snapshot);
        match found {
            Some(snapshot) => {
                self.keep(snapshot.clone(), time);
                Ok((snapshot, token.after))
            }
            None => {
                let cause = "the pages of this snapshot are no longer kept; begin again";
                Err(Refusal::expired(token.snapshot, cause))
            }
        }
    }

    /// The token of the page after `after`.
    pub(crate) fn next(&self, snapshot: Snapshot, after: u64, asked: u64) -> String {
        let token = Token { snapshot: snapshot.sequence(), after, asked };
        if self.keep(snapshot, Instant::now()) {
            let kept = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(KEPT_TIME).await;
                while let Some(due) = kept.due(Instant::now()) {
                    tokio::time::sleep_until(due).await;
                }
            });
        }
        token.write()
    }

    /// Keeps a snapshot from `time` on, and says whether it was not kept before.
    fn keep(&self, snapshot: Snapshot, time: Instant) -> bool {
        let mut kept = self.at(time);
        let is_new = take(&mut kept, snapshot.sequence()).is_none();
        kept.push_back((time, snapshot));
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
        is_new
    }

    /// When the oldest is to be forgotten.
    fn due(&self, time: Instant) -> Option<Instant> {
        self.at(time).front().map(|(since, _)| *since + KEPT_TIME)
    }

    /// What is still kept at a time.
    fn at(&self, time: Instant) -> MutexGuard<'_, VecDeque<(Instant, Snapshot)>> {
        let mut kept = self.0.lock().expect("nothing under this lock panics");
        while kept.front().is_some_and(|(since, _)| time.duration_since(*since) >= KEPT_TIME) {
            kept.pop_front();
        }
        kept
    }
}

fn take(kept: &mut VecDeque<(Instant, Snapshot)>, sequence: u64) -> Option<Snapshot> {
    let at = kept.iter().position(|(_, kept)| kept.sequence() == sequence)?;
    kept.remove(at).map(|(_, snapshot)| snapshot)
}

#[cfg(test)]
mod tests {
    use sakuin_live::{Schema, Store};

    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = Token { snapshot: 7, after: u64::MAX, asked: 1 << 40 };
        assert_eq!(Token::read(&token.write()), Some(token));
        for text in ["", "AAAA", &"A".repeat(33), &"A".repeat(31), "=", "ä"] {
            assert_eq!(Token::read(text), None, "{text}");
        }
    }

    #[test]
    fn snapshots_are_kept_for_a_minute_after_their_last_page() {
        let store = Store::in_memory([("one", Schema::new())]);
        let kept = Kept::default();
        let start = Instant::now();
        let token = Token { snapshot: 0, after: 5, asked: 1 }.write();
        let begin = |asked, time| {
            let now = || panic!("the token says which");
            let begun = kept.begin(&token, asked, time, now);
            begun.map(|(_, after)| after).map_err(|refusal| refusal.reason)
        };
        assert_eq!(begin(1, start), Err("SNAPSHOT_EXPIRED"));
        assert!(kept.keep(store.snapshot(), start));
        assert_eq!(begin(2, start), Err("INVALID_PAGE_TOKEN"));
        let later = start + KEPT_TIME - Duration::from_millis(1);
        assert_eq!(begin(1, later), Ok(5));
        assert!(!kept.keep(store.snapshot(), later), "it is the same one");
        assert_eq!(kept.due(later), Some(later + KEPT_TIME));
        assert_eq!(begin(1, later + KEPT_TIME), Err("SNAPSHOT_EXPIRED"));
        assert_eq!(kept.due(later), None);
    }
}
