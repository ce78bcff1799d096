//! grpcurl, which knows no protocol file, asks the server what it serves, and calls every method of every service.

use std::{collections::BTreeSet, process::Command};

use crate::{command::Folder, server::Server, tools};

const CONFIG: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[live]\npath = \"live.redb\"\n\
    [tables.features]\nkind = \"live\"\nattributes.value = { type = \"int\", index = \"equal\" }\n\
    vector = { dimensions = 2, metric = \"cosine\" }\n\
    [grpc]\ndb = { table = \"features\", attribute = \"value\" }\n";

/// Method, request, and what the answer has to contain. Records 1 to 3 are made first and 3 is deleted last.
const CALLS: &[(&str, &str, &str)] = &[
    ("db.DB/Add", r#"{"values": [7, 7]}"#, "{}"),
    ("db.DB/Search", r#"{"value": 7}"#, r#""index": 1"#),
    ("db.DB/Update", r#"{"records": [{"index": 1, "value": 8}]}"#, "{}"),
    (
        "sakuin.live.v1.Live/Create",
        r#"{"parent": "tables/features",
            "record": {"values": {"value": {"int": 9}, "vector": {"vector": {"elements": [1, 0]}}}}}"#,
        r#""name": "tables/features/records/3""#,
    ),
    ("sakuin.live.v1.Live/Get", r#"{"name": "tables/features/records/3"}"#, r#""int": "9""#),
    (
        "sakuin.live.v1.Live/BatchGet",
        r#"{"names": ["tables/features/records/2", "tables/features/records/99"]}"#,
        r#""missing": ["#,
    ),
    ("sakuin.live.v1.Live/List", r#"{"parent": "tables/features"}"#, "records/3"),
    (
        "sakuin.live.v1.Live/Search",
        r#"{"parent": "tables/features", "filter": "value = 8"}"#,
        "records/2",
    ),
    (
        "sakuin.live.v1.Live/FindNearest",
        r#"{"parent": "tables/features", "vector": {"vector": {"elements": [1, 1]}}}"#,
        r#""score""#,
    ),
    (
        "sakuin.live.v1.Live/Update",
        r#"{"record": {"name": "tables/features/records/3", "values": {"value": {"int": 10}}}}"#,
        r#""durability": "DURABILITY_SYNC""#,
    ),
    (
        "sakuin.live.v1.Live/UpdateWhere",
        r#"{"parent": "tables/features", "filter": "value = 10",
            "assignments": [{"attribute": "value", "add": {"int": 1}}]}"#,
        r#""ids": ["#,
    ),
    (
        "sakuin.live.v1.Live/Commit",
        r#"{"writes": [{"update": {"record":
            {"name": "tables/features/records/3", "values": {"value": {"int": 12}}}}}]}"#,
        r#""snapshot""#,
    ),
    ("sakuin.live.v1.Live/Watch", r#"{"snapshot": "1"}"#, r#""changes": ["#),
    (
        "sakuin.live.v1.Live/Pipeline",
        r#"{"table": "features", "operations": [{"tag": 5, "get": {"id": 3}}]}"#,
        r#""row""#,
    ),
    ("sakuin.v1.Lookup/Get", r#"{"table": "features", "key": "3"}"#, "SOURCE_LIVE"),
    ("sakuin.v1.Lookup/BatchGet", r#"{"table": "features", "keys": ["1", "99"]}"#, "SOURCE_LIVE"),
    ("grpc.health.v1.Health/Check", "{}", "SERVING"),
    ("grpc.health.v1.Health/Watch", "{}", "SERVING"),
    ("sakuin.live.v1.Live/Delete", r#"{"name": "tables/features/records/3"}"#, r#""snapshot""#),
    ("db.DB/Delete", r#"{"indexes": [0]}"#, "{}"),
];
/// Streams that have no end; they are left after a while.
const ENDLESS: [&str; 2] = ["sakuin.live.v1.Live/Watch", "grpc.health.v1.Health/Watch"];
/// grpcurl itself calls these to learn of the others.
const REFLECTION: [&str; 2] =
    ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];

#[test]
fn every_method_is_listed_and_answers() {
    let folder = Folder::with(&[("sakuin.toml", CONFIG)]);
    let server = Server::start(&folder, &["serve", "sakuin.toml"]);
    let address = server.address.to_string();
    let grpcurl = |arguments: &[&str]| {
        let ran = Command::new(tools::built("grpcurl")).arg("-plaintext").args(arguments).output();
        let ran = ran.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (ran.status.success(), text(ran.stdout), text(ran.stderr))
    };
    let list = |arguments: &[&str]| -> BTreeSet<String> {
        let (ok, out, error) = grpcurl(arguments);
        assert!(ok, "{arguments:?}: {error}");
        out.lines().map(ToOwned::to_owned).collect()
    };

    let services = list(&[&address, "list"]);
    let method = |method: &str| method.replace('/', ".");
    let mut methods = BTreeSet::new();
    for service in services.iter().filter(|service| !REFLECTION.contains(&service.as_str())) {
        methods.extend(list(&[&address, "list", service]));
    }
    let called: BTreeSet<String> = CALLS.iter().map(|(name, ..)| method(name)).collect();
    assert_eq!(methods, called);
    assert!(REFLECTION.iter().any(|service| services.contains(*service)), "{services:?}");

    for (name, request, wanted) in CALLS {
        let is_endless = ENDLESS.contains(name);
        let time = if is_endless { "2" } else { "20" };
        let (ok, out, error) = grpcurl(&["-max-time", time, "-d", request, &address, name]);
        assert!(ok || is_endless, "{name}: {error}");
        assert!(out.contains(wanted), "{name} answered {out}");
    }
}
