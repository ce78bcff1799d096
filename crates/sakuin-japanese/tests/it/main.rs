//! Contents: what the crate promises, a module a subject.

mod automaton;
mod cases;
mod conjugate;
mod debian;
mod deinflect;
mod furigana;
mod read;
mod rules;
mod scan;
