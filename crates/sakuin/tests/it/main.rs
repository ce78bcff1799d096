//! Tests of tables by name.
//!
//! - `config`: what configurations say, and how they are refused
//! - `proxy`: a caching proxy before a scripted origin (`support/origin`)
//! - `map`: jq programs over good, odd and hostile answers
//! - `tables`: tables of a configuration, opened and asked

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod config;
mod map;
#[cfg(feature = "http-origin")]
mod proxy;
#[cfg(feature = "http-origin")]
mod support {
    pub(crate) mod origin;
}
mod tables;
