//! A PostgreSQL of our own, on a socket in a temporary folder.
//!
//! A shell starts it and waits for the end of its own input, which is the end of this process too, however that
//! comes; then it stops the server and removes the folder.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

pub(crate) struct Postgres {
    folder: PathBuf,
    shell: Child,
}

/// PostgreSQL refuses to serve root.
const SCRIPT: &str = r#"
    cd "$1" || exit 1
    trap '' INT TERM
    PATH=$PATH:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')
    user=
    if [ "$(id -u)" = 0 ]; then chown postgres . && user='runuser -u postgres --'; fi
    $user initdb -D data -U postgres -A trust -E UTF8 --no-sync >log 2>&1 || { cat log >&2; exit 1; }
    $user postgres -D data -k "$1" -c listen_addresses= -c fsync=off -c max_connections=200 >>log 2>&1 &
    until pg_isready -q -h "$1" -U postgres; do kill -0 $! || { cat log >&2; exit 1; }; done
    echo ready
    cat >/dev/null
    $user pg_ctl -D data -m immediate stop >>log 2>&1
    cd / && rm -rf "$1"
"#;

impl Postgres {
    pub(crate) fn start() -> Postgres {
        let folder = tempfile::Builder::new().prefix("sakuin-pg").tempdir().unwrap().keep();
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh"]).arg(&folder);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Postgres { folder, shell }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}/{database}")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
