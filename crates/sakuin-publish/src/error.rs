//! What goes wrong, with what would do.

use std::{io, path::PathBuf};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address names no store.
    #[error("`{url}` is no repository: {cause}")]
    Url {
        /// As given.
        url: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A name is none for a table or a channel.
    #[error("`{name}` is no name of a {what}")]
    Name {
        /// As given.
        name: String,
        /// Of what.
        what: &'static str,
    },
    /// A query is not written as one.
    #[error("`{0}` is no query")]
    Query(String),
    /// The store does not do as it is asked.
    #[error("{doing} `{name}`: {cause}")]
    Store {
        /// What was asked.
        doing: &'static str,
        /// Of what.
        name: String,
        /// What it said.
        cause: String,
        /// Whether it refused for want of rights.
        is_denied: bool,
    },
    /// A file of this machine cannot be read or written.
    #[error("`{file}`: {cause}")]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// A table cannot be opened.
    #[error("table `{table}`: {cause}")]
    Table {
        /// The table.
        table: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Something in the store is not what it was.
    #[error("`{name}` is damaged: {what}")]
    Damaged {
        /// Its name in the store.
        name: String,
        /// What shows it.
        what: String,
    },
    /// A later release wrote it.
    #[error("`{name}` has format {found}, and this release knows {known}")]
    Newer {
        /// Its name in the store.
        name: String,
        /// Its format.
        found: u32,
        /// The latest that is known.
        known: u32,
    },
    /// Another announced first. Nothing was announced.
    #[error("{by} announced version {version} on `{channel}` meanwhile")]
    Conflict {
        /// The channel.
        channel: String,
        /// What it serves now.
        version: u64,
        /// Who was faster.
        by: String,
    },
    /// The tables break rules.
    #[error("refused: {}", told(.0))]
    Refused(Vec<Refusal>),
    /// There is no such version.
    #[error("there is no version {0}")]
    NoVersion(u64),
    /// The channel has announced nothing, or not so much.
    #[error("channel `{channel}` has {what}")]
    Channel {
        /// The channel.
        channel: String,
        /// What it lacks.
        what: String,
    },
    /// A collection has deleted for as long as one may, and there is more.
    #[error("there is more to delete than is deleted at once")]
    Unfinished,
    /// There is no room for what is to be fetched.
    #[error("`{folder}` needs {need} bytes, and {free} are free")]
    DiskFull {
        /// The folder.
        folder: PathBuf,
        /// How much is to be fetched.
        need: u64,
        /// How much there is.
        free: u64,
    },
    /// Another process follows into the folder.
    #[error("`{0}` is in use by another process")]
    InUse(PathBuf),
    /// The folder has another repository's tables.
    #[error("`{folder}` has tables of {found}")]
    OtherRepository {
        /// The folder.
        folder: PathBuf,
        /// Where they are from.
        found: String,
    },
}

/// A rule that a table breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The rule.
    pub rule: &'static str,
    /// The table.
    pub table: String,
    /// What was found, against what is allowed.
    pub found: String,
}

fn told(refusals: &[Refusal]) -> String {
    let each =
        refusals.iter().map(|one| format!("table `{}`: {} ({})", one.table, one.found, one.rule));
    each.collect::<Vec<_>>().join("; ")
}

impl Error {
    /// What would do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::Url { .. } => "write file:///folder, s3://bucket/prefix or gs://bucket/prefix".to_owned(),
            Error::Name { .. } => "use up to 64 letters, digits, `_`, `-` and `.`".to_owned(),
            Error::Query(_) => "write TABLE=KEY".to_owned(),
            Error::Store { is_denied: true, .. } => {
                "see to the credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or GOOGLE_APPLICATION_CREDENTIALS; \
                 without the right to list, S3 says so of what is not there too"
                    .to_owned()
            }
            Error::Conflict { .. } => "look at what it is, then publish again".to_owned(),
            Error::Refused(refusals) => {
                let rule = refusals.first().map_or("RULE", |refusal| refusal.rule);
                format!("mend the table; or, if it is meant so, `--allow {rule}=\"why\"`")
            }
            Error::Unfinished => "run it again: it goes on".to_owned(),
            Error::NoVersion(_) => "`sakuin versions` lists them".to_owned(),
            Error::Newer { .. } => "use a newer release".to_owned(),
            Error::Damaged { .. } => "publish again; what was there before is kept".to_owned(),
            Error::InUse(_) => "one process follows into a folder, and any number read it".to_owned(),
            Error::OtherRepository { .. } => "name another folder, or empty this one".to_owned(),
            _ => return None,
        })
    }

    /// Whether the same may go well later: the store or the network is at fault.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Error::Store { .. } | Error::DiskFull { .. } | Error::File { .. })
    }
}
