//! Why a server does not serve.

use std::{io, net::SocketAddr};

use sakuin::{ConfigError, OpenError};

use crate::StoriesError;

/// Why a server was not started or a configuration not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address given outside the file, as by `--listen`.
    #[error("`{value}` is no address to listen on")]
    Address {
        /// The address as given.
        value: String,
    },
    /// A table or its origin.
    #[error(transparent)]
    Tables(#[from] OpenError),
    /// The folder where live tables would be kept.
    #[error("the live tables cannot be kept in `{file}`")]
    Store {
        /// The file as configured.
        file: String,
        /// What the system said of its folder.
        #[source]
        cause: io::Error,
    },
    /// A route that would hide another address.
    #[error("table `{table}` cannot be served at `{route}`: {cause}")]
    Route {
        /// The table's name.
        table: String,
        /// The route as configured.
        route: String,
        /// What is in its way.
        cause: String,
    },
    /// Certificate and key.
    #[error("the certificate `{file}` cannot be used: {cause}")]
    Tls {
        /// The file as named.
        file: String,
        /// What is wrong.
        cause: String,
    },
    /// A reload that would need a restart.
    #[error("`{keys}` cannot be changed by a reload")]
    Restart {
        /// The keys, with backticks between them.
        keys: String,
    },
    /// The dictionary.
    #[error("cannot open the dictionary `{file}`")]
    Dictionary {
        /// The file as named.
        file: String,
        /// What is wrong with it.
        source: sakuin_japanese::dictionary::Error,
    },
    /// The stories.
    #[error(transparent)]
    Stories(#[from] StoriesError),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address as configured.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The store of contacts.
    #[error(transparent)]
    Contacts(#[from] sakuin_contacts::OpenError),
    /// Passwords would come over plain connections from other machines.
    #[error("passwords of contacts would cross the network in the clear")]
    PlainPasswords,
    /// The live tables could not be written when the server stopped.
    #[error("what live tables had still to write is lost")]
    Close(#[source] sakuin_live::CommitError),
    /// The system gave no thread or no event loop.
    #[error("cannot start")]
    Start(#[source] io::Error),
}

impl Error {
    /// What would cure it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Config(error) => error.hint(),
            Error::Address { .. } => {
                Some("write an address and a port, such as `127.0.0.1:8080`".to_owned())
            }
            Error::Tables(error) => error.hint(),
            Error::Dictionary { .. } => {
                Some("`sakuin japanese pack --words EDICT -o japanese.skn` writes one".to_owned())
            }
            Error::Listen { .. } => Some(
                "name another address: `listen = \"127.0.0.1:8081\"`, or `--listen`".to_owned(),
            ),
            Error::Store { .. } => Some("create its folder, or name another `path`".to_owned()),
            Error::Route { .. } => Some("choose another `route`".to_owned()),
            Error::Tls { .. } => Some(
                "`cert` is the PEM file of the chain, `key` that of its private key".to_owned(),
            ),
            Error::Restart { .. } => {
                Some("restart the server, or write them as they were".to_owned())
            }
            Error::Contacts(error) => error.hint().map(str::to_owned),
            Error::PlainPasswords => Some(
                "give `[server]` a certificate with `tls`, listen on 127.0.0.1 behind a proxy that has one, or say \
                 `insecure = true` in `[contacts]`"
                    .to_owned(),
            ),
            Error::Stories(_) | Error::Close(_) | Error::Start(_) => None,
        }
    }

    /// The error with its causes, in one line.
    pub(crate) fn chain(&self) -> String {
        chain(self)
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let texts = std::iter::once(error.to_string()).chain(causes.map(ToString::to_string));
    texts.collect::<Vec<_>>().join(": ")
}
