//! What a configuration may say: the whole contract, its refusals by line and key, and its printed form.

use std::{path::Path, time::Duration};

use proptest::prelude::*;
use sakuin::{
    Config, ConfigError,
    config::{Ask, CachedTable, Origin, Table},
    document::Document,
};
use sakuin_live::{Durability, IndexKind, Metric, Schema, Type};

/// Everything at once, as it is documented.
const WHOLE: &str = r#"
[origins.lta]
url = "http://127.0.0.1:9100/v3/BusArrival?BusStopCode={stop}"
headers.AccountKey = { env = "PATH" }
headers.X-Stop = "stop {stop}"
timeout = "2s"
rate = { per_second = 10, burst = 20, per_day = 100_000 }

[origins.wiki]
url = "https://example.org/wiki/"
concurrency = 4
max_answer = "8MiB"
ca = "ca.pem"

[origins.directory]
sql = "sqlite://contacts.db"

[origins.crm]
sql = "postgres://reader:s3cret@db/crm"
pool = 8
timeout = "1s"

[tables.timings]
kind = "cached"
origin = "lta"
route = "/api/v1/timings/{stop}"
key.stop = { pattern = "[0-9]{5}" }
map = ".Services | map({no: .ServiceNo})"
ttl = "15s"
stale_while_revalidate = "30s"
stale_if_error = "1h"
strategy = "papaya"
max_bytes = "64MiB"

[tables.contacts]
kind = "cached"
origin = "directory"
route = "/contacts/{id}"
key.id = { range = "1..2147483647" }
query = "select * from contact where id = $1"
ttl = "1m"

[tables.all]
kind = "cached"
origin = "crm"
route = "/contacts"
query = """
select *
from contact"""
rows = "many"
coherence = { version = "select n from contact_version", listen = "contact" }
ttl = "1h"

[tables.wiki]
kind = "cached"
origin = "wiki"
route = "/wiki/"
mode = "rfc9111"

[tables.words]
kind = "packed"
file = "edict.skn"
route = "/words/{key}"

[live]
path = "live.redb"
durability = "interval"

[tables.features]
kind = "live"
attributes.value = { type = "int", index = "equal" }
attributes.at = { type = "time", index = "ordered" }
attributes.label = { type = "text" }
vector = { dimensions = 128 }
route = "/features/{id}"
"#;

fn read(text: &str) -> Result<Config, ConfigError> {
    Config::of_document(&Document::parse(text, "sakuin.toml", Path::new("/srv"))?)
}

fn cached<'c>(config: &'c Config, name: &str) -> &'c CachedTable {
    match &config.tables[name] {
        Table::Cached(table) => table,
        _ => panic!("{name} is packed"),
    }
}

#[test]
fn the_whole_contract_is_read() {
    let config = read(WHOLE).unwrap();
    let Origin::Http(lta) = &config.origins["lta"] else { panic!("lta is HTTP") };
    assert_eq!(lta.headers["accountkey"].value(), std::env::var("PATH").unwrap());
    assert_eq!(lta.timeout, Duration::from_secs(2));
    let rate = lta.rate.as_ref().unwrap();
    assert_eq!((rate.per_second, rate.burst), (10, 20));
    let quota = rate.per_day.as_ref().unwrap();
    assert_eq!((quota.requests, quota.state.to_str()), (100_000, Some("/srv/lta.quota")));
    let Origin::Sql(directory) = &config.origins["directory"] else { panic!("it is SQL") };
    assert_eq!(directory.url.value(), "sqlite:///srv/contacts.db");

    let timings = cached(&config, "timings");
    assert_eq!((timings.origin.as_str(), &timings.ask), ("lta", &Ask::Url));
    assert_eq!(timings.key.check("01012").unwrap().as_str(), "01012");
    let options = &timings.options;
    assert_eq!(options.lifetimes.fresh, Duration::from_secs(15));
    assert_eq!(options.lifetimes.stale_if_error, Duration::from_secs(3600));
    assert_eq!((options.missing, options.wait), (Duration::from_secs(15), Duration::from_secs(3)));
    assert_eq!((options.strategy.name(), options.max_bytes), ("papaya", 64 << 20));

    let all = cached(&config, "all");
    let Ask::Query { many: true, coherence: Some(coherence), .. } = &all.ask else {
        panic!("{:?}", all.ask)
    };
    assert_eq!(coherence.every, Duration::from_secs(1));
    assert_eq!(all.options.lifetimes.stale_while_revalidate, Duration::ZERO);
    assert!(all.key.parts.is_empty());

    assert_eq!(cached(&config, "wiki").ask, Ask::Proxy);
    assert_eq!(config.tables["words"].route(), Some("/words/{key}"));

    let live = config.live.as_ref().unwrap();
    assert_eq!(
        (live.path.to_str(), live.durability),
        (Some("/srv/live.redb"), Durability::Interval)
    );
    let features = &config.tables["features"];
    let schema = Schema::new()
        .with("value", Type::Int, Some(IndexKind::Equal))
        .with("at", Type::Time, Some(IndexKind::Ordered))
        .with("label", Type::Text, None)
        .with_vectors(128, Metric::Cosine);
    assert_eq!((features.schema(), features.route()), (Some(&schema), Some("/features/{id}")));
}

