//! Live tables over HTTP: what a record is answered as, and writes that lose no update.

use std::{fs, thread};

use sakuin_server::Config;
use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::http;

use crate::support::{Answer, Running, Small, agent, limits};

/// A server over live tables of its own.
pub(crate) struct Live {
    pub(crate) running: Running,
    _folder: TempDir,
}

const TABLES: &str = r#"
[live]
path = "live.redb"
[tables.counters]
kind = "live"
attributes.value = { type = "int", index = "equal" }
attributes.label = { type = "text" }
attributes.at = { type = "time" }
vector = { dimensions = 2, metric = "l2" }
route = "/counters/{id}"
"#;

const COUNTERS: &str = "/v1/tables/counters";
const JSON: (&str, &str) = ("content-type", "application/json");

pub(crate) fn live() -> Live {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nhealth = \"/health\"\n{TABLES}"
    );
    let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
    Live { running: Running::start(&config, &limits()), _folder: folder }
}

pub(crate) fn send(
    server: &Running,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut request =
        http::Request::builder().method(method).uri(format!("http://{}{path}", server.address));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = match body {
        "" => agent().run(request.body(()).unwrap()),
        body => agent().run(request.body(body.to_owned()).unwrap()),
    };
    Answer::read(response.unwrap())
}

impl Live {
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        send(&self.running, method, path, headers, body)
    }

    /// The first record of a server: `{"id":1,"value":7}` at version 1.
    fn with_record() -> Live {
        let live = live();
        assert_eq!(live.send("POST", COUNTERS, &[JSON], "{\"value\": 7}").status, 201);
        live
    }

    fn body(&self, id: u64) -> Value {
        self.running.get(&format!("{COUNTERS}/{id}")).json()
    }
}

#[track_caller]
fn problem(answer: &Answer, status: u16, detail: &str, hint: &str) {
    let shown: String = String::from_utf8_lossy(&answer.body).chars().take(300).collect();
    assert_eq!(answer.status, status, "{shown}");
    assert_eq!(answer.header("content-type"), "application/problem+json", "{shown}");
    let problem = answer.json();
    assert!(problem["detail"].as_str().unwrap().contains(detail), "{shown}");
    assert!(problem["hint"].as_str().unwrap().contains(hint), "{shown}");
}

#[test]
fn a_record_is_created_read_and_known_by_its_version() {
    let live = live();
    let body = r#"{"value": 3, "label": "索", "at": "2026-11-20T12:00:00Z", "vector": [0.5, -1]}"#;
    let created = live.send("POST", COUNTERS, &[JSON], body);
    let whole = json!({
        "id": 1, "value": 3, "label": "索", "at": "2026-11-20T12:00:00.000000Z", "vector": [0.5, -1.0],
    });
    assert_eq!((created.status, created.json()), (201, whole.clone()));
    assert_eq!(created.header("location"), "/v1/tables/counters/1");
    assert_eq!((created.header("etag"), created.header("sakuin-sequence")), ("\"1\"", "1"));
    assert_eq!(created.header("sakuin-durability"), "sync");

    for path in ["/v1/tables/counters/1", "/counters/1"] {
        let read = live.running.get(path);
        assert_eq!((read.status, read.json()), (200, whole.clone()));
        assert_eq!((read.header("etag"), read.header("sakuin-source")), ("\"1\"", "live"));
        let again = live.running.get_with(path, &[("if-none-match", "\"1\"")]);
        assert_eq!((again.status, again.header("etag"), again.body.len()), (304, "\"1\"", 0));
        let head = live.send("HEAD", path, &[], "");
        assert_eq!((head.status, head.header("etag"), head.body.len()), (200, "\"1\"", 0));
        assert_eq!(head.header("content-length"), read.body.len().to_string());
    }
}

#[test]
fn records_are_replaced_merged_and_deleted() {
    let live = Live::with_record();
    let first = "/v1/tables/counters/1";
    let replaced = live.send("PUT", first, &[JSON], "{\"id\": 1, \"label\": \"a\"}");
    assert_eq!((replaced.status, replaced.json()), (200, json!({"id": 1, "label": "a"})));
    assert_eq!((replaced.header("etag"), replaced.header("content-location")), ("\"2\"", first));

    let merge = ("content-type", "application/merge-patch+json; charset=utf-8");
    let merged = live.send("PATCH", first, &[merge], "{\"value\": 8, \"label\": null}");
    assert_eq!((merged.status, merged.json()), (200, json!({"id": 1, "value": 8})));
    assert_eq!(live.send("PATCH", first, &[JSON], "{}").header("etag"), "\"4\"");
    assert_eq!(live.body(1), json!({"id": 1, "value": 8}));

    let deleted = live.send("DELETE", first, &[], "");
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    assert_eq!(deleted.header("sakuin-sequence"), "5");
    problem(&live.running.get(first), 404, "no record 1", "deleted");
    problem(&live.send("DELETE", first, &[], ""), 404, "no record 1", "POST");
    let next = live.send("POST", COUNTERS, &[JSON], "{}");
    assert_eq!(next.header("location"), "/v1/tables/counters/2", "an id is never given twice");
}

