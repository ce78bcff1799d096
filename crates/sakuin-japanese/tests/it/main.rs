//! Contents: what the crate promises, a module a subject.

mod automaton;
mod deinflect;
mod furigana;
mod read;
mod rules;
