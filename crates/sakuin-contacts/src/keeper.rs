//! Who keeps memory and store of one mind: one task that makes all changes, one after another, and reads what others
//! committed.
//!
//! Everything that waits is one commit, so that a crowd shares one write to the disk. A commit counts up a row of the
//! store before it looks at anything: no other process can come between its look and its write. What it made is
//! published once the store has it; if the store fails, nothing was seen of it, and the next turn begins with what the
//! store says.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use sqlx::{Any, AnyConnection, Connection, Pool};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::{
    change::{Change, Row},
    collection::CollectionId,
    error::Error,
    root::Root,
    sql,
};

/// What the keeper is asked to do.
pub(crate) enum Job {
    /// Make a change, which looks at these collections.
    Change(Vec<CollectionId>, Work),
    /// Have these collections in memory, and everything that is there as the store has it now.
    Look(Vec<CollectionId>, Told),
}

/// A change to be made.
pub(crate) struct Work {
    /// Makes it, or says that it cannot be made.
    pub(crate) make: Make,
    /// Hears when that is durable, whether it was made or not.
    pub(crate) told: Told,
}

type Make = Box<dyn FnOnce(&mut Change<'_>) -> bool + Send>;
pub(crate) type Told = oneshot::Sender<Result<(), Error>>;

/// Changes of one commit, and bytes after which it takes no more.
const CHANGES_MAX: usize = 256;
const COMMIT_BYTES_MAX: usize = 4 << 20;

/// How often a keeper that is asked nothing looks whether others committed.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// How long a removal is remembered, in seconds, and how often those that are older are looked for.
const REMOVALS_TIME: i64 = 90 * 86_400;
const PRUNE_TIME: Duration = Duration::from_secs(3600);
/// How long the store may take for a turn.
const STORE_TIME_MAX: Duration = Duration::from_secs(60);

/// Memory, the store, and the way between them.
pub(crate) struct Keeper {
    pub(crate) pool: Pool<Any>,
    pub(crate) is_sqlite: bool,
    pub(crate) published: Arc<ArcSwap<Root>>,
    pub(crate) jobs: mpsc::UnboundedReceiver<Job>,
}

impl Keeper {
    /// Keeps until nobody asks any more.
    pub(crate) async fn run(mut self) {
        let mut connection = None;
        let mut pruned = Instant::now();
        loop {
            let mut jobs = match timeout(LOOK_TIME, self.jobs.recv()).await {
                Ok(None) => return,
                Ok(Some(job)) => vec![job],
                Err(_) => Vec::new(),
            };
            while jobs.len() < CHANGES_MAX
                && let Ok(job) = self.jobs.try_recv()
            {
                jobs.push(job);
            }
            let mut open = Vec::new();
            let is_old = jobs.is_empty() && pruned.elapsed() > PRUNE_TIME;
            let turn = async {
                self.turn(&mut connection, jobs, &mut open).await?;
                match &mut connection {
                    Some(connection) if is_old => self.prune(connection).await,
                    _ => Ok(()),
                }
            };
            let turn = timeout(STORE_TIME_MAX, turn).await;
            if is_old {
                pruned = Instant::now();
            }
            let outcome =
                turn.unwrap_or_else(|_| Err(Error::Store { cause: "it is too slow".to_owned() }));
            if outcome.is_err() {
                // What became of what it was told nobody knows.
                connection = None;
            }
            open.into_iter().for_each(|told| drop(told.send(outcome.clone())));
        }
    }

    /// Does what is asked, on a connection that is made if there is none. Who is still to be told is in `open`.
    async fn turn(
        &self,
        connection: &mut Option<AnyConnection>,
        jobs: Vec<Job>,
        open: &mut Vec<Told>,
    ) -> Result<(), Error> {
        let (mut changes, mut wanted, is_idle) = (VecDeque::new(), Vec::new(), jobs.is_empty());
        for job in jobs {
            match job {
                Job::Change(ids, Work { make, told }) => {
                    wanted.extend(ids);
                    changes.push_back(make);
                    open.push(told);
                }
                Job::Look(ids, told) => {
                    wanted.extend(ids);
                    open.insert(open.len() - changes.len(), told);
                }
            }
        }
        let connection = match connection {
            Some(connection) => connection,
            none => none.insert(self.pool.acquire().await?.detach()),
        };
        let is_looked_for = open.len() > changes.len();
        let known = self.published.load();
        wanted.retain(|id| !known.collections.contains_key(id));
        if is_idle || is_looked_for || !wanted.is_empty() {
            self.look(connection, &wanted).await?;
        }
        for told in open.drain(..open.len() - changes.len()) {
            let _ = told.send(Ok(()));
        }
        while !changes.is_empty() {
            let done = self.commit(connection, &mut changes).await?;
            for told in open.drain(..done) {
                let _ = told.send(Ok(()));
            }
        }
        Ok(())
    }

    /// Brings memory up to the store, and these collections into it.
    async fn look(
        &self,
        connection: &mut AnyConnection,
        missing: &[CollectionId],
    ) -> Result<(), Error> {
        let known = self.published.load_full();
        if missing.is_empty() && sql::progress(connection).await?.commits == known.commit {
            return Ok(());
        }
        // Everything is read at one moment.
        let begin = match self.is_sqlite {
            true => "BEGIN",
            false => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let mut store = connection.begin_with(begin).await?;
        let progress = sql::progress(&mut store).await?;
        let mut root = Root::clone(&known);
        sql::refresh(&mut store, &mut root, &progress).await?;
        for id in missing {
            let mut headers = root.directory.all_collections().map(|(_, _, header)| header);
            if let Some(header) = headers.find(|header| header.id == *id)
                && !root.collections.contains_key(id)
            {
                let collection = sql::collection(&mut store, header).await?;
                root.collections.insert(*id, Arc::new(collection));
            }
        }
        store.rollback().await?;
        self.published.store(Arc::new(root));
        Ok(())
    }

    /// Forgets removals of long ago.
    async fn prune(&self, connection: &mut AnyConnection) -> Result<(), Error> {
        let old = sql::old_removals(connection, now() - REMOVALS_TIME).await?;
        if old.is_empty() {
            return Ok(());
        }
        let known = self.published.load_full();
        let missing =
            old.iter().map(|(id, _)| *id).filter(|id| !known.collections.contains_key(id));
        self.look(connection, &missing.collect::<Vec<_>>()).await?;
        let make: Make =
            Box::new(move |change| old.iter().all(|(id, floor)| change.prune(*id, *floor).is_ok()));
        self.commit(connection, &mut VecDeque::from([make])).await.map(drop)
    }

    /// Makes changes, as many as fit into one commit, and says how many those were.
    async fn commit(
        &self,
        connection: &mut AnyConnection,
        changes: &mut VecDeque<Make>,
    ) -> Result<usize, Error> {
        let begin = if self.is_sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
        let mut store = connection.begin_with(begin).await?;
        let progress = sql::advance(&mut store).await?;
        let mut root = Root::clone(&self.published.load());
        // Whatever others committed since is seen before anything is decided.
        if progress.commits != root.commit + 1 {
            sql::refresh(&mut store, &mut root, &progress).await?;
        }
        root.commit = progress.commits;
        let (mut rows, mut done, mut bytes) = (Vec::new(), 0, 0);
        let now = now();
        while bytes < COMMIT_BYTES_MAX
            && let Some(make) = changes.pop_front()
        {
            let (before, count) = (root.clone(), rows.len());
            let mut change = Change { root: &mut root, rows: &mut rows, now };
            let made = catch_unwind(AssertUnwindSafe(|| make(&mut change)));
            if !made.unwrap_or(false) {
                root = before;
                rows.truncate(count);
            }
            done += 1;
            bytes += rows[count..].iter().map(Row::bytes).sum::<usize>();
        }
        if rows.is_empty() {
            store.rollback().await?;
            return Ok(done);
        }
        sql::write(&mut store, &rows, &root, now).await?;
        store.commit().await?;
        self.published.store(Arc::new(root));
        Ok(done)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs().cast_signed())
}
