//! A packed Japanese dictionary, open for scanning.
//!
//! The file is a packed table (keys `w1`, `n1`, `k食`; JSON values) with six sections of this crate's own:
//!
//! | section | holds |
//! | --- | --- |
//! | `japanese.alphabet` | the characters of the keys, u32 each, the most frequent first |
//! | `japanese.trie` | the nodes of [`crate::trie`] |
//! | `japanese.codes` | the character that leads to each node, u16 each |
//! | `japanese.tail` | the rests of its leaves, u16 each |
//! | `japanese.postings` | the lists of [`crate::postings`] |
//! | `japanese.entries` | where each entry's value is, and how much of it its first three senses take |

use std::path::Path;
use std::sync::Arc;

use sakuin_pack::{OpenError, ReadError, Table, ValueId};
use serde::{Deserialize, Serialize};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout,
    little_endian::{U32, U64},
};

use crate::alphabet::Alphabet;
use crate::automaton::automaton;
use crate::postings::Postings;
use crate::rules::{Stem, rules};
use crate::scan::{Matches, scan};
use crate::text::Text;
use crate::trie::Trie;

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

/// Where an entry's JSON is.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct EntryPlace {
    pub(crate) value: U64,
    /// How many bytes of the value come before the fourth sense; all of it if there is none.
    pub(crate) short: U32,
    pub(crate) reserved: U32,
}

/// The sections of a dictionary, as one scan sees them.
pub(crate) struct Sections<'d> {
    pub(crate) trie: Trie<'d>,
    pub(crate) postings: Postings<'d>,
    pub(crate) alphabet: &'d Alphabet,
    pub(crate) stems: &'d [Option<Stem>],
    pub(crate) words: u32,
    entries: &'d [EntryPlace],
    table: &'d Table,
}

/// What stands between the first senses of an entry and the rest, and ends an entry cut there.
pub(crate) const ENTRY_END: &[u8] = b"]}";

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
        Ok(Sections {
            trie: Trie::new(
                typed(table, "japanese.trie")?,
                typed(table, "japanese.codes")?,
                typed(table, "japanese.tail")?,
            ),
            postings: Postings::new(typed(table, "japanese.postings")?),
            entries: typed(table, "japanese.entries")?,
            alphabet,
            stems,
            words: about.words,
            table,
        })
    }
}

impl<'d> Sections<'d> {
    /// The JSON of an entry, whole.
    pub(crate) fn entry(&self, entry: u32) -> Result<&'d [u8], Error> {
        self.entry_place(entry).map(|(json, _)| json)
    }

    /// The JSON of an entry and how much of it its first three senses take.
    pub(crate) fn entry_place(&self, entry: u32) -> Result<(&'d [u8], usize), Error> {
        let malformed = Error::Malformed { section: "japanese.entries" };
        let Some(place) = self.entries.get(entry as usize) else { return Err(malformed) };
        let json = self.table.value(ValueId(place.value.get()))?.bytes();
        let short = place.short.get() as usize;
        if short > json.len() { Err(malformed) } else { Ok((json, short)) }
    }
}

/// A section as a row of `T`.
fn typed<'t, T: FromBytes + Immutable + KnownLayout>(
    table: &'t Table,
    section: &'static str,
) -> Result<&'t [T], Error> {
    let bytes = table.section(section)?.ok_or(Error::NotJapanese { section })?;
    <[T]>::ref_from_bytes(bytes).map_err(|_| Error::Malformed { section })
}
