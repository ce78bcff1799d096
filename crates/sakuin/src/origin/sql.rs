//! A SQL query as an origin.
//!
//! Keys are bound, never pasted; connections can only read; a query that takes too long is ended by the database
//! itself. Connections are kept here and not in sqlx's pool, because that hides a database that refuses
//! connections for as long as a caller will wait, and asks each connection for a sign of life after each query.
//! How many there are is the guard's rule.

pub(crate) mod barrier;
pub(crate) mod coherence;
mod database;
mod placeholders;

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc},
    time::Duration,
};

use sakuin_cache::{Clock, Failure, FailureKind, Guard, GuardLimits, SystemClock, Tick};
use tokio::runtime::Handle;

use self::database::{Address, Argument, Connection, Sort};
use super::{Body, Content, Surroundings};
use crate::{KeyRule, Pattern, config};

/// A connection that was not needed for so long is closed: the database has others to serve.
const IDLE_MAX: Duration = Duration::from_secs(300);

/// A database that was away when a table was opened is not looked for again so soon.
const AWAY: Duration = Duration::from_secs(10);

/// The longest answer of all rows together, in bytes.
const ANSWER_MAX: usize = 64 << 20;

/// A database that tables read from.
pub(crate) struct SqlOrigin {
    address: Address,
    timeout: Duration,
    guard: Guard<SystemClock>,
    /// Connections at rest, the last used last, with when they were used.
    idle: Mutex<Vec<(Tick, Connection)>>,
    /// When it was found to be away by a table that was being opened.
    away: Mutex<Option<Tick>>,
    clock: SystemClock,
    runtime: Handle,
}

/// What one table asks of a database.
pub(crate) struct Query {
    origin: Arc<SqlOrigin>,
    statement: Arc<Statement>,
    many: bool,
    rule: KeyRule,
}

/// A query, and how it is sent once the database has looked at it.
pub(crate) struct Statement {
    text: String,
    sorts: Vec<Sort>,
    sent: OnceLock<Arc<str>>,
}

impl SqlOrigin {
    /// Reads the address. Nothing is connected yet.
    pub(crate) fn open(
        config: &config::Sql,
        surroundings: &Surroundings,
    ) -> Result<SqlOrigin, String> {
        let limits =
            GuardLimits { timeout: config.timeout, concurrency: config.pool as usize, rate: None };
        let Surroundings { clock, runtime, .. } = surroundings.clone();
        Ok(SqlOrigin {
            // What is wrong with it is not said: it holds a password.
            address: Address::new(config.url.value(), config.timeout)
                .map_err(|_| "its `sql` is no database's address".to_owned())?,
            timeout: config.timeout,
            guard: Guard::new(limits, clock.clone()),
            idle: Mutex::default(),
            away: Mutex::default(),
            clock,
            runtime,
        })
    }

    /// What stands before it.
    pub(crate) fn guard(&self) -> &Guard<SystemClock> {
        &self.guard
    }

    /// The rows, over a connection of those at rest or a new one.
    async fn rows(
        &self,
        statement: &Statement,
        arguments: &[Argument],
        many: bool,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        // Those at rest may have died together; a new connection tells whether the database has.
        while let Some(mut connection) = self.take() {
            match statement.rows(&mut connection, arguments, many).await {
                Err(error) if is_dead(&error) => {}
                result => return self.ended(connection, result),
            }
        }
        let connection = self.address.connect(self.timeout).await;
        let mut connection = connection.map_err(|error| failure(&error))?;
        let result = statement.rows(&mut connection, arguments, many).await;
        self.ended(connection, result)
    }

    fn ended<T>(
        &self,
        connection: Connection,
        result: Result<T, sqlx::Error>,
    ) -> Result<T, Failure> {
        if !result.as_ref().is_err_and(is_dead) {
            self.idle().push((self.clock.now(), connection));
        }
        result.map_err(|error| failure(&error))
    }

