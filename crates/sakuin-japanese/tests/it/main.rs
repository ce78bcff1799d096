//! Contents: what the crate promises, a module a subject.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod automaton;
mod cases;
mod conjugate;
mod debian;
mod deinflect;
mod furigana;
mod read;
mod rules;
mod scan;
