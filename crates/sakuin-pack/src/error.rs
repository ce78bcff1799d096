//! What can go wrong: when building, opening and reading.
//! Every error names the file and says why in few words; `hint` says what to do where there is something to do.

use std::{fmt, io, path::PathBuf};

use crate::Content;

/// Why a table was not built. The destination is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A key was added twice and the options do not say which value to keep.
    /// `first` and `second` count the calls of `add` and `point` from 0.
    #[error("key `{}` appears twice, as entries {} and {}", shown(key), first + 1, second + 1)]
    DuplicateKey {
        /// The key.
        key: Vec<u8>,
        /// Which entry had it first.
        first: u64,
        /// Which entry had it again.
        second: u64,
    },
    /// A value of a `json` table is not JSON.
    #[error("the value of key `{}` is not JSON", shown(key))]
    NotJson {
        /// The key; empty for a value stored by itself.
        key: Vec<u8>,
        /// What is wrong and where.
        source: serde_json::Error,
    },
    /// A value of a `text` or `json` table is not UTF-8.
    #[error("the value of key `{}` is not UTF-8", shown(key))]
    NotText {
        /// The key; empty for a value stored by itself.
        key: Vec<u8>,
        /// Where.
        source: std::str::Utf8Error,
    },
    /// The table's own description is not JSON.
    #[error("the description of the table is not JSON")]
    BadMeta {
        /// What is wrong and where.
        source: serde_json::Error,
    },
    /// A key of 4 GiB or more, or a value of 2^48 bytes or more.
    #[error("a key or value of {length} bytes is too long")]
    TooLong {
        /// Its length in bytes.
        length: u64,
    },
    /// The option has no such value.
    #[error("{option} cannot be {value}")]
    BadOption {
        /// The option.
        option: &'static str,
        /// What it was set to.
        value: u64,
    },
    /// A handle that another builder made.
    #[error("the value handle is not of this builder")]
    ForeignHandle,
    /// A section was named twice, has a name of another form than `owner.name`, or there are too many.
    #[error("no section can be named `{name}`: {what}")]
    BadSection {
        /// The name.
        name: String,
        /// Why not.
        what: &'static str,
    },
    /// Two different keys have one hash under every seed tried.
    #[error("keys `{}` and `{}` have the same 128-bit hash", shown(first), shown(second))]
    HashCollision {
        /// One key.
        first: Vec<u8>,
        /// The other.
        second: Vec<u8>,
    },
    /// The perfect hash found no arrangement under any seed tried.
    #[error("no perfect hash was found for these keys")]
    NoPerfectHash,
    /// The callback that is told of progress broke it off.
    #[error("broken off")]
    BrokenOff,
    /// What a callback of the caller reported.
    #[error("a section could not be made")]
    Section(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk refused.
    #[error("cannot {action} `{}`", file.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// To which file.
        file: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl BuildError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            BuildError::DuplicateKey { .. } => {
                "say which value to keep with `--duplicates first`, `last` or `keep`"
            }
            BuildError::NotJson { .. } | BuildError::NotText { .. } => {
                "build a table of content type `text` or `bytes` if the values are not JSON"
            }
            BuildError::HashCollision { .. } | BuildError::NoPerfectHash => {
                "build with another hash seed"
            }
            BuildError::BadSection { .. } => "name sections `owner.name`, 24 bytes at most",
            _ => return None,
        })
    }
}

/// Why a file was not opened.
#[derive(Debug)]
pub struct OpenError {
    /// The file; empty for a table from bytes.
    pub file: PathBuf,
    /// What is the matter with it.
    pub reason: OpenReason,
}

