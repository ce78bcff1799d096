//! What can go wrong, with the facts a caller needs to mend it.

use std::path::PathBuf;

use thiserror::Error;

use crate::Type;

/// A value that does not fit its table.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// No attribute has this name.
    #[error("there is no attribute `{attribute}`; there are {known:?}")]
    Unknown {
        /// The name as given.
        attribute: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The attribute has values of another type, or the number is none.
    #[error("attribute `{attribute}` takes {wanted}, not {found}")]
    Type {
        /// The attribute.
        attribute: String,
        /// What it takes.
        wanted: Type,
        /// What was given.
        found: String,
    },
    /// The attribute has values that nothing can be added to.
    #[error("attribute `{attribute}` is {of}: nothing can be added to it")]
    NoSum {
        /// The attribute.
        attribute: String,
        /// What its values are.
        of: Type,
    },
    /// A sum is no number of 64 bits.
    #[error("the sum for attribute `{attribute}` is too large")]
    TooLarge {
        /// The attribute.
        attribute: String,
    },
    /// A vector is longer or shorter than those of its table.
    #[error("a vector of {found} dimensions where the table's have {wanted}")]
    Dimensions {
        /// How many numbers the table's have.
        wanted: usize,
        /// How many this one has.
        found: usize,
    },
    /// A vector of zeros has no direction, and so no cosine.
    #[error("a vector of zeros has no direction to compare by cosine")]
    NoDirection,
    /// Vectors are not compared by value.
    #[error("attribute `{attribute}` is a vector: it is searched by what is near, not by value")]
    Vector {
        /// The attribute.
        attribute: String,
    },
    /// The table's records have no vectors.
    #[error("the table has no vectors")]
    NoVectors,
    /// No table has this name.
    #[error("there is no live table `{table}`")]
    Table {
        /// The name as given.
        table: String,
    },
}

/// Another transaction committed first, and what it changed was read by this one. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} of what was read has changed since; read it again", describe(.records.len(), .searches))]
pub struct Conflict {
    /// Records that were read: table, id, and the version there is now (none if it is gone).
    pub records: Vec<(String, u64, Option<u64>)>,
    /// Searches whose answer is another now, as places in the order they were made.
    pub searches: Vec<usize>,
    /// The sequence of which a snapshot shows what it conflicts with.
    pub retry_at: u64,
}

fn describe(records: usize, searches: &[usize]) -> String {
    format!("{records} record(s) and {} search(es)", searches.len())
}

/// Why a transaction was not committed. Nothing of it was written, unless it says that this is unknown.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Another was faster.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// A value does not fit.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A record that is to be changed is not there.
    #[error("table `{table}` has no record {id}")]
    NotFound {
        /// The table.
        table: String,
        /// The record.
        id: u64,
    },
    /// The transaction began before the oldest commit that is remembered, and searched.
    #[error("the snapshot at {at} is older than the oldest change kept, {oldest}; begin again")]
    SnapshotExpired {
        /// The snapshot's sequence.
        at: u64,
        /// The oldest sequence that changes are known since.
        oldest: u64,
    },
    /// The disk failed or the store was closed, so that nothing more is written; reading goes on.
    #[error("the store writes no more: {cause}")]
    ReadOnly {
        /// What happened.
        cause: String,
    },
    /// The disk failed while this was written: whether it is on the disk is known after a restart.
    #[error("whether this was written is unknown, since the disk failed: {cause}")]
    Unknown {
        /// What the disk said.
        cause: String,
    },
    /// More was to be written than one transaction may.
    #[error("{writes} writes are more than the {most} that a transaction may have")]
    TooLarge {
        /// How many there were.
        writes: usize,
        /// How many there may be.
        most: usize,
    },
    /// Text, bytes and vectors to be written were longer than those of one transaction may be.
    #[error("{bytes} bytes of values are more than the {most} that a transaction may have")]
    TooManyBytes {
        /// How many there were.
        bytes: usize,
        /// How many there may be.
        most: usize,
    },
}

impl CommitError {
    /// If it only came too late: the commit that a snapshot must show for the same to go well.
    pub fn retry_at(&self) -> Option<u64> {
        match self {
            CommitError::Conflict(conflict) => Some(conflict.retry_at),
            CommitError::SnapshotExpired { oldest, .. } => Some(*oldest),
            _ => None,
        }
    }
}

/// Why a store could not be opened. Nothing of it was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read or written.
    #[error("{path}: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        cause: String,
    },
    /// Another process has the file open.
    #[error("{path} is open in another process")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, and how that shows.
        what: String,
    },
    /// The file has records that the tables as described have no place for.
    #[error("{path}: table `{table}` {cause}")]
    Schema {
        /// The file.
        path: PathBuf,
        /// The table.
        table: String,
        /// What does not fit.
        cause: String,
    },
}

impl OpenError {
    /// What would do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            OpenError::InUse { .. } => Some(
                "one process at a time has a store: ask the server that has it, over HTTP or gRPC, or stop it first",
            ),
            OpenError::Schema { .. } => Some(
                "write the attributes as they were; or export the records, name another `path`, and import them",
            ),
            OpenError::File { .. } | OpenError::Damaged { .. } => None,
        }
    }
}
