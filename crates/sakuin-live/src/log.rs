//! The thread that writes. A group is whatever was committed while the one before it was written, so that a lone
//! client waits for one write and a crowd shares one.
//!
//! In `sync` it is also who publishes: readers see a commit, and its writer hears of it, once it is on the disk. The
//! first error of the disk ends all writing; reading goes on.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    Committed, Durability, Snapshot, Transaction,
    committer::{Committer, Group, Then},
    disk::Disk,
    error::CommitError,
    published::Published,
    requests::Known,
    snapshot::Root,
    sync::{Condvar, Mutex, MutexGuard, clear_poison, thread},
};

/// What those who commit, those who read and the thread that writes share.
pub(crate) struct Shared {
    pub(crate) published: Published,
    pub(crate) durability: Durability,
    committer: Mutex<Committer>,
    /// The log has something to do.
    work: Condvar,
    /// There is room in the group again.
    room: Condvar,
}

/// How far a commit has come.
pub(crate) enum Entered<'s> {
    /// It is as durable as it will be, and published.
    Done(Committed),
    /// Its group is to be written first; whoever waits for that says so before the committer goes on.
    Waits(MutexGuard<'s, Committer>, Committed),
}

enum Next {
    Write(Group, Arc<Root>),
    /// Nobody waits.
    Idle,
    /// Nobody will come any more.
    End(Group, Arc<Root>),
}

/// The pace of `interval`.
const PACE: Duration = Duration::from_millis(50);

/// A group of so many bytes is written before its time, and one of so many takes no more commits.
const GROUP_FULL: usize = 8 << 20;
const GROUP_MAX: usize = if cfg!(test) { 64 } else { 64 << 20 };

impl Shared {
    pub(crate) fn new(
        published: Published,
        durability: Durability,
        committer: Committer,
    ) -> Shared {
        let committer = Mutex::new(committer);
        Shared { published, durability, committer, work: Condvar::new(), room: Condvar::new() }
    }

