//! Two databases behind one face: a connection, a query with bound values, rows as JSON.
//!
//! PostgreSQL writes its own rows as JSON, which it does for every type it has. SQLite's values have five types,
//! written here. The `Any` driver of sqlx knows neither.

use std::{
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::Value as Json;
use sqlx::{
    AssertSqlSafe, Column, ConnectOptions, Connection as _, Decode, Executor, Row, SqlSafeStr,
    Statement as _, TypeInfo, Value as _, ValueRef,
    postgres::{PgArguments, PgConnectOptions, PgConnection, PgTypeInfo},
    query::Query,
    sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow, SqliteValueRef},
};

/// SQLite looks at its deadline after this many steps of its machine: some tenths of a millisecond.
const STEPS: i32 = 10_000;

/// Where a database is, and how to talk to it.
#[derive(Clone)]
pub(crate) enum Address {
    Sqlite(SqliteConnectOptions),
    Postgres(PgConnectOptions),
}

/// A connection, which can only read.
pub(crate) enum Connection {
    Sqlite(SqliteConnection, Arc<Deadline>),
    Postgres(PgConnection),
}

/// When a query of SQLite has taken too long; that has no clock of its own.
pub(crate) struct Deadline {
    timeout: Duration,
    end: Mutex<Instant>,
}

/// A value to bind.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Number(i64),
    Text(String),
}

/// How the values of a query look, known before there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Number,
    Text,
}

impl Address {
    /// Reads an address. A query that takes longer than `timeout` is ended by the database itself.
    pub(crate) fn new(url: &str, timeout: Duration) -> Result<Address, sqlx::Error> {
        if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url)?
                .read_only(true)
                .create_if_missing(false)
                .busy_timeout(timeout)
                .pragma("query_only", "on")
                .disable_statement_logging();
            return Ok(Address::Sqlite(options));
        }
        let milliseconds = timeout.as_millis().max(1).to_string();
        let options = PgConnectOptions::from_str(url)?
            .application_name("sakuin")
            .options([
                ("default_transaction_read_only", "on"),
                ("statement_timeout", milliseconds.as_str()),
            ])
            .disable_statement_logging();
        Ok(Address::Postgres(options))
    }

    pub(crate) async fn connect(&self, timeout: Duration) -> Result<Connection, sqlx::Error> {
        match self {
            Address::Sqlite(options) => {
                let mut connection = options.connect().await?;
                let deadline = Arc::new(Deadline { timeout, end: Mutex::new(Instant::now()) });
                let theirs = deadline.clone();
                connection
                    .lock_handle()
                    .await?
                    .set_progress_handler(STEPS, move || !theirs.has_passed());
                deadline.set();
                Ok(Connection::Sqlite(connection, deadline))
            }
            Address::Postgres(options) => Ok(Connection::Postgres(options.connect().await?)),
        }
    }
}

impl Connection {
    /// The query as it is sent: PostgreSQL is asked to write each row as JSON. Fails if the query is none.
    pub(crate) async fn prepare(
        &mut self,
        query: &str,
        sorts: &[Sort],
    ) -> Result<Arc<str>, sqlx::Error> {
        let query = query.trim().trim_end_matches(';');
        let sql = AssertSqlSafe(query).into_sql_str();
        match self {
            Connection::Sqlite(connection, deadline) => {
                deadline.set();
                connection.prepare(sql).await?;
                Ok(query.into())
            }
            Connection::Postgres(connection) => {
                let statement = connection.prepare_with(sql, &types(sorts)).await?;
                let columns = statement.columns().iter();
                let wrapped = as_json(query, columns.map(|it| (it.name(), it.type_info().name())));
                let sql = AssertSqlSafe(wrapped.as_str()).into_sql_str();
                connection.prepare_with(sql, &types(sorts)).await?;
                Ok(wrapped.into())
            }
        }
    }

