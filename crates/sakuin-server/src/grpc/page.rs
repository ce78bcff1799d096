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
pub struct Token {
    /// The snapshot's sequence.
    pub snapshot: u64,
    /// The last record that was told.
    pub after: u64,
    /// A hash of what was asked.
    pub asked: u64,
}

const BYTES: usize = 24;

impl Token {
    /// The token as a client gets it.
    pub fn write(&self) -> String {
        let mut bytes = [0; BYTES];
        let (parts, _) = bytes.as_chunks_mut();
        for (part, number) in parts.iter_mut().zip([self.snapshot, self.after, self.asked]) {
            *part = number.to_le_bytes();
        }
        BASE64.encode(bytes)
    }

    /// What a client sent; none if no page ever had it.
    pub fn read(text: &str) -> Option<Token> {
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
    /// The snapshot that a page comes from, and the record it begins after.
    pub(crate) fn begin(
        &self,
        text: &str,
        asked: u64,
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
        let mut kept = self.lock();
        forget(&mut kept);
        let found = kept.iter().position(|(_, kept)| kept.sequence() == token.snapshot);
        match found.and_then(|at| kept.remove(at)) {
            Some((_, snapshot)) => {
                kept.push_back((Instant::now(), snapshot.clone()));
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
        let mut kept = self.lock();
        forget(&mut kept);
        let found = kept.iter().position(|(_, kept)| kept.sequence() == token.snapshot);
        let is_new = found.and_then(|at| kept.remove(at)).is_none();
        kept.push_back((Instant::now(), snapshot));
        if is_new {
            let kept = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(KEPT_TIME).await;
                while let Some(due) = kept.next_due() {
                    tokio::time::sleep_until(due).await;
                }
            });
        }
        token.write()
    }

    /// When the oldest is to be forgotten, having forgotten those that are due.
    fn next_due(&self) -> Option<Instant> {
        let mut kept = self.lock();
        forget(&mut kept);
        kept.front().map(|(since, _)| *since + KEPT_TIME)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Instant, Snapshot)>> {
        self.0.lock().expect("nothing under this lock panics")
    }
}

/// Forgets what is too old or too much.
fn forget(kept: &mut VecDeque<(Instant, Snapshot)>) {
    while kept.len() > KEPT_MAX || kept.front().is_some_and(|(since, _)| since.elapsed() >= KEPT_TIME)
    {
        kept.pop_front();
    }
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

    #[tokio::test(start_paused = true)]
    async fn snapshots_are_kept_for_a_minute_after_their_last_page() {
        let store = Store::in_memory([("one", Schema::new())]);
        let kept = Kept::default();
        let now = || panic!("the token says which");
        let token = kept.next(store.snapshot(), 5, 1);
        tokio::time::advance(KEPT_TIME / 2).await;
        assert_eq!(kept.begin(&token, 1, now).unwrap().1, 5);
        assert_eq!(kept.begin(&token, 2, now).err().unwrap().reason, "INVALID_PAGE_TOKEN");
        assert_eq!(kept.begin("x", 1, now).err().unwrap().reason, "INVALID_PAGE_TOKEN");
        tokio::time::advance(KEPT_TIME - Duration::from_millis(1)).await;
        assert!(kept.begin(&token, 1, now).is_ok());
        tokio::time::advance(KEPT_TIME).await;
        assert_eq!(kept.begin(&token, 1, now).err().unwrap().reason, "SNAPSHOT_EXPIRED");
    }

    #[tokio::test(start_paused = true)]
    async fn snapshots_that_nobody_asks_for_are_forgotten() {
        let store = Store::in_memory([("one", Schema::new())]);
        let kept = Kept::default();
        kept.next(store.snapshot(), 5, 1);
        tokio::time::sleep(KEPT_TIME * 2).await;
        assert!(kept.lock().is_empty());
    }
}
