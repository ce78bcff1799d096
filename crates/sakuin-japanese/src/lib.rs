//! Japanese text: inflection, dictionaries, and the sub-dictionary of a text.
//!
//! Inflection alone needs no dictionary:
//!
//! ```
//! use sakuin_japanese::deinflect::deinflect;
//! let found = deinflect("食べさせた");
//! assert!(found.iter().any(|i| i.form == "食べる" && i.reasons == ["causative", "past"]));
//! ```
//!
//! With a file made by [`pack::Packer`] or `sakuin japanese pack`, [`dictionary::Dictionary`] finds every word of
//! a text: all of them at every place, ranked, never one segmentation.
//!
//! The feature `pack`, on by default, reads dictionary files and packs them; a program that only scans
//! does without.

pub mod dictionary;
pub mod scan;
pub mod text;

pub mod answer;
mod rank;
pub mod sub_dictionary;

mod alphabet;
mod postings;
mod sections;
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