    /// The rows of a prepared query, each as a JSON object; only the first unless `many`.
    pub(crate) async fn rows(
        &mut self,
        query: &Arc<str>,
        arguments: &[Argument],
        many: bool,
    ) -> Result<Vec<Vec<u8>>, sqlx::Error> {
        match self {
            Connection::Sqlite(connection, deadline) => {
                deadline.set();
                let mut bound = sqlx::query(AssertSqlSafe(query.clone()));
                for argument in arguments {
                    bound = match argument {
                        Argument::Number(number) => bound.bind(*number),
                        Argument::Text(text) => bound.bind(text.clone()),
                    };
                }
                let rows = match many {
                    true => bound.fetch_all(connection).await?,
                    false => bound.fetch_optional(connection).await?.into_iter().collect(),
                };
                rows.iter().map(of_sqlite).collect()
            }
            Connection::Postgres(connection) => {
                let bound = bind(sqlx::query(AssertSqlSafe(query.clone())), arguments);
                let rows = match many {
                    true => bound.fetch_all(connection).await?,
                    false => bound.fetch_optional(connection).await?.into_iter().collect(),
                };
                rows.iter().map(|row| Ok(row.try_get::<String, _>(0)?.into_bytes())).collect()
            }
        }
    }

    /// Ends the connection in order, if that can be done at once.
    pub(crate) async fn close(self) {
        let _ = match self {
            Connection::Sqlite(connection, _) => connection.close().await,
            Connection::Postgres(connection) => connection.close().await,
        };
    }
}

impl Deadline {
    fn set(&self) {
        *self.end() = Instant::now() + self.timeout;
    }

    fn has_passed(&self) -> bool {
        Instant::now() > *self.end()
    }

    fn end(&self) -> MutexGuard<'_, Instant> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bind<'q>(
    mut query: Query<'q, sqlx::Postgres, PgArguments>,
    arguments: &[Argument],
) -> Query<'q, sqlx::Postgres, PgArguments> {
    for argument in arguments {
        query = match argument {
            Argument::Number(number) => query.bind(*number),
            Argument::Text(text) => query.bind(text.clone()),
        };
    }
    query
}

fn types(sorts: &[Sort]) -> Vec<PgTypeInfo> {
    let name = |sort: &Sort| match sort {
        Sort::Number => "int8",
        Sort::Text => "text",
    };
    sorts.iter().map(|sort| PgTypeInfo::with_name(name(sort))).collect()
}

/// A query around a query, which gives each row as one JSON text. Bytes are told apart here, because PostgreSQL
/// would write them in digits of its own.
fn as_json<'c>(query: &str, columns: impl Iterator<Item = (&'c str, &'c str)>) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let columns: Vec<_> = columns.collect();
    if columns.iter().all(|(_, kind)| *kind != "BYTEA") {
        return format!("select row_to_json(r)::text from (\n{query}\n) as r");
    }
    let columns = columns.iter().map(|(name, kind)| match *kind {
        "BYTEA" => {
            let name = quoted(name);
            format!("translate(encode({name}, 'base64'), E'\\n', '') as {name}")
        }
        _ => quoted(name),
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    format!("select row_to_json(r)::text from (select {columns} from (\n{query}\n) as q) as r")
}

fn of_sqlite(row: &SqliteRow) -> Result<Vec<u8>, sqlx::Error> {
    let mut json = Vec::from(*b"{");
    for (at, column) in row.columns().iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        let value =
            of_value(&row.try_get_raw(at)?, column.type_info().name()).map_err(|source| {
                sqlx::Error::ColumnDecode { index: column.name().to_owned(), source }
            })?;
        serde_json::to_writer(&mut json, column.name()).expect("a vector takes every byte");
        json.push(b':');
        serde_json::to_writer(&mut json, &value).expect("a vector takes every byte");
    }
    json.push(b'}');
    Ok(json)
}

fn of_value(
    value: &SqliteValueRef<'_>,
    declared: &str,
) -> Result<Json, Box<dyn std::error::Error + Send + Sync>> {
    if value.is_null() {
        return Ok(Json::Null);
    }
    let kind = value.type_info().name().to_owned();
    let value = ValueRef::to_owned(value);
    Ok(match kind.as_str() {
        "BOOLEAN" | "INTEGER" | "INT4" | "INT8" if declared == "BOOLEAN" => {
            Json::from(<i64 as Decode<sqlx::Sqlite>>::decode(value.as_ref())? != 0)
        }
        "BOOLEAN" | "INTEGER" | "INT4" | "INT8" => {
            Json::from(<i64 as Decode<sqlx::Sqlite>>::decode(value.as_ref())?)
        }
        "REAL" => Json::from(<f64 as Decode<sqlx::Sqlite>>::decode(value.as_ref())?),
        "BLOB" => {
            Json::from(BASE64.encode(<&[u8] as Decode<sqlx::Sqlite>>::decode(value.as_ref())?))
        }
        _ => Json::from(<String as Decode<sqlx::Sqlite>>::decode(value.as_ref())?),
    })
}
