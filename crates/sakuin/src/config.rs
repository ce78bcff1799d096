//! The part of a configuration that says which tables there are and where they read from.
//!
//! One file configures a whole server: this crate reads `[origins.*]`, `[live]` and `[tables.*]`, the server's crate
//! its own sections. [`crate::document`] gives both the same refusals: line, key, nearest known key.

//!
//! ```
//! use sakuin::{Config, config::{PackedSource, Table}, document::Document};
//! let text = r#"
//! [tables.words]
//! kind = "packed"
//! file = "edict.skn"
//! "#;
//! let document = Document::parse(text, "sakuin.toml", "/srv".as_ref())?;
//! let config = Config::of_document(&document)?;
//! let Table::Packed { source, .. } = &config.tables["words"] else { panic!("it is packed") };
//! assert_eq!(*source, PackedSource::File("/srv/edict.skn".into()));
//! # Ok::<(), sakuin::ConfigError>(())
//! ```

mod live;
pub mod print;
mod read;
mod route;

pub use read::database;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use sakuin_cache::{Options, Rate};
use sakuin_live::{Durability, Schema};

use crate::KeyRule;

/// Which tables there are. Printed, it is TOML with every default in its place, and no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Where cached tables read from, by name.
    pub origins: BTreeMap<String, Origin>,
    /// What is followed, by name.
    pub repositories: BTreeMap<String, Repository>,
    /// Where all live tables are kept; there whenever a table is live.
    pub live: Option<LiveStore>,
    /// The tables, by name.
    pub tables: BTreeMap<String, Table>,
}

/// Where a cached table reads from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// `url = …`
    Http(Http),
    /// `sql = …`
    Sql(Sql),
}

/// An HTTP origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Http {
    /// The URL with places for the parts of the key.
    pub url: String,
    /// Headers to send: names in lower case.
    pub headers: BTreeMap<String, Text>,
    /// Connecting, headers and body together.
    pub timeout: Duration,
    /// How many a second and a day.
    pub rate: Option<Rate>,
    /// Requests at once.
    pub concurrency: usize,
    /// The longest answer, in bytes, before and after decoding.
    pub max_answer: usize,
    /// A PEM file of further certificates to trust.
    pub ca: Option<PathBuf>,
}

/// A SQL origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sql {
    /// `postgres://…`, or `sqlite://…` with a path that no longer depends on the configuration's folder.
    pub url: Text,
    /// Connections at most.
    pub pool: u32,
    /// A query's time, with waiting for a connection.
    pub timeout: Duration,
}

/// A text of the configuration, perhaps a secret that stands elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub enum Text {
    /// As written.
    Plain(String),
    /// `{ env = "NAME" }`: read from the environment when the configuration is read.
    Env {
        /// The variable.
        name: String,
        /// What it held.
        value: String,
    },
    /// `{ file = "PATH" }`: read from a file, without the line end after it.
    File {
        /// The file.
        path: PathBuf,
        /// What it held.
        value: String,
    },
}

impl Text {
    /// What it says.
    pub fn value(&self) -> &str {
        match self {
            Text::Plain(value) | Text::Env { value, .. } | Text::File { value, .. } => value,
        }
    }
}

/// Prints where a secret stands, never what it is.
impl std::fmt::Debug for Text {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, formatter)
    }
}

/// The one store of all live tables, so that a transaction may span them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveStore {
    /// The file; begun when it is opened first.
    pub path: PathBuf,
    /// What an acknowledged commit survives.
    pub durability: Durability,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Table {
    /// `kind = "packed"`
    Packed {
        /// Where it is from.
        source: PackedSource,
        /// Where it is also served: `/words/{key}`.
        route: Option<String>,
    },
    /// `kind = "live"`
    Live {
        /// Its attributes, in the order they are written.
        schema: Schema,
        /// Where it is also read: `/features/{id}`.
        route: Option<String>,
    },
    /// `kind = "cached"`
    Cached(Box<CachedTable>),
}

/// Where a packed table is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackedSource {
    /// `file = …`
    File(PathBuf),
    /// `repository = …`, whose table of the same name it is.
    Repository(String),
}

/// A repository whose channel is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repository {
    /// `s3://bucket/prefix`, `gs://…`, `az://…` or `file:///folder`
    pub url: String,
    /// What is followed.
    pub channel: String,
    /// Where its versions are kept on this machine.
    pub directory: PathBuf,
    /// How often it is asked for news, give or take a fifth.
    pub poll: Duration,
    /// Versions that stay on the disk.
    pub keep: usize,
    /// What is refused.
    pub limits: Limits,
}

/// What is refused of a version, whatever who published it thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest table that is fetched.
    pub max_bytes: Option<usize>,
    /// The least number of keys of each table.
    pub min_keys: u64,
    /// How much a table may lose, in hundredths.
    pub shrink: u64,
    /// How much it may gain.
    pub growth: u64,
    /// Keys that must be there, `TABLE=KEY`.
    pub must_have: Vec<String>,
    /// A file of queries, which must find much the same as in the version before.
    pub rehearse: Option<PathBuf>,
}

impl Table {
    /// The attributes of a live table.
    pub fn schema(&self) -> Option<&Schema> {
        match self {
            Table::Live { schema, .. } => Some(schema),
            Table::Packed { .. } | Table::Cached(_) => None,
        }
    }

    /// Where it is also served.
    pub fn route(&self) -> Option<&str> {
        match self {
            Table::Packed { route, .. } | Table::Live { route, .. } => route.as_deref(),
            Table::Cached(table) => table.route.as_deref(),
        }
    }
}

/// A cached table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CachedTable {
    /// The origin's name.
    pub origin: String,
    /// Where it is also served: `/api/v1/timings/{stop}`, or `/?id={stop}`; a caching proxy serves all that is
    /// below it.
    pub route: Option<String>,
    /// What its keys look like.
    pub key: KeyRule,
    /// What is asked of the origin.
    pub ask: Ask,
    /// The jq program over the answer; one that stood in a file is here already.
    pub map: Option<String>,
    /// How it keeps and serves.
    pub options: Options,
}

/// What a cached table asks of its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ask {
    /// Its URL; answers live as the table says.
    Url,
    /// Its URL, as a caching proxy: answers live as their headers say (`mode = "rfc9111"`).
    Proxy,
    /// A query.
    Query {
        /// With `$1`, `$2`, … for the parts of the key.
        query: String,
        /// Whether it answers an array of all rows rather than one row.
        many: bool,
        /// How answers are kept in step with the database, beyond their time.
        coherence: Option<Coherence>,
    },
}

/// How a table over SQL is kept in step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coherence {
    /// A query whose answer changes whenever any record does.
    pub version: String,
    /// How long its answer is believed; all requests that find it older share one new query.
    pub every: Duration,
    /// A PostgreSQL channel whose notices wake the table earlier.
    pub listen: Option<String>,
}
