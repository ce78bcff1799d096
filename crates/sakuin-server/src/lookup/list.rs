//! `GET /v1/tables`: which tables there are.

use axum::http::Response;
use sakuin::{Table, Tables};
use serde::Serialize;

use crate::body::Body;

#[derive(Serialize)]
struct Listed<'a> {
    tables: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    kind: &'static str,
    /// The form of its keys, as in `{line}/{stop}`.
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a str>,
    /// What is there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// Every table, in the order of names.
pub(crate) fn list(tables: &Tables) -> Response<Body> {
    let rows = tables.iter().map(|(name, table)| Row::of(tables, name, table));
    let tables = Listed { tables: rows.collect() };
    let json = serde_json::to_vec(&tables).expect("strings and numbers can be written");
    Body::json(json.into())
}

impl<'a> Row<'a> {
    fn of(tables: &'a Tables, name: &'a str, table: &Table) -> Row<'a> {
        let (entries, bytes) = match table {
            Table::Packed(packed) => {
                let stats = packed.file().stats();
                (Some(stats.keys), Some(stats.file_bytes))
            }
            Table::Live(live) => (live.count().ok(), None),
            Table::Cached(_) => {
                let stats = table.stats();
                (stats.as_ref().map(|stats| stats.entries), stats.map(|stats| stats.bytes))
            }
        };
        Row {
            name,
            kind: table.kind(),
            key: table.key_rule().to_string(),
            route: tables.config().tables.get(name).and_then(|table| table.route()),
            entries,
            bytes,
        }
    }
}
