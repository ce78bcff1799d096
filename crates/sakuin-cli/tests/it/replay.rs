//! `replay` and `record`: a stand-in origin, and what it makes of a real one.

use serde_json::Value;

use crate::{command::Folder, server::Server};

const LIST: &str = r#"
[[answer]]
target = "/v3/BusArrival?BusStopCode=83139"
files = ["83139.json", "later.json"]
headers.content-type = "application/json"

[[answer]]
target = "/moved"
status = 301
headers.location = "/"
"#;

fn folder() -> Folder {
    let body = "x".repeat(1000);
    let files = [
        ("replay.toml", LIST),
        ("83139.json", r#"{"BusStopCode":"83139"}"#),
        ("later.json", "{}"),
        ("big/replay.toml", "[[answer]]\ntarget = \"/big\"\nfiles = [\"big\"]\n"),
        ("big/big", &body),
    ];
    Folder::with(&files)
}

fn replay(folder: &Folder, arguments: &[&str]) -> Server {
    Server::start(folder, &[&["replay", "--listen", "127.0.0.1:0"], arguments].concat())
}

fn calls(server: &Server) -> Value {
    serde_json::from_slice(&server.get("/_replay/calls").body).unwrap()
}

const STOP: &str = "/v3/BusArrival?BusStopCode=83139";

#[test]
fn it_serves_what_is_recorded_in_turn_and_counts() {
    let folder = folder();
    let server = replay(&folder, &["."]);
    let first = server.get(STOP);
    assert_eq!((first.status, first.text()), (200, r#"{"BusStopCode":"83139"}"#));
    assert_eq!(first.header("content-type"), "application/json");
    assert_eq!(server.get(STOP).text(), "{}");
    let tag = format!("if-none-match: \"x\", W/{}", first.header("etag"));
    let same = server.ask("GET", STOP, &[&tag]).unwrap();
    assert_eq!((same.status, same.text(), same.header("etag")), (304, "", first.header("etag")));
    let moved = server.get("/moved");
    assert_eq!((moved.status, moved.header("location")), (301, "/"));
    assert_eq!(server.get("/v3/BusArrival").status, 404);
    assert_eq!(server.ask("POST", STOP, &[]).unwrap().status, 405);
    let counted = serde_json::json!({
        "calls": 6, "failures": 0, "unknown": 1, "targets": { STOP: 4, "/moved": 1 },
    });
    assert_eq!(calls(&server), counted);
}

#[test]
fn it_fails_in_every_way_in_turn() {
    let folder = folder();
    let server = replay(&folder, &["big", "--fail", "100"]);
    assert_eq!(server.get("/big").status, 500);
    let unavailable = server.get("/big");
    assert_eq!((unavailable.status, unavailable.header("retry-after")), (503, "1"));
    assert!(server.ask("GET", "/big", &[]).is_none());
    let cut = server.get("/big");
    assert_eq!((cut.header("content-length"), cut.body.len()), ("1000", 500));
    assert!(server.attempt("/big").is_none());
    assert_eq!(calls(&server)["failures"], 5);
}

#[test]
fn a_seed_repeats_its_failures() {
    let folder = folder();
    let run = |seed| {
        let server = replay(&folder, &[".", "--fail", "50", "--seed", seed]);
        let ask = |_| server.attempt("/moved").map(|reply| reply.status);
        (0..8).map(ask).collect::<Vec<_>>()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn it_is_out_from_one_time_to_another() {
    let folder = folder();
    let server = replay(&folder, &[".", "--outage", "0s..1h"]);
    assert!(server.ask("GET", STOP, &[]).is_none());
    assert_eq!(calls(&server)["calls"], 0);
    let server = replay(&folder, &[".", "--outage", "1h..2h"]);
    assert_eq!(server.get(STOP).status, 200);
}

#[test]
fn bad_recordings_and_arguments_are_refused() {
    let folder = folder();
    let refused = |list: &str| {
        std::fs::write(folder.path("replay.toml"), list).unwrap();
        folder.refused(&["replay", "."])
    };
    let error = refused("[[answer]]\ntarget = \"/\"\nfile = \"x\"\n");
    assert!(error.contains("replay.toml:3: unknown key `answer.file`"), "{error}");
    assert!(error.contains("did you mean `files`?"), "{error}");
    let error = refused("[[answer]]\ntarget = \"/\"\nfiles = [\"none\"]\n");
    assert!(error.contains("replay.toml:3: `answer.files` is `none`"), "{error}");
    let error = refused("[[answer]]\ntarget = \"/\"\n[[answer]]\ntarget = \"/\"\n");
    assert!(error.contains("name each target once"), "{error}");
    refused("[[answer]]\ntarget = \"x\"\n");
    refused("answer = 1\n");
    for arguments in [["--fail", "101"], ["--outage", "5s"], ["--listen", "9100"]] {
        assert_eq!(folder.run(&[&["replay", "."][..], &arguments].concat()).code, 2);
    }
}

#[test]
fn what_is_recorded_is_replayed_and_no_secret_is_written() {
    let folder = folder();
    let origin = replay(&folder, &["."]);
    let url = |target: &str| format!("http://{}{target}", origin.address);
    let urls = [url(STOP), url("/moved"), url("/v3/BusArrival BusStopCode=83139")];
    let record = |urls: &[String]| {
        let urls = urls.iter().map(String::as_str).collect::<Vec<_>>();
        let header = ["--header", "AccountKey=env:SECRET"];
        let mut command = folder.command(&[&["record", "copy"], &urls[..], &header].concat());
        assert!(command.env("SECRET", "s3cret").output().unwrap().status.success());
    };
    record(&urls[..1]);
    record(&urls[1..]);
    let copy = replay(&folder, &["copy"]);
    let answer = copy.get(STOP);
    assert_eq!(answer.text(), r#"{"BusStopCode":"83139"}"#);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(copy.get("/moved").status, 301);
    let spaced = copy.get("/v3/BusArrival%20BusStopCode=83139");
    assert_eq!((spaced.status, spaced.text()), (404, "not recorded\n"));
    for file in std::fs::read_dir(folder.path("copy")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("s3cret") && !text.to_lowercase().contains("accountkey"), "{text}");
    }
    let ran = folder.run(&["record", "copy", &urls[0], "--header", "AccountKey=s3cret"]);
    assert!(ran.code == 2 && ran.stderr.contains("env:VARIABLE"), "{}", ran.stderr);
    let error = folder.refused(&["record", "copy", "http://127.0.0.1:9/?key=s3cret"]);
    assert!(error.contains("`/` did not answer") && !error.contains("s3cret"), "{error}");
}
