//! Following a channel: look for news, fetch beside what is served, check, switch.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use tokio::task::spawn_blocking;

use crate::{
    error::{Error, Refusal},
    folder::{self, Folder, State, object_file},
    layout::FORMAT,
    manifest::{Announcement, Kind, Manifest, Object},
    publish::opened,
    repository::{Repository, check_channel},
    rules::{Opened, Rules},
};

/// How a table is opened; or why it cannot be.
type Open<T> = Arc<dyn Fn(&Path) -> Result<T, String> + Send + Sync>;

/// Keeps a folder at what a channel announces, and has its tables open.
pub struct Follower<T> {
    repository: Repository,
    channel: String,
    folder: PathBuf,
    rules: Rules,
    keep: usize,
    open: Open<T>,
    current: ArcSwapOption<Version<T>>,
    status: Mutex<Status>,
    claim: Arc<Claim>,
}

/// The right to follow into a folder: one process has it, and one look at a time.
struct Claim {
    looking: tokio::sync::Mutex<()>,
    _lock: fs::File,
}

/// What is served: all of one version.
#[derive(Debug)]
#[non_exhaustive]
pub struct Version<T> {
    /// Its number.
    pub number: u64,
    /// The announcement that named it.
    pub announcement: u64,
    /// When it was made.
    pub made: Timestamp,
    /// Its tables.
    pub tables: BTreeMap<String, T>,
}

/// How following goes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// The version that was announced last.
    pub announced: Option<u64>,
    /// Why that is not served.
    pub refused: Option<String>,
    /// When the store last answered.
    pub looked: Option<Timestamp>,
    /// What the store said instead, if it did not.
    pub failure: Option<String>,
    /// How often it has failed since.
    pub failures: u32,
    /// How many bytes of a new version are there, and how many there are to be; none while nothing is fetched.
    pub fetching: Option<(u64, u64)>,
    /// An announcement that cannot be served, and how often that was tried.
    bad: Option<(u64, u32)>,
}

/// What a look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// There is nothing new.
    Unchanged,
    /// This version is served from now on.
    Switched(u64),
}

/// An announcement that cannot be served for what it is, and not for what the store does, is tried so often.
const TRIES_MAX: u32 = 3;
/// How long a poll waits at most when the store fails.
const WAIT_MAX: Duration = Duration::from_secs(60);

