//! The latest commits, for two who ask what has changed since: the committer of a transaction, and whoever follows
//! a table.

use std::{collections::VecDeque, sync::Arc};

use crate::{error::CommitError, schema::Cells, transaction::Searched, value::Cell};

/// The changes of the latest commits, one after another without a gap.
#[derive(Default)]
pub(crate) struct Ring {
    /// The sequence of the latest.
    latest: u64,
    commits: VecDeque<Arc<[Change]>>,
    changes: usize,
    bytes: usize,
}

/// What a commit did to one record.
pub(crate) struct Change {
    pub(crate) table: usize,
    pub(crate) id: u64,
    pub(crate) before: Option<Cells>,
    pub(crate) after: Option<Cells>,
}

/// Changes that are remembered.
const CHANGES_MAX: usize = 1 << 20;

/// Bytes of text, bytes and vectors in them.
const BYTES_MAX: usize = 64 << 20;

impl Ring {
    /// Of which the latest commit is this one, and none is remembered.
    pub(crate) fn after(sequence: u64) -> Ring {
        Ring { latest: sequence, ..Ring::default() }
    }

    pub(crate) fn push(&mut self, changes: Vec<Change>) {
        self.latest += 1;
        self.changes += changes.len();
        self.bytes += weight(&changes);
        self.commits.push_back(changes.into());
        while (self.changes > CHANGES_MAX || self.bytes > BYTES_MAX)
            && let Some(oldest) = self.commits.pop_front()
        {
            self.forget(&oldest);
        }
    }

    /// Forgets every commit after `sequence`.
    pub(crate) fn truncate(&mut self, sequence: u64) {
        while self.latest > sequence
            && let Some(latest) = self.commits.pop_back()
        {
            self.latest -= 1;
            self.forget(&latest);
        }
        self.latest = sequence;
    }

    fn forget(&mut self, commit: &[Change]) {
        self.changes -= commit.len();
        self.bytes -= weight(commit);
    }

    /// Every commit after `sequence`, the oldest first.
    pub(crate) fn since(
        &self,
        sequence: u64,
    ) -> Result<impl Iterator<Item = (u64, &Arc<[Change]>)>, CommitError> {
        let oldest = self.latest - self.commits.len() as u64;
        if sequence < oldest {
            return Err(CommitError::SnapshotExpired { at: sequence, oldest });
        }
        let skipped = (sequence - oldest) as usize;
        Ok((oldest + 1..).zip(&self.commits).skip(skipped))
    }
}

fn weight(changes: &[Change]) -> usize {
    changes.iter().flat_map(|change| [&change.before, &change.after]).flatten().map(bytes_of).sum()
}

/// The bytes of a record's cells beside what every record has.
pub(crate) fn bytes_of(cells: &Cells) -> usize {
    let blobs = cells.iter().map(|cell| match cell {
        Some(Cell::Blob(blob)) => blob.len(),
        _ => 0,
    });
    blobs.sum()
}

impl Change {
    /// Whether the record was in a search's answer, or is now.
    pub(crate) fn touches(&self, search: &Searched) -> bool {
        let filter = &search.filter;
        if self.table != search.table {
            return false;
        }
        if let Some(told) = &search.nearest {
            return told.is_changed_by(self.id, self.after.as_ref());
        }
        [&self.before, &self.after].into_iter().flatten().any(|cells| filter.matches_cells(cells))
    }
}
