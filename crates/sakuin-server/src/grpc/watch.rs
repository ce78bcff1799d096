//! The stream of commits.
//!
//! Nothing is kept for a reader but the place it has come to: the store remembers the latest commits anyway, and a
//! message is made when the connection has room for it. So a slow reader costs no memory, and one that falls behind
//! what the store remembers is told to begin anew.

use std::{time::Duration, vec};

use futures_util::{Stream, stream};
use prost::Message;
use sakuin_grpc::live as wire;
use sakuin_live::{Changed, Changes, Filter};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};
use tonic::Status;

use super::{
    ANSWER_BYTES_MAX,
    live::{self, Door},
    name,
    refusal::Refusal,
    value,
};

const HEARTBEAT: Duration = Duration::from_secs(15);
const HEARTBEATS: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(600);

/// A reader further behind than this is caught up on another thread.
const BEHIND_MAX: u64 = 256;

struct Watch {
    door: Door,
    /// All tables without one.
    table: Option<String>,
    filter: Filter,
    heartbeat: Duration,
    /// The last commit that was told.
    told: u64,
    silent_since: Instant,
    commits: vec::IntoIter<Changes>,
    /// What is left of a commit that is told in parts.
    rest: Option<(u64, vec::IntoIter<Changed>)>,
    is_begun: bool,
    is_over: bool,
    /// Comes when a commit after `told` is published.
    published: Option<oneshot::Receiver<()>>,
}

/// Every commit that a request asks for, as it happens.
pub(crate) fn watch(
    door: Door,
    request: &wire::WatchRequest,
) -> Result<impl Stream<Item = Result<wire::WatchResponse, Status>> + Send + use<>, Refusal> {
    let snapshot = door.store.snapshot();
    let table = match request.parent.is_empty() {
        true if !request.filter.is_empty() => {
            return Err(Refusal::field("filter", "it is of no table", "send `parent` too"));
        }
        true => None,
        false => Some(name::parent("parent", &request.parent)?.to_owned()),
    };
    let filter = match &table {
        Some(table) => live::filter(&snapshot, "filter", table, &request.filter)?,
        None => Filter::all(),
    };
    let told = request.snapshot.unwrap_or(snapshot.sequence());
    if told > snapshot.sequence() {
        let cause = format!("there is no commit {told} yet");
        return Err(Refusal::field("snapshot", cause, "begin with one that was answered"));
    }
    let watch = Watch {
        table,
        filter,
        heartbeat: heartbeat(request.heartbeat)?,
        told,
        silent_since: Instant::now(),
        commits: Vec::new().into_iter(),
        rest: None,
        is_begun: false,
        is_over: false,
        published: None,
        door,
    };
    Ok(stream::unfold(watch, |mut watch| async {
        if watch.is_over {
            return None;
        }
        let next = watch.next().await;
        watch.is_over = next.is_err();
        watch.silent_since = Instant::now();
        Some((next.map_err(Status::from), watch))
    }))
}

fn heartbeat(asked: Option<prost_types::Duration>) -> Result<Duration, Refusal> {
    let Some(asked) = asked else { return Ok(HEARTBEAT) };
    let asked = Duration::try_from(asked).ok().filter(|asked| HEARTBEATS.contains(asked));
    asked.ok_or_else(|| {
        Refusal::field("heartbeat", "it is too short or too long", "send 1 s to 10 minutes")
    })
}

impl Watch {
    async fn next(&mut self) -> Result<wire::WatchResponse, Refusal> {
        if !self.is_begun {
            // A snapshot that is forgotten is told at once.
            self.catch_up().await?;
            self.is_begun = true;
            return Ok(self.without_changes());
        }
        loop {
            if let Some(response) = self.of_rest() {
                return Ok(response);
            }
            if let Some(Changes { sequence, records, .. }) = self.commits.next() {
                self.rest = Some((sequence, records.into_iter()));
                continue;
            }
            if self.door.stopping.is_cancelled() {
                return Err(Refusal::stopping(self.told));
            }
            let published = self.published.get_or_insert_with(|| {
                let (sender, receiver) = oneshot::channel();
                self.door.store.when_published(self.told, move || {
                    // The reader may be gone.
                    let _ = sender.send(());
                });
                receiver
            });
            tokio::select! {
                biased;
                outcome = published => {
                    self.published = None;
                    outcome.map_err(|_| Refusal::stopping(self.told))?;
                    self.catch_up().await?;
                }
                () = self.door.stopping.cancelled() => {}
                () = sleep_until(self.silent_since + self.heartbeat) => {
                    return Ok(self.without_changes());
                }
            }
        }
    }

    /// Takes the commits that have happened meanwhile.
    async fn catch_up(&mut self) -> Result<(), Refusal> {
        let (store, told) = (&self.door.store, self.told);
        let behind = store.status().sequence.saturating_sub(told);
        let commits = match behind <= BEHIND_MAX {
            true => store.changes_since(told)?,
            false => {
                let store = store.clone();
                self.door.pool.run(move || store.changes_since(told)).await??
            }
        };
        self.commits = commits.into_iter();
        Ok(())
    }

    /// As much of a commit as fits in a message; nothing if none of it is wanted.
    fn of_rest(&mut self) -> Option<wire::WatchResponse> {
        let (sequence, mut records) = self.rest.take()?;
        let mut response = wire::WatchResponse { snapshot: sequence, ..Default::default() };
        let mut bytes = 0;
        for changed in records.by_ref() {
            if self.table.as_deref().is_some_and(|table| *table != *changed.table) {
                continue;
            }
            let record = changed.record.filter(|record| self.filter.matches(record));
            let change = wire::Change {
                name: name::record(&changed.table, changed.id),
                record: record.map(|record| value::record(&changed.table, &record)),
            };
            bytes += change.encoded_len() + 8;
            response.changes.push(change);
            // A message is sent whole, so half of the most is enough for one.
            if bytes > ANSWER_BYTES_MAX / 2 {
                response.continues = true;
                break;
            }
        }
        match response.continues {
            true => self.rest = Some((sequence, records)),
            false => self.told = sequence,
        }
        (!response.changes.is_empty()).then_some(response)
    }

    fn without_changes(&self) -> wire::WatchResponse {
        wire::WatchResponse { snapshot: self.told, ..Default::default() }
    }
}
