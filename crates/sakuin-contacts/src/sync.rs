//! What changed since (RFC 6578): tokens, and the changes after one.
//!
//! A token names the history it is of and the change up to which its holder knows everything. While a first listing is
//! given out in parts, it also names where the listing began: cards come in the order of their latest change, and
//! removals since then are told with them, but none from before.

use std::{fmt, str::FromStr, sync::Arc};

use crate::collection::{Collection, Entry};

/// What a client knows of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncToken {
    epoch: u64,
    /// Since when removals matter to its holder.
    start: u64,
    /// The latest change its holder was told.
    after: u64,
}

/// The changes after a token.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The oldest first, each name once.
    pub changed: Vec<Changed>,
    /// For the next question.
    pub token: SyncToken,
    /// Whether there are more.
    pub is_cut: bool,
}

/// A name that changed.
#[derive(Clone, Debug)]
pub enum Changed {
    /// It is there, and new or another.
    There(Arc<Entry>),
    /// It is there no more.
    Gone(Arc<str>),
}

/// The token is of another history, or of a time that is forgotten: all must be read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sync token is not known here any more")]
pub struct UnknownToken;

impl Collection {
    /// The token of who knows all there is.
    pub fn token(&self) -> SyncToken {
        SyncToken { epoch: self.epoch, start: self.seq, after: self.seq }
    }

    /// What changed after a token, up to `limit` names; everything there is, without one. Costs what it tells.
    pub fn changes(
        &self,
        token: Option<SyncToken>,
        limit: Option<usize>,
    ) -> Result<Changes, UnknownToken> {
        let token = token.unwrap_or(SyncToken { epoch: self.epoch, start: self.seq, after: 0 });
        let is_known = token.epoch == self.epoch
            && (self.floor..=self.seq).contains(&token.start)
            && token.after <= self.seq;
        if !is_known {
            return Err(UnknownToken);
        }
        let later = self.log.range(token.after + 1..);
        let mut told = later.filter_map(|(seq, name)| match self.entries.get(name) {
            Some(entry) => Some((*seq, Changed::There(entry.clone()))),
            None => (*seq > token.start).then(|| (*seq, Changed::Gone(name.clone()))),
        });
        let first: Vec<_> = told.by_ref().take(limit.unwrap_or(usize::MAX)).collect();
        let is_cut = told.next().is_some();
        let after = match first.last() {
            Some((seq, _)) if is_cut => *seq,
            None if is_cut => token.after,
            _ => self.seq,
        };
        // Who has been told everything up to its start goes on from there as everybody does.
        let token = SyncToken { epoch: self.epoch, start: token.start.max(after), after };
        Ok(Changes {
            changed: first.into_iter().map(|(_, changed)| changed).collect(),
            token,
            is_cut,
        })
    }
}

/// `epoch/after`, or `epoch/start-after` within a first listing.
impl fmt::Display for SyncToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SyncToken { epoch, start, after } = self;
        match start == after {
            true => write!(formatter, "{epoch}/{after}"),
            false => write!(formatter, "{epoch}/{start}-{after}"),
        }
    }
}

impl FromStr for SyncToken {
    type Err = UnknownToken;

    fn from_str(text: &str) -> Result<SyncToken, UnknownToken> {
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u64>().map_err(|_| UnknownToken),
            false => Err(UnknownToken),
        };
        let (epoch, place) = text.split_once('/').ok_or(UnknownToken)?;
        let (start, after) = place.split_once('-').unwrap_or((place, place));
        Ok(SyncToken { epoch: number(epoch)?, start: number(start)?, after: number(after)? })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::collection::{Content, Kind};

    fn entry(name: &str, seq: u64) -> Arc<Entry> {
        let bytes = Bytes::from(format!("{name} {seq}"));
        Arc::new(Entry::of(name.into(), seq, 0, &bytes, Content::Folder))
    }

    /// A client: what it holds, and its token.
    #[derive(Clone, Default)]
    struct Client {
        held: BTreeMap<Arc<str>, u64>,
        token: Option<SyncToken>,
    }

    impl Client {
        fn ask(&mut self, collection: &Collection, limit: Option<usize>) -> bool {
            let token = self.token.map(|token| token.to_string().parse().unwrap());
            let Ok(changes) = collection.changes(token, limit) else {
                *self = Client::default();
                return true;
            };
            assert!(limit.is_none_or(|limit| changes.changed.len() <= limit));
            for changed in changes.changed {
                match changed {
                    Changed::There(entry) => drop(self.held.insert(entry.name.clone(), entry.seq)),
                    Changed::Gone(name) => drop(self.held.remove(&name)),
                }
            }
            self.token = Some(changes.token);
            changes.is_cut
        }
    }

    proptest! {
        /// Clients that ask in parts, at any time, while entries come, change and go and removals are forgotten, all
        /// hold in the end what there is.
        #[test]
        fn every_client_ends_with_what_there_is(
            steps in prop::collection::vec((0..10u8, 0..12u8, 1..4usize, 0..4usize), 1..200),
        ) {
            let mut collection = Collection::new(1, Kind::Files, 7);
            let mut clients = vec![Client::default(); 4];
            for (step, name, limit, client) in steps {
                let name: Arc<str> = format!("n{name}").into();
                match step {
                    0..4 => collection.insert(entry(&name, collection.seq + 1)),
                    4..6 if collection.entry(&name).is_some() => {
                        let seq = collection.seq + 1;
                        collection.remove(&name, seq);
                    }
                    6 => {
                        let floor = collection.seq.saturating_sub(limit as u64);
                        collection.prune(floor);
                    }
                    _ => drop(clients[client].ask(&collection, Some(limit))),
                }
            }
            let wanted: BTreeMap<_, _> =
                collection.entries().map(|entry| (entry.name.clone(), entry.seq)).collect();
            for client in &mut clients {
                let mut rounds = 0;
                while client.ask(&collection, Some(3)) {
                    rounds += 1;
                    prop_assert!(rounds < 100);
                }
                prop_assert_eq!(&client.held, &wanted);
                let again = collection.changes(client.token, None).unwrap();
                prop_assert!(again.changed.is_empty() && Some(again.token) == client.token);
            }
            prop_assert!(collection.log.len() <= collection.len() + collection.removed.len());
        }
    }

    #[test]
    fn what_is_no_token_of_this_history_is_refused() {
        let mut collection = Collection::new(1, Kind::Files, 7);
        (1..=5).for_each(|seq| collection.insert(entry("a", seq)));
        collection.prune(3);
        for token in ["8/5", "7/2", "7/6", "7/9-1", "7/4-9"] {
            assert!(collection.changes(Some(token.parse().unwrap()), None).is_err(), "{token}");
        }
        for token in ["7/3", "7/5", "7/4-1"] {
            assert!(collection.changes(Some(token.parse().unwrap()), None).is_ok(), "{token}");
        }
        for text in ["", "7", "7/", "/1", "7/+1", "7/1-2-3", "x/1", "7/99999999999999999999"] {
            assert!(text.parse::<SyncToken>().is_err(), "{text}");
        }
    }
}
