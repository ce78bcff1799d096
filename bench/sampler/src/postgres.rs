//! A PostgreSQL of our own on a free port, in a folder that goes when it ends.

use std::{os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use crate::free_port;

pub struct Postgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

impl Postgres {
    /// Makes and starts a cluster, as the user `postgres` when we are root, which PostgreSQL refuses to serve.
    pub fn start() -> Postgres {
        let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
            .expect("postgresql is installed")
            .map(|entry| entry.expect("it can be listed").path().join("bin"))
            .collect();
        versions.sort();
        let folder = tempfile::tempdir().expect("a folder");
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).expect("the folder is ours");
        let port = free_port();
        let postgres =
            Postgres { folder, programs: versions.pop().expect("postgresql is installed"), port };
        let data = postgres.data();
        let options =
            format!("-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=");
        postgres
            .program("initdb", &["--pgdata", &data, "--auth", "trust", "--username", "postgres"]);
        postgres.program(
            "pg_ctl",
            &["--pgdata", &data, "--wait", "--log", "/dev/null", "--options", &options, "start"],
        );
        postgres
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub fn run(&self, sql: &str) {
        self.program(
            "psql",
            &["--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", &self.url(), "--command", sql],
        );
    }

    /// What one of its programs prints: `psql`, `pgbench`.
    pub fn ask(&self, name: &str, arguments: &[&str]) -> String {
        let output = Command::new(self.programs.join(name)).args(arguments).output();
        let output = output.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The process above all others of the cluster.
    pub fn id(&self) -> u32 {
        let file =
            std::fs::read_to_string(format!("{}/postmaster.pid", self.data())).expect("it runs");
        file.lines().next().and_then(|line| line.parse().ok()).expect("a number")
    }

    fn data(&self) -> String {
        self.folder.path().join("data").to_str().expect("a path in UTF-8").to_owned()
    }

    fn program(&self, name: &str, arguments: &[&str]) {
        let program = self.programs.join(name);
        let is_root = Command::new("id").arg("-u").output().expect("id runs").stdout == b"0\n";
        let mut command = if is_root { Command::new("runuser") } else { Command::new(&program) };
        if is_root {
            command.args(["--user", "postgres", "--"]).arg(&program);
        }
        let output =
            command.args(arguments).current_dir("/").stdout(std::process::Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.program("pg_ctl", &["--pgdata", &self.data(), "--mode", "immediate", "stop"]);
    }
}
