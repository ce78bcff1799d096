//! SQL origins: one suite, run on SQLite and on PostgreSQL, and then what only one of them can do.

use std::{path::Path, time::Duration};

use sakuin::{
    Answer, Cached, Config, OpenError, Origins, Source, config::Table, document::Document,
};
use sakuin_cache::{BreakerState, CacheError, Depth, Failure, FailureKind, Purge};
use tokio::runtime::Handle;

use crate::databases::{Database, Engine, Relay};

/// A table over a database.
pub(crate) fn open(url: &str, table: &str) -> Result<Cached, OpenError> {
    let text = format!(
        "[origins.crm]\nsql = \"{url}\"\ntimeout = \"2s\"\n\
         [tables.contacts]\nkind = \"cached\"\norigin = \"crm\"\nttl = \"1h\"\n{table}",
    );
    let document = Document::parse(&text, "sakuin.toml", Path::new("/")).unwrap();
    let config = Config::of_document(&document).unwrap();
    let origins = Origins::open(&config.origins, &Handle::current(), &Handle::current()).unwrap();
    let Table::Cached(table) = &config.tables["contacts"] else { panic!("it is cached") };
    Cached::open("contacts", table, &origins)
}

pub(crate) const BY_ID: &str = "key.id = { range = \"1..2147483648\" }\n";
const BY_NAME: &str = "key.name = { pattern = \".+\" }\n";

pub(crate) async fn get(table: &Cached, key: &str) -> Result<Answer, CacheError> {
    table.answer(&table.key_rule().check(key).unwrap()).await
}

pub(crate) async fn body(table: &Cached, key: &str) -> String {
    let answer = get(table, key).await.unwrap();
    match answer.is_missing() {
        true => "missing".to_owned(),
        false => String::from_utf8(answer.body().to_vec()).unwrap(),
    }
}

pub(crate) async fn failure(table: &Cached, key: &str) -> Failure {
    match get(table, key).await {
        Err(CacheError::Origin(failure)) => failure,
        other => panic!("no failure of the origin: {other:?}"),
    }
}