#[test]
fn what_was_not_read_is_not_overwritten() {
    let live = Live::with_record();
    let first = "/v1/tables/counters/1";
    let patch = |tag: &str, body| live.send("PATCH", first, &[JSON, ("if-match", tag)], body);
    assert_eq!(patch("\"1\"", "{\"value\": 8}").status, 200);
    problem(&patch("\"1\"", "{\"value\": 9}"), 412, "at version \"2\"", "If-Match");
    problem(&patch("W/\"2\"", "{\"value\": 9}"), 412, "at version \"2\"", "If-Match");
    let stale = [("if-match", "\"1\"")];
    problem(&live.send("DELETE", first, &stale, ""), 412, "at version", "read it again");
    problem(&live.send("PUT", first, &[JSON, stale[0]], "{}"), 412, "at version", "read it again");
    assert_eq!(live.body(1), json!({"id": 1, "value": 8}));
    let either = [JSON, ("if-match", "\"1\", \"2\"")];
    assert_eq!(live.send("PUT", first, &either, "{\"value\": 1}").status, 200);

    let absent = "/v1/tables/counters/9";
    let any = ("if-match", "*");
    problem(&live.send("PUT", absent, &[JSON, any], "{}"), 412, "no record 9", "If-None-Match: *");
    problem(
        &live.send("PUT", absent, &[JSON], "{}"),
        404,
        "no record 9",
        "POST /v1/tables/counters",
    );
    problem(&live.send("PATCH", absent, &[JSON], "{}"), 404, "no record 9", "POST");
    let new = [JSON, ("if-none-match", "*")];
    problem(&live.send("PUT", first, &new, "{}"), 412, "at version", "If-None-Match");
    let created = live.send("PUT", absent, &new, "{\"value\": 5}");
    assert_eq!((created.status, created.header("location")), (201, absent));
    assert_eq!(
        live.send("POST", COUNTERS, &[JSON], "{}").header("location"),
        "/v1/tables/counters/10"
    );
}

