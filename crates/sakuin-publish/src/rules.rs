//! What a version must be like before it is announced, and before it is served.

use std::{collections::BTreeMap, fs, path::Path, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Refusal},
    manifest::{Manifest, Object},
};

/// What a table is found to be when it is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// How long its file is.
    pub bytes: u64,
    /// How many keys it has.
    pub keys: u64,
    /// What its values are, as the engine calls it.
    pub content: String,
    /// Equal tables have equal ones.
    pub content_id: String,
}

/// A table that a caller has opened.
pub trait Opened: Send + Sync {
    /// What it is.
    fn facts(&self) -> Facts;

    /// The value of a key; none if the table has no such key, or why it cannot be read.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String>;

    /// Hands on every key and its value; or says why that cannot be.
    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String>;
}

/// A question that a new version must answer much as the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The table.
    pub table: String,
    /// The key.
    pub key: Vec<u8>,
}

impl FromStr for Query {
    type Err = Error;

    /// Reads `TABLE=KEY`.
    fn from_str(text: &str) -> Result<Query, Error> {
        let (table, key) = text.split_once('=').ok_or_else(|| Error::Query(text.to_owned()))?;
        Ok(Query { table: table.to_owned(), key: key.into() })
    }
}

impl Query {
    /// Reads a file of queries, `TABLE=KEY` a line; empty lines are nothing.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Query`]
    pub fn read(file: &Path) -> Result<Vec<Query>, Error> {
        let text = fs::read_to_string(file)
            .map_err(|cause| Error::File { file: file.to_owned(), cause })?;
        text.lines().filter(|line| !line.trim().is_empty()).map(str::parse).collect()
    }
}

/// What is refused.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rules {
    /// The least number of keys of each table.
    pub min_keys: u64,
    /// The most bytes of each table.
    pub max_bytes: Option<u64>,
    /// How much of its keys, and of its bytes, a table may lose, as a part of one.
    pub shrink: f64,
    /// How much it may gain, as a part of what there was.
    pub growth: f64,
    /// Keys that must be there.
    pub must_have: Vec<Query>,
    /// Questions that are asked of both versions.
    pub rehearse: Vec<Query>,
    /// How many of them may find nothing any more, as a part of one.
    pub newly_missing: f64,
    /// How many may find something else.
    pub changed: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            min_keys: 1,
            max_bytes: None,
            shrink: 0.2,
            growth: 0.5,
            must_have: Vec::new(),
            rehearse: Vec::new(),
            newly_missing: 0.005,
            changed: 0.3,
        }
    }
}

/// The rules that can be broken on purpose: all but those that whoever reads makes for itself.
pub(crate) const ALLOWABLE: [&str; 7] =
    ["min-keys", "shrink", "growth", "content", "table", "must-have", "rehearse"];

impl Rules {
    /// What a manifest says that is refused, beside what its channel served before.
    pub(crate) fn of_manifest(
        &self,
        manifest: &Manifest,
        before: Option<&Manifest>,
    ) -> Vec<Refusal> {
        let mut refusals = Refusals { found: Vec::new(), allowed: &manifest.allowed };
        for (name, table) in &manifest.tables {
            self.table(
                &mut refusals,
                name,
                table,
                before.and_then(|before| before.tables.get(name)),
            );
        }
        let before = before.map(|before| &before.tables).into_iter().flatten();
        for (name, _) in before.filter(|(name, _)| !manifest.tables.contains_key(*name)) {
            refusals.add("table", name, "it was there, and is not any more".to_owned());
        }
        refusals.found
    }

    fn table(
        &self,
        refusals: &mut Refusals<'_>,
        name: &str,
        table: &Object,
        before: Option<&Object>,
    ) {
        let Facts { bytes, keys, content, .. } = &table.facts;
        if *keys < self.min_keys {
            refusals.add("min-keys", name, format!("{keys} keys are fewer than {}", self.min_keys));
        }
        if let Some(most) = self.max_bytes.filter(|most| bytes > most) {
            refusals.found.push(Refusal {
                rule: "max-bytes",
                table: name.to_owned(),
                found: format!("{bytes} bytes are more than {most}"),
            });
        }
        let Some(before) = before else { return };
        if *content != before.facts.content {
            let was = &before.facts.content;
            refusals.add("content", name, format!("its values are {content}, and were {was}"));
        }
        let measures = [("keys", *keys, before.facts.keys), ("bytes", *bytes, before.facts.bytes)];
        for (what, now, then) in measures {
            let change = now as f64 / (then as f64).max(1.0) - 1.0;
            let told = || format!("{now} {what} where there were {then}, {:+.0} %", change * 100.0);
            if change < -self.shrink {
                refusals.add("shrink", name, told());
                break;
            }
            if change > self.growth {
                refusals.add("growth", name, told());
                break;
            }
        }
    }

    /// What tables answer that is refused, beside those of the version before.
    pub(crate) fn of_tables<T: Opened>(
        &self,
        tables: &BTreeMap<String, T>,
        before: &BTreeMap<String, T>,
        allowed: &BTreeMap<String, String>,
    ) -> Result<Vec<Refusal>, (String, String)> {
        let mut refusals = Refusals { found: Vec::new(), allowed };
        let ask = |tables: &BTreeMap<String, T>, query: &Query| match tables.get(&query.table) {
            Some(table) => table.get(&query.key).map_err(|cause| (query.table.clone(), cause)),
            None => Ok(None),
        };
        for query in &self.must_have {
            if ask(tables, query)?.is_none() {
                let key = String::from_utf8_lossy(&query.key);
                refusals.add("must-have", &query.table, format!("there is no key {key:?}"));
            }
        }
        let mut of_table: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
        for query in &self.rehearse {
            let Some(then) = ask(before, query)? else { continue };
            let now = ask(tables, query)?;
            let [asked, missing, changed] = of_table.entry(&query.table).or_default();
            *asked += 1;
            *missing += usize::from(now.is_none());
            *changed += usize::from(now.is_some_and(|now| now != then));
        }
        for (table, [asked, missing, changed]) in of_table {
            let part = |count: usize| count as f64 / asked as f64;
            if part(missing) > self.newly_missing {
                refusals.add(
                    "rehearse",
                    table,
                    format!("{missing} of {asked} queries find nothing any more"),
                );
            } else if part(changed) > self.changed {
                refusals.add(
                    "rehearse",
                    table,
                    format!("{changed} of {asked} queries find something else"),
                );
            }
        }
        Ok(refusals.found)
    }
}

struct Refusals<'a> {
    found: Vec<Refusal>,
    allowed: &'a BTreeMap<String, String>,
}

impl Refusals<'_> {
    fn add(&mut self, rule: &'static str, table: &str, found: String) {
        if !self.allowed.contains_key(rule) {
            self.found.push(Refusal { rule, table: table.to_owned(), found });
        }
    }
}