impl<T: Opened + 'static> Follower<T> {
    /// Follows a channel into a folder. What is there already is opened, so that it is served while the store is away;
    /// nothing is asked of the store. `keep` versions stay on the disk.
    ///
    /// # Errors
    /// [`Error::InUse`] if another follows into the folder, [`Error::OtherRepository`], [`Error::File`]
    pub fn open(
        repository: Repository,
        channel: &str,
        folder: &Path,
        rules: Rules,
        keep: usize,
        open: impl Fn(&Path) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Follower<T>, Error> {
        check_channel(channel)?;
        folder::make(folder)?;
        let lock = folder.join("lock");
        let unusable = |cause| Error::File { file: lock.clone(), cause };
        let locked = fs::File::create(&lock).map_err(unusable)?;
        let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        rustix::fs::flock(&locked, exclusive).map_err(|_| Error::InUse(folder.to_owned()))?;
        let claim = Arc::new(Claim { looking: tokio::sync::Mutex::default(), _lock: locked });
        Follower::begin(repository, channel, folder, rules, keep, Arc::new(open), claim)
    }

    /// Follows otherwise into the same folder, which is not given up in between. Of the two, one looks at a time.
    ///
    /// # Errors
    /// As for [`Follower::open`].
    pub fn reopen(
        &self,
        repository: Repository,
        channel: &str,
        rules: Rules,
        keep: usize,
    ) -> Result<Follower<T>, Error> {
        check_channel(channel)?;
        let (open, claim) = (self.open.clone(), self.claim.clone());
        Follower::begin(repository, channel, &self.folder, rules, keep, open, claim)
    }

    fn begin(
        repository: Repository,
        channel: &str,
        folder: &Path,
        rules: Rules,
        keep: usize,
        open: Open<T>,
        claim: Arc<Claim>,
    ) -> Result<Follower<T>, Error> {
        let follower = Follower {
            repository,
            channel: channel.to_owned(),
            folder: folder.to_owned(),
            rules,
            keep: keep.max(1),
            open,
            current: ArcSwapOption::empty(),
            status: Mutex::default(),
            claim,
        };
        follower.resume()?;
        Ok(follower)
    }

    /// Takes up what is in the folder; what cannot be opened any more is fetched again.
    fn resume(&self) -> Result<(), Error> {
        let state = match Folder::open(&self.folder) {
            Ok(folder) => folder.state().clone(),
            Err(Error::File { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Ok(());
            }
            Err(Error::Damaged { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        if state.repository != self.repository.url() {
            return Err(Error::OtherRepository {
                folder: self.folder.clone(),
                found: state.repository,
            });
        }
        if state.channel == self.channel
            && let Ok(tables) = open_all(&self.folder, &state.tables, &*self.open)
        {
            self.serve(state.version, state.announcement, state.made, tables);
        }
        Ok(())
    }

    fn serve(&self, number: u64, announcement: u64, made: Timestamp, tables: BTreeMap<String, T>) {
        self.current.store(Some(Arc::new(Version { number, announcement, made, tables })));
    }

    /// What is served: hold it for as long as answers must be of one version. None before the first is fetched.
    pub fn current(&self) -> Option<Arc<Version<T>>> {
        self.current.load_full()
    }

    /// Where its versions are kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The channel.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// How it goes.
    pub fn status(&self) -> Status {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for news once, and switches to it. Whatever fails, what is served stays.
    pub async fn look(&self) -> Result<Looked, Error> {
        let _turn = self.claim.looking.lock().await;
        self.lock().fetching = None;
        let looked = self.try_look().await;
        let mut status = self.lock();
        status.fetching = None;
        match &looked {
            Ok(_) => {
                (status.failure, status.failures) = (None, 0);
                status.looked = Some(Timestamp::now());
            }
            Err(error) if error.is_passing() => {
                status.failures = status.failures.saturating_add(1);
                status.failure = Some(error.to_string());
            }
            Err(error) => {
                (status.failure, status.failures) = (None, 0);
                status.looked = Some(Timestamp::now());
                status.refused = Some(error.to_string());
            }
        }
        looked
    }

    async fn try_look(&self) -> Result<Looked, Error> {
        let current = self.current();
        let known = current.as_ref().map_or(0, |current| current.announcement);
        let Some(head) = self.repository.head(&self.channel, known).await? else {
            let (channel, what) = (self.channel.clone(), "announced nothing yet".to_owned());
            return Err(Error::Channel { channel, what });
        };
        self.lock().announced = Some(head.version);
        if head.number == known {
            return Ok(Looked::Unchanged);
        }
        let tries = match self.lock().bad {
            Some((number, tries)) if number == head.number => tries,
            _ => 0,
        };
        if tries >= TRIES_MAX {
            return Ok(Looked::Unchanged);
        }
        let switched = self.switch(&head, current.as_deref()).await;
        let mut status = self.lock();
        match &switched {
            Ok(()) => (status.bad, status.refused) = (None, None),
            Err(error) if !error.is_passing() => {
                // What rules refuse, they refuse again.
                let tries = if matches!(error, Error::Refused(_)) { TRIES_MAX } else { tries + 1 };
                status.bad = Some((head.number, tries));
            }
            Err(_) => {}
        }
        switched.map(|()| Looked::Switched(head.version))
    }

    async fn switch(&self, head: &Announcement, current: Option<&Version<T>>) -> Result<(), Error> {
        let manifest = self.repository.announced(head).await?;
        let refusals = self.refusals(head, &manifest).await?;
        if !refusals.is_empty() {
            return Err(Error::Refused(refusals));
        }
        self.fetch(&manifest).await?;
        let tables = self.opened(&manifest).await?;
        for (name, table) in &tables {
            let (found, said) = (table.facts(), &manifest.tables[name].facts);
            if found != *said {
                let cause = "it is not what its manifest says".to_owned();
                return Err(Error::Table { table: name.clone(), cause });
            }
        }
        if head.kind == Kind::Publish {
            let none = BTreeMap::new();
            let parent = current.filter(|current| Some(current.number) == manifest.parent);
            let before = parent.map_or(&none, |parent| &parent.tables);
            let asked = self.rules.of_tables(&tables, before, &manifest.allowed);
            let refusals = asked.map_err(|(table, cause)| Error::Table { table, cause })?;
            if !refusals.is_empty() {
                return Err(Error::Refused(refusals));
            }
        }
        let kept = self.kept(current, &manifest)?;
        let state = State {
            format: FORMAT,
            repository: self.repository.url().to_owned(),
            channel: self.channel.clone(),
            announcement: head.number,
            version: manifest.number,
            made: manifest.made,
            tables: manifest.tables.clone(),
            kept,
        };
        let folder = Folder::write(&self.folder, state)?;
        self.serve(manifest.number, head.number, manifest.made, tables);
        self.forget(folder.state());
        Ok(())
    }

    /// Opens the tables of a version, whose objects are in the folder; others are served meanwhile.
    async fn opened(&self, manifest: &Manifest) -> Result<BTreeMap<String, T>, Error> {
        let (folder, tables) = (self.folder.clone(), manifest.tables.clone());
        let open = self.open.clone();
        let opened = spawn_blocking(move || open_all(&folder, &tables, &*open)).await;
        opened.map_err(|error| Error::File { file: self.folder.clone(), cause: error.into() })?
    }

    /// What the rules of this reader refuse of a version that is new; what was served before is not asked again.
    async fn refusals(
        &self,
        head: &Announcement,
        manifest: &Manifest,
    ) -> Result<Vec<Refusal>, Error> {
        if head.kind != Kind::Publish {
            return Ok(Vec::new());
        }
        let parent = match manifest.parent {
            None => None,
            Some(parent) => match self.repository.manifest(parent).await {
                Ok(parent) => Some(parent),
                // It is gone, and so is what could be compared.
                Err(Error::NoVersion(_)) => None,
                Err(error) => return Err(error),
            },
        };
        Ok(self.rules.of_manifest(manifest, parent.as_ref()))
    }

    /// Has every object of a version in the folder.
    async fn fetch(&self, manifest: &Manifest) -> Result<(), Error> {
        let is_there = |object: &Object| {
            let there = fs::metadata(object_file(&self.folder, &object.blake3));
            there.is_ok_and(|there| there.len() == object.facts.bytes)
        };
        let missing: Vec<&Object> =
            manifest.tables.values().filter(|object| !is_there(object)).collect();
        let need = missing.iter().map(|object| object.facts.bytes).sum();
        let free = rustix::fs::statvfs(&self.folder)
            .map_err(|error| Error::File { file: self.folder.clone(), cause: error.into() })?;
        let free = free.f_bavail.saturating_mul(free.f_frsize);
        if need > free {
            return Err(Error::DiskFull { folder: self.folder.clone(), need, free });
        }
        self.lock().fetching = (need > 0).then_some((0, need));
        let told = |bytes| {
            if let Some((there, _)) = &mut self.lock().fetching {
                *there += bytes;
            }
        };
        for object in missing {
            let file = object_file(&self.folder, &object.blake3);
            let part = file.with_extension("part");
            let fetched = async {
                self.repository.fetch(object, &part, told).await?;
                fs::rename(&part, &file).map_err(|cause| Error::File { file: file.clone(), cause })
            };
            let fetched = fetched.await;
            if fetched.is_err() {
                let _ = fs::remove_file(&part);
            }
            fetched?;
        }
        let synced =
            fs::File::open(self.folder.join("objects")).and_then(|folder| folder.sync_all());
        synced.map_err(|cause| Error::File { file: self.folder.clone(), cause })
    }

    /// The versions that stay besides the one that comes.
    fn kept(
        &self,
        current: Option<&Version<T>>,
        next: &Manifest,
    ) -> Result<Vec<(u64, Vec<String>)>, Error> {
        let Some(current) = current else { return Ok(Vec::new()) };
        let before = match Folder::open(&self.folder) {
            Ok(folder) => folder.state().clone(),
            Err(_) => return Ok(Vec::new()),
        };
        let objects = before.tables.into_values().map(|object| object.blake3).collect();
        let mut kept = vec![(current.number, objects)];
        kept.extend(before.kept);
        kept.retain(|(number, _)| *number != next.number);
        kept.truncate(self.keep - 1);
        Ok(kept)
    }

    /// Removes what no version that stays has; what cannot be removed now is removed after the next switch.
    fn forget(&self, state: &State) {
        let served = state.tables.values().map(|object| &object.blake3);
        let stays: Vec<&String> =
            served.chain(state.kept.iter().flat_map(|(_, objects)| objects)).collect();
        for name in folder::objects(&self.folder).unwrap_or_default() {
            if !stays.contains(&&name) {
                let _ = fs::remove_file(object_file(&self.folder, &name));
            }
        }
    }

    /// How long to wait before the next look: `poll` give or take a fifth, so that a thousand followers do not ask at
    /// once, and longer the more often the store has failed.
    pub fn wait(&self, poll: Duration) -> Duration {
        let failures = self.lock().failures.min(6);
        let wait = poll.saturating_mul(1 << failures).min(WAIT_MAX.max(poll));
        wait.mul_f64(0.8 + 0.4 * fastrand::f64())
    }
}

fn open_all<T>(
    folder: &Path,
    tables: &BTreeMap<String, Object>,
    open: impl Fn(&Path) -> Result<T, String>,
) -> Result<BTreeMap<String, T>, Error> {
    let each = tables.iter().map(|(name, object)| {
        let file = object_file(folder, &object.blake3);
        Ok((name.clone(), opened(name, &file, &open)?))
    });
    each.collect()
}
