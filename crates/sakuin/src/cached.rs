//! A cached table over an HTTP or SQL origin: fetch, map, prepare, keep.

/// A cached table as a configuration describes it.
pub struct Cached {
    _table: (),
}
