//! Contents: what the crate promises, a module a subject.

mod automaton;
mod deinflect;
mod read;
mod rules;
