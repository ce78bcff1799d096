//! Where a cached table reads from, and what it may be told.

use std::time::Duration;

use crate::Lifetimes;

/// Something slow that knows the answer. Fetching is called from one background task at a time for a key, but
/// for keys whose answers cannot be kept.
pub trait Origin: Send + Sync + 'static {
    /// What the table keeps: made once by a fetch, handed out many times.
    type Value: Send + Sync + 'static;

    /// Asks for `key`. `previous` is what the table has, if anything, so that validators can be sent.
    fn fetch(
        &self,
        key: &str,
        previous: Option<&Self::Value>,
    ) -> impl Future<Output = Result<Fetched<Self::Value>, Failure>> + Send;
}

/// What an origin answered.
#[derive(Debug)]
pub enum Fetched<V> {
    /// A value.
    New(Fill<V>),
    /// What the table has is still true. Lives again for as long as said, or as the table's options say.
    NotModified(Option<Lifetimes>),
}

/// A value to keep.
#[derive(Debug)]
pub struct Fill<V> {
    /// The value.
    pub value: V,
    /// Whether it is a found value, a known absence, or nothing to be kept.
    pub kind: Kind,
    /// Its size in bytes as it counts against the table's limit, without the key.
    pub bytes: usize,
    /// Names under which it can be purged together with others.
    pub tags: Vec<Box<str>>,
    /// How long it lives, if not as the table's options say.
    pub lifetimes: Option<Lifetimes>,
    /// How old it was already when it arrived, by the origin's own word.
    pub age: Duration,
}

/// What sort of answer a [`Fill`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The origin has it.
    Found,
    /// The origin knows that it has it not; kept for the table's `missing` time.
    Missing,
    /// To be handed to those who wait, and not kept. For two minutes then, each request for the key is a fetch
    /// of its own.
    Unstorable,
}

/// Why an origin did not answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{cause}")]
pub struct Failure {
    /// What sort of failure.
    pub kind: FailureKind,
    /// What went wrong, for the log and the client: no secret, no internal address.
    pub cause: String,
    /// When the origin wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// Sorts of failure, as doors and metrics tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// No connection, or one that broke.
    Unreachable,
    /// No whole answer in time.
    TimedOut,
    /// The origin answered that it cannot now: 429 and 5xx.
    Refused,
    /// The origin answered that it will not, to this request: asking again does not help, and says nothing
    /// about other requests.
    Denied,
    /// The origin answered something that cannot be used.
    BadAnswer,
    /// Our own guard did not let the request through: rate, quota, concurrency or an open breaker.
    Guarded,
    /// The fetch itself broke: a panic.
    Broken,
}
