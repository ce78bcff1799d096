//! Commits to live tables that hold up no loop: what the doors of HTTP and gRPC share.

use std::{sync::Arc, time::Duration};

use sakuin_live::{CommitError, Committed, Conflict, Store, Transaction};
use tokio::{sync::oneshot, time::timeout};

/// How often a transaction that conflicts is built again before everybody else waits for it.
const LOSSES_MAX: usize = 2;

/// How long it waits until what it conflicts with is on the disk.
const PUBLISHED_TIME_MAX: Duration = Duration::from_secs(5);

/// Builds a transaction and commits it, again while others are faster: for writes that depend on nothing their client
/// read.
pub(crate) async fn commit<T, E: From<CommitError>>(
    store: &Arc<Store>,
    request: Option<&str>,
    build: impl FnMut(&mut Transaction) -> Result<T, E>,
) -> Result<(T, Committed), E> {
    commit_unless(store, request, build, |_| None).await
}

/// As [`commit`], unless `fatal` makes an error of the conflict: it is one with what the client read.
///
/// Whoever loses twice is built once more while nobody else commits. So a crowd at one record is served in turn, and
/// many writes of one message are done however busy the table is.
pub(crate) async fn commit_unless<T, E: From<CommitError>>(
    store: &Arc<Store>,
    request: Option<&str>,
    mut build: impl FnMut(&mut Transaction) -> Result<T, E>,
    fatal: impl Fn(&Conflict) -> Option<E>,
) -> Result<(T, Committed), E> {
    let mut build = |transaction: &mut Transaction| {
        if let Some(request) = request {
            transaction.set_request(request);
        }
        build(transaction)
    };
    for _ in 0..=LOSSES_MAX {
        let mut transaction = store.begin();
        let built = build(&mut transaction)?;
        let retry_at = match submit(store, transaction).await {
            Ok(committed) => return Ok((built, committed)),
            Err(CommitError::Conflict(conflict)) => match fatal(&conflict) {
                Some(error) => return Err(error),
                None => conflict.retry_at,
            },
            Err(CommitError::SnapshotExpired { oldest, .. }) => oldest,
            Err(error) => return Err(error.into()),
        };
        published(store, retry_at).await;
    }
    let (sender, outcome) = oneshot::channel();
    match store.submit_newest(build, move |outcome| drop(sender.send(outcome))) {
        Ok(built) => match heard(outcome).await {
            Err(CommitError::Conflict(conflict)) => {
                Err(fatal(&conflict).unwrap_or_else(|| CommitError::Conflict(conflict).into()))
            }
            committed => Ok((built, committed?)),
        },
        Err((error, seen)) => {
            // It may rest on what is not on the disk yet.
            published(store, seen).await;
            Err(error)
        }
    }
}

/// The commit that a request was answered with, if it was sent before: what is asked for may be impossible because it
/// was done. `table` is any that the store has.
pub(crate) async fn committed_before(
    store: &Arc<Store>,
    request: Option<&str>,
    table: &str,
) -> Option<Committed> {
    // A known request is answered before its conditions are looked at, and this one is never fulfilled.
    let mut transaction = store.begin();
    transaction.set_request(request?);
    transaction.expect(table, 0, Some(u64::MAX)).ok()?;
    submit(store, transaction).await.ok()
}

/// Commits a transaction as it is.
pub(crate) async fn submit(
    store: &Arc<Store>,
    transaction: Transaction,
) -> Result<Committed, CommitError> {
    let (sender, outcome) = oneshot::channel();
    // A client that has gone away is told nothing.
    store.submit(transaction, move |outcome| drop(sender.send(outcome)));
    heard(outcome).await
}

async fn heard(
    outcome: oneshot::Receiver<Result<Committed, CommitError>>,
) -> Result<Committed, CommitError> {
    let closed = |_| CommitError::Unknown { cause: "the store was closed".to_owned() };
    outcome.await.unwrap_or_else(|error| Err(closed(error)))
}

/// Waits until a snapshot shows a commit.
pub(crate) async fn published(store: &Arc<Store>, sequence: u64) {
    if store.snapshot().sequence() >= sequence {
        return;
    }
    let (sender, published) = oneshot::channel::<()>();
    store.when_published(sequence - 1, move || drop(sender));
    // A store that was closed, or whose disk fails, publishes nothing more, and says so at the next commit.
    let _ = timeout(PUBLISHED_TIME_MAX, published).await;
}
