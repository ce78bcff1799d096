//! A store with what must be in the environment of whoever asks it, and the commands that do.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use super::emulator::Emulator;
use crate::{command::Folder, server::Server, tools};

/// A store, with what must be in the environment of whoever asks it.
pub(super) struct Store {
    pub(super) folder: Folder,
    pub(super) url: String,
    pub(super) environment: Vec<(String, String)>,
    pub(super) emulator: Option<Emulator>,
    _process: Option<Process>,
}

/// A process that is killed when it is dropped.
pub(super) struct Process(pub(super) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Store {
    pub(super) fn disk() -> Store {
        let folder = Folder::with(&[]);
        let url = format!("file://{}", folder.path("bucket").display());
        Store { folder, url, environment: Vec::new(), emulator: None, _process: None }
    }

    /// moto, which stands for Amazon S3.
    pub(super) fn s3() -> Store {
        let mut command = Command::new(tools::built("moto/bin/moto_server"));
        command.args(["-H", "127.0.0.1", "-p", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("moto is installed by `make tools`");
        let endpoint = told(child.stderr.take().unwrap(), "Running on ");
        let created = ureq::put(format!("{endpoint}/shop")).send_empty().unwrap();
        assert_eq!(created.status(), 200);
        let environment = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", "somebody"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Store {
            folder: Folder::with(&[]),
            url: "s3://shop/tables".to_owned(),
            environment: environment.into(),
            emulator: None,
            _process: Some(Process(child)),
        }
    }

    /// Azurite, which stands for Azure Blob Storage.
    pub(super) fn azure() -> Store {
        let mut command = Command::new("node");
        command.arg(tools::built("azurite/node_modules/azurite/dist/src/blob/main.js"));
        command.args(["--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence"]);
        command.args(["--silent", "--disableTelemetry", "--skipApiVersionCheck"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("Azurite is installed by `make tools`");
        let endpoint = told(child.stdout.take().unwrap(), "successfully listens on ");
        let script = "tests/it/publish/azurite/container.mjs";
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
        let made = Command::new("node").arg(script).args([&endpoint, "shop"]).status();
        assert!(made.unwrap().success());
        let environment =
            [("AZURE_STORAGE_USE_EMULATOR", "true"), ("AZURITE_BLOB_STORAGE_URL", &endpoint)];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Store {
            folder: Folder::with(&[]),
            url: "az://shop/tables".to_owned(),
            environment: environment.into(),
            emulator: None,
            _process: Some(Process(child)),
        }
    }

    /// fake-gcs-server, which stands for Google Cloud Storage.
    pub(super) fn gcs() -> Store {
        let emulator = Emulator::start();
        let endpoint = format!("http://{}", emulator.address);
        Store {
            folder: Folder::with(&[]),
            url: "gs://shop/tables".to_owned(),
            environment: vec![("STORAGE_EMULATOR_HOST".to_owned(), endpoint)],
            emulator: Some(emulator),
            _process: None,
        }
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.folder.command(arguments);
        command.envs(self.environment.iter().cloned());
        command
    }

    /// What a command comes to: its code, and what it says.
    pub(super) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// The same where no file may have more than so many blocks of 512 bytes.
    pub(super) fn run_in_blocks(&self, blocks: u32, arguments: &[&str]) -> (i32, String, String) {
        let sakuin = self.command(arguments);
        let mut shell = Command::new("sh");
        shell.current_dir(self.folder.path("")).envs(self.environment.iter().cloned());
        shell.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", &blocks.to_string()]);
        let output = shell.arg(sakuin.get_program()).args(sakuin.get_args()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    pub(super) fn ok(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.run(arguments);
        assert_eq!(code, 0, "{stderr}");
        stdout
    }

    /// Packs a table of so many keys that all have a value, and returns its file.
    pub(super) fn pack(&self, name: &str, keys: usize, value: &str) -> String {
        let text: String = (0..keys).map(|at| format!("[\"key{at}\",\"{value}\"]\n")).collect();
        let (input, output) = (format!("{name}.jsonl"), format!("{name}.skn"));
        std::fs::write(self.folder.path(&input), text).unwrap();
        self.ok(&["pack", &input, "--content-type", "text", "-o", &output]);
        output
    }

    /// Publishes two tables, all of whose values say the same.
    pub(super) fn publish(&self, value: &str) -> String {
        let (words, names) = (self.pack("words", 50, value), self.pack("names", 50, value));
        let tables = [format!("words={words}"), format!("names={names}")];
        self.ok(&["publish", &self.url, &tables[0], &tables[1]])
    }

    pub(super) fn serve(&self) -> Server {
        let table = |name| format!("[tables.{name}]\nkind = \"packed\"\nrepository = \"shop\"\n");
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n\
             [repositories.shop]\nurl = \"{}\"\ndirectory = \"followed\"\npoll = \"20ms\"\n{}{}",
            self.url,
            table("words"),
            table("names"),
        );
        std::fs::write(self.folder.path("sakuin.toml"), config).unwrap();
        self.start()
    }

    /// Serves what `sakuin.toml` says.
    pub(super) fn start(&self) -> Server {
        Server::start_with(&self.folder, &["serve", "sakuin.toml"], &self.environment)
    }
}

/// The address that a program says in a line of its own; what it goes on to say is let go.
fn told(output: impl Read + Send + 'static, before: &str) -> String {
    let mut lines = BufReader::new(output).lines();
    let address = loop {
        let line = lines.next().unwrap().unwrap();
        if let Some((_, address)) = line.split_once(before) {
            break address.trim().to_owned();
        }
    };
    thread::spawn(move || lines.for_each(drop));
    address
}
