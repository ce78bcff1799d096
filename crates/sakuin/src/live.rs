//! A live table as the doors ask it: a record by its id, as JSON.

use std::sync::Arc;

use bytes::Bytes;
use sakuin_live::{Schema, Store};

use crate::{Answer, AnswerError, KeyRule, Part, Pattern, Prepared};

/// What the ids of records are: `{id}` in a route.
const IDS: Pattern = Pattern::Range { first: 1, last: i64::MAX };

/// One table of the store of a configuration.
pub struct Live {
    store: Arc<Store>,
    name: String,
    schema: Schema,
    rule: KeyRule,
}

impl Live {
    /// A table of a store that has it with this schema.
    pub(crate) fn new(store: Arc<Store>, name: &str, schema: Schema) -> Live {
        let rule = KeyRule { parts: vec![Part { name: "id".to_owned(), pattern: IDS }] };
        Live { store, name: name.to_owned(), schema, rule }
    }

    /// All live tables of the configuration.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Its name in the store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its records look like.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How many records it has.
    pub fn count(&self) -> Result<u64, sakuin_live::ValueError> {
        self.store.snapshot().count(&self.name)
    }

    pub(crate) fn key_rule(&self) -> &KeyRule {
        &self.rule
    }

    /// The record as it is now.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Answer>, AnswerError> {
        let Ok(id) = key.parse() else { return Ok(None) };
        let Ok(Some(record)) = self.store.snapshot().get(&self.name, id) else { return Ok(None) };
        let version = record.version().to_string();
        let body = Bytes::from(record.to_json());
        Ok(Some(Answer::live(Prepared::packed(body, "application/json", &version))))
    }
}
