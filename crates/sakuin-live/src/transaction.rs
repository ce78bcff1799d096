//! Reads from one snapshot and writes that happen all together or not at all.
//!
//! A transaction remembers what it read: records with their versions, records that were not there, and searches.
//! That is what the committer holds against everything committed since.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use crate::{
    Assignment, Filter, Nearest, Neighbor, Neighbors, Record, Snapshot, Value, ValueError,
    assignment::Assignments,
    error::CommitError,
    filter::Checked,
    nearest::{self, Ranked, Sought, Told},
    schema::Cells,
};

/// Reads, and writes that wait to be committed.
pub struct Transaction {
    pub(crate) snapshot: Snapshot,
    /// By table and id, the version that was seen; none if there was none.
    pub(crate) reads: BTreeMap<(usize, u64), Option<u64>>,
    pub(crate) searches: Vec<Searched>,
    pub(crate) writes: Writes,
    /// Records that get their ids when they are committed.
    pub(crate) inserts: Vec<(usize, Cells)>,
    /// Changes of whatever a filter wants when this is committed.
    pub(crate) updates: Vec<(usize, Checked, Assignments)>,
    pub(crate) request: Option<Arc<str>>,
}

/// A search, and the commit it saw last.
pub(crate) struct Searched {
    pub(crate) table: usize,
    pub(crate) filter: Checked,
    pub(crate) since: u64,
    /// What was told, if it was asked for the nearest.
    pub(crate) nearest: Option<Told>,
}

/// The version of a record that a transaction has changed and not committed.
const UNCOMMITTED: u64 = 0;

/// The greatest id that a caller may choose: every program that reads JSON has it whole.
pub const ID_MAX: u64 = (1 << 53) - 1;

/// What records become, by table and id; none if they are deleted.
pub(crate) type Writes = BTreeMap<(usize, u64), Option<Cells>>;

impl Transaction {
    pub(crate) fn new(snapshot: Snapshot) -> Transaction {
        Transaction {
            snapshot,
            reads: BTreeMap::new(),
            searches: Vec::new(),
            writes: BTreeMap::new(),
            inserts: Vec::new(),
            updates: Vec::new(),
            request: None,
        }
    }

    /// Names the request this is for: committed again under the same name within ten minutes, it changes nothing
    /// and is answered as the first time. So who lost the answer may ask again.
    pub fn set_request(&mut self, request: &str) {
        self.request = Some(request.into());
    }

    /// What it reads from.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// One record as this transaction sees it: with its own changes, which have no version yet and say 0.
    pub fn get(&mut self, table: &str, id: u64) -> Result<Option<Record>, ValueError> {
        let (at, found) = self.snapshot.root.table(table)?;
        let row = found.get(id);
        if let Some(written) = self.writes.get(&(at, id)) {
            let record = |cells| Record::new(&found.schema, id, UNCOMMITTED, cells);
            return Ok(written.as_ref().map(record));
        }
        self.reads.entry((at, id)).or_insert(row.map(|row| row.version()));
        Ok(row.map(|row| Record::of(&found.schema, id, row)))
    }

    /// As [`Transaction::get`], of a record that must be there.
    fn find(&mut self, table: &str, id: u64) -> Result<Record, CommitError> {
        let missing = || CommitError::NotFound { table: table.to_owned(), id };
        self.get(table, id)?.ok_or_else(missing)
    }

    /// The records that a filter wants, in the order of ids, with this transaction's own changes; records it
    /// inserts have no ids yet and are not among them.
    pub fn search(&mut self, table: &str, filter: &Filter) -> Result<Vec<Record>, ValueError> {
        let (at, found) = self.snapshot.root.table(table)?;
        let filter = filter.check(&found.schema)?;
        let mut records: BTreeMap<u64, Record> = found
            .search(&filter)
            .into_iter()
            .map(|(id, row)| (id, Record::of(&found.schema, id, row)))
            .collect();
        for ((_, id), cells) in self.writes.range((at, 0)..=(at, u64::MAX)) {
            match cells.as_ref().filter(|cells| filter.matches_cells(cells)) {
                Some(cells) => {
                    records.insert(*id, Record::new(&found.schema, *id, UNCOMMITTED, cells));
                }
                None => drop(records.remove(id)),
            }
        }
        let since = self.snapshot.sequence();
        self.searches.push(Searched { table: at, filter, since, nearest: None });
        Ok(records.into_values().collect())
    }

    /// The records whose vectors are nearest to one, exactly, with this transaction's own changes but for records it
    /// inserts. The commit conflicts if another has changed one of them since, or come among them.
    pub fn nearest(&mut self, table: &str, nearest: &Nearest) -> Result<Neighbors, ValueError> {
        let (at, found) = self.snapshot.root.table(table)?;
        let sought = nearest.clone().check(&found.schema)?;
        let written = || self.writes.range((at, 0)..=(at, u64::MAX));
        // What is written here takes the place of what the snapshot has: so many more may be needed of that.
        let count = sought.count.saturating_add(written().count());
        let wider = Sought { count, ..sought.clone() };
        let mut ranked = nearest::search(found, &[&wider]).remove(0);
        ranked.retain(|ranked| !self.writes.contains_key(&(at, ranked.id)));
        ranked.extend(
            written().filter_map(|((_, id), cells)| sought.rank_cells(*id, cells.as_ref()?)),
        );
        ranked.sort();
        ranked.truncate(sought.count);
        let neighbor = |ranked: &Ranked| {
            let record = match self.writes.get(&(at, ranked.id)) {
                Some(cells) => Record::new(&found.schema, ranked.id, UNCOMMITTED, cells.as_ref()?),
                None => Record::of(&found.schema, ranked.id, found.get(ranked.id)?),
            };
            Some(Neighbor { record, score: sought.score(*ranked) })
        };
        let since = self.snapshot.sequence();
        let neighbors =
            Neighbors { snapshot: since, found: ranked.iter().filter_map(neighbor).collect() };
        let (filter, nearest) = (sought.filter.clone(), Some(Told { sought, ranked }));
        self.searches.push(Searched { table: at, filter, since, nearest });
        Ok(neighbors)
    }

