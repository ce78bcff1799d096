//! Runs the commands of a README as they stand there, in a copy of its folder, and compares what they print.
//!
//! Ports are replaced by free ones and times by short ones; what waits for a time is asked until it is as written.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{command::Folder, server::Server, tools};

/// A README with a copy of its folder, in which its commands run.
pub(crate) struct Readme {
    pub(crate) folder: Folder,
    steps: Vec<Step>,
    environment: Vec<(String, String)>,
    servers: Vec<Option<Server>>,
    /// Addresses as written and as they are.
    addresses: Vec<(String, String)>,
}

struct Step {
    command: String,
    output: String,
}

impl Readme {
    /// The README of `examples/NAME`; `changes` are made to its configuration.
    pub(crate) fn of(example: &str, changes: &[(&str, &str)]) -> Readme {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
        let folder = Folder::with(&[]);
        copy(&source, &folder.path(""));
        let config = fs::read_to_string(folder.path("sakuin.toml")).unwrap_or_default();
        let change = |text: String, (from, to): &(&str, &str)| {
            assert!(text.contains(from), "{from} is not in the configuration");
            text.replace(from, to)
        };
        let free = config.replace("127.0.0.1:8080", "127.0.0.1:0");
        let free = free.replace("127.0.0.1:8081", "127.0.0.1:0");
        let changed = changes.iter().fold(free, change);
        fs::write(folder.path("sakuin.toml"), changed).unwrap();
        let steps = steps(&fs::read_to_string(source.join("README.md")).unwrap());
        let (environment, servers, addresses) = (Vec::new(), Vec::new(), Vec::new());
        Readme { folder, steps, environment, servers, addresses }
    }

    /// Writes another text into the one command that has it.
    pub(crate) fn replace(&mut self, from: &str, to: &str) {
        let step = self.steps.iter_mut().find(|step| step.command.contains(from)).unwrap();
        step.command = step.command.replace(from, to);
    }

    /// Writes another text into every command that has it.
    pub(crate) fn replace_all(&mut self, from: &str, to: &str) {
        for step in &mut self.steps {
            step.command = step.command.replace(from, to);
        }
    }

    /// Adds variables to the environment of every command.
    pub(crate) fn environment(&mut self, variables: &[(String, String)]) {
        self.environment.extend_from_slice(variables);
    }

    /// Runs every command and compares what it prints.
    pub(crate) fn run(&mut self) {
        for Step { command, output } in std::mem::take(&mut self.steps) {
            if let Some(command) = command.strip_suffix(" &") {
                self.serve(command, &output);
            } else if let Some(number) = command.strip_prefix("kill %") {
                self.servers[number.parse::<usize>().unwrap() - 1] = None;
            } else if let Some(variable) = command.strip_prefix("export ") {
                let (name, value) = variable.split_once('=').unwrap();
                self.environment.push((name.to_owned(), value.to_owned()));
            } else {
                self.check(&command, &output);
            }
        }
    }

    fn serve(&mut self, command: &str, output: &str) {
        let command = command.strip_prefix("sakuin ").unwrap();
        let written = output.trim().trim_start_matches("http://").trim_end_matches('/');
        let command = self.actual(command).replace(written, "127.0.0.1:0");
        let arguments: Vec<_> = command.split(' ').collect();
        let server = Server::start_with(&self.folder, &arguments, &self.environment);
        let actual = server.address.to_string();
        let files = fs::read_dir(self.folder.path("")).unwrap().map(|entry| entry.unwrap().path());
        let is_config =
            |path: &PathBuf| path.extension().is_some_and(|it| it == "toml" || it == "conf");
        for config in files.filter(is_config) {
            let text = fs::read_to_string(&config).unwrap();
            fs::write(&config, text.replace(written, &actual)).unwrap();
        }
        self.addresses.push((written.to_owned(), actual));
        self.servers.push(Some(server));
    }

    fn check(&self, command: &str, output: &str) {
        let (waits, command) = match command.split_once("; ") {
            Some((sleep, command)) if sleep.starts_with("sleep ") => (true, command),
            _ => (false, command),
        };
        let begun = Instant::now();
        loop {
            let mut shell = Command::new("sh");
            shell.env("PATH", path());
            shell.current_dir(self.folder.path("")).args(["-euc", &self.actual(command)]);
            let ran = shell.envs(self.environment.clone()).output().unwrap();
            let printed = String::from_utf8(ran.stdout).unwrap().replace('\r', "");
            if is_like(&printed, output) {
                return;
            }
            let is_late = begun.elapsed() > Duration::from_secs(20);
            assert!(waits && !is_late, "{command}\n{printed}instead of\n{output}");
        }
    }

    fn actual(&self, text: &str) -> String {
        let replace = |text: String, (written, actual): &(_, String)| {
            text.replace::<&String>(written, actual)
        };
        self.addresses.iter().fold(text.to_owned(), replace)
    }
}

/// How files end that a run of an example makes.
const MADE: [&str; 5] = ["db", "db-shm", "db-wal", "quota", "redb"];

/// Where commands are found: the one that was built and the clients of contacts before all others.
fn path() -> OsString {
    let built = Path::new(env!("CARGO_BIN_EXE_sakuin")).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let first = [built, tools::built("vdirsyncer/bin")];
    std::env::join_paths(first.into_iter().chain(std::env::split_paths(&others))).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else if path.extension().is_none_or(|ending| MADE.iter().all(|made| ending != *made)) {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// The commands of all `console` blocks, each with what is written below it.
fn steps(readme: &str) -> Vec<Step> {
    let blocks = readme.split("```console\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    let mut steps: Vec<Step> = Vec::new();
    for line in lines {
        match line.strip_prefix("$ ") {
            Some(command) => {
                steps.push(Step { command: command.to_owned(), output: String::new() });
            }
            None => steps.last_mut().unwrap().output.push_str(&format!("{line}\n")),
        }
    }
    steps
}

/// Whether a text is as expected, where `…` stands for anything.
fn is_like(text: &str, expected: &str) -> bool {
    let (mut rest, expected) = (text.trim_end(), expected.trim_end());
    let mut pieces = expected.split('…').map(|piece| piece.trim_matches('\n'));
    let first = pieces.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    let mut last = first;
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        (rest, last) = (&rest[at + piece.len()..], piece);
    }
    rest.is_empty() || (last.is_empty() && expected.ends_with('…'))
}

#[test]
fn dots_stand_for_anything() {
    for (text, expected) in
        [("a\n", "a\n"), ("abc", "a…"), ("abc", "a…c"), ("a\nb\nc\n", "a\n…\nc\n"), ("x", "…")]
    {
        assert!(is_like(text, expected), "{text} {expected}");
    }
    for (text, expected) in [("ab", "a"), ("ab", "b…"), ("abc", "a…b"), ("", "a…")] {
        assert!(!is_like(text, expected), "{text} {expected}");
    }
}
