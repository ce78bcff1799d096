//! Contents: what configurations say, tables by name, mappings, and origins on their bad days.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod config;
mod map;
mod tables;
