//! Tables kept in step with their database: no answer is older than the bound, whatever happens to the version
//! query, the listener and the connections.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use sakuin::{Cached, Source};

use crate::{
    databases::{Database, Engine, Relay},
    sql_origin::{BY_ID, body, failure, get, open},
};

const QUERY: &str = "query = \"select n from contact where id = $1\"\n";

/// A table of one number a key, with a counter that goes up with every change.
async fn counted(engine: Engine) -> Database {
    let mut database = Database::new(engine).await;
    let sql: &[&str] = match engine {
        Engine::Sqlite => &[
            "create table contact (id integer primary key, n integer)",
            "create table version (n integer)",
            "create trigger t after update on contact begin update version set n = n + 1; end",
        ],
        Engine::Postgres => &[
            "create table contact (id integer primary key, n integer)",
            "create table version (n integer)",
            "create function bump() returns trigger language plpgsql as \
             'begin update version set n = n + 1; return null; end'",
            "create trigger t after update on contact execute function bump()",
        ],
    };
    let data = ["insert into contact values (1, 0), (2, 0)", "insert into version values (0)"];
    for sql in sql.iter().chain(&data) {
        database.execute(sql).await;
    }
    database
}

fn coherent(every: &str, rest: &str) -> String {
    format!(
        "{BY_ID}{QUERY}coherence = {{ version = \"select n from version\", every = \"{every}\"{rest} }}\n",
    )
}

async fn number(table: &Cached, key: &str) -> u64 {
    let body = body(table, key).await;
    body.trim_start_matches("{\"n\":").trim_end_matches('}').parse().unwrap()
}

