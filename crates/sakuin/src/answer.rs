//! An answer of any table: what, how old, and where from.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;
use sakuin_cache::Entry;

use crate::{Prepared, cached::Kept, table::Published};

/// What a table answered for a key.
#[derive(Clone, Debug)]
pub struct Answer {
    content: Content,
    /// How old it is at most.
    pub age: Duration,
    /// Where it came from.
    pub source: Source,
    published: Option<Published>,
}

#[derive(Clone, Debug)]
enum Content {
    Kept(Arc<Entry<Kept>>),
    Made(Box<Prepared>),
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// A packed file.
    Packed,
    /// A live table.
    Live,
    /// A cached table, fresh.
    Hit,
    /// The origin of a cached table; `collapsed` if another request had asked it already.
    Miss {
        /// Whether this request waited for another's.
        collapsed: bool,
    },
    /// A cached table, past its freshness.
    Stale,
}

impl Answer {
    /// An answer of a packed table: as old as the version that it is of.
    pub(crate) fn packed(content: Prepared, published: Option<Published>) -> Answer {
        let age = published.map(|published| Timestamp::now().duration_since(published.made));
        Answer {
            content: Content::Made(Box::new(content)),
            age: age.and_then(|age| age.try_into().ok()).unwrap_or_default(),
            source: Source::Packed,
            published,
        }
    }

    /// A record of a live table, as it is now.
    pub(crate) fn live(content: Prepared) -> Answer {
        Answer { source: Source::Live, ..Answer::packed(content, None) }
    }

    /// An entry of a cached table.
    pub(crate) fn cached(entry: Arc<Entry<Kept>>, age: Duration, source: Source) -> Answer {
        Answer { content: Content::Kept(entry), age, source, published: None }
    }

    /// The same, as one that nobody can vouch for now.
    #[cfg(feature = "sql-origin")]
    pub(crate) fn stale(self) -> Answer {
        Answer { source: Source::Stale, ..self }
    }

    /// The content in every coding, with its headers.
    pub fn prepared(&self) -> &Prepared {
        match &self.content {
            Content::Kept(entry) => &entry.value().prepared,
            Content::Made(prepared) => prepared,
        }
    }

    /// The content, uncoded.
    pub fn body(&self) -> &Bytes {
        self.prepared().body()
    }

    /// Equal versions, equal content: for a packed table the file's content id, for a live one the sequence
    /// of the commit that wrote the record, for a cached one a hash of the body.
    pub fn version(&self) -> &str {
        self.prepared().version()
    }

    /// The version of the repository that a packed table is of, if it is of one.
    pub fn published(&self) -> Option<u64> {
        self.published.map(|published| published.version)
    }

    /// Whether the origin said that there is no such record.
    pub fn is_missing(&self) -> bool {
        self.prepared().is_missing()
    }
}