#[test]
fn a_live_table_is_as_safe_as_can_be_unless_told_otherwise() {
    let text = "[live]\npath = \"/l\"\n[tables.t]\nkind = \"live\"\nvector = { dimensions = 2 }";
    assert_eq!(read(text).unwrap().live.unwrap().durability, Durability::Sync);
}

#[test]
fn printed_it_has_every_default_and_no_secret_and_is_the_same_when_read() {
    let config = read(WHOLE).unwrap();
    let printed = config.to_string();
    for line in [
        "headers.accountkey = { env = \"PATH\" }",
        "rate = { per_second = 10, burst = 20, per_day = 100000, state = \"/srv/lta.quota\" }",
        "sql = \"postgres://reader:***@db/crm\"",
        "max_waiters = 16384",
        "ttl_missing = \"15s\"",
        "key.stop = { pattern = \"[0-9]{5}\" }",
        "key.id = { range = \"1..2147483647\" }",
        "max_answer = \"1MiB\"",
        "wait = \"3s\"",
        "mode = \"rfc9111\"",
        "attributes.at = { type = \"time\", index = \"ordered\" }",
        "attributes.label = { type = \"text\" }",
        "vector = { dimensions = 128, metric = \"cosine\" }",
        "durability = \"interval\"",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line} is not in\n{printed}");
    }
    assert!(!printed.contains("s3cret") && !format!("{config:?}").contains("s3cret"));
    assert!(!printed.contains(&std::env::var("PATH").unwrap()));
    let again = read(&printed.replace("***", "s3cret")).unwrap();
    assert_eq!(again, config, "{printed}");
}

#[test]
fn parts_stand_in_the_order_of_the_route() {
    let text = r#"
        [origins.o]
        url = "http://h/{line}/{stop}"
        [tables.t]
        kind = "cached"
        origin = "o"
        route = "/{stop}?line={line}"
        key.line = { range = "1..9" }
        key.stop = { pattern = "[a-z]+" }
        ttl = "1s"
    "#;
    let config = read(text).unwrap();
    assert_eq!(cached(&config, "t").key.to_string(), "{stop}/{line}");
    let config = read(&text.replace("route", "#")).unwrap();
    assert_eq!(cached(&config, "t").key.to_string(), "{line}/{stop}");
}

/// Changes one line of a good configuration and compares error and hint.
#[track_caller]
fn check(from: &str, to: &str, error: &str, hint: &str) {
    const GOOD: &str = r#"[origins.lta]
url = "http://h/{stop}"
rate = { per_second = 10 }
[origins.db]
sql = "sqlite://contacts.db"
[tables.timings]
kind = "cached"
origin = "lta"
route = "/t/{stop}"
key.stop = { pattern = "[0-9]{5}" }
ttl = "15s"
[tables.contacts]
kind = "cached"
origin = "db"
query = "select 1"
ttl = "15s"
[tables.words]
kind = "packed"
file = "w.skn"
[live]
path = "l.redb"
[tables.features]
kind = "live"
attributes.value = { type = "int" }
vector = { dimensions = 2 }
"#;
    assert!(GOOD.contains(from), "{from}");
    read(GOOD).unwrap();
    let refused = read(&GOOD.replacen(from, to, 1)).expect_err(to);
    let message = refused.to_string();
    let hints = refused.hint().unwrap_or_default();
    assert!(message.starts_with("sakuin.toml:") && message.contains(error), "{message}");
    assert!(hints.contains(hint), "{message}\n{hints}");
}

