//! Responses as a proxy keeps them.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use sakuin_cache::rfc9111::{Freshness, Response, Selecting};

/// What the table of a proxy holds under a key; nothing stands for a response that cannot be kept and went to
/// the request it was for.
pub(super) type Value = Option<Kept>;

/// A kept response: the origin's bytes in the origin's coding.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, without those of one hop and without `Age`; with `Date` and `Via`.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// Which requests it answers.
    pub(super) selecting: Selecting,
    pub(super) freshness: Freshness,
    /// What distinguishes what is kept under this URL from what was before it was invalidated.
    pub(super) number: u64,
    /// The request it was fetched for; 0 if none waited.
    pub(super) asked_by: u64,
    /// Its key in the table.
    pub(super) key: Box<str>,
}

impl Kept {
    /// It, as the functions of RFC 9111 look at it.
    pub fn as_response(&self) -> Response<'_> {
        Response { status: self.status, headers: &self.headers }
    }

    /// Bytes it takes.
    pub(super) fn weight(&self) -> usize {
        let fields =
            self.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 64);
        let selecting = self.selecting.fields().map(|(_, value)| value.map_or(0, <[u8]>::len) + 64);
        size_of::<Kept>()
            + self.body.len()
            + self.key.len()
            + fields.sum::<usize>()
            + selecting.sum::<usize>()
    }
}
