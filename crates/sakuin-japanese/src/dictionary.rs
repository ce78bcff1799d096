//! A packed Japanese dictionary, open for scanning.
//!
//! The file is a packed table (keys `w1`, `n1`, `k食`; JSON values) with six sections of this crate's own
//! ([`crate::sections`]).

use std::path::Path;
use std::sync::Arc;

use sakuin_pack::{OpenError, ReadError, Table};
use serde::{Deserialize, Serialize};

use crate::alphabet::Alphabet;
use crate::automaton::automaton;
use crate::rules::{Stem, rules};
use crate::scan::{Matches, scan};
use crate::sections::{Sections, typed};
use crate::text::Text;

/// An open dictionary: one mapped file; cheap to clone and shared between threads.
///
/// ```no_run
/// use sakuin_japanese::{dictionary::Dictionary, text::Text};
/// let dictionary = Dictionary::open("japanese.skn")?;
/// let matches = dictionary.scan(&Text::plain("日本語を食べられませんでした"))?;
/// println!("{} readings of spans", matches.len());
/// # Ok::<(), sakuin_japanese::dictionary::Error>(())
/// ```
#[derive(Clone)]
pub struct Dictionary {
    inner: Arc<Inner>,
}

struct Inner {
    table: Table,
    about: About,
    alphabet: Alphabet,
    stems: Vec<Option<Stem>>,
    version: String,
}

/// What the file says of itself, kept as the table's meta.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct About {
    pub(crate) title: String,
    pub(crate) licence: String,
    pub(crate) dictionaries: Vec<Source>,
    /// Entries below this number are words, from it on names.
    pub(crate) words: u32,
    /// What a group's kind says may follow, from kind 1 on.
    pub(crate) stems: Vec<String>,
}

/// One of the files a dictionary was packed from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Source {
    /// Its name: `EDICT`.
    pub name: String,
    /// The day it was made: `2021-02-03`.
    pub date: Option<String>,
}

/// Why a dictionary was not opened or did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is no sound packed table.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file is a packed table, but not one of Japanese.
    #[error("`{section}` is missing: this is no Japanese dictionary")]
    NotJapanese {
        /// The section that is not there.
        section: &'static str,
    },
    /// A section of the file does not have the form it must have.
    #[error("`{section}` is malformed")]
    Malformed {
        /// The section.
        section: &'static str,
    },
    /// The answer could not be written.
    #[error("the answer could not be written")]
    Write(#[from] std::io::Error),
}

impl Error {
    /// What helps, if anything does.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::NotJapanese { .. } | Error::Malformed { .. } => {
                Some("make the file with `sakuin japanese pack`")
            }
            _ => None,
        }
    }
}

impl Dictionary {
    /// Opens a file written by `sakuin japanese pack`. Nothing is read ahead but the alphabet.
    pub fn open(path: impl AsRef<Path>) -> Result<Dictionary, Error> {
        Dictionary::from_table(Table::open(path)?)
    }

    /// A dictionary in an open table.
    pub fn from_table(table: Table) -> Result<Dictionary, Error> {
        let meta = table.meta()?.ok_or(Error::NotJapanese { section: "meta" })?;
        let about: About =
            serde_json::from_str(meta).map_err(|_| Error::Malformed { section: "meta" })?;
        let alphabet = Alphabet::new(typed(&table, "japanese.alphabet")?);
        let stems = std::iter::once(None)
            .chain(about.stems.iter().map(|name| rules().stem(name)))
            .collect();
        let version = table.content_id();
        let dictionary =
            Dictionary { inner: Arc::new(Inner { table, about, alphabet, stems, version }) };
        dictionary.sections()?;
        Ok(dictionary)
    }

    /// The files this dictionary was packed from.
    pub fn sources(&self) -> &[Source] {
        &self.inner.about.dictionaries
    }

    /// The credit that must stand wherever entries are shown.
    pub fn licence(&self) -> &str {
        &self.inner.about.licence
    }

    /// The content id of the file: part of the hash of every answer.
    pub fn version(&self) -> &str {
        &self.inner.version
    }

    /// The table the dictionary is in: entries by key, `w1`, `n1` and `k食`.
    pub fn table(&self) -> &Table {
        &self.inner.table
    }

    /// Every dictionary word of a text, inflected or not. About 0.2 µs a character.
    pub fn scan(&self, text: &Text) -> Result<Matches, Error> {
        Ok(scan(&self.sections()?, automaton(), text))
    }

    /// The JSON of one kanji, if the dictionary has it.
    pub fn kanji(&self, character: char) -> Result<Option<&str>, Error> {
        let values = self.inner.table.get(format!("k{character}").as_bytes())?;
        let Some(values) = values else { return Ok(None) };
        let json = std::str::from_utf8(values.first().bytes());
        json.map(Some).map_err(|_| Error::Malformed { section: "records" })
    }

    pub(crate) fn sections(&self) -> Result<Sections<'_>, Error> {
        let Inner { table, about, alphabet, stems, .. } = &*self.inner;
        Sections::of(table, alphabet, stems, about.words)
    }
}
