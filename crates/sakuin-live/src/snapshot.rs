//! All tables at one moment, for whoever reads.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Filter, Schema, Value, ValueError, rows::Row, table::Table};

/// All tables after one commit.
#[derive(Clone)]
pub(crate) struct Root {
    pub(crate) sequence: u64,
    pub(crate) tables: Vec<Table>,
}

/// All tables as they were at one moment; what is committed later does not show. Reading waits for nobody.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) root: Arc<Root>,
}

/// A record as it was.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// Its id: it stays as long as the record is there, and no other ever gets it.
    pub id: u64,
    /// The sequence of the commit that wrote it last.
    pub version: u64,
    /// Its values by attribute; what it has no value for is not among them.
    pub values: BTreeMap<String, Value>,
}

impl Root {
    pub(crate) fn table(&self, name: &str) -> Result<(usize, &Table), ValueError> {
        let found = self.tables.iter().enumerate().find(|(_, table)| &*table.name == name);
        found.ok_or_else(|| ValueError::Table { table: name.to_owned() })
    }
}

impl Snapshot {
    /// How many commits it shows.
    pub fn sequence(&self) -> u64 {
        self.root.sequence
    }

    /// The attributes of a table.
    pub fn schema(&self, table: &str) -> Result<&Schema, ValueError> {
        Ok(&self.root.table(table)?.1.schema)
    }

    /// How many records a table has.
    pub fn count(&self, table: &str) -> Result<u64, ValueError> {
        Ok(self.root.table(table)?.1.count())
    }

    /// One record, if there is one with this id.
    pub fn get(&self, table: &str, id: u64) -> Result<Option<Record>, ValueError> {
        let (_, table) = self.root.table(table)?;
        Ok(table.get(id).map(|row| Record::of(&table.schema, id, row)))
    }

    /// The records that a filter wants, in the order of ids.
    pub fn search(&self, table: &str, filter: &Filter) -> Result<Vec<Record>, ValueError> {
        let (_, table) = self.root.table(table)?;
        let found = table.search(&filter.check(&table.schema)?);
        Ok(found.into_iter().map(|(id, row)| Record::of(&table.schema, id, row)).collect())
    }
}

impl Record {
    pub(crate) fn of(schema: &Schema, id: u64, row: Row<'_>) -> Record {
        Record { id, version: row.version(), values: schema.values(&row.cells()) }
    }
}
