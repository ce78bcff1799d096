//! Tests of tables by name.
//!
//! - `config`: what configurations say, and how they are refused
//! - `http_origin`: an HTTP origin on its bad days (`loopback` plays it)
//! - `map`: jq programs over good, odd and hostile answers
//! - `proxy`: a caching proxy before a scripted origin (`support/origin`)
//! - `reopen`: cached tables of a configuration that changes
//! - `tables`: tables of a configuration, opened and asked

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod config;
#[cfg(feature = "http-origin")]
mod http_origin;
#[cfg(feature = "http-origin")]
mod loopback;
mod map;
#[cfg(feature = "http-origin")]
mod proxy;
#[cfg(feature = "http-origin")]
mod reopen;
#[cfg(feature = "http-origin")]
mod support {
    pub(crate) mod origin;
}
mod tables;
