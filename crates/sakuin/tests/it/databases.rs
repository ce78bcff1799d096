//! Real databases for tests: files of SQLite, and one PostgreSQL for the whole run, with a database for each test.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use sqlx::{
    AssertSqlSafe, ConnectOptions, Executor, PgConnection, SqliteConnection,
    postgres::PgConnectOptions, sqlite::SqliteConnectOptions,
};
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, UnixStream},
    sync::watch,
};

use crate::support::postgres::Postgres;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub(crate) const ALL: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];
}

/// A database of a test's own, and a connection that writes.
pub(crate) struct Database {
    pub(crate) url: String,
    pub(crate) name: String,
    writer: Writer,
    _folder: Option<TempDir>,
}

enum Writer {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Database {
    pub(crate) async fn new(engine: Engine) -> Database {
        match engine {
            Engine::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("test.db");
                let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
                Database {
                    url: format!("sqlite://{}", path.display()),
                    name: String::new(),
                    writer: Writer::Sqlite(options.connect().await.unwrap()),
                    _folder: Some(folder),
                }
            }
            Engine::Postgres => {
                static NAMES: AtomicU32 = AtomicU32::new(0);
                let name = format!("test_{}", NAMES.fetch_add(1, Relaxed));
                let server = options("postgres");
                let create = format!("create database {name}");
                let mut server = server.connect().await.unwrap();
                server.execute(AssertSqlSafe(create)).await.unwrap();
                Database {
                    url: postgres().url(&name),
                    writer: Writer::Postgres(options(&name).connect().await.unwrap()),
                    name,
                    _folder: None,
                }
            }
        }
    }

    pub(crate) async fn execute(&mut self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        match &mut self.writer {
            Writer::Sqlite(connection) => drop(connection.execute(sql).await.unwrap()),
            Writer::Postgres(connection) => drop(connection.execute(sql).await.unwrap()),
        }
    }
}

/// The server of this run.
fn postgres() -> &'static Postgres {
    static SHARED: OnceLock<Postgres> = OnceLock::new();
    SHARED.get_or_init(Postgres::start)
}

fn options(database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(postgres().folder())
        .username("postgres")
        .database(database)
}

/// A way to the server that can be cut.
pub(crate) struct Relay {
    pub(crate) port: u16,
    open: Arc<watch::Sender<bool>>,
}

impl Relay {
    pub(crate) async fn start() -> Relay {
        let socket = postgres().folder().join(".s.PGSQL.5432");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let open = Arc::new(watch::Sender::new(true));
        let gate = open.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut open = gate.subscribe();
                let is_open = *open.borrow_and_update();
                let socket = socket.clone();
                if is_open {
                    tokio::spawn(async move {
                        let mut server = UnixStream::connect(socket).await.unwrap();
                        tokio::select! {
                            _ = copy_bidirectional(&mut client, &mut server) => {}
                            _ = open.changed() => client.set_zero_linger().unwrap(),
                        }
                    });
                }
            }
        });
        Relay { port, open }
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Cuts every connection, and lets new ones through.
    pub(crate) fn cut(&self) {
        self.open.send_replace(true);
    }

    /// Cuts every connection, and lets none through any more.
    pub(crate) fn close(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn reopen(&self) {
        self.open.send_replace(true);
    }
}
