//! The OpenAPI description, held against a server: every operation, with every answer it says it can give.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    live_http::{live, send},
    lookup::shop,
    origin::{Origin, cached},
    support::{Answer, Running},
};

/// What a test asked, and by which operation of the description.
struct Walk<'a> {
    description: &'a Value,
    seen: BTreeSet<String>,
}

impl Walk<'_> {
    /// Checks an answer against what the description says of it.
    fn check(&mut self, path: &str, method: &str, answer: &Answer) {
        let (description, status) = (self.description, answer.status.to_string());
        let said = &description["paths"][path][method]["responses"][&status];
        assert!(said.is_object(), "{method} {path} is not said to answer {status}");
        let said = self.resolved(said);
        for (name, header) in said["headers"].as_object().into_iter().flatten() {
            let (header, value) = (self.resolved(header), answer.header(name));
            if header["required"] == true {
                assert!(!value.is_empty(), "{method} {path} {status}: no {name}");
            }
            if !value.is_empty() {
                self.matches(&header["schema"], &json!(value));
            }
        }
        if let Some(kinds) = said["content"].as_object() {
            let (kind, content) = kinds.iter().next().unwrap();
            assert!(
                kind == "*/*" || kind == answer.header("content-type"),
                "{}",
                answer.header("content-type")
            );
            if let Some(schema) = content.get("schema") {
                self.matches(schema, &answer.json());
            }
        }
        self.seen.insert(format!("{method} {path} {status}"));
    }

    fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        match value["$ref"].as_str() {
            Some(reference) => {
                self.description.pointer(reference.trim_start_matches('#')).expect("it is there")
            }
            None => value,
        }
    }

    fn matches(&self, schema: &Value, value: &Value) {
        // The schemas refer to one another by their place in the description.
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "components": self.description["components"],
            "allOf": [schema],
        });
        let validator = jsonschema::validator_for(&whole).expect("the schema is one");
        let errors: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{value}: {errors:?}");
    }
}

const RECORD: &str = "/v1/tables/{table}/{key}";
const TABLE: &str = "/v1/tables/{table}";
const BATCH: &str = "/v1/tables/{table}:batchGet";