#[test]
fn unknown_names_are_told_with_the_nearest() {
    check("ttl = ", "tll = ", "11: unknown key `tables.timings.tll`", "`ttl`?");
    check("url = ", "uri = ", "2: unknown key `origins.lta.uri`", "`url`?");
    check("per_second", "per_sec", "3: unknown key `origins.lta.rate.per_sec`", "`per_second`?");
    check("sql = ", "pool = ", "unknown key `origins.db.pool`", "");
    check("file = ", "fil = ", "unknown key `tables.words.fil`", "`file`?");
    check("pattern", "patern", "unknown key `tables.timings.key.stop.patern`", "`pattern`?");
    check(
        "\"lta\"",
        "\"lto\"",
        "8: `tables.timings.origin` is `lto`, which is no origin",
        "`lta`?",
    );
}

#[test]
fn missing_keys_are_told_with_what_would_do() {
    check("kind = \"packed\"", "", "17: `tables.words.kind` is missing", "`kind = \"packed\"`");
    check("ttl = \"15s\"\n", "", "6: `tables.timings.ttl` is missing", "`ttl = \"15s\"`");
    check("url = \"http://h/{stop}\"", "", "`origins.lta.url` is missing", "https://");
    check("query = \"select 1\"", "", "`tables.contacts.query` is missing", "select");
    check("per_second = 10", "", "`origins.lta.rate.per_second` is missing", "per_second = 10");
}

#[test]
fn values_of_the_wrong_form_are_told() {
    check("15s", "15", "`15`", "`15s`");
    check("15s", "-15s", "`-15s`", "`15s`");
    check("15s", "0s", "`0s`", "1ms");
    check("\"15s\"", "15", "of type integer", "in quotes");
    check("= 10", "= 0", "`0`", "from 1 to");
    check("packed", "pack", "`pack`", "`packed`, `live` or `cached`");
    check("http://h", "ftp://h", "`ftp://h/{stop}`", "`https://`");
    check("http://h", "http://u:p@h", "an address with a password", "env");
    check("http://h/", "http://{stop}/", "`http://{stop}/{stop}`", "one host");
    check("sqlite:", "mysql:", "no database's address", "postgres");
    check("[0-9]{5}", "[0-9", "unclosed", "pattern");
    check("pattern = \"[0-9]{5}\"", "range = \"9..1\"", "`9..1`", "`1..100`");
    check("pattern = \"[0-9]{5}\"", "", "`{  }`", "pattern");
    check("ttl = ", "strategy = \"lru\"\nttl = ", "`lru`", "`quick_cache`");
    check("ttl = ", "max_bytes = \"1\"\nttl = ", "`1`", "`64MiB`");
    check("rate = ", "headers.\"a b\" = \"x\"\nrate = ", "not possible", "header");
    check("rate = ", "headers.Host = \"x\"\nrate = ", "not possible", "itself");
    check("rate = ", "headers.X = \"a\\nb\"\nrate = ", "no header can hold", "one line");
    check("rate = ", "headers.X = { env = \"SAKUIN_UNSET\" }\nrate = ", "`SAKUIN_UNSET`", "export");
    check("rate = ", "headers.X = { file = \"none\" }\nrate = ", "`none`", "cannot be read");
    check("tables.words", "tables.\"a/b\"", "not possible", "64 letters");
    assert_eq!(
        read("origins = 1").unwrap_err().to_string(),
        "sakuin.toml:1: `origins` is of type integer"
    );
}

