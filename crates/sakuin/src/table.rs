//! A table, whatever its kind.

use sakuin_cache::Stats;

use crate::{Answer, AnswerError, Cached, Key, KeyRule};

/// A table that was opened.
pub enum Table {
    /// A packed file.
    Packed(Packed),
    /// Read through from an origin.
    Cached(Cached),
}

/// A packed file as a table of the doors.
pub struct Packed {
    table: sakuin_pack::Table,
}

impl Packed {
    /// The file.
    pub fn file(&self) -> &sakuin_pack::Table {
        &self.table
    }
}

impl Table {
    /// `packed` or `cached`.
    pub fn kind(&self) -> &'static str {
        match self {
            Table::Packed(_) => "packed",
            Table::Cached(_) => "cached",
        }
    }

    /// What its keys look like.
    pub fn key_rule(&self) -> &KeyRule {
        unimplemented!()
    }

    /// The answer, if it can be given without waiting. Takes no lock that a fetch holds.
    pub fn peek(&self, key: &Key) -> Option<Result<Option<Answer>, AnswerError>> {
        let _ = key;
        unimplemented!()
    }

    /// The answer; none if a packed table has no such key. A cached table's known absence is an answer that
    /// [is missing](Answer::is_missing).
    pub async fn answer(&self, key: &Key) -> Result<Option<Answer>, AnswerError> {
        let _ = key;
        unimplemented!()
    }

    /// What a cached table counts.
    pub fn stats(&self) -> Option<Stats> {
        unimplemented!()
    }
}
