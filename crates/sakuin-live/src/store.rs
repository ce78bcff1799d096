//! All live tables of a configuration.
//!
//! Readers take the published root and wait for nobody. Who writes goes through the one [`Committer`], directly, and
//! where the store is durable waits for the thread of the log.
//!
//! [`Committer`]: crate::committer::Committer

use std::{path::Path, sync::Arc};

use crate::{
    Assignment, Durability, Filter, Nearest, Neighbors, OpenError, Record, Schema, Snapshot,
    Transaction, ValueError,
    committer::{Committer, Group},
    disk::{Disk, FOLD_AT, Opened},
    error::CommitError,
    log::{self, Entered, Shared},
    nearest::Searches,
    published::Published,
    requests::Requests,
    ring::Change,
    snapshot::Root,
    sync::{Mutex, lock, mpsc, thread},
    table::Table,
};

/// Live tables. Shared by threads as it is. Dropped, it is closed: see [`Store::close`].
pub struct Store {
    shared: Arc<Shared>,
    searches: Arc<Searches>,
    /// The thread that writes, if the store has a file.
    log: Mutex<Option<thread::JoinHandle<Result<(), String>>>>,
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

/// How often [`Store::update`] begins at most.
pub const ATTEMPTS_MAX: usize = 8;

impl Store {
    /// Empty tables, in memory alone.
    pub fn in_memory<'n>(tables: impl IntoIterator<Item = (&'n str, Schema)>) -> Store {
        let root = Root { sequence: 0, tables: new(tables) };
        let durability = Durability::None;
        let committer = Committer::new(root.clone(), Requests::default(), durability, None);
        let shared = Shared::new(Published::new(root), durability, committer);
        Store::of(Arc::new(shared), None)
    }

    /// Opens the tables that a file keeps, or begins the file. Replays what was logged last; refuses a damaged file
    /// and tables whose attributes the file knows otherwise. Takes a second for some million small
    /// records.
    pub fn open<'n>(
        path: &Path,
        durability: Durability,
        tables: impl IntoIterator<Item = (&'n str, Schema)>,
    ) -> Result<Store, OpenError> {
        Store::with(Disk::open(path, new(tables), FOLD_AT)?, durability)
    }

    /// As [`Store::open`], on whatever takes the place of a file, and with a log that is folded once it is longer than
    /// `fold_at` bytes: for tests of disks that fail.
    #[doc(hidden)]
    pub fn open_on<'n>(
        backend: impl redb::StorageBackend,
        durability: Durability,
        tables: impl IntoIterator<Item = (&'n str, Schema)>,
        fold_at: u64,
    ) -> Result<Store, OpenError> {
        Store::with(Disk::open_on(backend, new(tables), fold_at)?, durability)
    }

    fn with(opened: Opened, durability: Durability) -> Result<Store, OpenError> {
        let Opened { disk, layout, root, requests } = opened;
        let group = Group::new(layout, durability != Durability::None);
        let committer = Committer::new(root.clone(), requests, durability, Some(group));
        let shared = Arc::new(Shared::new(Published::new(root), durability, committer));
        let log = {
            let shared = shared.clone();
            thread::Builder::new()
                .name("sakuin-live-log".to_owned())
                .spawn(move || log::run(&shared, disk))
                .expect("a thread can be started")
        };
        Ok(Store::of(shared, Some(log)))
    }

    fn of(shared: Arc<Shared>, log: Option<thread::JoinHandle<Result<(), String>>>) -> Store {
        let tables = shared.published.root().tables.len();
        let newest = shared.clone();
        let searches = Arc::new(Searches::new(tables, move || newest.published.root()));
        Store { shared, searches, log: Mutex::new(log) }
    }

    /// All tables as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { root: self.shared.published.root() }
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
        match self.shared.enter(transaction)? {
            Entered::Done(committed) => Ok(committed),
            Entered::Waits(committer, committed) => {
                let (sender, receiver) = mpsc::channel();
                let then = move |outcome| drop(sender.send(outcome));
                self.shared.wait(committer, committed, Box::new(then));
                let lost = |_| CommitError::Unknown { cause: "a commit panicked".to_owned() };
                receiver.recv().map_err(lost)?
            }
        }
    }

    /// As [`Store::commit`], without waiting: `then` is called with the outcome, here or on the log's thread, and must
    /// be quick; it may submit, and must not wait for another commit.
    pub fn submit(
        &self,
        transaction: Transaction,
        then: impl FnOnce(Result<Committed, CommitError>) + Send + 'static,
    ) {
        self.tell(self.shared.enter(transaction), then);
    }

    /// Builds a transaction on the very newest state, and submits it before anyone else can commit: it conflicts with
    /// nobody. For who has lost too often, since everybody else waits while `work` runs. That must be quick, and must
    /// use the store through its transaction only.
    ///
    /// # Errors
    ///
    /// What `work` returns, with the last commit it saw, which may not be published yet.
    pub fn submit_newest<T, E>(
        &self,
        work: impl FnOnce(&mut Transaction) -> Result<T, E>,
        then: impl FnOnce(Result<Committed, CommitError>) + Send + 'static,
    ) -> Result<T, (E, u64)> {
        let (built, entered) = self.shared.enter_newest(work)?;
        self.tell(entered, then);
        Ok(built)
    }

    fn tell(
        &self,
        entered: Result<Entered<'_>, CommitError>,
        then: impl FnOnce(Result<Committed, CommitError>) + Send + 'static,
    ) {
        match entered {
            Err(error) => then(Err(error)),
            Ok(Entered::Done(committed)) => then(Ok(committed)),
            Ok(Entered::Waits(committer, committed)) => {
                self.shared.wait(committer, committed, Box::new(then));
            }
        }
    }

    /// Runs a transaction, again when another was faster, up to eight times. What `work` returns comes with what was
    /// committed. Before it begins again it waits until readers see what it lost to, or it would lose to that again.
    pub fn update<T>(
        &self,
        mut work: impl FnMut(&mut Transaction) -> Result<T, CommitError>,
    ) -> Result<(T, Committed), CommitError> {
        let mut attempts = 1;
        loop {
            let mut transaction = self.begin();
            let result = work(&mut transaction)?;
            let committed = self.commit(transaction);
            match committed.as_ref().err().and_then(CommitError::retry_at) {
                Some(seen) if attempts < ATTEMPTS_MAX => self.wait_for(seen),
                _ => return committed.map(|committed| (result, committed)),
            }
            attempts += 1;
        }
    }

    /// Waits until readers see a commit, or never will.
    pub fn wait_for(&self, sequence: u64) {
        if self.shared.published.sequence() >= sequence {
            return;
        }
        let (sender, receiver) = mpsc::channel::<()>();
        self.shared.published.when(sequence - 1, move || drop(sender));
        let _ = receiver.recv();
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
        let snapshot = self.snapshot();
        let (at, table) = snapshot.root.table(table)?;
        Ok(self.searches.nearest(at, nearest.clone().check(&table.schema)?))
    }

    /// As [`Store::nearest`], without waiting: `then` is called with the answer on a thread of the search, or here with
    /// why there is none. It must be quick.
    pub fn nearest_then(
        &self,
        table: &str,
        nearest: Nearest,
        then: impl FnOnce(Result<Neighbors, ValueError>) + Send + 'static,
    ) {
        let snapshot = self.snapshot();
        let found = snapshot.root.table(table);
        let sought = found.and_then(|(at, table)| Ok((at, nearest.check(&table.schema)?)));
        match sought {
            Err(error) => then(Err(error)),
            Ok((at, sought)) => {
                self.searches.nearest_then(at, sought, Box::new(|found| then(Ok(found))));
            }
        }
    }

    /// The published commits after `sequence`, the oldest first.
    ///
    /// # Errors
    ///
    /// [`CommitError::SnapshotExpired`] if some of them are remembered no more: read all anew and go on from there.
    pub fn changes_since(&self, sequence: u64) -> Result<Vec<Changes>, CommitError> {
        let root = self.shared.published.root();
        let since: Vec<_> = {
            let committer = self.shared.committer();
            let since = committer.ring.since(sequence)?;
            let published = since.take_while(|(sequence, _)| *sequence <= root.sequence);
            published.map(|(sequence, changes)| (sequence, changes.clone())).collect()
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
    /// publishes it. It must be quick. Dropped without a call when the store fails or is closed, since then no commit
    /// follows.
    pub fn when_published(&self, sequence: u64, then: impl FnOnce() + Send + 'static) {
        self.shared.published.when(sequence, then);
    }

    /// How the store is.
    pub fn status(&self) -> Status {
        Status {
            sequence: self.shared.published.sequence(),
            durability: self.shared.durability,
            read_only: self.shared.committer().failed.clone(),
        }
    }

    /// Takes no more commits, and waits until those there were are on the disk: with `none`, all that changed since
    /// the store was opened. Reading goes on.
    ///
    /// # Errors
    ///
    /// [`CommitError::ReadOnly`] if the disk failed, now or before.
    pub fn close(&self) -> Result<(), CommitError> {
        self.shared.close();
        let Some(log) = lock(&self.log).take() else { return Ok(()) };
        // The last owner may be someone whom the log tells of a commit; the log then ends by itself.
        if log.thread().id() == thread::current().id() {
            return Ok(());
        }
        let ended = log.join().unwrap_or_else(|_| Err("the log panicked".to_owned()));
        ended.map_err(|cause| CommitError::ReadOnly { cause })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

fn new<'n>(tables: impl IntoIterator<Item = (&'n str, Schema)>) -> Vec<Table> {
    tables.into_iter().map(|(name, schema)| Table::new(name, schema)).collect()
}
