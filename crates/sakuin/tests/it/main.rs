//! Tests of tables by name.
//!
//! - `config`: what configurations say, and how they are refused
//! - `databases`: SQLite and a PostgreSQL of our own (`support/postgres`), for `sql_origin`
//! - `http_origin`: an HTTP origin on its bad days (`loopback` plays it)
//! - `map`: jq programs over good, odd and hostile answers
//! - `proxy`: a caching proxy before a scripted origin (`support/origin`)
//! - `reopen`: cached tables of a configuration that changes
//! - `sql_origin`: one suite over SQLite and PostgreSQL
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
#[cfg(feature = "http-origin")]
mod proxy;
#[cfg(feature = "http-origin")]
mod reopen;
mod support {
    #[cfg(feature = "http-origin")]
    pub(crate) mod origin;
    #[cfg(feature = "sql-origin")]
    pub(crate) mod postgres;
}
#[cfg(feature = "sql-origin")]
mod sql_origin;
mod tables;