    pub(crate) fn committer(&self) -> MutexGuard<'_, Committer> {
        self.committer.lock().unwrap_or_else(|poisoned| self.recovered(poisoned.into_inner()))
    }

    /// Whatever panicked may have left half a commit; what is published has all of each or nothing.
    fn recovered<'s>(
        &'s self,
        mut committer: MutexGuard<'s, Committer>,
    ) -> MutexGuard<'s, Committer> {
        committer.recover(&self.published.peek());
        clear_poison(&self.committer);
        committer
    }

    fn wait_at<'s>(
        &'s self,
        condition: &Condvar,
        committer: MutexGuard<'s, Committer>,
    ) -> MutexGuard<'s, Committer> {
        let waited = condition.wait(committer);
        waited.unwrap_or_else(|poisoned| self.recovered(poisoned.into_inner()))
    }

    /// Commits a transaction, as far as that goes without waiting for the disk.
    pub(crate) fn enter(&self, transaction: Transaction) -> Result<Entered<'_>, CommitError> {
        self.commit(self.committer_with_room(), transaction)
    }

    /// Builds a transaction on the pending root, which nobody changes meanwhile, and commits it likewise. What cannot
    /// be built comes with the sequence of that root.
    pub(crate) fn enter_newest<T, E>(
        &self,
        work: impl FnOnce(&mut Transaction) -> Result<T, E>,
    ) -> Result<(T, Result<Entered<'_>, CommitError>), (E, u64)> {
        let committer = self.committer_with_room();
        let root = Arc::new(committer.root.clone());
        let sequence = root.sequence;
        let mut transaction = Transaction::new(Snapshot { root });
        match catch_unwind(AssertUnwindSafe(|| work(&mut transaction))) {
            Ok(Ok(built)) => Ok((built, self.commit(committer, transaction))),
            Ok(Err(error)) => Err((error, sequence)),
            Err(panic) => {
                // Nothing of the committer was touched: the panic is its caller's alone.
                drop(committer);
                resume_unwind(panic)
            }
        }
    }

    fn commit<'s>(
        &'s self,
        mut committer: MutexGuard<'s, Committer>,
        transaction: Transaction,
    ) -> Result<Entered<'s>, CommitError> {
        let committed = committer.commit(transaction)?;
        if committed.sequence <= self.published.sequence() {
            return Ok(Entered::Done(committed));
        }
        if self.durability == Durability::Sync {
            return Ok(Entered::Waits(committer, committed));
        }
        let afterwards = self.published.publish(Arc::new(committer.root.clone()));
        if self.durability == Durability::Interval {
            self.wake(&mut committer);
        }
        drop(committer);
        afterwards.run();
        Ok(Entered::Done(committed))
    }

    /// Calls `then` when all that is committed by now is on the disk.
    pub(crate) fn wait(
        &self,
        mut committer: MutexGuard<'_, Committer>,
        committed: Committed,
        then: Then,
    ) {
        if let Some(group) = &mut committer.group {
            group.waiting.push((committed, then));
        }
        self.wake(&mut committer);
    }

    /// Takes no more commits, and lets the log end when it has written those it has.
    pub(crate) fn close(&self) {
        let mut committer = self.committer();
        committer.is_closing = true;
        committer.failed.get_or_insert_with(|| "it is closed".to_owned());
        self.work.notify_all();
        self.room.notify_all();
    }

    fn committer_with_room(&self) -> MutexGuard<'_, Committer> {
        let mut committer = self.committer();
        while committer.group.as_ref().is_some_and(|group| group.bytes() > GROUP_MAX)
            && committer.failed.is_none()
            // Who commits from there would wait for itself.
            && committer.writer != Some(thread::current().id())
        {
            self.wake(&mut committer);
            committer = self.wait_at(&self.room, committer);
        }
        committer
    }

    fn wake(&self, committer: &mut Committer) {
        let is_full = || committer.group.as_ref().is_some_and(|group| group.bytes() > GROUP_FULL);
        if committer.is_idle || is_full() {
            committer.is_idle = false;
            self.work.notify_one();
        }
    }

    /// What the log is to do now.
    fn next(&self, is_folding: bool) -> Next {
        let mut committer = self.committer();
        while committer.has_no_work() && !committer.is_closing {
            if is_folding {
                return Next::Idle;
            }
            committer.is_idle = true;
            committer = self.wait_at(&self.work, committer);
            committer.is_idle = false;
        }
        let until = Instant::now() + PACE;
        while self.durability == Durability::Interval
            && !committer.is_closing
            && committer.group.as_ref().is_some_and(|group| group.bytes() < GROUP_FULL)
            && let Some(left) = until.checked_duration_since(Instant::now())
        {
            committer = match self.work.wait_timeout(committer, left) {
                Ok((committer, _)) => committer,
                Err(poisoned) => self.recovered(poisoned.into_inner().0),
            };
        }
        let is_end = committer.has_no_work();
        let root = match self.durability {
            Durability::Sync => Arc::new(committer.root.clone()),
            Durability::Interval | Durability::None => self.published.root(),
        };
        let group = committer.group.as_mut().expect("a store with a log has a group").take();
        self.room.notify_all();
        if is_end { Next::End(group, root) } else { Next::Write(group, root) }
    }

    /// Ends all writing.
    fn fail(&self, cause: &str, written: Vec<(Committed, Then)>) {
        let open = {
            let mut committer = self.committer();
            committer.fail(&self.published.peek(), cause);
            self.room.notify_all();
            committer.group.as_mut().map(Group::take)
        };
        self.published.end();
        let unknown = || Err(CommitError::Unknown { cause: cause.to_owned() });
        written.into_iter().for_each(|(_, then)| tell(then, unknown()));
        let Some(open) = open else { return };
        for (committed, then) in open.waiting {
            // What the log had not even taken is certainly not on the disk.
            let is_unwritten = open.first > 0 && committed.sequence >= open.first;
            let refused = || Err(CommitError::ReadOnly { cause: cause.to_owned() });
            tell(then, if is_unwritten { refused() } else { unknown() });
        }
    }

    fn answers(&self, after: u64, to: u64, most: usize) -> Vec<Arc<Known>> {
        self.committer().requests.between(after, to, most)
    }
}

/// Writes what is committed until the store is closed or the disk fails.
pub(crate) fn run(shared: &Shared, mut disk: Disk) -> Result<(), String> {
    shared.committer().writer = Some(thread::current().id());
    let answers = |after, to, most| shared.answers(after, to, most);
    let mut durable = shared.published.root();
    loop {
        let (written, waiting) = match shared.next(disk.is_folding()) {
            Next::Idle => (attempt(|| disk.fold_on(&durable, &answers)), Vec::new()),
            Next::Write(mut group, root) => {
                let waiting = std::mem::take(&mut group.waiting);
                let is_new = group.commits() > 0;
                let written = attempt(|| match is_new {
                    true => disk.write(group, &root, &answers),
                    false => Ok(()),
                });
                if written.is_ok() && is_new {
                    durable = root;
                    if shared.durability == Durability::Sync {
                        shared.published.publish(durable.clone()).run();
                    }
                }
                (written, waiting)
            }
            Next::End(group, root) => {
                let written = attempt(|| match shared.durability {
                    Durability::None => disk.write_whole(group.deleted, &root, &answers),
                    Durability::Sync | Durability::Interval => Ok(()),
                });
                shared.published.end();
                return written;
            }
        };
        if let Err(cause) = written {
            shared.fail(&cause, waiting);
            return Err(cause);
        }
        waiting.into_iter().for_each(|(committed, then)| tell(then, Ok(committed)));
    }
}

/// Does something with the disk; that this panics is an error of the disk too.
fn attempt(work: impl FnOnce() -> Result<(), redb::Error>) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| format!("its disk failed: {error}")),
        Err(_) => Err("writing its file panicked".to_owned()),
    }
}

/// Whoever is told may panic, and the log goes on.
fn tell(then: Then, outcome: Result<Committed, CommitError>) {
    let _ = catch_unwind(AssertUnwindSafe(|| then(outcome)));
}