    /// A new record; its id is known when it is committed.
    pub fn insert<'v>(
        &mut self,
        table: &str,
        values: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<(), CommitError> {
        let (at, found) = self.snapshot.root.table(table)?;
        let cells = found.schema.cells(values)?;
        self.inserts.push((at, cells));
        Ok(())
    }

    /// Changes every record that a filter wants at the moment of the commit, before anything else this transaction
    /// writes. It reads nothing before, so it conflicts with nobody: for counters and other things that many change
    /// at once. This transaction's own reads do not show it.
    pub fn update_where(
        &mut self,
        table: &str,
        filter: &Filter,
        assignments: &[(&str, Assignment)],
    ) -> Result<(), ValueError> {
        let (at, found) = self.snapshot.root.table(table)?;
        let filter = filter.check(&found.schema)?;
        let assignments = Assignments::check(&found.schema, assignments)?;
        self.updates.push((at, filter, assignments));
        Ok(())
    }

    /// Gives a record that is there new values for all attributes; those that are not named have none any more.
    pub fn replace<'v>(
        &mut self,
        table: &str,
        id: u64,
        values: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<(), CommitError> {
        self.find(table, id)?;
        let (at, found) = self.snapshot.root.table(table)?;
        let cells = found.schema.cells(values)?;
        self.writes.insert((at, id), Some(cells));
        Ok(())
    }

    /// Gives the record with this id these values and no others, whether it is there or not: for bringing records
    /// back under the ids they had. It reads nothing, so it conflicts with nobody.
    ///
    /// # Panics
    ///
    /// If the id is not from 1 to [`ID_MAX`].
    pub fn put<'v>(
        &mut self,
        table: &str,
        id: u64,
        values: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<(), CommitError> {
        assert!((1..=ID_MAX).contains(&id), "{id} is no id");
        let (at, found) = self.snapshot.root.table(table)?;
        let cells = found.schema.cells(values)?;
        self.writes.insert((at, id), Some(cells));
        Ok(())
    }

    /// Makes what `get` saw of a record a condition: the commit conflicts unless the record still has this version,
    /// or still is not there, whatever this transaction itself reads. For callers who read elsewhere, as the clients
    /// of a server do.
    pub fn expect(&mut self, table: &str, id: u64, version: Option<u64>) -> Result<(), ValueError> {
        let (at, _) = self.snapshot.root.table(table)?;
        self.reads.insert((at, id), version);
        Ok(())
    }

    /// Makes the answer of a search a condition: the commit conflicts if a later commit than `since` changed it.
    pub fn expect_search(
        &mut self,
        table: &str,
        filter: &Filter,
        since: u64,
    ) -> Result<(), ValueError> {
        let (at, found) = self.snapshot.root.table(table)?;
        let filter = filter.check(&found.schema)?;
        self.searches.push(Searched { table: at, filter, since, nearest: None });
        Ok(())
    }

    /// Takes away what a record has for some attributes.
    pub fn clear<'v>(
        &mut self,
        table: &str,
        id: u64,
        attributes: impl IntoIterator<Item = &'v str>,
    ) -> Result<(), CommitError> {
        self.patch(table, id, [])?;
        let (at, found) = self.snapshot.root.table(table)?;
        if let Some(Some(cells)) = self.writes.get_mut(&(at, id)) {
            for attribute in attributes {
                cells[found.schema.place(attribute)?] = None;
            }
        }
        Ok(())
    }

    /// Gives a record that is there new values for some attributes.
    pub fn patch<'v>(
        &mut self,
        table: &str,
        id: u64,
        values: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<(), CommitError> {
        let missing = || CommitError::NotFound { table: table.to_owned(), id };
        let (at, found) = self.snapshot.root.table(table)?;
        let row = found.get(id);
        let mut cells = match self.writes.entry((at, id)) {
            Entry::Occupied(written) => written.get().clone().ok_or_else(missing)?,
            Entry::Vacant(_) => {
                // The values that stay are read.
                self.reads.entry((at, id)).or_insert(row.map(|row| row.version()));
                row.ok_or_else(missing)?.cells()
            }
        };
        found.schema.put(&mut cells, values)?;
        self.writes.insert((at, id), Some(cells));
        Ok(())
    }

    /// Deletes a record that is there.
    pub fn delete(&mut self, table: &str, id: u64) -> Result<(), CommitError> {
        self.find(table, id)?;
        let (at, _) = self.snapshot.root.table(table)?;
        self.writes.insert((at, id), None);
        Ok(())
    }
}
