//! Tests of tables by name.
//!
//! - `config`: what configurations say, and how they are refused
//! - `map`: jq programs over good, odd and hostile answers
//! - `tables`: tables of a configuration, opened and asked

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod config;
mod map;
mod tables;
