//! A packed Japanese dictionary, open for scanning.

use std::path::Path;

use crate::{scan::Matches, text::Text};

/// An open dictionary; cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Dictionary {}

/// Why a dictionary was not opened or answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {}

/// How much of a scan a page carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// At each position the three best entries of the longest span, three senses each.
    Page,
    /// Every word, in full.
    Words,
    /// Every name, in full.
    Names,
}

/// One of the files a dictionary was packed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name: `EDICT`.
    pub name: String,
    /// The day it was made: `2021-02-03`.
    pub date: Option<String>,
}

impl Dictionary {
    /// Opens a file written by `sakuin japanese pack`.
    pub fn open(_path: impl AsRef<Path>) -> Result<Dictionary, Error> {
        unimplemented!()
    }
    /// The files this dictionary was packed from.
    pub fn sources(&self) -> &[Source] {
        unimplemented!()
    }
    /// The credit that must stand wherever entries are shown.
    pub fn licence(&self) -> &str {
        unimplemented!()
    }
    /// The content id of the file: part of every hash of an answer.
    pub fn version(&self) -> &str {
        unimplemented!()
    }
    /// Every dictionary word of a text.
    pub fn scan(&self, _text: &Text) -> Result<Matches, Error> {
        unimplemented!()
    }
    /// The answer of `POST /v1/scan`: all matches, offsets in characters.
    pub fn answer(&self, _text: &str) -> Result<Vec<u8>, Error> {
        unimplemented!()
    }
    /// The compact form for pages: several texts (title and body of each story), one set of entries.
    /// Positions are UTF-16 code units.
    ///
    /// ```json
    /// {"texts":[[[start,length,[[entry,chain],…]],…],…],
    ///  "chains":[[],["causative","past"],…],
    ///  "entries":[{"id":"w123","kind":"word","headwords":["食べる"],"readings":["たべる"],"common":true,
    ///              "furigana":[[["食","た"],"べる"]],"senses":[{"tags":["v1","vt"],"glosses":["to eat"]}]},…]}
    /// ```
    pub fn sub_dictionary(&self, _texts: &[Text], _tier: Tier) -> Result<Vec<u8>, Error> {
        unimplemented!()
    }
    /// The JSON of one kanji, if the dictionary has it.
    pub fn kanji(&self, _character: char) -> Result<Option<&str>, Error> {
        unimplemented!()
    }
}
