//! Generated headers, against the crate http-cache-semantics.
