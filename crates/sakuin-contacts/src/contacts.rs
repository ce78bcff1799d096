//! Contacts, as whoever serves them has them: everything at a moment to look at, and changes of it.

use std::{ops::Deref, str::FromStr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use bytes::Bytes;
use sqlx::{
    Any, ConnectOptions, Pool,
    any::{AnyConnectOptions, AnyPoolOptions},
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{mpsc, oneshot},
};

use crate::{
    change::Change,
    collection::{Collection, CollectionId, Entry},
    error::{Error, OpenError},
    keeper::{Job, Keeper, Work},
    people::SignIns,
    root::Root,
    sql,
};

/// Whether other processes change the same store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Servers {
    /// This process alone, but for commands of whoever runs it: what these do is seen within a second.
    #[default]
    One,
    /// Many. Each look asks the store whether it knows more, once for all who look at the same time.
    Many,
}

/// Everybody's contacts. Belongs to no runtime; dropped, it ends with what it was told last.
pub struct Contacts {
    servers: Servers,
    published: Arc<ArcSwap<Root>>,
    jobs: mpsc::UnboundedSender<Job>,
    pool: Pool<Any>,
    pub(crate) sign_ins: SignIns,
    /// Where the store is talked to.
    pub(crate) runtime: Option<Runtime>,
}

/// Connections besides the keeper's, for bodies that memory does not have.
const CONNECTIONS_MAX: u32 = 4;
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

impl Contacts {
    /// Opens the store of an address, `sqlite://FILE` or `postgres://…`, and makes or updates its tables.
    pub fn open(url: &str, servers: Servers) -> Result<Contacts, OpenError> {
        sqlx::any::install_default_drivers();
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sakuin-contacts")
            .enable_all()
            .build()?;
        let is_sqlite = url.starts_with("sqlite:");
        let pool = runtime.block_on(connect(url, is_sqlite))?;
        let published = Arc::new(ArcSwap::from_pointee(Root::default()));
        let (sender, jobs) = mpsc::unbounded_channel();
        let keeper = Keeper { pool: pool.clone(), is_sqlite, published: published.clone(), jobs };
        runtime.spawn(keeper.run());
        let contacts = Contacts {
            servers,
            published,
            jobs: sender,
            pool,
            sign_ins: SignIns::new(),
            runtime: Some(runtime),
        };
        let looked = contacts.runtime().block_on(contacts.look(Vec::new()));
        looked.map_err(|error| OpenError::Store { cause: error.to_string() })?;
        Ok(contacts)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until this is dropped")
    }

    /// Everything as it is now, if memory is sure to know: who must not wait asks this first.
    pub fn peek(&self) -> Option<impl Deref<Target = Arc<Root>>> {
        (self.servers == Servers::One).then(|| self.published.load())
    }

    /// Everything as it is now. Of collections, those that somebody asked for before.
    pub async fn root(&self) -> Result<Arc<Root>, Error> {
        if self.servers == Servers::Many {
            self.look(Vec::new()).await?;
        }
        Ok(self.published.load_full())
    }

    /// Everything as it is now, with these collections.
    pub async fn root_with(&self, collections: &[CollectionId]) -> Result<Arc<Root>, Error> {
        let root = self.published.load_full();
        let is_there = collections.iter().all(|id| root.collections.contains_key(id));
        if is_there && self.servers == Servers::One {
            return Ok(root);
        }
        self.look(collections.to_vec()).await?;
        Ok(self.published.load_full())
    }

    async fn look(&self, collections: Vec<CollectionId>) -> Result<(), Error> {
        let (told, heard) = oneshot::channel();
        self.jobs.send(Job::Look(collections, told)).map_err(|_| Error::Unanswered)?;
        heard.await.map_err(|_| Error::Unanswered)?
    }

    /// Changes what there is, all or nothing, and waits until the store has it. `change` looks at the newest there is;
    /// other collections than those named may be missing. It must be quick: it stands in the way of all others. If it
    /// is dropped the change is made nevertheless.
    ///
    /// # Errors
    ///
    /// What `change` returns, and [`Error`] if the store fails: then nobody knows whether the change was made.
    pub async fn change<T, E>(
        &self,
        collections: &[CollectionId],
        change: impl FnOnce(&mut Change<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (sender, made) = oneshot::channel();
        let make = move |changed: &mut Change<'_>| {
            let outcome = change(changed);
            let is_made = outcome.is_ok();
            // Who has gone away is told nothing.
            let _ = sender.send(outcome);
            is_made
        };
        let (told, heard) = oneshot::channel();
        let work = Work { make: Box::new(make), told };
        let sent = self.jobs.send(Job::Change(collections.to_vec(), work));
        sent.map_err(|_| Error::Unanswered)?;
        heard.await.map_err(|_| Error::Unanswered)??;
        made.await.map_err(|_| Error::Unanswered)?
    }

    /// The bytes of a resource, from memory or from the store; none if it is another by now.
    pub async fn bytes(
        &self,
        collection: &Collection,
        entry: &Entry,
    ) -> Result<Option<Bytes>, Error> {
        if let Some(bytes) = entry.bytes() {
            return Ok(Some(bytes.clone()));
        }
        let (pool, id, entry) = (self.pool.clone(), collection.id, entry.clone());
        let read = self.runtime().spawn(async move {
            let mut connection = pool.acquire().await?;
            sql::data(&mut connection, id, &entry).await
        });
        Ok(read.await.map_err(|_| Error::Unanswered)??)
    }

    /// Runs something that takes contacts, where there is no runtime: for commands.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime().block_on(work)
    }
}

impl Drop for Contacts {
    fn drop(&mut self) {
        // What waits for the store is let go; a runtime must not be waited for within another.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn connect(url: &str, is_sqlite: bool) -> Result<Pool<Any>, OpenError> {
    let with_mode = match is_sqlite && !url.contains('?') {
        true => format!("{url}?mode=rwc"),
        false => url.to_owned(),
    };
    let is_known = is_sqlite || url.starts_with("postgres://") || url.starts_with("postgresql://");
    let options = AnyConnectOptions::from_str(&with_mode).ok().filter(|_| is_known);
    let shown = url.split_once("://").map_or(url, |(scheme, _)| scheme);
    let options = options.ok_or_else(|| OpenError::Url { url: format!("{shown}://…") })?;
    // A large book that is read is no slow statement.
    let options = options.disable_statement_logging();
    let pool = AnyPoolOptions::new()
        .max_connections(CONNECTIONS_MAX)
        .acquire_timeout(CONNECT_TIME_MAX)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            Box::pin(async move {
                let settings: &[&'static str] = match is_sqlite {
                    // An acknowledged commit survives a power cut: NORMAL would not do.
                    true => &[
                        "PRAGMA busy_timeout = 10000",
                        "PRAGMA journal_mode = WAL",
                        "PRAGMA synchronous = FULL",
                    ],
                    false => &["SET client_min_messages = warning"],
                };
                for sql in settings {
                    sqlx::query(*sql).execute(&mut *connection).await?;
                }
                Ok(())
            })
        })
        .connect_with(options)
        .await?;
    let migrated = match is_sqlite {
        true => sqlx::migrate!("migrations/sqlite").run(&pool).await,
        false => sqlx::migrate!("migrations/postgres").run(&pool).await,
    };
    migrated.map_err(|error| OpenError::Store { cause: error.to_string() })?;
    Ok(pool)
}
