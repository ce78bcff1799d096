//! Contents: what the crate promises, a module a subject.

mod automaton;
mod debian;
mod deinflect;
mod furigana;
mod read;
mod rules;
mod scan;
