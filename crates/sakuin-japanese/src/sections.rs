//! The sections of a dictionary file that are this crate's own, read in place.
//!
//! | section | holds |
//! | --- | --- |
//! | `japanese.alphabet` | the characters of the keys, u32 each, the most frequent first |
//! | `japanese.trie` | the nodes of [`crate::trie`] |
//! | `japanese.codes` | the character that leads to each node, u16 each |
//! | `japanese.tail` | the rests of its leaves, u16 each |
//! | `japanese.postings` | the lists of [`crate::postings`] |
//! | `japanese.entries` | where each entry's value is, and how much of it its first three senses take |

use sakuin_pack::{Table, ValueId};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout,
    little_endian::{U32, U64},
};

use crate::alphabet::Alphabet;
use crate::dictionary::Error;
use crate::postings::Postings;
use crate::rules::Stem;
use crate::trie::Trie;

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

impl<'d> Sections<'d> {
    pub(crate) fn of(
        table: &'d Table,
        alphabet: &'d Alphabet,
        stems: &'d [Option<Stem>],
        words: u32,
    ) -> Result<Sections<'d>, Error> {
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
            words,
            table,
        })
    }

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
pub(crate) fn typed<'t, T: FromBytes + Immutable + KnownLayout>(
    table: &'t Table,
    section: &'static str,
) -> Result<&'t [T], Error> {
    let bytes = table.section(section)?.ok_or(Error::NotJapanese { section })?;
    <[T]>::ref_from_bytes(bytes).map_err(|_| Error::Malformed { section })
}