/// What is the matter with a file that was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenReason {
    /// It cannot be opened or mapped.
    #[error("cannot be read")]
    Io(#[source] io::Error),
    /// It does not begin as a packed table does.
    #[error("not a packed table")]
    NotATable,
    /// A later release wrote it.
    #[error("format {found} is newer than {known}, the newest this release reads")]
    Newer {
        /// The format of the file.
        found: u16,
        /// The newest format known here.
        known: u16,
    },
    /// Bytes are missing at the end.
    #[error("truncated: {found} bytes of {expected}")]
    Truncated {
        /// The length it should have.
        expected: u64,
        /// The length it has.
        found: u64,
    },
    /// Bytes follow the end.
    #[error("{} bytes follow the end of the table", found - expected)]
    Trailing {
        /// The length it should have.
        expected: u64,
        /// The length it has.
        found: u64,
    },
    /// The header or the section table was damaged: its sum is wrong.
    #[error("section `header`: damaged, its sum does not match")]
    CorruptHeader,
    /// The sums were damaged: their own sum is wrong.
    #[error("section `sums`: damaged, its sum does not match")]
    CorruptSums,
    /// The header contradicts itself or this format.
    #[error("section `header`: {what}")]
    BadHeader {
        /// What is wrong.
        what: &'static str,
    },
    /// A section contradicts the header.
    #[error("section `{section}` {what}")]
    BadSection {
        /// The section.
        section: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The file needs a section that this reader does not know.
    #[error("needs section `{name}`, which this reader does not know")]
    UnknownSection {
        /// The section.
        name: String,
    },
    /// Full checking was asked for and failed.
    #[error(transparent)]
    Read(ReadError),
}

impl OpenError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match &self.reason {
            OpenReason::NotATable => "build one with `sakuin pack`",
            OpenReason::Newer { .. } => "install a newer release, or build the file with this one",
            OpenReason::Truncated { .. }
            | OpenReason::Trailing { .. }
            | OpenReason::CorruptHeader
            | OpenReason::CorruptSums => "copy or build the file again",
            OpenReason::UnknownSection { .. } => "open it with the program that it was built for",
            OpenReason::Read(error) => return error.hint(),
            _ => return None,
        })
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            OpenReason::Read(error) => error.fmt(out),
            reason if self.file.as_os_str().is_empty() => write!(out, "table in memory: {reason}"),
            reason => write!(out, "`{}`: {reason}", self.file.display()),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            OpenReason::Io(source) => Some(source),
            _ => None,
        }
    }
}

/// Why a read was refused.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A block of the file was damaged. Every later read of the table is refused with this error.
    #[error("{}section `{section}`: block {block} is damaged, its sum does not match", Named(file))]
    Corrupt {
        /// The file; empty for a table from bytes.
        file: PathBuf,
        /// The section in which the block begins.
        section: String,
        /// The block: the file's offset divided by 65,536.
        block: u64,
    },
    /// The sums are right but what they cover is not a table: a forged file or a faulty writer.
    #[error("{}section `{section}`: {what}", Named(file))]
    Malformed {
        /// The file; empty for a table from bytes.
        file: PathBuf,
        /// The section.
        section: &'static str,
        /// What is wrong.
        what: &'static str,
    },
    /// The table stores fingerprints instead of keys and cannot list them.
    #[error("the table does not store its keys")]
    KeysNotStored,
    /// No shared value stands at this place of the file.
    #[error("no value has id {id}")]
    NoSuchValue {
        /// The id.
        id: u64,
    },
}

impl ReadError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ReadError::Corrupt { .. } | ReadError::Malformed { .. } => {
                Some("copy or build the file again")
            }
            ReadError::KeysNotStored => Some("build the table with exact keys"),
            ReadError::NoSuchValue { .. } => None,
        }
    }
}

/// A file before what is said of it; nothing for a table from bytes.
struct Named<'e>(&'e PathBuf);

impl fmt::Display for Named<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_os_str().is_empty() {
            true => Ok(()),
            false => write!(out, "`{}`: ", self.0.display()),
        }
    }
}

/// The name of a content type, as the command line writes it.
impl fmt::Display for Content {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Content::Json => "json",
            Content::Text => "text",
            Content::Bytes => "bytes",
        })
    }
}

/// A key as a reader would like it: text as it is, other bytes escaped.
fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => key.escape_ascii().to_string(),
    }
}
