//! Japanese text: inflection, dictionaries, and the sub-dictionary of a text.

pub mod automaton;
pub mod deinflect;
pub mod dictionary;
pub mod entry;
pub mod fold;
pub mod furigana;
#[cfg(feature = "pack")]
pub mod pack;
#[cfg(feature = "pack")]
pub mod read;
pub mod rules;
pub mod scan;
pub mod text;
