//! What can be purged from a table, and how.

/// Which entries to purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge<'a> {
    /// The one with this key.
    Key(&'a str),
    /// Those whose keys begin so.
    Prefix(&'a str),
    /// Those the origin gave this tag.
    Tag(&'a str),
    /// Every one.
    All,
}

/// How an entry is purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// It must be fetched anew, and is served stale only if that fails.
    Soft,
    /// It is forgotten.
    Hard,
}
