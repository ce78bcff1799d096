//! Tests of tables by name.
//!
//! - `config`: what configurations say, and how they are refused
//! - `map`: jq programs over good, odd and hostile answers
//! - `tables`: tables of a configuration, opened and asked

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(feature = "sql-origin")]
mod coherence;
mod config;
#[cfg(feature = "sql-origin")]
mod databases;
#[cfg(feature = "http-origin")]
mod http_origin;
#[cfg(feature = "http-origin")]
mod loopback;
mod map;
#[cfg(feature = "sql-origin")]
mod sql_origin;
mod tables;
