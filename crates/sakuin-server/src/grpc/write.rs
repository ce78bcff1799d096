//! Commits: a transaction is built on what is there, committed, and built again when another was faster in what its
//! client did not ask about.

use std::{sync::Arc, time::Duration};

use sakuin_live::{CommitError, Committed, Conflict, Store, Transaction};
use tokio::{sync::oneshot, time::timeout};

use super::refusal::Refusal;

/// How often a transaction is built again.
const ATTEMPTS_MAX: usize = 8;

/// How long what was faster may take to the disk.
const PUBLISHED_TIME_MAX: Duration = Duration::from_secs(5);

/// The longest name of a request.
const REQUEST_BYTES_MAX: usize = 128;

/// Builds a transaction and commits it, again if it conflicts: for writes that depend on nothing their client read.
pub(crate) async fn committed<T>(
    store: &Arc<Store>,
    request_id: &str,
    build: impl FnMut(&mut Transaction) -> Result<T, Refusal>,
) -> Result<(T, Committed), Refusal> {
    committed_unless(store, request_id, build, |_| None).await
}

/// As [`committed`], unless `fatal` makes a refusal of the conflict: it is one with what the client read.
pub(crate) async fn committed_unless<T>(
    store: &Arc<Store>,
    request_id: &str,
    mut build: impl FnMut(&mut Transaction) -> Result<T, Refusal>,
    fatal: impl Fn(&Conflict) -> Option<Refusal>,
) -> Result<(T, Committed), Refusal> {
    let mut attempts = 1;
    loop {
        let mut transaction = store.begin();
        if !request_id.is_empty() {
            transaction.set_request(request_id);
        }
        let built = build(&mut transaction)?;
        match submit(store, transaction).await {
            Ok(committed) => return Ok((built, committed)),
            Err(CommitError::Conflict(conflict)) => {
                if let Some(refusal) = fatal(&conflict) {
                    return Err(refusal);
                }
                if attempts == ATTEMPTS_MAX {
                    return Err(Refusal::conflict(&conflict));
                }
                attempts += 1;
                published(store, conflict.retry_at).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// What a call was answered that had this name, if it was one.
pub(crate) async fn answered_before(
    store: &Arc<Store>,
    request_id: &str,
    table: &str,
) -> Option<Committed> {
    if request_id.is_empty() {
        return None;
    }
    // A known request is answered before its conditions are looked at, and these are never fulfilled.
    let mut transaction = store.begin();
    transaction.set_request(request_id);
    transaction.expect(table, 0, Some(u64::MAX)).ok()?;
    submit(store, transaction).await.ok()
}

/// Refuses a name that is too long.
pub(crate) fn check_request(request_id: &str) -> Result<(), Refusal> {
    if request_id.len() <= REQUEST_BYTES_MAX {
        return Ok(());
    }
    let cause = format!("it is longer than {REQUEST_BYTES_MAX} bytes");
    Err(Refusal::field("request_id", cause, "a UUID would do"))
}

/// Commits without holding up the loop.
pub(crate) async fn submit(
    store: &Arc<Store>,
    transaction: Transaction,
) -> Result<Committed, CommitError> {
    let (sender, receiver) = oneshot::channel();
    store.submit(transaction, move |outcome| {
        // Nobody waits any more whose time is over.
        let _ = sender.send(outcome);
    });
    let closed = |_| CommitError::Unknown { cause: "the store was closed".to_owned() };
    receiver.await.unwrap_or_else(|error| Err(closed(error)))
}

/// Waits until a commit is to be seen.
pub(crate) async fn published(store: &Arc<Store>, sequence: u64) {
    if store.status().sequence >= sequence {
        return;
    }
    let (sender, receiver) = oneshot::channel();
    store.when_published(sequence - 1, move || {
        let _ = sender.send(());
    });
    // Nothing comes any more of a store that was closed, or whose disk fails meanwhile.
    let _ = timeout(PUBLISHED_TIME_MAX, receiver).await;
}