#[test]
fn every_operation_answers_as_described() {
    let origin = Origin::start();
    let (packed, cached) = (shop(), cached(&origin, "ttl = \"1h\""));
    let live = live();
    let description = packed.running.get("/v1/openapi.json");
    let json = description.json();
    let mut walk = Walk { description: &json, seen: BTreeSet::new() };
    walk.check("/v1/openapi.json", "get", &description);

    for running in [&packed.running, &cached.running] {
        walk.check("/v1/tables", "get", &running.get("/v1/tables"));
    }
    let mut get = |running: &Running, path: &str, headers: &[(&str, &str)]| {
        let answer = running.get_with(path, headers);
        walk.check(RECORD, "get", &answer);
        answer
    };
    let tag = get(&packed.running, "/v1/tables/prices/tea", &[]).header("etag").to_owned();
    get(&packed.running, "/v1/tables/prices/tea", &[("if-none-match", &tag)]);
    get(&packed.running, "/v1/tables/prices/tea", &[("accept-encoding", "*;q=0")]);
    get(&packed.running, "/v1/tables/prices/none", &[]);
    get(&packed.running, "/v1/tables/prices/a%00", &[]);
    for source in ["miss", "hit"] {
        let answer = get(&cached.running, "/v1/tables/stops/01012", &[]);
        assert_eq!(answer.header("sakuin-source"), source);
    }
    for (key, status) in [("00404", 404), ("00500", 502)] {
        assert_eq!(get(&cached.running, &format!("/v1/tables/stops/{key}"), &[]).status, status);
    }

    let mut batch = |running: &Running, table: &str, body: &str| {
        let answer = running.post(&format!("/v1/tables/{table}:batchGet"), body.as_bytes());
        walk.check(BATCH, "post", &answer);
    };
    batch(&packed.running, "prices", "{\"keys\":[\"tea\",\"none\",\"a\\u0000\"]}");
    batch(&packed.running, "names", "{\"keys\":[\"c\"]}");
    batch(&cached.running, "stops", "{\"keys\":[\"01012\",\"00404\",\"00500\"]}");
    batch(&packed.running, "prices", "[]");
    batch(&packed.running, "none", "{\"keys\":[]}");
    batch(&packed.running, "prices", &json!({ "keys": vec!["x"; 1001] }).to_string());

    let json_body = ("content-type", "application/json");
    let mut write = |path: &str, method: &str, to: &str, headers: &[(&str, &str)], body: &str| {
        let answer = live.send(&method.to_uppercase(), to, &[&[json_body], headers].concat(), body);
        walk.check(path, method, &answer);
    };
    let (all, first, none) =
        ("/v1/tables/counters", "/v1/tables/counters/1", "/v1/tables/counters/7");
    let long = format!("{{\"label\": \"{}\"}}", "x".repeat(2 << 20));
    write(TABLE, "post", all, &[], "{\"value\": 1, \"vector\": [1, 2]}");
    write(TABLE, "post", all, &[], "{\"value\": 0.5}");
    write(TABLE, "post", "/v1/tables/none", &[], "{}");
    write(TABLE, "post", all, &[], &long);
    write(RECORD, "put", first, &[], "{\"at\": \"2026-11-20T12:00:00Z\"}");
    write(RECORD, "put", none, &[("if-none-match", "*")], "{}");
    write(RECORD, "patch", first, &[], "{\"value\": null}");
    for method in ["put", "patch", "delete"] {
        let body = if method == "delete" { "" } else { "{}" };
        write(RECORD, method, first, &[("if-match", "\"0\"")], body);
        write(RECORD, method, "/v1/tables/counters/x", &[], body);
        write(RECORD, method, "/v1/tables/counters/8", &[], body);
    }
    for method in ["put", "patch"] {
        write(RECORD, method, first, &[], &long);
    }
    write(RECORD, "delete", first, &[], "");
    walk.check("/v1/tables", "get", &live.running.get("/v1/tables"));
    walk.check(RECORD, "get", &live.running.get(none));
    for (path, method, to) in [(TABLE, "post", all), (RECORD, "put", none), (RECORD, "patch", none)]
    {
        let other = live.send(&method.to_uppercase(), to, &[("content-type", "text/plain")], "{}");
        walk.check(path, method, &other);
    }
    for (path, method, to) in [
        (TABLE, "post", "/v1/tables/prices"),
        (RECORD, "put", "/v1/tables/prices/tea"),
        (RECORD, "patch", "/v1/tables/prices/tea"),
        (RECORD, "delete", "/v1/tables/prices/tea"),
    ] {
        let other = send(&packed.running, &method.to_uppercase(), to, &[json_body], "");
        walk.check(path, method, &other);
    }

    // What only a broken file, a crowd or a full queue brings about.
    let rare = [
        format!("get {RECORD} 500"),
        format!("get {RECORD} 503"),
        format!("get {RECORD} 504"),
        format!("post {BATCH} 503"),
        // The disk, a crowd of writers, and what was done before.
        format!("post {TABLE} 503"),
        format!("put {RECORD} 204"),
        format!("put {RECORD} 503"),
        format!("patch {RECORD} 204"),
        format!("patch {RECORD} 503"),
        format!("delete {RECORD} 503"),
    ];
    let mut described = BTreeSet::new();
    for (path, methods) in json["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "patch", "delete"] {
            let responses = methods[method]["responses"].as_object();
            for status in responses.into_iter().flat_map(|responses| responses.keys()) {
                described.insert(format!("{method} {path} {status}"));
            }
        }
    }
    let unseen: Vec<_> = described.difference(&walk.seen).collect();
    assert_eq!(unseen, rare.iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
}