#[test]
fn what_is_no_record_is_refused_with_what_would_do() {
    let live = Live::with_record();
    let first = "/v1/tables/counters/1";
    let put = |body: &str| live.send("PUT", first, &[JSON], body);
    problem(&put("{\"value\": 7.5}"), 400, "`value` takes int, not `7.5`", "a whole number");
    problem(&put("{\"value\": 9223372036854775808}"), 400, "`value` takes int", "whole number");
    problem(&put("{\"colour\": 1}"), 400, "no attribute `colour`", "configuration");
    problem(&put("{\"vector\": [1]}"), 400, "1 dimensions where the table's have 2", "2 numbers");
    problem(&put("{\"vector\": [1, NaN]}"), 400, "at line 1, column 16", "one object");
    problem(&put("{\"at\": \"noon\"}"), 400, "`at` takes time", "RFC 3339");
    problem(&put("{\"value\": 1,\n}"), 400, "at line 2, column 1", "one object");
    problem(&put("[]"), 400, "no record", "one object");
    problem(&put("{\"id\": 2}"), 400, "`id` is not 1", "the address has it");
    problem(&put("{\"version\": 2}"), 400, "no attribute `version`", "configuration");
    let post = |body: &str| live.send("POST", COUNTERS, &[JSON], body);
    problem(&post("{\"id\": 2}"), 400, "`id`", "the store gives it");
    let long = format!("{{\"label\": \"{}\"}}", "x".repeat((1 << 20) + 100));
    problem(&put(&long), 413, "longer than", "parts");
    let room = format!("{{\"label\": \"{}\"}}", "x".repeat((1 << 20) - 100));
    assert_eq!(put(&room).status, 200);

    for bad in ["0", "01", "x", "-1", "9223372036854775808", "1%2F2"] {
        for method in ["GET", "PUT", "DELETE"] {
            let answer = live.send(method, &format!("{COUNTERS}/{bad}"), &[JSON], "");
            problem(&answer, 400, "is no `id`", "1..9223372036854775807");
        }
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/merge-patch+json"]
    {
        let answer = live.send("PUT", first, &[("content-type", kind)], "{}");
        problem(&answer, 415, kind, "application/json");
    }
    problem(
        &live.send("PATCH", first, &[("content-type", "text/json")], "{}"),
        415,
        "",
        "merge-patch",
    );
    assert_eq!(live.running.get(first).header("etag"), "\"2\"", "one of them was good");
}

#[test]
fn an_address_says_what_it_takes() {
    let live = Live::with_record();
    let allowed = |method: &str, path: &str, allowed: &str| {
        let answer = live.send(method, path, &[JSON], "");
        assert_eq!((answer.status, answer.header("allow")), (405, allowed), "{method} {path}");
    };
    allowed("POST", "/v1/tables/counters/1", "GET, HEAD, PUT, PATCH, DELETE");
    allowed("GET", COUNTERS, "POST");
    allowed("DELETE", COUNTERS, "POST");
    allowed("PUT", "/counters/1", "GET, HEAD");
}

#[test]
fn a_request_sent_again_under_its_name_is_done_once() {
    let live = live();
    let key = |key| [JSON, ("idempotency-key", key)];
    let [first, again] = [0, 1].map(|_| live.send("POST", COUNTERS, &key("a"), "{\"value\": 1}"));
    assert_eq!(first.header("location"), again.header("location"));
    assert_eq!((first.status, first.json()), (again.status, again.json()));
    assert_eq!(
        live.send("POST", COUNTERS, &key("b"), "{}").header("location"),
        "/v1/tables/counters/2"
    );

    let record = "/v1/tables/counters/1";
    let tagged = [JSON, ("idempotency-key", "a"), ("if-match", "\"1\"")];
    for _ in 0..2 {
        // The second time the record no longer has the tag, because of the first.
        let patched = live.send("PATCH", record, &tagged, "{\"value\": 2}");
        assert_eq!((patched.status, patched.header("etag")), (200, "\"3\""));
    }
    for _ in 0..2 {
        let deleted = live.send("DELETE", record, &[("idempotency-key", "a")], "");
        assert_eq!((deleted.status, deleted.header("sakuin-sequence")), (204, "4"));
    }
    problem(&live.send("DELETE", record, &[("idempotency-key", "b")], ""), 404, "no record", "");
    let long = "x".repeat(257);
    problem(&live.send("POST", COUNTERS, &key(&long), "{}"), 400, "Idempotency-Key", "256");
}

/// Threads that each add to one counter many times, reading and writing it in two requests.
#[test]
fn two_clients_lose_no_update() {
    const CLIENTS: u64 = 4;
    const ROUNDS: u64 = 50;
    let live = live();
    live.send("POST", COUNTERS, &[JSON], "{\"value\": 0}");
    let path = "/v1/tables/counters/1";
    let add = || {
        for _ in 0..ROUNDS {
            loop {
                let read = live.running.get(path);
                let value = read.json()["value"].as_u64().unwrap() + 1;
                let headers = [JSON, ("if-match", read.header("etag"))];
                match live
                    .send("PATCH", path, &headers, &json!({ "value": value }).to_string())
                    .status
                {
                    200 => break,
                    412 => {}
                    status => panic!("{status}"),
                }
            }
        }
    };
    thread::scope(|scope| (0..CLIENTS).for_each(|_| drop(scope.spawn(add))));
    assert_eq!(live.body(1)["value"], CLIENTS * ROUNDS);
}

/// Each waits for the disk, and only one of a round can be first; still nobody is sent away.
#[test]
fn a_crowd_at_one_record_is_served_in_turn() {
    const CLIENTS: u64 = 16;
    const ROUNDS: u64 = 12;
    let live = live();
    live.send("POST", COUNTERS, &[JSON], "{\"value\": 0}");
    let write = |client: u64| {
        for round in 0..ROUNDS {
            let body = json!({ "label": format!("{client}/{round}") }).to_string();
            let answer = live.send("PATCH", "/v1/tables/counters/1", &[JSON], &body);
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    };
    let write = &write;
    thread::scope(|scope| (0..CLIENTS).for_each(|client| drop(scope.spawn(move || write(client)))));
    assert_eq!(live.running.get("/v1/tables/counters/1").header("etag"), "\"193\"");
}

#[test]
fn live_tables_are_listed_counted_and_read_by_the_batch() {
    let live = Live::with_record();
    let listed = &live.running.get("/v1/tables").json()["tables"][0];
    assert_eq!(
        *listed,
        json!({"name": "counters", "kind": "live", "key": "{id}", "route": "/counters/{id}", "entries": 1})
    );
    let batch =
        live.send("POST", "/v1/tables/counters:batchGet", &[], "{\"keys\": [\"1\", \"2\", \"x\"]}");
    let answers = &batch.json()["answers"];
    let about = json!({"key": "1", "status": "found", "value": {"id": 1, "value": 7}, "version": "1", "age": 0, "source": "live"});
    assert_eq!(answers[0], about);
    assert_eq!(answers[1], json!({"key": "2", "status": "missing"}));
    assert_eq!(answers[2]["error"]["status"], 400);

    assert_eq!(live.running.metric("sakuin_live_records", "counters"), 1.0);
    assert_eq!(live.running.metric("sakuin_live_commits_total", ""), 1.0);
    assert_eq!(live.running.metric("sakuin_live_read_only", ""), 0.0);
    let ready = live.running.admin("/ready");
    assert_eq!((ready.status, &ready.json()["ready"]), (200, &json!(true)));
    assert_eq!(live.running.get("/health").text(), "ok\n");
}

#[test]
fn records_are_there_after_a_reload_and_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sakuin.toml");
    let configure = |from: &str, to: &str| {
        let text = format!("[server]\nlisten = \"127.0.0.1:0\"\n{}", TABLES.replace(from, to));
        fs::write(&file, text).unwrap();
    };
    configure("", "");
    let start = || Running::start(&Config::read(&file).unwrap(), &limits());
    let running = start();
    let first = "/v1/tables/counters/1";
    assert_eq!(send(&running, "POST", COUNTERS, &[JSON], "{\"value\": 7}").status, 201);
    configure("/counters/{id}", "/elsewhere/{id}");
    running.reloader.reload().unwrap();
    assert_eq!(running.get("/elsewhere/1").json(), json!({"id": 1, "value": 7}));

    configure("\"text\"", "\"int\"");
    let error = running.reloader.reload().unwrap_err();
    assert_eq!(
        error.to_string(),
        "table `counters` cannot be changed while the live tables are open"
    );
    assert!(error.hint().unwrap().contains("restart"));
    assert_eq!(send(&running, "PATCH", first, &[JSON], "{\"label\": \"a\"}").status, 200);

    drop(running);
    configure("", "");
    let running = start();
    let read = running.get(first);
    assert_eq!(
        (read.header("etag"), read.json()),
        ("\"2\"", json!({"id": 1, "value": 7, "label": "a"}))
    );
    let next = send(&running, "POST", COUNTERS, &[JSON], "{}");
    assert_eq!((next.header("etag"), next.header("location")), ("\"3\"", "/v1/tables/counters/2"));
}

#[test]
fn a_full_disk_ends_writing_and_loses_nothing() {
    let Some(disk) = Small::mount() else {
        eprintln!("not run: only root may mount a small disk");
        return;
    };
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nhealth = \"/health\"\n{TABLES}"
    );
    let config = Config::parse(&text, "test.toml", disk.path()).unwrap();
    let running = Running::start(&config, &limits());
    let body = json!({ "value": 1, "label": "x".repeat(200_000) }).to_string();
    let post = || send(&running, "POST", COUNTERS, &[JSON], &body);
    let acknowledged = (0..1000).take_while(|_| post().status == 201).count();
    assert!((1..1000).contains(&acknowledged), "{acknowledged}");

    let refused = send(&running, "PATCH", "/v1/tables/counters/1", &[JSON], "{\"value\": 2}");
    problem(&refused, 503, "disk failed", "reading goes on");
    assert_eq!(refused.header("retry-after"), "60");
    let ready = running.admin("/ready");
    assert_eq!((ready.status, &ready.json()["ready"]), (503, &json!(false)));
    assert!(ready.json()["live_tables_read_only"].is_string());
    assert_eq!(
        (running.get("/health").status, running.get("/health").text()),
        (503, "read-only\n")
    );
    assert_eq!(running.metric("sakuin_live_read_only", ""), 1.0);
    let all_there = |running: &Running| {
        for id in 1..=acknowledged {
            let read = running.get(&format!("{COUNTERS}/{id}"));
            assert_eq!((read.status, &read.json()["value"]), (200, &json!(1)), "{id}");
        }
    };
    all_there(&running);

    drop(running);
    disk.grow();
    let running = Running::start(&config, &limits());
    all_there(&running);
    assert_eq!(send(&running, "POST", COUNTERS, &[JSON], &body).status, 201);
}
