//! One table at one moment: its records and the indexes over them, always of one mind.

use std::{ops::Bound, sync::Arc};

use crate::{
    Schema,
    filter::{Checked, Wanted},
    index::Index,
    rows::{Row, Rows},
    schema::Cells,
};

/// A table at one moment. A copy costs a few counters.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) name: Arc<str>,
    pub(crate) schema: Arc<Schema>,
    rows: Rows,
    /// In the order of attributes.
    indexes: Arc<[Option<Index>]>,
    /// Ids are never given twice.
    next_id: u64,
}

impl Table {
    pub(crate) fn new(name: &str, schema: Schema) -> Table {
        let indexes = schema.attributes().iter().map(|one| one.index.map(Index::new)).collect();
        let (name, schema) = (name.into(), Arc::new(schema));
        Table { name, schema, rows: Rows::new(), indexes, next_id: 1 }
    }

    pub(crate) fn count(&self) -> u64 {
        self.rows.count()
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    pub(crate) fn get(&self, id: u64) -> Option<Row<'_>> {
        self.rows.get(id)
    }

    /// The rows from an id on, in the order of ids.
    pub(crate) fn rows_from(&self, first: u64) -> impl Iterator<Item = (u64, Row<'_>)> {
        self.rows.iter_from(first)
    }

    pub(crate) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// The id that the next new record gets.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Gives no id before this one any more.
    pub(crate) fn skip_ids(&mut self, next_id: u64) {
        self.next_id = self.next_id.max(next_id);
    }

    /// Puts a record in, and returns what it was before, but for its vector.
    pub(crate) fn set(&mut self, id: u64, version: u64, cells: &Cells) -> Option<Cells> {
        let before = self.rows.get(id).map(|row| row.cells_but_vector());
        self.reindex(id, before.as_ref(), Some(cells));
        self.rows.set(&self.schema, id, version, cells);
        self.next_id = self.next_id.max(id + 1);
        before
    }

    /// Takes a record out, and returns what it was, but for its vector.
    pub(crate) fn remove(&mut self, id: u64) -> Option<Cells> {
        let before = self.rows.get(id)?.cells_but_vector();
        self.reindex(id, Some(&before), None);
        self.rows.remove(&self.schema, id);
        Some(before)
    }

    /// Puts a record in as it was, and tells no index: for many at once, before [`Table::build_indexes`].
    pub(crate) fn restore(&mut self, id: u64, version: u64, cells: &Cells) {
        self.rows.set(&self.schema, id, version, cells);
        self.skip_ids(id + 1);
    }

    /// Takes a record out, if it is there, and tells no index.
    pub(crate) fn forget(&mut self, id: u64) {
        if self.rows.get(id).is_some() {
            self.rows.remove(&self.schema, id);
        }
    }

    /// Makes the indexes anew from all records: a value at a time, which costs a part of a record at a time.
    pub(crate) fn build_indexes(&mut self) {
        let attributes = self.schema.attributes().iter().enumerate();
        let indexes = attributes.map(|(place, attribute)| {
            let kind = attribute.index?;
            let rows = self.rows.iter_from(1);
            // Room for all at once, which is given back as a whole.
            let mut entries = Vec::with_capacity(self.rows.count() as usize);
            entries.extend(rows.filter_map(|(id, row)| Some((row.cell(place)?, id))));
            Some(Index::of(kind, entries))
        });
        self.indexes = indexes.collect();
    }

    fn reindex(&mut self, id: u64, before: Option<&Cells>, after: Option<&Cells>) {
        for (place, index) in Arc::make_mut(&mut self.indexes).iter_mut().enumerate() {
            let Some(index) = index else { continue };
            let [before, after] =
                [before, after].map(|cells| cells.and_then(|it| it[place].as_ref()));
            if before == after {
                continue;
            }
            if let Some(cell) = before {
                index.remove(cell, id);
            }
            if let Some(cell) = after {
                index.insert(cell, id);
            }
        }
    }

    /// The records that a filter wants, in the order of ids. Costs what an index finds, if one of the conditions
    /// has one, and otherwise a look at every record.
    pub(crate) fn search(&self, filter: &Checked) -> Vec<(u64, Row<'_>)> {
        match self.found(filter) {
            None => self.rows.matching(filter).collect(),
            Some(found) => self.those_of(&found.ids, filter),
        }
    }

    /// The records that a filter wants, if an index says that there are at most so many.
    pub(crate) fn search_few(&self, filter: &Checked, most: usize) -> Option<Vec<(u64, Row<'_>)>> {
        let found = self.found(filter).filter(|found| found.ids.len() <= most)?;
        Some(self.those_of(&found.ids, filter))
    }

    /// Their ids alone: what an index says by itself, if it is all that was asked.
    pub(crate) fn search_ids(&self, filter: &Checked) -> Vec<u64> {
        match self.found(filter) {
            Some(found) if found.is_all => found.ids,
            _ => self.search(filter).into_iter().map(|(id, _)| id).collect(),
        }
    }

    fn those_of(&self, ids: &[u64], filter: &Checked) -> Vec<(u64, Row<'_>)> {
        let mut rows = self.rows.many(ids);
        rows.retain(|(_, row)| filter.matches(|place| row.cell(place)));
        rows
    }

    /// What an index finds for one of the conditions, if there is an index for one: rather for a value than for a
    /// range.
    fn found(&self, filter: &Checked) -> Option<Found> {
        let is_one = filter.conditions().len() == 1;
        let indexed = filter
            .conditions()
            .iter()
            .filter_map(|(place, wanted)| Some((self.indexes[*place].as_ref()?, wanted)));
        let value = indexed.clone().find_map(|(index, wanted)| match wanted {
            Wanted::Equal(cell) => {
                Some(Found { ids: index.equal(cell), is_all: is_one && index.tells(cell) })
            }
            _ => None,
        });
        value.or_else(|| {
            let mut indexed = indexed;
            let ids = indexed.find_map(|(index, wanted)| match wanted {
                Wanted::Within(from, to) if is_empty(from, to) => Some(Vec::new()),
                Wanted::Within(from, to) => index.range(from.as_ref(), to.as_ref()),
                _ => None,
            })?;
            Some(Found { ids, is_all: is_one })
        })
    }
}

/// What an index found.
struct Found {
    /// In order; all that a filter wants are among them.
    ids: Vec<u64>,
    /// Nothing else was asked for.
    is_all: bool,
}

fn is_empty<T: Ord>(from: &Bound<T>, to: &Bound<T>) -> bool {
    match (from, to) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (
            Bound::Included(from) | Bound::Excluded(from),
            Bound::Included(to) | Bound::Excluded(to),
        ) => from >= to,
    }
}
