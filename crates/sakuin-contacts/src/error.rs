//! What goes wrong that is nobody's fault who asks.

/// The store does not answer, or this end of it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database cannot be reached, or fails.
    #[error("the store of contacts fails: {cause}")]
    Store {
        /// What it says.
        cause: String,
    },
    /// A change was not answered: it panicked, or everything ends.
    #[error("the change was not answered")]
    Unanswered,
}

/// Why contacts cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address of the store is none.
    #[error("`{url}` is no address of a store")]
    Url {
        /// As it was given, without a password.
        url: String,
    },
    /// The database cannot be opened or brought up to date.
    #[error("the store of contacts cannot be opened: {cause}")]
    Store {
        /// What it says.
        cause: String,
    },
    /// The system refuses a thread.
    #[error("a thread cannot be started")]
    Start(#[from] std::io::Error),
}

impl OpenError {
    /// What helps.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            OpenError::Url { .. } => {
                Some("write `sqlite://contacts.db`, or `postgres://user@host/database`")
            }
            OpenError::Store { .. } => Some("see that the file's folder or the database is there"),
            OpenError::Start(_) => None,
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Error {
        Error::Store { cause: error.to_string() }
    }
}

impl From<sqlx::Error> for OpenError {
    fn from(error: sqlx::Error) -> OpenError {
        OpenError::Store { cause: error.to_string() }
    }
}
