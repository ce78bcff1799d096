//! Contents: what configurations say, and tables by name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod config;
mod tables;
