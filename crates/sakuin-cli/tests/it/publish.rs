//! Publishing by the command and following by a server: on the disk, and in stores that others wrote.

mod emulator;

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{command::Folder, server::Server, tools};

/// A store, with what must be in the environment of whoever asks it.
struct Store {
    folder: Folder,
    url: String,
    environment: Vec<(String, String)>,
    _process: Option<Process>,
}

/// A process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Store {
    fn disk() -> Store {
        let folder = Folder::with(&[]);
        let url = format!("file://{}", folder.path("bucket").display());
        Store { folder, url, environment: Vec::new(), _process: None }
    }

    /// moto, which stands for Amazon S3.
    fn s3() -> Store {
        let mut command = Command::new(tools::built("moto/bin/moto_server"));
        command.args(["-H", "127.0.0.1", "-p", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("moto is installed by `make tools`");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let endpoint = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, address)) = line.split_once("Running on ") {
                break address.trim().to_owned();
            }
        };
        // What it goes on to say is let go.
        thread::spawn(move || lines.for_each(drop));
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
            _process: Some(Process(child)),
        }
    }

    /// fake-gcs-server, which stands for Google Cloud Storage.
    fn gcs(lost: usize) -> Store {
        let (address, process) = emulator::start(lost);
        let environment = vec![("STORAGE_EMULATOR_HOST".to_owned(), format!("http://{address}"))];
        let (folder, url) = (Folder::with(&[]), "gs://shop/tables".to_owned());
        Store { folder, url, environment, _process: Some(process) }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.folder.command(arguments);
        command.envs(self.environment.iter().cloned());
        command
    }

    /// What a command comes to: its code, and what it says.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.run(arguments);
        assert_eq!(code, 0, "{stderr}");
        stdout
    }

    /// Packs a table of so many keys that all have a value, and returns its file.
    fn pack(&self, name: &str, keys: usize, value: &str) -> String {
        let text: String = (0..keys).map(|at| format!("[\"key{at}\",\"{value}\"]\n")).collect();
        let (input, output) = (format!("{name}.jsonl"), format!("{name}.skn"));
        std::fs::write(self.folder.path(&input), text).unwrap();
        self.ok(&["pack", &input, "--content-type", "text", "-o", &output]);
        output
    }

    /// Publishes two tables, all of whose values say the same.
    fn publish(&self, value: &str) -> String {
        let (words, names) = (self.pack("words", 50, value), self.pack("names", 50, value));
        let tables = [format!("words={words}"), format!("names={names}")];
        self.ok(&["publish", &self.url, &tables[0], &tables[1]])
    }

    fn serve(&self) -> Server {
        let table = |name| format!("[tables.{name}]\nkind = \"packed\"\nrepository = \"shop\"\n");
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n\
             [repositories.shop]\nurl = \"{}\"\ndirectory = \"followed\"\npoll = \"20ms\"\n{}{}",
            self.url,
            table("words"),
            table("names"),
        );
        std::fs::write(self.folder.path("sakuin.toml"), config).unwrap();
        Server::start_with(&self.folder, &["serve", "sakuin.toml"], &self.environment)
    }
}

/// Asks until an answer is as wanted.
#[track_caller]
fn until(server: &Server, target: &str, is_it: impl Fn(&str) -> bool) {
    let begun = Instant::now();
    loop {
        let reply = server.get(target);
        if is_it(reply.text()) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{target}: {}", reply.text());
        thread::yield_now();
    }
}

