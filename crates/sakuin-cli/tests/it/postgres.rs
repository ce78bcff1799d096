//! A PostgreSQL of our own on a socket in a temporary folder, gone when it is dropped.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

pub(crate) struct Postgres {
    folder: TempDir,
    /// Ends the server at the end of its input, which is also the end of this process, however that comes.
    shell: Child,
}

/// PostgreSQL refuses to serve root.
const SCRIPT: &str = r#"
    cd "$1" || exit 1
    PATH=$PATH:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')
    user=
    if [ "$(id -u)" = 0 ]; then chown postgres . && user='runuser -u postgres --'; fi
    $user initdb -D data -U postgres -A trust -E UTF8 --no-sync >log 2>&1 || { cat log >&2; exit 1; }
    $user postgres -D data -k "$1" -c listen_addresses= -c fsync=off >>log 2>&1 &
    until pg_isready -q -h "$1" -U postgres; do kill -0 $! || { cat log >&2; exit 1; }; done
    echo ready
    read -r end
    $user pg_ctl -D data -m immediate stop >>log 2>&1
"#;

impl Postgres {
    pub(crate) fn start() -> Postgres {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh"]).arg(folder.path());
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Postgres { folder, shell }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@localhost/postgres?host={}", self.folder.path().display())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
