//! Keeping a table in step with its database beyond the time its answers live.
//!
//! A version query is the guarantee: its value changes with every change of the data, and no request is answered
//! from what is older than the last look at it, `every` ago at most. A changed value expires the whole table. The
//! query has a connection of its own, because what SQLite says of its version is said to each connection, and
//! because it must not wait behind slow rows. Notices of PostgreSQL only expire answers earlier.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use sakuin_cache::{Clock, Failure, Guard, GuardLimits, SystemClock};
use sqlx::{
    PgPool,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::task::JoinHandle;

use super::{
    Connection, SqlOrigin, Statement,
    barrier::{Barrier, Known},
    database::Address,
    failure, is_dead,
};
use crate::config;

/// Between two attempts to listen.
const PAUSE: Duration = Duration::from_secs(1);

/// A table's step with its database. Dropped, it no longer looks.
pub(crate) struct Coherence {
    barrier: Arc<Barrier<SystemClock>>,
    tasks: Vec<JoinHandle<()>>,
}

/// What has to be done about a change.
pub(crate) enum Change<'k> {
    /// Any answer may have changed.
    All,
    /// The one for this key has.
    Key(&'k str),
}

impl Coherence {
    /// Begins to look. `expire` is called for each change, before anybody is told that the table is in step.
    pub(crate) fn open(
        origin: &Arc<SqlOrigin>,
        config: &config::Coherence,
        expire: impl Fn(Change<'_>) + Send + Sync + 'static,
    ) -> Result<Coherence, String> {
        let statement = origin.inspect(Statement::new(&config.version, Vec::new()));
        let statement = statement.map_err(|cause| format!("`coherence.version`: {cause}"))?;
        let expire = Arc::new(expire);
        let barrier = Arc::new(Barrier::new(config.every, origin.clock.clone()));
        let limits = GuardLimits { timeout: origin.timeout, concurrency: 1, rate: None };
        let version = Version {
            origin: origin.clone(),
            guard: Guard::new(limits, origin.clock.clone()),
            statement,
            connection: Mutex::default(),
            connections: AtomicU64::default(),
        };
        let mut tasks = vec![origin.runtime.spawn({
            let (barrier, expire) = (barrier.clone(), expire.clone());
            async move { look(&barrier, &version, &*expire).await }
        })];
        if let Some(channel) = config.listen.clone() {
            let Address::Postgres(options) = &origin.address else {
                return Err("`coherence.listen`: only PostgreSQL notifies".to_owned());
            };
            let pool = PgPoolOptions::new()
                .max_connections(1)
                .max_lifetime(None)
                .idle_timeout(None)
                .acquire_timeout(origin.timeout)
                .connect_lazy_with(options.clone());
            let clock = origin.clock.clone();
            let listening = async move { listen(&pool, &channel, &clock, &*expire).await };
            tasks.push(origin.runtime.spawn(listening));
        }
        Ok(Coherence { barrier, tasks })
    }

    /// Whether the table is in step for a request that arrives now, as far as can be told without waiting.
    pub(crate) fn is_good(&self) -> bool {
        self.barrier.is_good()
    }

    /// Whether it is, by a look that is late enough.
    pub(crate) async fn wait(&self) -> Known {
        self.barrier.wait().await
    }
}

impl Drop for Coherence {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// The version query on its own connection.
struct Version {
    origin: Arc<SqlOrigin>,
    guard: Guard<SystemClock>,
    statement: Arc<Statement>,
    connection: Mutex<Option<Connection>>,
    /// How many there were.
    connections: AtomicU64,
}

impl Version {
    async fn read(&self) -> Result<Vec<u8>, Failure> {
        self.guard.call(false, || self.attempt()).await
    }

    async fn attempt(&self) -> Result<Vec<u8>, Failure> {
        let kept = self.connection().take();
        if let Some(mut connection) = kept {
            match self.statement.rows(&mut connection, &[], false).await {
                Err(error) if is_dead(&error) => {}
                result => return self.ended(connection, result),
            }
        }
        let connection = self.origin.address.connect(self.origin.timeout).await;
        let mut connection = connection.map_err(|error| failure(&error))?;
        self.connections.fetch_add(1, Relaxed);
        let result = self.statement.rows(&mut connection, &[], false).await;
        self.ended(connection, result)
    }

    fn ended(
        &self,
        connection: Connection,
        result: Result<Vec<Vec<u8>>, sqlx::Error>,
    ) -> Result<Vec<u8>, Failure> {
        let is_sqlite = matches!(connection, Connection::Sqlite(..));
        *self.connection() = Some(connection);
        // No row is a version too.
        let row = result.map_err(|error| failure(&error))?.into_iter().next();
        let mut version = row.unwrap_or_default();
        if is_sqlite {
            // Two connections of SQLite may say the same of different data.
            version.extend(self.connections.load(Relaxed).to_le_bytes());
        }
        Ok(version)
    }

    fn connection(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at the version whenever somebody wants to know.
async fn look(
    barrier: &Barrier<SystemClock>,
    version: &Version,
    expire: &(impl Fn(Change<'_>) + Sync),
) {
    let mut last: Option<Vec<u8>> = None;
    loop {
        let began = barrier.begin().await;
        let read = version.read().await;
        if let Err(failure) = &read {
            tracing::debug!(cause = failure.cause, "cannot read the version of a table");
        }
        let good = read.is_ok();
        let now = read.ok();
        // The first one too: what the table may have taken over from another is of no known version.
        if good && last != now {
            expire(Change::All);
            last = now;
        }
        barrier.end(began, good);
    }
}

/// Listens for ever. A listener that lost its connection may keep the dead one, so it is made anew; what was
/// said meanwhile is not repeated, so everything expires as soon as we listen again.
async fn listen(
    pool: &PgPool,
    channel: &str,
    clock: &SystemClock,
    expire: &(impl Fn(Change<'_>) + Sync),
) {
    loop {
        match hear(pool, channel, expire).await {
            Ok(()) => tracing::debug!("the listener lost its connection"),
            Err(error) => {
                tracing::debug!(cause = failure(&error).cause, "cannot listen");
                clock.sleep(PAUSE).await;
            }
        }
    }
}

async fn hear(
    pool: &PgPool,
    channel: &str,
    expire: &(impl Fn(Change<'_>) + Sync),
) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(channel).await?;
    expire(Change::All);
    while let Some(notice) = listener.try_recv().await? {
        match notice.payload() {
            "" => expire(Change::All),
            key => expire(Change::Key(key)),
        }
    }
    Ok(())
}
