//! Japanese text: inflection, dictionaries, and the sub-dictionary of a text.

pub mod dictionary;
pub mod scan;
pub mod text;

mod answer;
mod rank;
pub mod sub_dictionary;

mod alphabet;
mod postings;
mod trie;

pub mod automaton;
pub mod deinflect;
pub mod rules;

pub mod entry;
pub mod fold;
#[cfg(feature = "pack")]
pub mod furigana;
#[cfg(feature = "pack")]
pub mod pack;
#[cfg(feature = "pack")]
pub mod read;