/// Asks until the answer is as wanted, and says how long that took.
async fn until(table: &Cached, key: &str, wanted: impl Fn(&sakuin::Answer) -> bool) -> Duration {
    let start = Instant::now();
    loop {
        if let Ok(answer) = get(table, key).await
            && wanted(&answer)
        {
            return start.elapsed();
        }
        assert!(start.elapsed() < Duration::from_secs(10), "it never comes true");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_no_tolerance_every_write_is_seen_at_once() {
    for engine in Engine::ALL {
        let mut database = counted(engine).await;
        let table = open(&database.url, &coherent("0s", "")).unwrap();
        for n in 0..50 {
            database.execute(&format!("update contact set n = {n} where id = 1")).await;
            assert_eq!(number(&table, "1").await, n, "{engine:?}");
            let again = get(&table, "1").await.unwrap();
            assert_eq!(again.source, Source::Hit, "the row is asked for only after a change");
        }
        assert_eq!(table.stats().fetches, 50);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_says_by_itself_that_it_changed() {
    let mut database = counted(Engine::Sqlite).await;
    let text = coherent("0s", "").replace("select n from version", "pragma data_version");
    let table = open(&database.url, &text).unwrap();
    for n in 0..50 {
        database.execute(&format!("update contact set n = {n} where id = 1")).await;
        assert_eq!(number(&table, "1").await, n);
        assert_eq!(get(&table, "1").await.unwrap().source, Source::Hit);
    }
}

/// A writer, and readers that fail on one answer older than the bound.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_answer_is_older_than_the_bound() {
    for (engine, every) in
        [(Engine::Sqlite, 0), (Engine::Sqlite, 20), (Engine::Postgres, 0), (Engine::Postgres, 20)]
    {
        let mut database = counted(engine).await;
        let table = Arc::new(open(&database.url, &coherent(&format!("{every}ms"), "")).unwrap());
        // When each number was committed at the latest, in microseconds; and the last of them.
        let (start, count) = (Instant::now(), 80);
        let committed: Arc<Vec<AtomicU64>> =
            Arc::new((0..=count).map(|_| AtomicU64::new(u64::MAX)).collect());
        committed[0].store(0, SeqCst);
        let micros = move || start.elapsed().as_micros() as u64;
        let answers = Arc::<AtomicU64>::default();
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let (table, committed) = (table.clone(), committed.clone());
                let answers = answers.clone();
                tokio::spawn(async move {
                    loop {
                        let asked = micros();
                        let n = number(&table, "1").await as usize;
                        let bound = asked.saturating_sub(every * 1000);
                        if let Some(next) = committed.get(n + 1) {
                            let replaced = next.load(SeqCst);
                            assert!(replaced >= bound, "{n} was replaced at {replaced} < {bound}");
                        } else {
                            return;
                        }
                        answers.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        for n in 1..=count {
            database.execute(&format!("update contact set n = {n} where id = 1")).await;
            committed[n as usize].store(micros(), SeqCst);
            // Let answers be served from what is kept, too.
            let enough = answers.load(SeqCst) + n % 10;
            while n < count && answers.load(SeqCst) < enough {
                tokio::task::yield_now().await;
            }
        }
        for reader in readers {
            reader.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_who_wait_share_one_look_at_the_version() {
    let mut database = counted(Engine::Postgres).await;
    let calls = "create sequence looks";
    database.execute(calls).await;
    database
        .execute(
            "create function look() returns int8 language sql security definer \
             set default_transaction_read_only = off as 'select pg_sleep(0.05); select 1::int8'",
        )
        .await;
    let text = coherent("1m", "").replace("select n from version", "select look() as n");
    let table = Arc::new(open(&database.url, &text).unwrap());
    let start = Instant::now();
    let requests: Vec<_> = (0..1000)
        .map(|_| {
            let table = table.clone();
            tokio::spawn(async move { number(&table, "1").await })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap(), 0);
    }
    assert!(start.elapsed() < Duration::from_secs(2), "one after the other");
    assert_eq!(table.stats().fetches, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_version_cannot_be_read_answers_are_stale_and_say_so() {
    let mut database = counted(Engine::Postgres).await;
    let relay = Relay::start().await;
    let text = format!("{}stale_if_error = \"1h\"", coherent("0s", ""));
    let table = open(&relay.url(&database.name), &text).unwrap();
    assert_eq!(number(&table, "1").await, 0);
    relay.close();
    for _ in 0..20 {
        let answer = get(&table, "1").await.unwrap();
        assert_eq!((answer.source, &answer.body()[..]), (Source::Stale, &b"{\"n\":0}"[..]));
    }
    failure(&table, "2").await;
    database.execute("update contact set n = 5 where id = 1").await;
    relay.reopen();
    until(&table, "1", |answer| answer.source != Source::Stale).await;
    assert_eq!(number(&table, "1").await, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_can_vouch_for_is_gone_in_the_end() {
    let database = counted(Engine::Postgres).await;
    let relay = Relay::start().await;
    let text = format!("{}stale_if_error = \"100ms\"", coherent("0s", ""));
    let table = open(&relay.url(&database.name), &text).unwrap();
    assert_eq!(number(&table, "1").await, 0);
    relay.close();
    let start = Instant::now();
    while get(&table, "1").await.is_ok() {
        assert!(start.elapsed() < Duration::from_secs(10), "it never goes");
        tokio::task::yield_now().await;
    }
    assert!(start.elapsed() >= Duration::from_millis(50));
    failure(&table, "1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notice_is_seen_long_before_the_next_look() {
    let mut database = counted(Engine::Postgres).await;
    let table = open(&database.url, &coherent("10m", ", listen = \"contact\"")).unwrap();
    // The listener expires everything when it begins; from then on the row is a hit.
    for key in ["1", "2"] {
        until(&table, key, |answer| answer.source == Source::Hit).await;
    }
    let mut times = Vec::new();
    for n in 1..=40 {
        let key = if n % 2 == 0 { "1" } else { "" };
        database.execute(&format!("update contact set n = {n}")).await;
        database.execute(&format!("notify contact, '{key}'")).await;
        let wanted = format!("{{\"n\":{n}}}");
        times.push(until(&table, "1", |answer| answer.body() == wanted.as_bytes()).await);
        let other = number(&table, "2").await;
        if key == "1" {
            assert!(other == n - 1 || other == n, "{other}");
        }
    }
    times.sort();
    assert!(times[times.len() - 2] < Duration::from_millis(500), "{times:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_that_was_cut_expires_everything_when_it_is_back() {
    let mut database = counted(Engine::Postgres).await;
    let relay = Relay::start().await;
    let url = relay.url(&database.name);
    let table = open(&url, &coherent("10m", ", listen = \"contact\"")).unwrap();
    until(&table, "1", |answer| answer.source == Source::Hit).await;
    for n in 1..=3 {
        relay.close();
        // The notice falls between two listeners.
        database.execute(&format!("update contact set n = {n}")).await;
        database.execute("notify contact").await;
        relay.reopen();
        let wanted = format!("{{\"n\":{n}}}");
        until(&table, "1", |answer| answer.body() == wanted.as_bytes()).await;
    }
}

/// A number that was taken early and committed late: what `max(n)` misses, a counter does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_comes_late_is_seen() {
    let mut database = counted(Engine::Postgres).await;
    let table = open(&database.url, &coherent("0s", "")).unwrap();
    database.execute("begin").await;
    database.execute("update contact set n = 7 where id = 1").await;
    for _ in 0..3 {
        assert_eq!(number(&table, "1").await, 0);
    }
    database.execute("commit").await;
    assert_eq!(number(&table, "1").await, 7);
}
