//! Where tables change: one commit after another, each held against everything that was committed since its
//! snapshot (Kung and Robinson, "On Optimistic Methods for Concurrency Control", 1981, validating backwards).
//!
//! The committer works on the *pending* root, which may be ahead of what readers see: in `sync` a commit is seen once
//! its group is on the disk, and the next group is applied meanwhile. What it applies it also puts into the open
//! group, for the log to take.

use std::sync::Arc;

use crate::{
    Committed, Conflict, Durability, Transaction,
    assignment::Assignments,
    error::CommitError,
    filter::Checked,
    frame::Frame,
    layout::Layout,
    requests::{Known, Requests, milliseconds},
    ring::{Change, Ring, bytes_of},
    schema::Cells,
    snapshot::Root,
    sync::thread::ThreadId,
    transaction::Writes,
};

/// The pending root, and what is known of the commits that led to it.
pub(crate) struct Committer {
    pub(crate) root: Root,
    pub(crate) ring: Ring,
    pub(crate) requests: Requests,
    durability: Durability,
    /// What the log is to write next; none if the store is in memory alone.
    pub(crate) group: Option<Group>,
    /// Why nothing more is written.
    pub(crate) failed: Option<String>,
    /// The thread that writes groups, whether it waits for one, and whether it is to end.
    pub(crate) writer: Option<ThreadId>,
    pub(crate) is_idle: bool,
    pub(crate) is_closing: bool,
}

/// Commits that are written together.
pub(crate) struct Group {
    layout: Arc<Layout>,
    /// The sequence of the first commit in it.
    pub(crate) first: u64,
    /// The commits; none if only a whole image is ever written.
    pub(crate) frame: Option<Frame>,
    /// How many records they write.
    pub(crate) records: usize,
    /// Which records they deleted, by table and id.
    pub(crate) deleted: Vec<(usize, u64)>,
    /// Who is told when it is on the disk.
    pub(crate) waiting: Vec<(Committed, Then)>,
}

/// Called with the outcome of a commit.
pub(crate) type Then = Box<dyn FnOnce(Result<Committed, CommitError>) + Send>;

/// Writes of one transaction, and bytes of text, bytes and vectors in them.
const WRITES_MAX: usize = 10_000;
const BYTES_MAX: usize = 64 << 20;

impl Committer {
    pub(crate) fn new(
        root: Root,
        requests: Requests,
        durability: Durability,
        group: Option<Group>,
    ) -> Committer {
        let ring = Ring::after(root.sequence);
        Committer {
            root,
            ring,
            requests,
            durability,
            group,
            failed: None,
            writer: None,
            is_idle: false,
            is_closing: false,
        }
    }

    /// Applies a transaction, unless what it read has changed. Nothing is changed if it fails.
    pub(crate) fn commit(&mut self, transaction: Transaction) -> Result<Committed, CommitError> {
        if let Some(request) = &transaction.request
            && let Some(known) = self.requests.get(request)
        {
            return Ok(known.committed(self.durability));
        }
        if let Some(cause) = &self.failed {
            return Err(CommitError::ReadOnly { cause: cause.clone() });
        }
        self.validate(&transaction)?;
        self.apply(transaction)
    }

    /// Whether there is nothing to write, and nobody who waits.
    pub(crate) fn has_no_work(&self) -> bool {
        self.group.as_ref().is_none_or(Group::is_empty)
    }

    /// Back to what readers see, after a commit that panicked. What was committed and not written is lost with it.
    pub(crate) fn recover(&mut self, published: &Root) {
        let root = published.clone();
        match &mut self.group {
            Some(group) => {
                drop(group.take());
                self.fail(&root, "a commit panicked");
            }
            None => self.roll_back(root),
        }
    }

    /// Back to what readers see, for ever: the log has failed.
    pub(crate) fn fail(&mut self, published: &Root, cause: &str) {
        self.failed.get_or_insert_with(|| cause.to_owned());
        self.roll_back(published.clone());
    }

    fn roll_back(&mut self, root: Root) {
        self.ring.truncate(root.sequence);
        self.requests.truncate(root.sequence);
        self.root = root;
    }

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

    /// Writes what a transaction wants.
    fn apply(&mut self, transaction: Transaction) -> Result<Committed, CommitError> {
        let (mut writes, matched) = self.updates(&transaction.updates)?;
        writes.extend(transaction.writes);
        let (inserts, request) = (transaction.inserts, transaction.request);
        let count = writes.len() + inserts.len();
        check_size(&writes, &inserts)?;
        let durability = self.durability;
        let root = &mut self.root;
        // A request that changes nothing has a place too: asked again, it changes nothing again.
        if count == 0 && request.is_none() {
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
        let committed = Committed { sequence, ids, matched, durability };
        let known = request.map(|request| {
            let (ids, matched) = (committed.ids.clone(), committed.matched.clone());
            Known { request, sequence, time: self.requests.time(milliseconds()), ids, matched }
        });
        if let Some(group) = &mut self.group {
            group.push(sequence, &changes, known.as_ref());
        }
        if let Some(known) = known {
            self.requests.remember(known);
        }
        self.ring.push(changes);
        Ok(committed)
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
                // An earlier update of the same transaction may have changed it already.
                let before = writes.remove(&(*at, id)).flatten().unwrap_or_else(|| row.cells());
                let cells = assignments.applied(&table.schema, &before)?;
                writes.insert((*at, id), Some(cells));
                matched.push(id);
            }
        }
        Ok((writes, matched))
    }
}

fn check_size(writes: &Writes, inserts: &[(usize, Cells)]) -> Result<(), CommitError> {
    let count = writes.len() + inserts.len();
    if count > WRITES_MAX {
        return Err(CommitError::TooLarge { writes: count, most: WRITES_MAX });
    }
    let cells = writes.values().flatten().chain(inserts.iter().map(|(_, cells)| cells));
    let bytes = cells.map(bytes_of).sum();
    if bytes > BYTES_MAX {
        return Err(CommitError::TooManyBytes { bytes, most: BYTES_MAX });
    }
    Ok(())
}

impl Group {
    pub(crate) fn new(layout: Arc<Layout>, is_logged: bool) -> Group {
        let frame = is_logged.then(Frame::new);
        let (deleted, waiting) = (Vec::new(), Vec::new());
        Group { layout, first: 0, frame, records: 0, deleted, waiting }
    }

    /// The group as it is, in whose place an empty one comes.
    pub(crate) fn take(&mut self) -> Group {
        let empty = Group::new(self.layout.clone(), self.frame.is_some());
        std::mem::replace(self, empty)
    }

    pub(crate) fn commits(&self) -> u32 {
        self.frame.as_ref().map_or(0, Frame::commits)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.frame.as_ref().map_or(0, Frame::len)
    }

    /// Whether there is anything for the log to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.commits() == 0 && self.waiting.is_empty()
    }

    fn push(&mut self, sequence: u64, changes: &[Change], known: Option<&Known>) {
        let deleted = changes.iter().filter(|change| change.after.is_none());
        self.deleted.extend(deleted.map(|change| (change.table, change.id)));
        let Some(frame) = &mut self.frame else { return };
        if frame.commits() == 0 {
            self.first = sequence;
        }
        self.records += changes.len();
        frame.push(&self.layout, changes, known);
    }
}
