//! Contents: what configurations say, tables by name, mappings, and origins on their bad days.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod config;
#[cfg(feature = "http-origin")]
mod http_origin;
#[cfg(feature = "http-origin")]
mod loopback;
mod map;
mod tables;
