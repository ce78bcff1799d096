//! RFC 9111 as times and yes-or-no: may an answer be kept, how long does it live, may this request have it.
//!
//! Pure functions over the headers of the `http` crate; the table's own states do the rest. With RFC 5861
//! (stale-while-revalidate, stale-if-error) and RFC 9213 (`CDN-Cache-Control`).