    fn take(&self) -> Option<Connection> {
        let now = self.clock.now();
        let mut idle = self.idle();
        let rested = idle.iter().take_while(|(used, _)| now.since(*used) > IDLE_MAX).count();
        for (_, connection) in idle.drain(..rested) {
            self.runtime.spawn(connection.close());
        }
        idle.pop().map(|(_, connection)| connection)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Tick, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the database look at a query now, if it is there: a query that is none is refused, a database that is
    /// away is not waited for, and not by every table again.
    fn inspect(self: &Arc<Self>, statement: Statement) -> Result<Arc<Statement>, String> {
        let statement = Arc::new(statement);
        let now = self.clock.now();
        if self.away().is_some_and(|since| now.since(since) < AWAY) {
            return Ok(statement);
        }
        let (sender, receiver) = mpsc::channel();
        let (origin, looking) = (self.clone(), statement.clone());
        self.runtime.spawn(async move {
            // Whoever asked may have gone on.
            let _ = sender.send(origin.look_at(&looking).await);
        });
        let failure = match receiver.recv_timeout(self.timeout) {
            Ok(Ok(())) => return Ok(statement),
            Ok(Err(failure)) if failure.kind == FailureKind::BadAnswer => return Err(failure.cause),
            Ok(Err(failure)) => failure.cause,
            Err(_) => "the database does not answer".to_owned(),
        };
        tracing::warn!("cannot look at a query now, but go on: {failure}");
        *self.away() = Some(now);
        Ok(statement)
    }

    async fn look_at(&self, statement: &Statement) -> Result<(), Failure> {
        while let Some(mut connection) = self.take() {
            match statement.sent(&mut connection).await {
                Err(error) if is_dead(&error) => {}
                result => return self.ended(connection, result.map(drop)),
            }
        }
        let connection = self.address.connect(self.timeout).await;
        let mut connection = connection.map_err(|error| failure(&error))?;
        let result = statement.sent(&mut connection).await;
        self.ended(connection, result.map(drop))
    }

    fn away(&self) -> MutexGuard<'_, Option<Tick>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Query {
    /// Checks a query against the keys it is asked with, and has the database look at it.
    pub(crate) fn open(
        origin: Arc<SqlOrigin>,
        query: &str,
        many: bool,
        rule: &KeyRule,
    ) -> Result<Query, String> {
        placeholders::check(query, rule.parts.len())?;
        let sorts = rule.parts.iter().map(|part| match part.pattern {
            Pattern::Range { .. } => Sort::Number,
            _ => Sort::Text,
        });
        let statement = origin.inspect(Statement::new(query, sorts.collect()))?;
        Ok(Query { origin, statement, many, rule: rule.clone() })
    }

    /// Asks for `key`. `needed` if nothing stale can be served meanwhile.
    pub(crate) async fn fetch(&self, key: &str, needed: bool) -> Result<Content, Failure> {
        let parts = self.rule.split(key).zip(&self.statement.sorts);
        let arguments = parts.map(|(part, sort)| match sort {
            Sort::Number => part.parse().map(Argument::Number),
            Sort::Text => Ok(Argument::Text(part.to_owned())),
        });
        let arguments = arguments.collect::<Result<Vec<_>, _>>().map_err(|_| Failure {
            kind: FailureKind::Denied,
            cause: "the key is no number".to_owned(),
            retry_after: None,
        })?;
        let ask = || self.origin.rows(&self.statement, &arguments, self.many);
        let rows = self.origin.guard.call(needed, ask).await?;
        let json = match self.many {
            true => array(&rows)?,
            false => match rows.into_iter().next() {
                Some(row) => row,
                None => return Ok(Content::Missing),
            },
        };
        Ok(Content::Found(Box::new(Body { bytes: json.into(), ..Body::default() })))
    }

    pub(crate) fn origin(&self) -> &Arc<SqlOrigin> {
        &self.origin
    }
}

impl Statement {
    fn new(text: &str, sorts: Vec<Sort>) -> Statement {
        Statement { text: text.to_owned(), sorts, sent: OnceLock::new() }
    }

    async fn rows(
        &self,
        connection: &mut Connection,
        arguments: &[Argument],
        many: bool,
    ) -> Result<Vec<Vec<u8>>, sqlx::Error> {
        let sent = self.sent(connection).await?;
        connection.rows(&sent, arguments, many).await
    }

    /// The query as it is sent.
    async fn sent(&self, connection: &mut Connection) -> Result<Arc<str>, sqlx::Error> {
        if let Some(sent) = self.sent.get() {
            return Ok(sent.clone());
        }
        let sent = connection.prepare(&self.text, &self.sorts).await?;
        Ok(self.sent.get_or_init(|| sent).clone())
    }
}

fn array(rows: &[Vec<u8>]) -> Result<Vec<u8>, Failure> {
    let length = rows.iter().map(|row| row.len() + 1).sum::<usize>();
    if length > ANSWER_MAX {
        return Err(Failure {
            kind: FailureKind::BadAnswer,
            cause: format!("all rows together are longer than {ANSWER_MAX} bytes"),
            retry_after: None,
        });
    }
    Ok([&b"["[..], &rows.join(&b','), b"]"].concat())
}

/// Whether the connection is of no more use, so that another may do better.
fn is_dead(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| is_parting(&code)),
        _ => false,
    }
}

/// What PostgreSQL says when it ends a connection, or does not take one.
fn is_parting(code: &str) -> bool {
    code.len() == 5 && (code.starts_with("08") || code.starts_with("57P"))
}

/// What a failure of the driver means. Only what the database says of a query is passed on.
fn failure(error: &sqlx::Error) -> Failure {
    use FailureKind::{BadAnswer, Denied, Refused, TimedOut, Unreachable};
    let (kind, cause) = match error {
        sqlx::Error::Io(error) => (Unreachable, format!("no connection to the database: {error}")),
        sqlx::Error::Tls(error) => (Unreachable, format!("no connection to the database: {error}")),
        sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
            (Unreachable, "the connection to the database broke".to_owned())
        }
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            let message = error.message();
            match &*code {
                "57014" | "9" => (TimedOut, "the query took too long".to_owned()),
                code if is_parting(code) => (Unreachable, format!("the database says: {message}")),
                // SQLite: the file cannot be opened or is none.
                "14" | "26" => (Unreachable, format!("no connection to the database: {message}")),
                "5" | "6" | "261" | "517" => (Refused, format!("the database says: {message}")),
                code if code.len() == 5 && (code.starts_with("53") || code.starts_with("40")) => {
                    (Refused, format!("the database says: {message}"))
                }
                code if code.starts_with("28") || code.starts_with("3D") => {
                    (Denied, "the database does not let us in".to_owned())
                }
                _ => (BadAnswer, format!("the database refuses the query: {message}")),
            }
        }
        sqlx::Error::ColumnDecode { index, source } => {
            (BadAnswer, format!("the column {index} cannot be read: {source}"))
        }
        error => (BadAnswer, format!("the answer cannot be read: {error}")),
    };
    Failure { kind, cause, retry_after: None }
}
