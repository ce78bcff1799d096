//! Publishing by the command and following by a server: on the disk, and in stores that others wrote.

/// What stands for Google Cloud Storage.
mod emulator;
/// Bad days.
mod faults;
/// A place to publish to.
mod store;

use std::{
    process::{Child, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use sakuin_grpc::lookup::{GetRequest, lookup_client::LookupClient};
use serde_json::Value;
use tonic::transport::Endpoint;

use self::store::Store;
use crate::{readme::Readme, server::Server};

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
        mod on_azure { $(#[test] fn $test() { super::$test(&super::Store::azure()); })* }
        mod on_disk { $(#[test] fn $test() { super::$test(&super::Store::disk()); })* }
        mod on_gcs { $(#[test] fn $test() { super::$test(&super::Store::gcs()); })* }
        mod on_s3 { $(#[test] fn $test() { super::$test(&super::Store::s3()); })* }
    };
}
on_every_store!(
    what_is_published_is_followed_and_taken_back,
    bad_tables_are_refused,
    publishers_at_once_are_told,
    plain_files_are_sent,
    the_example_is_as_its_readme_says
);

fn the_example_is_as_its_readme_says(store: &Store) {
    let url = "file:///tmp/shop";
    let mut readme = Readme::of("shop", &[(url, &store.url), ("\"1s\"", "\"20ms\"")]);
    readme.replace_all(url, &store.url);
    readme.environment(&store.environment);
    readme.run();
}

fn what_is_published_is_followed_and_taken_back(store: &Store) {
    assert_eq!(store.publish("one"), "1\n");
    let server = store.serve();
    let reply = server.get("/v1/tables/words/key7");
    assert_eq!((reply.text(), reply.header("sakuin-version")), ("one", "1"));
    assert!(reply.header("age").parse::<u64>().unwrap() < 600);
    assert_eq!(published_over_grpc(&server), Some(1));
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
    let words = &pulled["words"];
    assert_eq!(words.get(b"key7").unwrap().unwrap().first().text(), Some("one"));
    store.publish("three");
    assert_eq!(store.ok(&["pull", &store.url, "pulled"]), "3\n");
    assert_eq!(pulled.refresh().unwrap().unwrap().version(), 3);
    assert_eq!(words.get(b"key7").unwrap().unwrap().first().text(), Some("one"));
    assert!(pulled.table("other").is_none());
}

/// The version that an answer over gRPC says to be of.
fn published_over_grpc(server: &Server) -> Option<u64> {
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    let asked = GetRequest { table: "words".to_owned(), key: "key7".to_owned() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answered = runtime
        .block_on(async { LookupClient::new(endpoint.connect_lazy()).get(asked).await.unwrap() });
    answered.into_inner().answer.unwrap().published
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