macro_rules! on_every_store {
    ($($test:ident),*) => {
        mod on_disk { $(#[test] fn $test() { super::$test(&super::Store::disk()); })* }
        mod on_gcs { $(#[test] fn $test() { super::$test(&super::Store::gcs(0)); })* }
        mod on_s3 { $(#[test] fn $test() { super::$test(&super::Store::s3()); })* }
    };
}
on_every_store!(
    what_is_published_is_followed_and_taken_back,
    bad_tables_are_refused,
    publishers_at_once_are_told,
    plain_files_are_sent
);

fn what_is_published_is_followed_and_taken_back(store: &Store) {
    assert_eq!(store.publish("one"), "1\n");
    let server = store.serve();
    let reply = server.get("/v1/tables/words/key7");
    assert_eq!((reply.text(), reply.header("sakuin-version")), ("one", "1"));
    assert!(reply.header("age").parse::<u64>().unwrap() < 600);
    assert_eq!(store.publish("two"), "2\n");
    until(&server, "/v1/tables/words/key7", |text| text == "two");
    assert_eq!(server.get("/v1/tables/names/key0").text(), "two");
    store.ok(&["rollback", &store.url, "stable", "--why", "it is wrong"]);
    until(&server, "/v1/tables/words/key7", |text| text == "one");
    assert_eq!(server.get("/v1/tables/words/key7").header("sakuin-version"), "1");

    let listed = store.ok(&["versions", &store.url]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].contains("names 50, words 50") && lines[0].ends_with("← stable"), "{listed}");
    assert!(lines[1].trim_start().starts_with("2  "), "{listed}");
    store.ok(&["promote", &store.url, "stable", "canary"]);
    store.ok(&["pin", &store.url, "2", "--why", "an audit"]);
    assert!(store.ok(&["versions", &store.url]).contains("← canary, stable"));
    let differs = store.ok(&["diff", &store.url, "1", "2", "--keys"]);
    assert!(
        differs.contains("words: +0 keys, +0 bytes; 0 keys new, 0 gone, 50 changed"),
        "{differs}"
    );
    let (code, listed, said) = store.run(&["collect", &store.url]);
    assert!(
        code == 0 && listed.contains("stays    version 2") && said.starts_with("0 objects"),
        "{listed}{said}"
    );

    assert_eq!(store.ok(&["pull", &store.url, "pulled"]), "1\n");
    let pulled = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
    let words = pulled.table("words").unwrap();
    assert_eq!(words.get(b"key7").unwrap().unwrap().first().text(), Some("one"));
    store.publish("three");
    assert_eq!(store.ok(&["pull", &store.url, "pulled"]), "3\n");
    assert_eq!(pulled.refresh().unwrap().unwrap().version(), 3);
    assert_eq!(words.get(b"key7").unwrap().unwrap().first().text(), Some("one"));
    assert!(pulled.table("other").is_none());
}

fn bad_tables_are_refused(store: &Store) {
    store.publish("one");
    let words = format!("words={}", store.pack("words", 20, "one"));
    let names = "names=names.skn";
    let (code, _, said) = store.run(&["publish", &store.url, &words, names]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("table `words`: 20 keys where there were 50, -60 % (shrink)"), "{said}");
    assert!(
        said.contains("hint: mend the table; or, if it is meant so, `--allow shrink=\"why\"`"),
        "{said}"
    );
    let (code, _, said) = store.run(&[
        "publish",
        &store.url,
        &words,
        names,
        "--must-have",
        "words=key30",
        "--allow",
        "shrink=sold",
    ]);
    assert!(code == 4 && said.contains("there is no key \"key30\" (must-have)"), "{said}");
    let words = format!("words={}", store.pack("words", 50, "two"));
    std::fs::write(store.folder.path("queries"), "words=key1\n\nwords=key2\n").unwrap();
    let rehearsed = ["publish", &store.url, &words, names, "--rehearse", "queries"];
    let (code, _, said) = store.run(&rehearsed);
    assert!(code == 4 && said.contains("2 of 2 queries find something else"), "{said}");
    std::fs::write(store.folder.path("words.skn"), "no table").unwrap();
    let (code, _, said) = store.run(&["publish", &store.url, "words=words.skn", names]);
    assert!(code == 1 && said.contains("table `words`"), "{said}");
    assert_eq!(store.ok(&["pull", &store.url, "pulled"]), "1\n");
}

fn publishers_at_once_are_told(store: &Store) {
    store.publish("0");
    let files: Vec<String> =
        (0..6).map(|who| store.pack(&format!("words{who}"), 50, &who.to_string())).collect();
    let running: Vec<Child> = files
        .iter()
        .map(|file| {
            let mut command = store.command(&[
                "publish",
                &store.url,
                &format!("words={file}"),
                "names=names.skn",
            ]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let (mut won, mut told) = (0, 0);
    for child in running {
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => won += 1,
            Some(3) => {
                told += 1;
                let said = String::from_utf8(output.stderr).unwrap();
                assert!(
                    said.contains("announced version") && said.contains("hint: look at what it is"),
                    "{said}"
                );
            }
            code => panic!("{code:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    assert!(won >= 1 && won + told == 6);
    // Every one that won is in the log.
    let listed = store.ok(&["versions", &store.url]);
    assert!(listed.lines().count() > won, "{listed}");
}

fn plain_files_are_sent(store: &Store) {
    for number in 0..75 {
        let name = store.folder.path(&format!("site/{}/{number}.txt", number % 3));
        std::fs::create_dir_all(name.parent().unwrap()).unwrap();
        std::fs::write(name, number.to_string().repeat(10_000)).unwrap();
    }
    let url = format!("{}/site", store.url);
    let (code, _, said) = store.run(&["upload", "site", &url]);
    assert!(code == 0 && said.starts_with("75 files sent"), "{said}");
    std::fs::write(store.folder.path("site/1/1.txt"), "changed").unwrap();
    let (_, _, said) = store.run(&["upload", "site", &url]);
    assert!(said.starts_with("1 files sent, 7 B; 74 unchanged"), "{said}");
}

#[test]
fn a_lost_reply_is_no_lost_race() {
    for lost in [1, 2, 3] {
        let store = Store::gcs(lost);
        // One in one: nothing that is written is ever answered, and all of it is done.
        for number in 1..=3 {
            assert_eq!(store.publish(&format!("{lost}.{number}")), format!("{number}\n"));
        }
        assert_eq!(store.ok(&["versions", &store.url]).lines().count(), 3);
        assert_eq!(store.ok(&["pull", &store.url, "pulled"]), "3\n");
        let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
        assert_eq!(folder.state().announcement, 3);
    }
}

#[test]
fn a_bucket_that_is_away_stops_nothing_but_news() {
    let store = Store::disk();
    store.publish("one");
    drop(store.serve());
    std::fs::rename(store.folder.path("bucket"), store.folder.path("away")).unwrap();
    let server = store.serve();
    assert_eq!(server.get("/v1/tables/words/key7").text(), "one");
    std::fs::rename(store.folder.path("away"), store.folder.path("bucket")).unwrap();
    store.publish("two");
    until(&server, "/v1/tables/words/key7", |text| text == "two");
    drop(server);
    std::fs::remove_dir_all(store.folder.path("followed")).unwrap();
    std::fs::remove_dir_all(store.folder.path("bucket")).unwrap();
    let (code, _, said) = store.run(&["serve", "sakuin.toml"]);
    assert!(
        code == 1 && said.contains("repository `shop`: channel `stable` has announced nothing yet"),
        "{said}"
    );
    let checked = store.ok(&["check", "sakuin.toml"]);
    assert!(checked.is_empty() || checked.contains("sakuin.toml"), "{checked}");
}

#[test]
fn no_answer_is_of_two_versions() {
    const SWITCHES: usize = 60;
    let store = Store::disk();
    store.publish("v0");
    let server = store.serve();
    let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let keys: Vec<String> = (0..50).map(|at| format!("\"key{at}\"")).collect();
    let body = format!("{{\"keys\":[{}]}}", keys.join(","));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    let reply = crate::server::send(
                        server.address,
                        "POST",
                        "/v1/tables/words:batchGet",
                        &["content-type: application/json"],
                        &body,
                    );
                    let reply = reply.expect("it answers");
                    assert_eq!(reply.status, 200);
                    let answers: Value = serde_json::from_slice(&reply.body).unwrap();
                    let mut seen: Vec<String> = answers["answers"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|one| format!("{} {}", one["text"], one["published"]))
                        .collect();
                    seen.dedup();
                    assert_eq!(seen.len(), 1, "{seen:?}");
                    asked.fetch_add(1, Relaxed);
                }
            });
        }
        for round in 1..=SWITCHES {
            let value = format!("v{round}");
            store.publish(&value);
            until(&server, "/v1/tables/names/key1", |text| text == value);
            // Both tables are of the version, from the same moment on.
            assert_eq!(server.get("/v1/tables/words/key1").text(), value);
        }
        is_over.store(true, Relaxed);
    });
    assert!(asked.into_inner() > SWITCHES);
    assert!(std::fs::read_dir(store.folder.path("followed/objects")).unwrap().count() <= 4);
}

#[test]
fn publishers_that_are_killed_leave_whole_versions() {
    let store = Store::disk();
    store.publish("0");
    let mut random = fastrand::Rng::with_seed(7);
    let mut longest = Duration::from_millis(30);
    let (mut killed, mut done) = (0, 0);
    for round in 1..=40 {
        let value = round.to_string();
        let (words, names) = (store.pack("words", 50, &value), store.pack("names", 50, &value));
        let arguments =
            ["publish", &store.url, &format!("words={words}"), &format!("names={names}")];
        let mut child =
            store.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        let patience = longest.mul_f64(random.f64() * 1.2);
        let finished = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if begun.elapsed() > patience {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            thread::yield_now();
        };
        match finished {
            Some(status) => {
                assert!(status.success());
                longest = begun.elapsed();
                done += 1;
            }
            None => killed += 1,
        }
        // Whatever is announced is whole, and the same command again goes on.
        let pulled: u64 = store.ok(&["pull", &store.url, "pulled"]).trim().parse().unwrap();
        assert!(pulled >= 1);
        store.ok(&arguments);
        store.ok(&["pull", &store.url, "pulled"]);
        let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
        for table in ["words", "names"] {
            let found = folder.table(table).unwrap().get(b"key7").unwrap().unwrap();
            assert_eq!(found.first().text(), Some(&*value));
        }
    }
    assert!(killed > 5 && done > 0, "{killed} killed, {done} done");
    // No version was made twice.
    assert_eq!(store.ok(&["versions", &store.url]).lines().count(), 41);
}

#[test]
fn followers_that_are_killed_go_on() {
    let store = Store::disk();
    let mut random = fastrand::Rng::with_seed(11);
    for round in 1..=25 {
        let value = round.to_string();
        store.publish(&value);
        let mut child =
            store.command(&["pull", &store.url, "pulled"]).stdout(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        let patience = Duration::from_millis(25).mul_f64(random.f64());
        while begun.elapsed() < patience && child.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
        if let Ok(folder) = sakuin::Repository::open(&store.folder.path("pulled")) {
            let found = folder.table("words").unwrap().get(b"key7").unwrap().unwrap();
            assert!(found.first().text().unwrap().parse::<u32>().unwrap() <= round);
        }
        store.ok(&["pull", &store.url, "pulled"]);
        let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
        assert_eq!(folder.version(), u64::from(round));
    }
}

#[test]
fn a_full_disk_keeps_what_is_served() {
    let store = Store::disk();
    store.publish("one");
    store.ok(&["pull", &store.url, "pulled"]);
    // The objects' folder becomes one that takes nothing.
    let objects: PathBuf = store.folder.path("pulled/objects");
    let moved = store.folder.path("kept");
    std::fs::rename(&objects, &moved).unwrap();
    std::os::unix::fs::symlink("/dev/full", &objects).unwrap();
    store.publish("two");
    let (code, _, said) = store.run(&["pull", &store.url, "pulled"]);
    assert_eq!(code, 1, "{said}");
    std::fs::remove_file(&objects).unwrap();
    std::fs::rename(&moved, &objects).unwrap();
    let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
    assert_eq!(folder.version(), 1);
    assert_eq!(store.ok(&["pull", &store.url, "pulled"]), "2\n");
}
