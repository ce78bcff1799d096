//! The integration tests of the crate, a module for each part.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod automaton;
mod cases;
mod conjugate;
mod deinflect;
mod rules;
