//! Cached tables of a configuration that changes: what is still right is kept, and nothing is asked twice.

use std::{path::Path, sync::Arc, time::Duration};

use sakuin::{Answer, AnswerError, Config, OpenError, Source, Tables, document::Document};

use crate::loopback::{Loopback, json};

const CONFIG: &str = r#"
    [origins.bus]
    url = "http://@/stops?id={stop}"

    [tables.stops]
    kind = "cached"
    origin = "bus"
    route = "/stops/{stop}"
    key.stop = { pattern = "[0-9]+" }
    map = "."
    ttl = "1h"
"#;

async fn start() -> (Loopback, Config) {
    let loopback = Loopback::start(|number, _| json(&number.to_string())).await;
    let config = config(&loopback, CONFIG);
    (loopback, config)
}

fn config(loopback: &Loopback, text: &str) -> Config {
    let text = text.replace('@', &loopback.address().to_string());
    let document = Document::parse(&text, "sakuin.toml", Path::new("/")).unwrap();
    Config::of_document(&document).unwrap()
}

async fn get(tables: &Tables, key: &str) -> Result<Answer, AnswerError> {
    let table = tables.table("stops").unwrap();
    let key = table.key_rule().check(key)?;
    Ok(table.answer(&key).await?.unwrap())
}

/// The answer for key 1 and where it was from.
async fn first(tables: &Tables) -> (String, Source) {
    let answer = get(tables, "1").await.unwrap();
    (String::from_utf8(answer.body().to_vec()).unwrap(), answer.source)
}

/// Changes the configuration of tables that know key 1: whether the table is the same one, and whether it still
/// knows the answer.
async fn check(from: &str, to: &str, is_same: bool, knows: bool) {
    let (loopback, config_before) = start().await;
    let before = Tables::open(&config_before).unwrap();
    assert_eq!(first(&before).await, ("0".to_owned(), Source::Miss { collapsed: false }));
    assert!(CONFIG.contains(from), "{from}");
    let after = before.reopen(&config(&loopback, &CONFIG.replace(from, to))).unwrap();
    let same = Arc::ptr_eq(before.table("stops").unwrap(), after.table("stops").unwrap());
    assert_eq!(same, is_same, "{to}");
    let (body, source) = first(&after).await;
    assert_eq!((body == "0", source == Source::Hit), (knows, knows), "{to}: {body} {source:?}");
    // Those who still use what was before are answered as before.
    drop(after);
    assert_eq!(first(&before).await, ("0".to_owned(), Source::Hit));
}

#[tokio::test]
async fn what_is_the_same_goes_on() {
    check("map", "map", true, true).await;
    check("/stops/{stop}\"", "/s/{stop}\"", true, true).await;
}

#[tokio::test]
async fn another_way_of_keeping_takes_the_entries_over() {
    check("ttl = \"1h\"", "ttl = \"2h\"", false, true).await;
    check("ttl", "strategy = \"moka\"\nttl", false, true).await;
}

#[tokio::test]
async fn another_answer_is_asked_for_anew() {
    check("map = \".\"", "map = \". + 1\"", false, false).await;
    check("[0-9]+", "[0-9]{1}", false, false).await;
    check("[tables", "timeout = \"1s\"\n[tables", false, false).await;
}

#[tokio::test]
async fn a_failed_reopening_changes_nothing() {
    let (loopback, config_before) = start().await;
    let before = Tables::open(&config_before).unwrap();
    first(&before).await;
    let bad = config(&loopback, &CONFIG.replace("map = \".\"", "map = \"{\""));
    let error = before.reopen(&bad).err().unwrap();
    assert!(matches!(&error, OpenError::Table { table, .. } if table == "stops"), "{error}");
    assert_eq!(first(&before).await.1, Source::Hit);
}

#[tokio::test]
async fn a_key_of_another_form_never_reaches_the_origin() {
    let (loopback, config) = start().await;
    let tables = Tables::open(&config).unwrap();
    let error = get(&tables, "1 OR 1=1").await.unwrap_err();
    assert_eq!(error.to_string(), "`1 OR 1=1` is no `stop`: [0-9]+");
    assert_eq!(loopback.calls(), 0);
}

#[tokio::test]
async fn tables_may_be_dropped_on_an_event_loop_and_by_their_last_user() {
    let (_loopback, config) = start().await;
    let tables = Tables::open(&config).unwrap();
    let table = tables.table("stops").unwrap().clone();
    let origins = tables.origins().unwrap();
    assert_eq!(origins.guard_stats().count(), 1);
    drop(tables);
    let key = table.key_rule().check("1").unwrap();
    let late = tokio::time::timeout(Duration::from_secs(10), table.answer(&key)).await;
    late.expect("it ends").unwrap_err();
}

#[tokio::test]
async fn a_caching_proxy_stands_beside_the_tables() {
    const PROXY: &str = r#"
        [origins.wiki]
        url = "http://@/"
        [tables.wiki]
        kind = "cached"
        origin = "wiki"
        mode = "rfc9111"
        route = "/wiki/"
    "#;
    let (loopback, _) = start().await;
    let before = Tables::open(&config(&loopback, PROXY)).unwrap();
    let proxy = |tables: &Tables| {
        assert!(tables.table("wiki").is_none() && tables.iter().next().is_none());
        let (name, proxy) = tables.proxies().next().unwrap();
        assert!(name == "wiki" && proxy.covers("/wiki/Main") && !proxy.covers("/other"));
        proxy.clone()
    };
    let same = before.reopen(&config(&loopback, PROXY)).unwrap();
    assert!(Arc::ptr_eq(&proxy(&before), &proxy(&same)));
    let roomier = PROXY.replace("route", "max_bytes = \"1GiB\"\nroute");
    let other = before.reopen(&config(&loopback, &roomier)).unwrap();
    assert!(!Arc::ptr_eq(&proxy(&before), &proxy(&other)));
}

#[test]
fn programs_that_are_not_async_wait_for_the_answer() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_loopback, config) = runtime.block_on(start());
    let tables = Tables::open(&config).unwrap();
    let table = tables.table("stops").unwrap();
    assert_eq!(table.get("7").unwrap().unwrap().body(), "0");
    assert_eq!(table.get("7").unwrap().unwrap().source, Source::Hit);
    assert!(matches!(table.get("x").unwrap_err(), AnswerError::Key(_)));
    assert_eq!(table.stats().unwrap().fetches, 1);
}
