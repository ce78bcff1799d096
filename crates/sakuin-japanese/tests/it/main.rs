//! The integration tests of the crate, a module for each part.

mod automaton;
mod deinflect;
mod rules;