#[test]
fn live_tables_are_refused_by_key() {
    check("path = ", "paths = ", "unknown key `live.paths`", "`path`?");
    check("path = ", "durability = ", "`live.path` is missing", "live.redb");
    check("\"l.redb\"", "\"\"", "`live.path` is ``", "live.redb");
    check("path =", "durability = \"fast\"\npath =", "`fast`", "`sync`, `interval`, `none`");
    check("[live]\npath = \"l.redb\"\n", "", "`live` is missing", "`[live]`");
    check("attributes", "attribute", "`tables.features.attribute`", "`attributes`?");
    check("type =", "typ =", "unknown key `tables.features.attributes.value.typ`", "`type`?");
    check("\"int\"", "\"string\"", "`string`", "`int`, `float`, `bool`, `time`, `text`, `bytes`");
    check("{ type = \"int\" }", "{ index = \"equal\" }", "value.type` is missing", "int");
    check("{ type = \"int\" }", "\"int\"", "of type string", "[tables.features.attributes.value]");
    check("\"int\"", "\"int\", index = \"hash\"", "`hash`", "`ordered`");
    check("utes.value", "utes.id", "attributes.id` is not possible", "every record has one");
    check("utes.value", "utes.version", "attributes.version` is not possible", "every record");
    check("utes.value", "utes.vector", "attributes.vector` is not possible", "`vector = {");
    check("utes.value", "utes.\"a b\"", "not possible here", "64 letters");
    check("= 2 }", "= 0 }", "`0`", "1 to 4096");
    check("= 2 }", "= 4097 }", "`4097`", "1 to 4096");
    check(
        "dimensions = 2",
        "metric = \"l2\"",
        "`tables.features.vector.dimensions` is missing",
        "128",
    );
    check("= 2 }", "= 2, metric = \"cos\" }", "`cos`", "`cosine`, `dot`, `l2`");
    check("vector", "route = \"/f/{key}\"\nvector", "/f/{key}", "`/features/{id}`");
    let nothing = "[live]\npath = \"l\"\n[tables.t]\nkind = \"live\"";
    assert!(read(nothing).unwrap_err().to_string().contains("`tables.t.attributes` is missing"));
}

#[test]
fn what_does_not_fit_together_is_told() {
    check("{stop}\"\nkey", "{shop}\"\nkey", "`{shop}` is no part of the key", "`key.shop`");
    check("/t/{stop}", "/t/{stop}/{stop}", "`{stop}` twice", "once");
    check("/t/{stop}", "/t", "without the key's part `stop`", "`?stop={stop}`");
    check("/t/{stop}", "/v1/{stop}", "`/v1/{stop}`", "own");
    check("/t/{stop}", "t/{stop}", "`t/{stop}`", "slash");
    check("h/{stop}", "h/{halt}", "`{halt}` is no part of the key", "`key.NAME`");
    check("h/{stop}", "h/", "never told the key's part `stop`", "`{stop}`");
    check("h/{stop}", "h/{stop", "the brace at byte 9 has no other", "");
    check("ttl = ", "query = \"select 1\"\nttl = ", "`tables.timings.query`", "with `sql`");
    check("query =", "mode = \"rfc9111\"\nquery =", "`tables.contacts.mode`", "no headers");
    check("route =", "mode = \"rfc9111\"\nroute =", "`tables.timings.key`", "headers decide");
    let coherence = "coherence = { version = \"select 1\", listen = \"c\" }\nquery =";
    check("query =", coherence, "listen", "PostgreSQL");
    let route = "file = \"w.skn\"\nroute = \"/t/{key}\"";
    check("file = \"w.skn\"", route, "which is the route of table `timings`", "of its own");
    check("file = \"w.skn\"", "file = \"w\"\nroute = \"/w/{word}\"", "/w/{word}", "`/words/{key}`");
    check("rate = {", "rate = { state = \"s\",", "per_day` is missing", "");
}

proptest! {
    /// Whatever a file holds, it is read or refused, by line.
    #[test]
    fn no_text_breaks_it(text in "(\\[origins\\.a\\]\nurl = \"[a-z:/{}?]{0,12}\"\n)?\
        (\\[tables\\.[a-z\"]{0,3}\\]\n)?(kind = \"(packed|cached|live)\"\n)?([a-z.]{1,6} = [\"{}0-9a-z= ]{0,8}\n){0,3}") {
        let _ = read(&text).map_err(|error| (error.to_string(), error.hint()));
    }
}
