//! Why records did not come out of a file, or not into one.

use std::{fmt, io};

use super::Format;
use crate::{CommitError, ValueError, json};

/// Where in a file something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, from 1.
    Line(u64),
    /// A row of Parquet, from 1.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(formatter, "line {line}"),
            Place::Row(row) => write!(formatter, "row {row}"),
        }
    }
}

/// An import that ended early. The records before its end are in the table.
#[derive(Debug, thiserror::Error)]
#[error("{cause}; records imported before it: {imported}")]
pub struct ImportError {
    /// Why; the error's text has it already.
    pub cause: Cause,
    /// How many records are in.
    pub imported: u64,
}

/// Why an import ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// There is no such table.
    #[error(transparent)]
    Table(ValueError),
    /// A row is no record of the table.
    #[error("{place}: {error}")]
    Record {
        /// Where it stands.
        place: Place,
        /// The file's format, which says how a value is written.
        format: Format,
        /// What is wrong with it.
        error: json::Error,
    },
    /// A column is no attribute of the table, or of another type.
    #[error("column `{column}`: {cause}")]
    Column {
        /// Its name.
        column: String,
        /// What is wrong with it.
        cause: String,
        /// What would do.
        hint: String,
    },
    /// The file is not of its format.
    #[error("the file is no {}: {cause}", .format.name())]
    Format {
        /// The format.
        format: Format,
        /// Where, and how that shows.
        cause: String,
    },
    /// Parquet is read from its end.
    #[error("Parquet cannot be read from a stream")]
    NoFile,
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Read(io::Error),
    /// A transaction was not committed.
    #[error("from {place} on: {error}")]
    Commit {
        /// Where its first record stands.
        place: Place,
        /// Why.
        error: CommitError,
    },
}

impl Cause {
    pub(super) fn record(place: Place, format: Format, error: impl Into<json::Error>) -> Cause {
        Cause::Record { place, format, error: error.into() }
    }

    pub(super) fn of_commit(place: Place, format: Format, error: CommitError) -> Cause {
        match error {
            CommitError::Value(error) => Cause::record(place, format, error),
            error => Cause::Commit { place, error },
        }
    }
}

impl ImportError {
    /// What would do.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.cause {
            Cause::Record { error: json::Error::Value(error), format, .. } => match error {
                // Without the quotes of JSON.
                ValueError::Type { wanted, .. } if *format != Format::JsonLines => {
                    Some(format!("write {}", wanted.form()))
                }
                error => error.hint(),
            },
            Cause::Record { error, .. } => error.hint(),
            Cause::Column { hint, .. } => Some(hint.clone()),
            Cause::NoFile => Some("name a file".to_owned()),
            Cause::Table(_) | Cause::Format { .. } | Cause::Read(_) | Cause::Commit { .. } => None,
        };
        if self.imported == 0 {
            return hint;
        }
        let again = "import what is left; a record with an `id` may be imported again";
        Some(hint.map_or(again.to_owned(), |hint| format!("{hint}; then {again}")))
    }
}

/// Why records did not come into a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// There is no such table, or the filter does not fit it.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The file cannot be written.
    #[error("the file cannot be written: {0}")]
    Write(io::Error),
}
