//! All live tables of a configuration, and the one place where they change.
//!
//! Commits go one after another through [`Committer`], which holds each against everything that was committed since
//! its snapshot: strict serializability for whoever writes (Kung and Robinson, "On Optimistic Methods for
//! Concurrency Control", 1981, validating backwards). Readers take the published root and wait for nobody.

use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;

use crate::{
    Assignment, Conflict, Filter, Record, Schema, Snapshot, Transaction, ValueError,
    assignment::Assignments,
    error::CommitError,
    ring::{Change, Ring},
    schema::Cells,
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
    /// The records that a transaction inserted, in the order of the inserts, or that [`Store::update_where`] changed.
    pub ids: Vec<u64>,
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

    /// All tables as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { root: self.published.load_full() }
    }

    /// Begins a transaction on what is there now.
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.snapshot())
    }

    /// Writes everything of a transaction, or nothing.
    ///
    /// # Errors
    ///
    /// [`CommitError::Conflict`] if something it read is another by now: a record, a record that was not there, or
    /// the answer of a search.
    pub fn commit(&self, transaction: Transaction) -> Result<Committed, CommitError> {
        let writes = transaction.writes.len() + transaction.inserts.len();
        if writes > WRITES_MAX {
            return Err(CommitError::TooLarge { writes, most: WRITES_MAX });
        }
        let mut committer = self.committer();
        committer.validate(&transaction)?;
        if writes == 0 {
            return Ok(Committed { sequence: committer.root.sequence, ids: Vec::new() });
        }
        let committed = committer.apply(transaction.writes, transaction.inserts);
        self.publish(&committer);
        Ok(committed)
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

    /// Changes every record that a filter wants, as one commit. It reads nothing before, so it conflicts with nobody:
    /// for counters and other things that many change at once.
    ///
    /// # Errors
    ///
    /// If a value does not fit, a sum is too large, or more records are wanted than a transaction may write.
    pub fn update_where(
        &self,
        table: &str,
        filter: &Filter,
        assignments: &[(&str, Assignment)],
    ) -> Result<Committed, CommitError> {
        let mut committer = self.committer();
        let (at, found) = committer.root.table(table)?;
        let filter = filter.check(&found.schema)?;
        let assignments = Assignments::check(&found.schema, assignments)?;
        let rows = found.search(&filter);
        if rows.len() > WRITES_MAX {
            return Err(CommitError::TooLarge { writes: rows.len(), most: WRITES_MAX });
        }
        let changed = rows.iter().map(|(id, row)| {
            let cells = assignments.applied(&found.schema, &row.cells())?;
            Ok(((at, *id), Some(cells)))
        });
        let writes: Writes = changed.collect::<Result<_, ValueError>>()?;
        let ids: Vec<u64> = writes.keys().map(|(_, id)| *id).collect();
        if writes.is_empty() {
            return Ok(Committed { sequence: committer.root.sequence, ids });
        }
        let Committed { sequence, .. } = committer.apply(writes, Vec::new());
        self.publish(&committer);
        Ok(Committed { sequence, ids })
    }

    /// The commits after a snapshot, the oldest first.
    ///
    /// # Errors
    ///
    /// [`CommitError::SnapshotExpired`] if some of them are remembered no more: read all anew and go on from there.
    pub fn changes_since(&self, snapshot: &Snapshot) -> Result<Vec<Changes>, CommitError> {
        let since: Vec<_> = {
            let committer = self.committer();
            let since = committer.ring.since(snapshot.sequence())?;
            since.map(|(sequence, changes)| (sequence, changes.clone())).collect()
        };
        let commits = since.into_iter().map(|(sequence, changes)| {
            let changed = |change: &Change| {
                let table = &snapshot.root.tables[change.table];
                let record = |cells| Record::new(&table.schema, change.id, sequence, cells);
                let record = change.after.as_ref().map(record);
                Changed { table: table.name.clone(), id: change.id, record }
            };
            Changes { sequence, records: changes.iter().map(changed).collect() }
        });
        Ok(commits.collect())
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
        let at = transaction.snapshot.sequence();
        if transaction.searches.is_empty() || at == self.root.sequence {
            return Ok(Vec::new());
        }
        let since = self.ring.since(at)?;
        let mut changed = vec![false; transaction.searches.len()];
        for change in since.flat_map(|(_, changes)| &**changes) {
            for ((table, filter), changed) in transaction.searches.iter().zip(&mut changed) {
                *changed |= *table == change.table && change.touches(filter);
            }
        }
        Ok((0..changed.len()).filter(|&at| changed[at]).collect())
    }

    fn apply(&mut self, writes: Writes, inserts: Vec<(usize, Cells)>) -> Committed {
        let root = &mut self.root;
        root.sequence += 1;
        let sequence = root.sequence;
        let mut changes = Vec::with_capacity(writes.len() + inserts.len());
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
        Committed { sequence, ids }
    }
}
