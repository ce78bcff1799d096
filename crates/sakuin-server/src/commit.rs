//! Commits to live tables that hold up no loop: what the doors of HTTP and gRPC share.

use std::{sync::Arc, time::Duration};

use sakuin_live::{CommitError, Committed, Conflict, Store, Transaction};
use tokio::{sync::oneshot, time::timeout};

/// How often a transaction that conflicts is built again.
pub(crate) const ATTEMPTS_MAX: usize = 8;

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
pub(crate) async fn commit_unless<T, E: From<CommitError>>(
    store: &Arc<Store>,
    request: Option<&str>,
    mut build: impl FnMut(&mut Transaction) -> Result<T, E>,
    fatal: impl Fn(&Conflict) -> Option<E>,
) -> Result<(T, Committed), E> {
    let mut attempts = 1;
    loop {
        let mut transaction = store.begin();
        if let Some(request) = request {
            transaction.set_request(request);
        }
        let built = build(&mut transaction)?;
        let error = match submit(store, transaction).await {
            Ok(committed) => return Ok((built, committed)),
            Err(error) => error,
        };
        let retry_at = match &error {
            CommitError::Conflict(conflict) => {
                if let Some(error) = fatal(conflict) {
                    return Err(error);
                }
                conflict.retry_at
            }
            CommitError::SnapshotExpired { oldest, .. } => *oldest,
            _ => return Err(error.into()),
        };
        if attempts == ATTEMPTS_MAX {
            return Err(error.into());
        }
        attempts += 1;
        published(store, retry_at).await;
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
