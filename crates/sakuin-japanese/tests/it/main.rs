//! The integration tests of the crate, a module for each part.

mod automaton;
mod cases;
mod deinflect;
mod rules;
