//! Readers of dictionary files: one module a format, all yielding the same [`Entry`] and [`Kanji`].

use std::path::Path;

use crate::entry::{Entry, Kanji};

/// What a file is, guessed from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `語 [ご] /(n) word/`
    Edict,
    /// As EDICT, with several headwords and readings a line and `EntL` numbers.
    Edict2,
    /// EDICT's form, for names.
    Enamdict,
    /// The text file of kanji.
    Kanjidic,
    /// JMdict XML.
    Jmdict,
    /// JMnedict XML.
    Jmnedict,
}

/// What a reader yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A word or a name.
    Entry(Entry),
    /// A character.
    Kanji(Kanji),
}

/// What was read besides the items.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The format found.
    pub format: Format,
    /// The dictionary's name, from its header.
    pub name: String,
    /// The day it was made, `2021-02-03`, from its header.
    pub date: Option<String>,
    /// How many lines or elements were not understood.
    pub problems: u64,
    /// The first ten of them: line number and what is wrong.
    pub first_problems: Vec<(u64, String)>,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {}

/// Reads a dictionary file of any known format, plain or gzip, UTF-8 or EUC-JP, and hands each item on.
pub fn read(_path: &Path, _each: &mut dyn FnMut(Item)) -> Result<Summary, Error> {
    unimplemented!()
}
