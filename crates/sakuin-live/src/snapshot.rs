//! All tables at one moment, for whoever reads.

use std::{fmt, sync::Arc};

use crate::{
    Filter, Nearest, Neighbor, Neighbors, Schema, Value, ValueError,
    nearest::{self, Ranked, Sought},
    rows::Row,
    schema::Cells,
    table::Table,
};

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
#[derive(Clone)]
pub struct Record {
    id: u64,
    version: u64,
    schema: Arc<Schema>,
    cells: Cells,
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

    /// The ids of those records. Far quicker if an index knows all that the filter asks: no record is looked at.
    pub fn search_ids(&self, table: &str, filter: &Filter) -> Result<Vec<u64>, ValueError> {
        let (_, table) = self.root.table(table)?;
        Ok(table.search_ids(&filter.check(&table.schema)?))
    }

    /// Every record from an id on, in the order of ids; a look at each costs nothing before it is taken.
    pub fn records_from(
        &self,
        table: &str,
        first: u64,
    ) -> Result<impl Iterator<Item = Record>, ValueError> {
        let (_, table) = self.root.table(table)?;
        Ok(table.rows_from(first).map(|(id, row)| Record::of(&table.schema, id, row)))
    }

    /// The records whose vectors are nearest to one, exactly. A look at every vector: see [`Store::nearest`] for
    /// many at once.
    ///
    /// [`Store::nearest`]: crate::Store::nearest
    pub fn nearest(&self, table: &str, nearest: &Nearest) -> Result<Neighbors, ValueError> {
        let (_, table) = self.root.table(table)?;
        let sought = nearest.clone().check(&table.schema)?;
        let ranked = nearest::search(table, &[&sought]).remove(0);
        Ok(self.neighbors(table, &sought, &ranked))
    }

    pub(crate) fn neighbors(&self, table: &Table, sought: &Sought, ranked: &[Ranked]) -> Neighbors {
        let found = ranked.iter().filter_map(|&ranked| {
            let record = Record::of(&table.schema, ranked.id, table.get(ranked.id)?);
            Some(Neighbor { record, score: sought.score(ranked) })
        });
        Neighbors { snapshot: self.sequence(), found: found.collect() }
    }
}

impl Record {
    pub(crate) fn of(schema: &Arc<Schema>, id: u64, row: Row<'_>) -> Record {
        Record { id, version: row.version(), schema: schema.clone(), cells: row.cells() }
    }

    pub(crate) fn new(schema: &Arc<Schema>, id: u64, version: u64, cells: &Cells) -> Record {
        Record { id, version, schema: schema.clone(), cells: cells.clone() }
    }

    /// Its id: it stays as long as the record is there, and no other ever gets it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The sequence of the commit that wrote it last; 0 in a transaction that has changed it.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The value of an attribute, if it has one.
    pub fn value(&self, attribute: &str) -> Option<Value> {
        self.values().find_map(|(name, value)| (name == attribute).then_some(value))
    }

    /// Its values by attribute; what it has no value for is not among them.
    pub fn values(&self) -> impl Iterator<Item = (&str, Value)> {
        let cells = self.schema.attributes().iter().zip(&self.cells);
        cells.filter_map(|(attribute, cell)| {
            Some((attribute.name.as_str(), cell.as_ref()?.value(attribute.values)))
        })
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{} ", self.id, self.version)?;
        formatter.debug_map().entries(self.values()).finish()
    }
}
