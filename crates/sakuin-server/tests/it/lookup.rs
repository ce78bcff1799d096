//! Tables over HTTP: packed ones, whose answers are known beforehand.

use std::path::Path;

use sakuin_pack::{Builder, Content, Duplicates, Options};
use sakuin_server::Config;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Answer, Running, agent, dictionary, limits};

/// A server over three packed tables.
pub(crate) struct Shop {
    pub(crate) running: Running,
    _folder: TempDir,
}

fn pack(file: &Path, content: Content, options: Options, entries: &[(&str, &str)]) {
    let mut builder = Builder::new(content, options);
    for (key, value) in entries {
        builder.add(key.as_bytes(), value.as_bytes()).unwrap();
    }
    builder.write(file).unwrap();
}

const TABLES: &str = r#"
[tables.prices]
kind = "packed"
file = "prices.skn"
route = "/prices/{key}"
[tables.names]
kind = "packed"
file = "names.skn"
route = "/names?of={key}"
[tables.tags]
kind = "packed"
file = "tags.skn"
"#;

pub(crate) fn shop() -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let file = |name| folder.path().join(name);
    let prices = [("tea", "{\"cents\":350}"), ("cake/small", "1"), ("緑茶", "\"茶\"")];
    pack(&file("prices.skn"), Content::Json, Options::new(), &prices);
    pack(&file("names.skn"), Content::Text, Options::new(), &[("a b", "Ann & Bo"), ("c", "<Cy>")]);
    let several = Options::new().duplicates(Duplicates::Keep);
    pack(&file("tags.skn"), Content::Bytes, several, &[("x", "\u{1}"), ("x", "2")]);
    let text = format!("[server]\nlisten = \"127.0.0.1:0\"\n{TABLES}");
    let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
    Shop { running: Running::start(&config, &limits()), _folder: folder }
}

fn problem(answer: &Answer, status: u16) -> String {
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (status, "application/problem+json")
    );
    let problem = answer.json();
    assert_eq!(problem["status"], status);
    assert!(!problem["hint"].as_str().unwrap().is_empty());
    problem["detail"].as_str().unwrap().to_owned()
}

#[test]
fn tables_are_listed() {
    let shop = shop();
    let listed = shop.running.get("/v1/tables").json();
    let names: Vec<_> =
        listed["tables"].as_array().unwrap().iter().map(|table| &table["name"]).collect();
    assert_eq!(names, ["names", "prices", "tags"]);
    let prices = &listed["tables"][1];
    assert_eq!(prices["kind"], "packed");
    assert_eq!(prices["route"], "/prices/{key}");
    assert_eq!((&prices["key"], &prices["entries"]), (&json!("{key}"), &json!(3)));
}

#[test]
fn keys_are_found_by_the_generic_address_and_by_the_route() {
    let shop = shop().running;
    for path in ["/v1/tables/prices/tea", "/prices/tea"] {
        let answer = shop.get(path);
        assert_eq!((answer.status, answer.text()), (200, "{\"cents\":350}"), "{path}");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("sakuin-source"), "packed");
        assert_eq!(answer.header("cache-status"), "");
        assert!(answer.header("etag").starts_with('"'), "{}", answer.header("etag"));
    }
    for (path, body) in [
        ("/v1/tables/prices/cake/small", "1"),
        ("/v1/tables/prices/cake%2Fsmall", "1"),
        ("/prices/cake%2Fsmall", "1"),
        ("/prices/%E7%B7%91%E8%8C%B6", "\"茶\""),
        ("/v1/tables/names/a%20b", "Ann & Bo"),
        ("/names?of=a+b", "Ann & Bo"),
        ("/names?x=1&of=c&of=d", "<Cy>"),
        ("/v1/tables/tags/x", "[\"AQ==\",\"Mg==\"]"),
    ] {
        let answer = shop.get(path);
        assert_eq!((answer.status, answer.text()), (200, body), "{path}");
    }
}

#[test]
fn what_is_not_there_is_refused_with_a_hint() {
    let shop = shop().running;
    let refused = |path: &str, status| problem(&shop.get(path), status);
    assert_eq!(refused("/v1/tables/prizes/tea", 404), "there is no table `prizes`");
    assert_eq!(refused("/v1/tables/prices/coffee", 404), "the table has no key `coffee`");
    assert_eq!(refused("/prices/%ff", 400), "the key is not UTF-8");
    assert_eq!(refused("/prices/a%00b", 400), "`a\\0b` is no `key`: no control characters");
    refused(&format!("/prices/{}", "x".repeat(2000)), 400);
    assert_eq!(refused("/elsewhere", 404), "nothing is served at this address");
    assert_eq!(refused("/names?off=c", 400), "`` is no `key`: any text");
    assert_eq!(
        refused(&format!("/prices/{}", "x".repeat(9000)), 414),
        "the address is longer than 8192 bytes"
    );
    let posted = shop.post("/prices/tea", b"");
    problem(&posted, 405);
    assert_eq!(posted.header("allow"), "GET, HEAD");
    assert_eq!(shop.get("/v1/tables/prices:batchGet").header("allow"), "POST");
}

