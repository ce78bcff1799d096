//! Tables by name: packed files as the doors see them.

use std::path::Path;

use sakuin::{Config, Source, Tables, document::Document};
use sakuin_pack::{Builder, Content, Duplicates, Options};

fn pack(file: &Path, content: Content, duplicates: Duplicates, pairs: &[(&str, &[u8])]) {
    let mut builder = Builder::new(content, Options::new().duplicates(duplicates));
    for (key, value) in pairs {
        builder.add(key.as_bytes(), value).unwrap();
    }
    builder.write(file).unwrap();
}

fn config(folder: &Path) -> Config {
    let text = "[tables.t]\nkind = \"packed\"\nfile = \"t.skn\"\n";
    Config::of_document(&Document::parse(text, "sakuin.toml", folder).unwrap()).unwrap()
}

/// Packs values of key `k` and compares what a door would send.
#[track_caller]
fn check(content: Content, values: &[&[u8]], content_type: &str, body: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let duplicates = if values.len() > 1 { Duplicates::Keep } else { Duplicates::Error };
    let pairs: Vec<_> = values.iter().map(|value| ("k", *value)).collect();
    pack(&folder.path().join("t.skn"), content, duplicates, &pairs);
    let tables = Tables::open(&config(folder.path())).unwrap();
    let table = tables.table("t").unwrap();
    let ask = |key| table.peek(&table.key_rule().check(key).unwrap()).unwrap().unwrap();
    let answer = ask("k").unwrap();
    let headers = &answer.prepared().representation(|_| true).headers();
    assert_eq!(headers["content-type"], content_type);
    assert_eq!(answer.body(), body);
    assert_eq!((answer.source, answer.age.as_secs()), (Source::Packed, 0));
    assert_eq!(headers["etag"], format!("\"{}\"", answer.version()));
    assert!(ask("absent").is_none());
}

#[test]
fn a_value_is_answered_as_what_it_is() {
    check(Content::Json, &[b"{\"a\": 1.10}"], "application/json", b"{\"a\":1.10}");
    check(Content::Text, &["é\n".as_bytes()], "text/plain; charset=utf-8", "é\n".as_bytes());
    check(Content::Bytes, &[b"\xff\0"], "application/octet-stream", b"\xff\0");
}

#[test]
fn several_values_are_answered_as_an_array() {
    check(Content::Json, &[b"1", b"[2]"], "application/json", b"[1,[2]]");
    check(Content::Text, &[b"a\"", b"b"], "application/json", b"[\"a\\\"\",\"b\"]");
    check(Content::Bytes, &[b"\xff", b"b"], "application/json", b"[\"/w==\",\"Yg==\"]");
}

#[test]
fn what_cannot_be_opened_is_told_with_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let error = Tables::open(&config(folder.path())).err().unwrap();
    assert_eq!(error.to_string(), "cannot open table `t`");
    std::fs::write(folder.path().join("t.skn"), "no table").unwrap();
    Tables::open(&config(folder.path())).err().unwrap();
}

#[test]
fn a_reopened_table_is_the_file_of_now() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.skn");
    pack(&file, Content::Text, Duplicates::Error, &[("k", b"old")]);
    let old = Tables::open(&config(folder.path())).unwrap();
    let same = old.reopen(&config(folder.path())).unwrap();
    pack(&file, Content::Text, Duplicates::Error, &[("k", b"new")]);
    let new = old.reopen(&config(folder.path())).unwrap();
    let ask = |tables: &Tables| {
        let table = tables.table("t").unwrap();
        let answer = table.peek(&table.key_rule().check("k").unwrap()).unwrap().unwrap();
        answer.unwrap().body().clone()
    };
    assert_eq!([ask(&old), ask(&same), ask(&new)], ["old", "old", "new"]);
    assert!(std::sync::Arc::ptr_eq(old.table("t").unwrap(), same.table("t").unwrap()));
}

const LIVE: &str = "[live]\npath = \"live.redb\"\ndurability = \"none\"\n\
    [tables.t]\nkind = \"live\"\nattributes.value = { type = \"int\" }\n";

fn live(folder: &Path, text: &str) -> Config {
    Config::of_document(&Document::parse(text, "sakuin.toml", folder).unwrap()).unwrap()
}

#[test]
fn a_live_table_answers_by_id_as_the_store_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let tables = Tables::open(&live(folder.path(), LIVE)).unwrap();
    let store = tables.store().unwrap();
    store.update(|transaction| transaction.insert("t", [("value", 7.into())])).unwrap();
    let table = tables.table("t").unwrap();
    let answer = table.get("1").unwrap().unwrap();
    assert_eq!(answer.body(), "{\"id\":1,\"value\":7}");
    assert_eq!((answer.source, answer.version()), (Source::Live, "1"));
    assert!(table.get("2").unwrap().is_none());
    for key in ["", "0", "01", "-1", "x", "1.0", "9223372036854775808"] {
        let error = table.get(key).unwrap_err().to_string();
        assert!(error.ends_with("is no `id`: 1..9223372036854775807"), "{error}");
    }
}

/// Reopens live tables of another description: whether the store goes on, or what refuses it.
#[track_caller]
fn reopen(from: &str, to: &str, refused: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let before = Tables::open(&live(folder.path(), LIVE)).unwrap();
    assert!(LIVE.contains(from), "{from}");
    match (before.reopen(&live(folder.path(), &LIVE.replace(from, to))), refused) {
        (Ok(after), None) => {
            let same = |tables: &Tables| std::sync::Arc::as_ptr(tables.store().unwrap());
            assert_eq!(same(&before), same(&after), "{to}");
        }
        (Err(error), Some(refused)) => {
            assert!(error.to_string().contains(refused), "{error}");
            assert!(error.hint().unwrap().contains("restart"), "{error}");
        }
        (outcome, _) => panic!("{to}: {:?}", outcome.err()),
    }
}

#[test]
fn a_store_goes_on_or_its_change_is_refused() {
    reopen("kind", "route = \"/t/{id}\"\nkind", None);
    reopen("live.redb", "other.redb", Some("`[live]`"));
    reopen("none", "sync", Some("`[live]`"));
    reopen("int", "text", Some("table `t`"));
    reopen("[tables.t]", "[tables.s]", Some("table `t`"));
    let two = "[tables.u]\nkind = \"live\"\nvector = { dimensions = 2 }\n[tables.t]";
    reopen("[tables.t]", two, Some("table `u`"));
}

#[test]
fn looking_at_a_configuration_begins_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let tables = Tables::rehearse(&live(folder.path(), LIVE)).unwrap();
    assert_eq!(tables.store().unwrap().snapshot().count("t"), Ok(0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
