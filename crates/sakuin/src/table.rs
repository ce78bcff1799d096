//! A table, whatever its kind.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use jiff::Timestamp;
use sakuin_cache::Stats;
use sakuin_pack::{Content, Values};
use tokio::runtime::Builder;

use crate::{Answer, AnswerError, Cached, Key, KeyRule, Live, Prepared};

/// A table that was opened.
pub enum Table {
    /// A packed file.
    Packed(Packed),
    /// Records in memory that change.
    Live(Live),
    /// Read through from an origin.
    Cached(Cached),
}

/// A packed file as a table of the doors.
///
/// JSON values are answered as `application/json`, texts as `text/plain`, bytes as `application/octet-stream`. A
/// table whose keys may have several values answers a JSON array of them, bytes in base64.
pub struct Packed {
    table: sakuin_pack::Table,
    version: String,
    rule: KeyRule,
    published: Option<Published>,
}

/// The version of a repository that a table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// Its number.
    pub version: u64,
    /// When it was made.
    pub made: Timestamp,
}

impl Packed {
    /// A packed file that is open already.
    pub fn new(table: sakuin_pack::Table) -> Packed {
        Packed { version: table.content_id(), rule: KeyRule::any(), table, published: None }
    }

    /// A packed file of a version of a repository.
    pub(crate) fn of_version(table: sakuin_pack::Table, version: u64, made: Timestamp) -> Packed {
        Packed { published: Some(Published { version, made }), ..Packed::new(table) }
    }

    /// The version that it is of; none of a plain file.
    pub fn published(&self) -> Option<Published> {
        self.published
    }

    /// The file.
    pub fn file(&self) -> &sakuin_pack::Table {
        &self.table
    }

    /// The answer for any bytes as a key.
    fn get(&self, key: &[u8]) -> Result<Option<Answer>, AnswerError> {
        let Some(values) = self.table.get(key)? else { return Ok(None) };
        let prepared = Prepared::packed(self.body(&values), self.content_type(), &self.version);
        Ok(Some(Answer::packed(prepared, self.published)))
    }

    fn content_type(&self) -> &'static str {
        match self.table.content() {
            _ if self.table.is_multi() => "application/json",
            Content::Json => "application/json",
            Content::Text => "text/plain; charset=utf-8",
            Content::Bytes => "application/octet-stream",
        }
    }

    fn body(&self, values: &Values<'_>) -> Bytes {
        if !self.table.is_multi() {
            let value = values.iter().next();
            return Bytes::copy_from_slice(value.map_or(&[], |value| value.bytes()));
        }
        let mut array = Vec::from(*b"[");
        for (at, value) in values.iter().enumerate() {
            array.extend_from_slice(if at > 0 { b"," } else { b"" });
            match (self.table.content(), value.text()) {
                (Content::Json, _) => array.extend_from_slice(value.bytes()),
                (Content::Text, Some(text)) => {
                    array.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
                }
                _ => array
                    .extend_from_slice(format!("\"{}\"", BASE64.encode(value.bytes())).as_bytes()),
            }
        }
        array.push(b']');
        array.into()
    }
}

impl Table {
    /// `packed`, `live` or `cached`.
    pub fn kind(&self) -> &'static str {
        match self {
            Table::Packed(_) => "packed",
            Table::Live(_) => "live",
            Table::Cached(_) => "cached",
        }
    }

    /// What its keys look like.
    pub fn key_rule(&self) -> &KeyRule {
        match self {
            Table::Packed(packed) => &packed.rule,
            Table::Live(live) => live.key_rule(),
            Table::Cached(cached) => cached.key_rule(),
        }
    }

    /// The answer, if it can be given without waiting. Takes no lock that a fetch holds.
    pub fn peek(&self, key: &Key) -> Option<Result<Option<Answer>, AnswerError>> {
        match self {
            Table::Packed(packed) => Some(packed.get(key.as_str().as_bytes())),
            Table::Live(live) => Some(live.get(key.as_str())),
            Table::Cached(cached) => cached.peek(key).map(|answer| Ok(Some(answer))),
        }
    }

    /// The answer; none if a packed or live table has no such key. A cached table's known absence is an answer that
    /// [is missing](Answer::is_missing).
    pub async fn answer(&self, key: &Key) -> Result<Option<Answer>, AnswerError> {
        match self {
            Table::Packed(packed) => packed.get(key.as_str().as_bytes()),
            Table::Live(live) => live.get(key.as_str()),
            Table::Cached(cached) => Ok(Some(cached.answer(key).await?)),
        }
    }

    /// The answer for a key as it is written, for programs that are not async: blocks while the origin is asked.
    ///
    /// # Panics
    ///
    /// If it has to wait and is called from async code, which it would block.
    pub fn get(&self, key: &str) -> Result<Option<Answer>, AnswerError> {
        let key = self.key_rule().check(key)?;
        if let Some(answer) = self.peek(&key) {
            return answer;
        }
        let runtime = Builder::new_current_thread().enable_time().build();
        runtime.map_err(AnswerError::Wait)?.block_on(self.answer(&key))
    }

    /// What a cached table counts.
    pub fn stats(&self) -> Option<Stats> {
        match self {
            Table::Packed(_) | Table::Live(_) => None,
            Table::Cached(cached) => Some(cached.stats()),
        }
    }
}
