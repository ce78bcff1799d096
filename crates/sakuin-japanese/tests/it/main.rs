//! The integration tests of the crate, a module for each part.

mod automaton;
mod cases;
mod conjugate;
mod deinflect;
mod rules;
