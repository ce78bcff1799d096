//! Real databases for tests: files of SQLite, and one cluster of PostgreSQL for the whole run.
//!
//! The cluster listens on a socket in a temporary folder only. It is started by a shell that waits for the end of
//! its input, which is the end of this process, however that comes; then it stops the server and removes the
//! folder.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
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

/// Where Debian keeps the programs of a server.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

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
                let server = Cluster::shared().options("postgres");
                let create = format!("create database {name}");
                let mut server = server.connect().await.unwrap();
                server.execute(AssertSqlSafe(create)).await.unwrap();
                let options = Cluster::shared().options(&name);
                Database {
                    url: Cluster::shared().url(&name),
                    name,
                    writer: Writer::Postgres(options.connect().await.unwrap()),
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

/// A server of PostgreSQL.
pub(crate) struct Cluster {
    folder: PathBuf,
    /// Its input keeps the server alive.
    _shell: Child,
}

impl Cluster {
    /// The one of this run.
    pub(crate) fn shared() -> &'static Cluster {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(Cluster::start)
    }

    fn start() -> Cluster {
        let folder = tempfile::Builder::new().prefix("sakuin-pg").tempdir().unwrap().keep();
        let script = format!(
            "cd {folder} || exit 1
             trap '' INT TERM
             {PROGRAMS}/initdb -D data -U postgres -A trust -E UTF8 --no-sync >log 2>&1 || exit 1
             {PROGRAMS}/postgres -D data -k {folder} -c listen_addresses= -c fsync=off \
                 -c max_connections=200 >>log 2>&1 &
             server=$!
             until {PROGRAMS}/pg_isready -q -h {folder} -U postgres; do
                 kill -0 $server || exit 1
             done
             echo ready
             cat >/dev/null
             kill -QUIT $server
             wait $server
             cd /
             rm -rf {folder}",
            folder = folder.display(),
        );
        let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let mut command = if root {
            // A server does not run as root.
            let owned = Command::new("chown").arg("postgres").arg(&folder).status().unwrap();
            assert!(owned.success());
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--", "sh", "-c", &script]);
            command
        } else {
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            command
        };
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert_eq!(line, "ready\n", "{}", log());
        Cluster { folder, _shell: shell }
    }

    fn options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .socket(&self.folder)
            .username("postgres")
            .database(database)
    }

    fn url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}/{database}")
    }

    fn socket(&self) -> PathBuf {
        Path::new(&self.folder).join(".s.PGSQL.5432")
    }
}

/// A way to the shared cluster that can be cut.
pub(crate) struct Relay {
    pub(crate) port: u16,
    open: Arc<watch::Sender<bool>>,
}

impl Relay {
    pub(crate) async fn start() -> Relay {
        let socket = Cluster::shared().socket();
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
