//! RFC 9111 as times and yes-or-no: may an answer be kept, how long does it live, may this request have it.
//!
//! Pure functions over the headers of the `http` crate, for a shared cache; the table's own states do the
//! rest. With RFC 5861 (stale-while-revalidate, stale-if-error), RFC 9213 (`CDN-Cache-Control`) and the
//! conditions and ranges of RFC 9110 that a cache answers by itself.
//!
//! Where the RFC leaves a choice, or a header is damaged, the careful side is taken: rather not kept, rather
//! asked again.

mod cache_control;
mod conditional;
mod date;
mod forward;
mod freshness;
mod invalidation;
mod range;
mod reuse;
mod storage;
mod validation;
mod vary;

pub use cache_control::{RequestDirectives, ResponseDirectives};
pub use conditional::{not_modified, only_for_the_origin};
pub use forward::strip_hop_by_hop;
pub use freshness::{Freshness, freshness, initial_age};
pub use invalidation::{invalidated, is_safe};
pub use range::{ByteRange, byte_range};
pub use reuse::{Reuse, reuse};
pub use storage::storable;
pub use validation::{confirms, refreshed, validate};
pub use vary::{Selecting, accepted_codings, selecting_value};

use http::{HeaderMap, Method, StatusCode};

/// What a cache looks at of a request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its headers.
    pub headers: &'a HeaderMap,
}

/// What a cache looks at of a response.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: &'a HeaderMap,
}
