//! What is written once and read by everybody: manifests and announcements.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    layout::{FORMAT, is_hash, is_name},
    rules::Facts,
};

/// A version: which object each table is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The version of the layout.
    pub format: u32,
    /// The version's number, from 1.
    pub number: u64,
    /// What its channel served when it was made, which it was compared with.
    pub parent: Option<u64>,
    /// Says whose it is, should a reply be lost.
    pub nonce: String,
    /// When it was made.
    pub made: Timestamp,
    /// Who made it.
    pub by: String,
    /// Its tables by name.
    pub tables: BTreeMap<String, Object>,
    /// Rules that it breaks on purpose, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allowed: BTreeMap<String, String>,
}

/// A table of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Object {
    /// The hash of its bytes: its name among the objects.
    pub blake3: String,
    /// What it was found to be when it was published.
    #[serde(flatten)]
    pub facts: Facts,
}

/// What a channel is to serve from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Announcement {
    /// The version of the layout.
    pub format: u32,
    /// Its place in the channel's log, from 1.
    pub number: u64,
    /// The version.
    pub version: u64,
    /// The BLAKE3 of the version's manifest.
    pub manifest: String,
    /// What led to it.
    pub kind: Kind,
    /// Who announced it.
    pub by: String,
    /// Why, for rollbacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When.
    pub made: Timestamp,
    /// Says whose it is, should a reply be lost.
    pub nonce: String,
}

/// What led to an announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The version is new.
    Publish,
    /// Another channel served it.
    Promote,
    /// It had been served before.
    Rollback,
}

/// Something that is written once.
pub(crate) trait Written: for<'de> Deserialize<'de> {
    /// What is wrong with it under this number, though it can be read; what has none is read under 0.
    fn flaw(&self, number: u64) -> Option<&'static str>;
}

impl Written for Manifest {
    fn flaw(&self, number: u64) -> Option<&'static str> {
        let is_table =
            |(name, object): (&String, &Object)| is_name(name) && is_hash(&object.blake3);
        match () {
            () if self.number != number => Some("it has another version's number"),
            () if !self.tables.iter().all(is_table) => Some("it names a table as none is named"),
            () => None,
        }
    }
}

impl Written for Announcement {
    fn flaw(&self, number: u64) -> Option<&'static str> {
        match () {
            () if self.number != number => Some("it has another announcement's number"),
            () if !is_hash(&self.manifest) => Some("it names a manifest by no hash"),
            () => None,
        }
    }
}

/// Reads what stands at a name.
pub(crate) fn read<T: Written>(name: &str, number: u64, bytes: &[u8]) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let damaged = |what: String| Error::Damaged { name: name.to_owned(), what };
    // Of a later format, only that it is one is known.
    let Format { format } =
        serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
    if format > FORMAT {
        return Err(Error::Newer { name: name.to_owned(), found: format, known: FORMAT });
    }
    let read: T = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
    match read.flaw(number) {
        Some(flaw) => Err(damaged(flaw.to_owned())),
        None => Ok(read),
    }
}

/// The bytes that are written.
pub(crate) fn write(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("names and numbers are JSON");
    bytes.push(b'\n');
    bytes
}