async fn contacts(engine: Engine) -> Database {
    let mut database = Database::new(engine).await;
    for sql in [
        "create table contact (id integer primary key, firstname text, lastname text not null)",
        "insert into contact values (1, 'Ada', 'Lovelace'), (2, null, 'O''Neill \"q\"'), (7, 'é', '索')",
    ] {
        database.execute(sql).await;
    }
    database
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_row() {
    for engine in Engine::ALL {
        let database = contacts(engine).await;
        let query = "query = \"select id, lastname, firstname from contact where id = $1; \"";
        let table = open(&database.url, &format!("{BY_ID}{query}")).unwrap();
        assert_eq!(body(&table, "1").await, r#"{"id":1,"lastname":"Lovelace","firstname":"Ada"}"#);
        assert_eq!(
            body(&table, "2").await,
            r#"{"id":2,"lastname":"O'Neill \"q\"","firstname":null}"#
        );
        assert_eq!(body(&table, "7").await, r#"{"id":7,"lastname":"索","firstname":"é"}"#);
        assert_eq!(body(&table, "3").await, "missing");
        assert_eq!(get(&table, "1").await.unwrap().source, Source::Hit);
        assert_eq!(get(&table, "3").await.unwrap().source, Source::Hit);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_rows_and_a_mapping() {
    for engine in Engine::ALL {
        let database = contacts(engine).await;
        let all = "rows = \"many\"\nquery = \"select id from contact order by id desc -- all\"";
        let table = open(&database.url, all).unwrap();
        assert_eq!(body(&table, "").await, r#"[{"id":7},{"id":2},{"id":1}]"#);
        let some = format!(
            "{BY_NAME}rows = \"many\"\nmap = \"map(.id)\"\n\
             query = \"select id from contact where firstname = $1\""
        );
        let table = open(&database.url, &some).unwrap();
        assert_eq!(body(&table, "Ada").await, "[1]");
        assert_eq!(body(&table, "Bob").await, "[]");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_bound_and_never_pasted() {
    for engine in Engine::ALL {
        let database = contacts(engine).await;
        let query = "query = \"select id from contact where id = $1\"";
        let by_id = open(&database.url, &format!("{BY_ID}{query}")).unwrap();
        assert_eq!(body(&by_id, "2147483648").await, "missing");
        for key in ["1 OR 1=1", "abc", "01", "-1", "2147483649", "9223372036854775808", ""] {
            by_id.key_rule().check(key).unwrap_err();
        }
        let query = "query = \"select id from contact where lastname = $1 or firstname = $1\"";
        let by_name = open(&database.url, &format!("{BY_NAME}{query}")).unwrap();
        for key in ["1 OR 1=1", "' or ''='", "'; drop table contact; --", "$1", "%"] {
            assert_eq!(body(&by_name, key).await, "missing");
        }
        assert_eq!(body(&by_name, "O'Neill \"q\"").await, r#"{"id":2}"#);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_parts() {
    for engine in Engine::ALL {
        let database = contacts(engine).await;
        let table = format!(
            "route = \"/{{id}}/{{name}}\"\n{BY_ID}{BY_NAME}\
             query = \"select id from contact where firstname = $2 and id = $1\""
        );
        let table = open(&database.url, &table).unwrap();
        assert_eq!(body(&table, "1/Ada").await, r#"{"id":1}"#);
        assert_eq!(body(&table, "2/Ada").await, "missing");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_is_none_is_refused_at_the_start() {
    for engine in Engine::ALL {
        let database = contacts(engine).await;
        for (query, cause) in [
            ("selec id from contact where id = $1", "the database refuses the query: "),
            ("select id from nothing where id = $1", "the database refuses the query: "),
            ("select name from contact where id = $1", "the database refuses the query: "),
            (
                "select id from contact where id = $2",
                "the query wants `$2`, but the key has 1 parts",
            ),
            ("select id from contact", "the query has no `$1`: that part of the key says nothing"),
        ] {
            let error = open(&database.url, &format!("{BY_ID}query = \"{query}\"")).err().unwrap();
            let text = error.to_string();
            let start = format!("cannot open table `contacts`: {cause}");
            assert!(text.starts_with(&start), "{engine:?}: {text}");
        }
        let coherence =
            "query = \"select 1 as n\"\nrows = \"many\"\ncoherence.version = \"select\"";
        let error = open(&database.url, coherence).err();
        if engine == Engine::Sqlite {
            let error = error.unwrap().to_string();
            assert!(error.contains("`coherence.version`: the database refuses"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_can_be_written() {
    for engine in Engine::ALL {
        let mut database = contacts(engine).await;
        database.execute("create table log (id integer)").await;
        if engine == Engine::Postgres {
            database
                .execute(
                    "create function note(n int8) returns int language sql as \
                     'insert into log values (n) returning id'",
                )
                .await;
            let query = format!("{BY_ID}query = \"select note($1) as n\"");
            let table = open(&database.url, &query).unwrap();
            let cause = failure(&table, "1").await.cause;
            assert!(cause.contains("read-only transaction"), "{cause}");
        } else {
            let query = format!("{BY_ID}query = \"insert into log values ($1) returning id\"");
            let table = open(&database.url, &query).unwrap();
            let cause = failure(&table, "1").await.cause;
            assert!(cause.contains("readonly database"), "{cause}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_opens_while_its_database_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let later = folder.path().join("later.db");
    let relay = Relay::start().await;
    relay.close();
    let mut contacts = contacts(Engine::Postgres).await;
    contacts.execute("select 1").await;
    let query = format!("{BY_ID}query = \"select id from contact where id = $1\"");
    for url in [format!("sqlite://{}", later.display()), relay.url(&contacts.name)] {
        let table = open(&url, &query).unwrap();
        let failure = failure(&table, "1").await;
        assert_eq!(failure.kind, FailureKind::Unreachable, "{}", failure.cause);
        if url.starts_with("postgres") {
            relay.reopen();
            assert_eq!(body(&table, "1").await, r#"{"id":1}"#);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_died_cost_nothing() {
    let contacts = contacts(Engine::Postgres).await;
    let relay = Relay::start().await;
    let query = format!("{BY_ID}query = \"select id from contact where id = $1\"");
    let table = open(&relay.url(&contacts.name), &query).unwrap();
    for _ in 0..3 {
        // Three at once, so that as many connections rest.
        let (one, two, three) = tokio::join!(get(&table, "1"), get(&table, "2"), get(&table, "7"));
        for answer in [one, two, three] {
            assert!(matches!(answer.unwrap().source, Source::Miss { .. }));
        }
        relay.cut();
        table.purge(Purge::All, Depth::Hard);
    }
    assert_eq!((table.stats().failures, table.guard_stats().retries), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backends_that_are_ended_in_mid_query() {
    let mut contacts = contacts(Engine::Postgres).await;
    let query = format!("{BY_ID}query = \"select id, pg_sleep(60) from contact where id = $1\"");
    let table = std::sync::Arc::new(open(&contacts.url, &query).unwrap());
    let asking = tokio::spawn({
        let table = table.clone();
        async move { failure(&table, "1").await }
    });
    let end = "do $$ begin loop \
               perform pg_terminate_backend(pid) from pg_stat_activity \
               where query like '%pg_sleep(60)%' and pid <> pg_backend_pid() and state = 'active' \
               and datname = current_database(); \
               exit when found; perform pg_stat_clear_snapshot(); end loop; end $$";
    contacts.execute(end).await;
    // The call is made again on another connection, and meets the time limit there.
    let failure = asking.await.unwrap();
    assert_eq!(failure.kind, FailureKind::TimedOut, "{}", failure.cause);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_takes_too_long_is_ended_by_the_database() {
    for engine in Engine::ALL {
        let mut database = contacts(engine).await;
        let slow = match engine {
            Engine::Sqlite => {
                "with recursive c(n) as (select 1 union all select n + 1 from c) \
                 select count(*) + $1 as n from c"
            }
            Engine::Postgres => "select pg_sleep(60 + $1)::text as n",
        };
        let table = open(&database.url, &format!("{BY_ID}query = \"{slow}\"")).unwrap();
        let failure = failure(&table, "1").await;
        assert_eq!(failure.kind, FailureKind::TimedOut, "{}", failure.cause);
        if engine == Engine::Postgres {
            let gone = "do $$ begin while exists (select from pg_stat_activity \
                        where query like '%60 + $1%' and state = 'active' \
                        and pid <> pg_backend_pid() and datname = current_database()) \
                        loop perform pg_stat_clear_snapshot(); end loop; end $$";
            database.execute(gone).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_goes_and_comes_back() {
    let contacts = contacts(Engine::Postgres).await;
    let relay = Relay::start().await;
    let query = format!("{BY_ID}query = \"select id from contact where id = $1\"");
    let table = open(&relay.url(&contacts.name), &query).unwrap();
    assert_eq!(body(&table, "1").await, r#"{"id":1}"#);
    relay.close();
    table.purge(Purge::All, Depth::Soft);
    for _ in 0..10 {
        let answer = get(&table, "1").await.unwrap();
        assert_eq!((answer.source, &answer.body()[..]), (Source::Stale, &br#"{"id":1}"#[..]));
    }
    while table.guard_stats().breaker != BreakerState::Open {
        failure(&table, "2").await;
    }
    relay.reopen();
    let end = tokio::time::Instant::now() + Duration::from_secs(5);
    while get(&table, "2").await.is_err() {
        assert!(tokio::time::Instant::now() < end, "it never comes back");
        tokio::task::yield_now().await;
    }
    assert_eq!(table.guard_stats().breaker, BreakerState::Closed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_change_under_load() {
    let mut contacts = contacts(Engine::Postgres).await;
    let query = format!("{BY_ID}query = \"select * from contact where id = $1\"");
    let table = open(&contacts.url, &query).unwrap();
    for column in ["a", "b", "c"] {
        contacts.execute(&format!("alter table contact add column {column} integer")).await;
        table.purge(Purge::All, Depth::Hard);
        let body = body(&table, "1").await;
        assert!(body.ends_with(&format!("\"{column}\":null}}")), "{body}");
    }
    assert_eq!(table.stats().failures, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn types_of_postgres() {
    let mut database = Database::new(Engine::Postgres).await;
    for (expression, json) in [
        ("null::text", "null"),
        ("true", "true"),
        ("9007199254740993::int8", "9007199254740993"),
        ("-1::int2", "-1"),
        ("0.1::float8", "0.1"),
        ("1.50::numeric", "1.50"),
        ("123456789012345678901234567890.10::numeric", "123456789012345678901234567890.10"),
        ("'a\"b\nc'::text", r#""a\"b\nc""#),
        ("'{\"b\": [1, null], \"a\": 0.10}'::json", r#"{"b": [1, null], "a": 0.10}"#),
        ("'[1]'::jsonb", "[1]"),
        ("'\\x6869ff'::bytea", "\"aGn/\""),
        ("'2024-08-14 16:41:48+08'::timestamptz", "\"2024-08-14T08:41:48+00:00\""),
        ("'2024-08-14'::date", "\"2024-08-14\""),
        (
            "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
            "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"",
        ),
        ("array[1, 2]", "[1,2]"),
        ("'10.0.0.1'::inet", "\"10.0.0.1\""),
    ] {
        let view = format!("drop view if exists v; create view v as select {expression} as v");
        for sql in view.split("; ") {
            database.execute(sql).await;
        }
        let table = open(&database.url, "query = \"select v from v\"").unwrap();
        assert_eq!(body(&table, "").await, format!("{{\"v\":{json}}}"), "{expression}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn types_of_sqlite() {
    let mut database = Database::new(Engine::Sqlite).await;
    database
        .execute(
            "create table t (n, i integer, b boolean, r real, x text, y blob, d datetime, j json)",
        )
        .await;
    database
        .execute(
            "insert into t values (null, 9007199254740993, 1, 0.5, 'é\"', x'6869ff', \
             '2024-08-14T16:41:48+08:00', '{\"a\":1}'), ('text', -1, 0, 2, 7, null, 5, 1.5)",
        )
        .await;
    let table = open(&database.url, "rows = \"many\"\nquery = \"select * from t\"").unwrap();
    assert_eq!(
        body(&table, "").await,
        "[{\"n\":null,\"i\":9007199254740993,\"b\":true,\"r\":0.5,\"x\":\"é\\\"\",\"y\":\"aGn/\",\
         \"d\":\"2024-08-14T16:41:48+08:00\",\"j\":\"{\\\"a\\\":1}\"},\
         {\"n\":\"text\",\"i\":-1,\"b\":false,\"r\":2.0,\"x\":\"7\",\"y\":null,\"d\":5,\"j\":1.5}]",
    );
}
