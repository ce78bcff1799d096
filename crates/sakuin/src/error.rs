//! Why a table was not opened or did not answer.

use sakuin_cache::CacheError;

/// Why tables were not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A packed file.
    #[error("cannot open table `{table}`")]
    Packed {
        /// The table's name.
        table: String,
        /// What is wrong with its file.
        source: sakuin_pack::OpenError,
    },
    /// A repository that cannot be followed, or has no such table.
    #[error("repository `{repository}`: {cause}")]
    Repository {
        /// The repository's name.
        repository: String,
        /// What is wrong.
        cause: String,
        /// What would do.
        hint: Option<String>,
    },
    /// An origin whose sort this build does not know.
    #[error("origin `{origin}` needs the feature `{feature}`")]
    Feature {
        /// The origin's name.
        origin: String,
        /// The crate's feature.
        feature: &'static str,
    },
    /// An origin that cannot be set up: its certificates, its database.
    #[error("cannot set up origin `{origin}`: {cause}")]
    Origin {
        /// The origin's name.
        origin: String,
        /// What is wrong.
        cause: String,
    },
    /// A cached table's mapping does not compile, or its query is none.
    #[error("cannot open table `{table}`: {cause}")]
    Table {
        /// The table's name.
        table: String,
        /// What is wrong.
        cause: String,
    },
    /// The store of the live tables.
    #[error("cannot open the live tables")]
    Live(#[from] sakuin_live::OpenError),
    /// Live tables that are open already and were described otherwise then.
    #[error("{what} cannot be changed while the live tables are open")]
    Fixed {
        /// What is another now.
        what: String,
    },
    /// The system gave no thread or no event loop.
    #[error("cannot start")]
    Start(#[source] std::io::Error),
}

impl OpenError {
    /// What would cure it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            OpenError::Packed { source, .. } => return source.hint().map(str::to_owned),
            OpenError::Repository { hint, .. } => return hint.clone(),
            OpenError::Feature { feature, .. } => {
                format!("build the crate `sakuin` with `features = [\"{feature}\"]`")
            }
            OpenError::Live(error) => return error.hint().map(str::to_owned),
            OpenError::Fixed { .. } => "restart the server, or write it as it was".to_owned(),
            OpenError::Origin { .. } | OpenError::Table { .. } | OpenError::Start(_) => {
                return None;
            }
        })
    }
}

/// Why a table did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The key is not one this table can have.
    #[error(transparent)]
    Key(#[from] crate::KeyError),
    /// A packed file is damaged.
    #[error("the packed file cannot be read")]
    Packed(#[from] sakuin_pack::ReadError),
    /// The origin has no answer, or too many wait for it.
    #[error(transparent)]
    Cached(#[from] CacheError),
    /// The system gave nothing to wait with.
    #[error("cannot wait for the answer")]
    Wait(#[source] std::io::Error),
}