#[test]
fn a_head_is_a_get_without_its_body() {
    let shop = shop().running;
    for path in ["/prices/tea", "/prices/none", "/v1/tables"] {
        let url = format!("http://{}{path}", shop.address);
        let (get, head) = (shop.get(path), Answer::read(agent().head(url).call().unwrap()));
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.body, b"", "{path}");
        assert_eq!(head.header("content-length"), get.body.len().to_string(), "{path}");
        assert_eq!(head.header("etag"), get.header("etag"), "{path}");
    }
}

#[test]
fn a_client_that_has_the_answer_gets_none() {
    let shop = shop().running;
    let tag = shop.get("/prices/tea").header("etag").to_owned();
    for known in [tag.clone(), format!("W/{tag}"), format!("\"a\", {tag}"), "*".to_owned()] {
        let answer = shop.get_with("/prices/tea", &[("if-none-match", &known)]);
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{known}");
        assert_eq!((answer.header("etag"), answer.header("sakuin-source")), (&*tag, "packed"));
    }
    for known in ["\"a\"", tag.trim_matches('"'), "\"\""] {
        assert_eq!(
            shop.get_with("/prices/tea", &[("if-none-match", known)]).status,
            200,
            "{known}"
        );
    }
    assert_eq!(shop.get_with("/prices/none", &[("if-none-match", "*")]).status, 404);
}

#[test]
fn no_coding_is_refused_if_the_client_takes_none() {
    let shop = shop().running;
    let detail = problem(&shop.get_with("/prices/tea", &[("accept-encoding", "*;q=0")]), 406);
    assert_eq!(detail, "the answer has no coding that the request accepts");
    assert_eq!(shop.get_with("/prices/tea", &[("accept-encoding", "gzip, br")]).status, 200);
}

#[test]
fn many_keys_are_answered_in_their_order() {
    let shop = shop().running;
    let batch = |table: &str, keys: &[&str]| -> Value {
        let path = format!("/v1/tables/{table}:batchGet");
        let answer = shop.post(&path, json!({ "keys": keys }).to_string().as_bytes());
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
        answer.json()
    };
    let version = shop.get("/prices/tea").header("etag").trim_matches('"').to_owned();
    let answers = batch("prices", &["tea", "none", "a\nb", "tea"]);
    assert_eq!(answers["table"], "prices");
    let tea = json!({"key": "tea", "status": "found", "value": {"cents": 350}, "version": version,
        "age": 0, "source": "packed"});
    assert_eq!(answers["answers"][0], tea);
    assert_eq!(answers["answers"][1], json!({"key": "none", "status": "missing"}));
    assert_eq!(answers["answers"][2]["status"], "error");
    assert_eq!(answers["answers"][2]["error"]["status"], 400);
    assert_eq!(answers["answers"][3], tea);
    assert_eq!(batch("names", &["c"])["answers"][0]["text"], "<Cy>");
    assert_eq!(batch("tags", &["x"])["answers"][0]["value"], json!(["AQ==", "Mg=="]));
    assert_eq!(batch("names", &[])["answers"], json!([]));
}

#[test]
fn a_batch_is_bounded() {
    let shop = shop().running;
    let refused =
        |body: &[u8], status| problem(&shop.post("/v1/tables/prices:batchGet", body), status);
    assert!(
        refused(b"{\"keys\":[1]}", 400).starts_with("the body is no list of keys: invalid type")
    );
    assert!(refused(b"{\"key\":[]}", 400).contains("unknown field `key`"));
    let keys = json!({ "keys": vec!["x"; 1001] }).to_string();
    assert_eq!(refused(keys.as_bytes(), 413), "there are 1001 keys, and 1000 is the most");
    refused(&vec![b' '; (1 << 20) + 1], 413);
    problem(&shop.post("/v1/tables/none:batchGet", b"{}"), 404);
}

#[test]
fn the_answers_of_a_batch_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(1 << 20);
    pack(&folder.path().join("long.skn"), Content::Text, Options::new(), &[("a", &long)]);
    let text =
        "[server]\nlisten = \"127.0.0.1:0\"\n[tables.long]\nkind = \"packed\"\nfile = \"long.skn\"";
    let config = Config::parse(text, "test.toml", folder.path()).unwrap();
    let running = Running::start(&config, &limits());
    let keys = json!({ "keys": vec!["a"; 20] }).to_string();
    let answers = running.post("/v1/tables/long:batchGet", keys.as_bytes()).json();
    let statuses: Vec<_> =
        answers["answers"].as_array().unwrap().iter().map(|one| one["status"].clone()).collect();
    assert_eq!(statuses.iter().filter(|status| *status == "found").count(), 16);
    assert_eq!(answers["answers"][19]["error"]["status"], 413);
}

#[test]
fn a_route_does_not_hide_the_site() {
    let folder = tempfile::tempdir().unwrap();
    pack(&folder.path().join("a.skn"), Content::Text, Options::new(), &[("a", "b")]);
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[reader]\ndictionary = {:?}\n\
             [tables.a]\nkind = \"packed\"\nfile = \"a.skn\"\nroute = \"/?id={{key}}\"",
        dictionary()
    );
    let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
    let running = Running::start(&config, &limits());
    assert_eq!(running.get("/?id=a").text(), "b");
    assert_eq!(running.get("/?id=c").status, 404);
    assert!(running.get("/?other=1").header("content-type").starts_with("text/html"));
}
