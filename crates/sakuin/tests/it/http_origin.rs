//! An HTTP origin on its bad days: what is slow, wrong, cut or endless is a failure that says so, and harms
//! nothing else.

use std::{
    io::Write,
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use flate2::{Compression, write::GzEncoder};
use sakuin::{Answer, Cached, Config, Origins, Source, config::Table, document::Document};
use sakuin_cache::{CacheError, Depth, Failure, FailureKind, Purge};
use tokio::{runtime::Handle, sync::Semaphore};

use crate::loopback::{Act, Loopback, Received, answer, head, json, until};

/// Tables of a configuration; `@` stands for the origin's address.
struct Opened {
    _origins: Origins,
    tables: Vec<Cached>,
}

const TABLE: &str = r#"
    [tables.stops]
    kind = "cached"
    origin = "lta"
    key.stop = { pattern = ".+" }
    ttl = "1h"
"#;

fn origin_and_table(origin: &str, table: &str) -> String {
    format!("[origins.lta]\nurl = \"http://@/stops?id={{stop}}\"\n{origin}\n{TABLE}{table}")
}

fn open_text(text: &str, loopback: &Loopback) -> Opened {
    let text = text.replace('@', &loopback.address().to_string());
    let document = Document::parse(&text, "sakuin.toml", Path::new("/")).unwrap();
    let config = Config::of_document(&document).unwrap();
    let origins = Origins::open(&config.origins, &Handle::current(), &Handle::current()).unwrap();
    let tables = config.tables.iter().map(|(name, table)| {
        let Table::Cached(table) = table else { panic!("`{name}` is cached") };
        Cached::open(name, table, &origins).unwrap()
    });
    Opened { tables: tables.collect(), _origins: origins }
}

/// A table over an origin with a mapping that takes any JSON.
fn open(loopback: &Loopback) -> Cached {
    open_with(loopback, "timeout = \"5s\"", "map = \".\"")
}

fn open_with(loopback: &Loopback, origin: &str, table: &str) -> Cached {
    open_text(&origin_and_table(origin, table), loopback).tables.remove(0)
}

async fn get(table: &Cached, key: &str) -> Result<Answer, CacheError> {
    table.answer(&table.key_rule().check(key).unwrap()).await
}

async fn body(table: &Cached, key: &str) -> String {
    String::from_utf8(get(table, key).await.unwrap().body().to_vec()).unwrap()
}

async fn failure(table: &Cached, key: &str) -> Failure {
    match get(table, key).await {
        Err(CacheError::Origin(failure)) => failure,
        other => panic!("no failure of the origin: {other:?}"),
    }
}

/// One request that ends in a failure of this kind and cause.
async fn check_failure(acts: Vec<Act>, kind: FailureKind, cause: &str) {
    let loopback = Loopback::start(move |_, _| acts.clone()).await;
    let table = open_with(&loopback, "timeout = \"300ms\"\nmax_answer = \"64KiB\"", "map = \".\"");
    let failure = failure(&table, "1").await;
    assert_eq!((failure.kind, failure.cause.as_str()), (kind, cause));
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut coder = GzEncoder::new(Vec::new(), Compression::best());
    coder.write_all(plain).unwrap();
    coder.finish().unwrap()
}

#[tokio::test]
async fn an_answer_is_asked_for_once_mapped_and_kept() {
    let loopback = Loopback::start(|_, _| json(r#"{"buses": ["15"]}"#)).await;
    let table = open_with(&loopback, "", "map = \".buses[0] + $key\"");
    let key = table.key_rule().check("01012").unwrap();
    assert!(table.peek(&key).is_none());
    let answer = table.answer(&key).await.unwrap();
    assert_eq!(
        (&answer.body()[..], answer.source),
        (&b"\"1501012\""[..], Source::Miss { collapsed: false })
    );
    assert_eq!(table.peek(&key).unwrap().source, Source::Hit);
    assert_eq!(table.answer(&key).await.unwrap().source, Source::Hit);
    assert_eq!(loopback.calls(), 1);
    let received = &loopback.received()[0];
    assert_eq!(received.path, "/stops?id=01012");
    assert_eq!(received.header("accept-encoding"), Some("gzip"));
}

#[tokio::test]
async fn a_key_means_nothing_in_a_url() {
    let loopback = Loopback::start(|_, _| json("1")).await;
    let table = open(&loopback);
    body(&table, "1&id=2#x/../é").await;
    assert_eq!(loopback.received()[0].path, "/stops?id=1%26id%3D2%23x%2F..%2F%C3%A9");
}

#[tokio::test]
async fn headers_and_secrets_are_sent_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "s3cr3t\n").unwrap();
    let loopback = Loopback::start(|number, _| match number {
        0 => json("1"),
        _ => answer("403 Forbidden", &[], "s3cr3t"),
    })
    .await;
    let origin = format!(
        "headers.AccountKey = {{ file = {secret:?} }}\nheaders.X-Stop = \"stop {{stop}}\"",
    );
    let table = open_with(&loopback, &origin, "");
    assert_eq!(body(&table, "7").await, "1");
    let received = &loopback.received()[0];
    assert_eq!(received.header("accountkey"), Some("s3cr3t"));
    assert_eq!(received.header("x-stop"), Some("stop 7"));
    let failure = failure(&table, "8").await;
    assert_eq!(failure.kind, FailureKind::Denied);
    assert_eq!(failure.cause, "the origin answered 403 Forbidden: look at the key we send");
}

#[tokio::test]
async fn slow_headers() {
    let late = "no whole answer within 300ms";
    check_failure(vec![Act::Hang], FailureKind::TimedOut, late).await;
}

#[tokio::test]
async fn slow_body() {
    let acts = vec![Act::Send(head("200 OK", &[], 10)), Act::Send(b"[1".into()), Act::Hang];
    check_failure(acts, FailureKind::TimedOut, "no whole answer within 300ms").await;
}

#[tokio::test]
async fn reset_before_the_answer() {
    let cause = "no answer: Connection reset by peer (os error 104)";
    check_failure(vec![Act::Reset], FailureKind::Unreachable, cause).await;
}

#[tokio::test]
async fn closed_before_the_answer() {
    let cause = "no answer: connection closed before message completed";
    check_failure(vec![Act::Close], FailureKind::Unreachable, cause).await;
}

#[tokio::test]
async fn a_cut_body() {
    let acts = vec![Act::Send(head("200 OK", &[], 10)), Act::Send(b"[1".into()), Act::Close];
    let cause = "the answer was cut: end of file before message length reached";
    check_failure(acts, FailureKind::Unreachable, cause).await;
}

#[tokio::test]
async fn a_cut_body_in_chunks() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[1\r\n".to_vec();
    let cause = "the answer was cut: unexpected EOF during chunk size line";
    check_failure(vec![Act::Send(head), Act::Close], FailureKind::Unreachable, cause).await;
}

#[tokio::test]
async fn a_length_that_says_too_little() {
    let acts = vec![Act::Send(head("200 OK", &[], 3)), Act::Send(b"[1, 2, 3]".into())];
    let cause =
        "table `stops`: the answer is no JSON: EOF while parsing a value at line 1 column 3";
    check_failure(acts, FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn no_http_at_all() {
    let cause = "no answer: invalid HTTP version parsed";
    check_failure(vec![Act::Send(b"220 mail\r\n\r\n".into())], FailureKind::Unreachable, cause)
        .await;
}

#[tokio::test]
async fn too_many_headers() {
    let mut acts = vec![Act::Send(b"HTTP/1.1 200 OK\r\n".into())];
    acts.extend((0..500).map(|at| Act::Send(format!("x-{at}: {at}\r\n").into_bytes())));
    acts.push(Act::Send(b"\r\n".into()));
    let cause = "no answer: message head is too large";
    check_failure(acts, FailureKind::Unreachable, cause).await;
}

#[tokio::test]
async fn ten_megabytes_announced() {
    let acts = vec![Act::Send(head("200 OK", &[], 10 << 20)), Act::Hang];
    let cause = "the answer is longer than 65536 bytes (`max_answer`)";
    check_failure(acts, FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn a_body_without_end() {
    let head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    let acts = vec![Act::Send(head), Act::Flood(vec![b' '; 1 << 16])];
    let cause = "the answer is longer than 65536 bytes (`max_answer`)";
    check_failure(acts, FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn gzip_is_read() {
    let coded = gzip(b"[1, 2]");
    let loopback =
        Loopback::start(move |_, _| answer("200 OK", &["content-encoding: gzip"], &coded)).await;
    assert_eq!(body(&open(&loopback), "1").await, "[1,2]");
}

#[tokio::test]
async fn a_gzip_bomb() {
    let bomb = gzip(&vec![b' '; 40 << 20]);
    assert!(bomb.len() < 64 << 10);
    let cause = "the answer is longer than 65536 bytes (`max_answer`)";
    let acts = answer("200 OK", &["content-encoding: gzip"], bomb);
    check_failure(acts, FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn a_gzip_that_is_none() {
    let cause = "the answer is no gzip: unexpected end of file";
    let acts = answer("200 OK", &["content-encoding: gzip"], "[1]");
    check_failure(acts, FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn a_coding_that_nobody_asked_for() {
    // Four bytes of magic and a frame to skip, which a decoder would follow for as long as they come.
    let cause = "the answer has a coding that we did not ask for";
    let acts = answer("200 OK", &["content-encoding: zstd"], b"\x50\x2a\x4d\x18\xff\xff\xff\x7f");
    check_failure(acts, FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn html_with_200() {
    let acts = answer("200 OK", &["content-type: text/html; charset=utf-8"], "<html>");
    let cause = "table `stops`: the answer is HTML where JSON was expected";
    check_failure(acts, FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn no_json_with_200() {
    let cause = "table `stops`: the answer is no JSON: expected value at line 1 column 1";
    check_failure(json("oops"), FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn no_utf8() {
    let cause =
        "table `stops`: the answer is no JSON: invalid utf-8 sequence of 1 bytes from index 1";
    check_failure(answer("200 OK", &[], b"\"\xff\""), FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn fifty_thousand_levels() {
    let cause = "table `stops`: the answer is nested deeper than 128 levels";
    check_failure(json(&"[".repeat(50_000)), FailureKind::BadAnswer, cause).await;
}

#[tokio::test]
async fn an_empty_200_is_null() {
    for acts in
        [answer("200 OK", &[], ""), vec![Act::Send(b"HTTP/1.1 204 No Content\r\n\r\n".into())]]
    {
        let loopback = Loopback::start(move |_, _| acts.clone()).await;
        assert_eq!(body(&open(&loopback), "1").await, "null");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let cause =
        "the origin answered 302 Found, and redirects are not followed: name the last address";
    let acts = answer("302 Found", &["location: /stops?id=1"], "");
    check_failure(acts, FailureKind::Denied, cause).await;
}

#[tokio::test]
async fn statuses_that_are_no_answers() {
    use FailureKind::{BadAnswer, Denied, Refused};
    for (status, kind) in [
        ("206 Partial Content", BadAnswer),
        ("304 Not Modified", BadAnswer),
        ("400 Bad Request", Denied),
        ("405 Method Not Allowed", Denied),
        ("408 Request Timeout", Refused),
        ("429 Too Many Requests", Refused),
        ("500 Internal Server Error", Refused),
        ("502 Bad Gateway", Refused),
        ("503 Service Unavailable", Refused),
    ] {
        let mut acts = answer(status, &["connection: close"], "");
        acts.push(Act::Close);
        check_failure(acts, kind, &format!("the origin answered {status}")).await;
    }
}

#[tokio::test]
async fn not_found_is_an_answer() {
    for status in ["404 Not Found", "410 Gone"] {
        let loopback = Loopback::start(move |_, _| answer(status, &[], "nothing")).await;
        let table = open(&loopback);
        assert!(get(&table, "99999").await.unwrap().is_missing());
        let again = get(&table, "99999").await.unwrap();
        assert_eq!((again.is_missing(), again.source), (true, Source::Hit));
        assert_eq!(loopback.calls(), 1);
    }
}

#[tokio::test]
async fn a_failure_is_tried_again() {
    let loopback = Loopback::start(|number, _| match number {
        0 => answer("500 Internal Server Error", &[], ""),
        _ => json("1"),
    })
    .await;
    assert_eq!(body(&open(&loopback), "1").await, "1");
    assert_eq!(loopback.calls(), 2);
}

#[tokio::test]
async fn retry_after_in_seconds_keeps_everybody_away() {
    let acts = answer("429 Too Many Requests", &["retry-after: 30"], "");
    let loopback = Loopback::start(move |_, _| acts.clone()).await;
    let table = open(&loopback);
    assert_eq!(failure(&table, "1").await.retry_after, Some(Duration::from_secs(30)));
    let other = failure(&table, "2").await;
    assert_eq!(other.kind, FailureKind::Guarded);
    let wait = other.retry_after.unwrap();
    assert!(wait > Duration::from_secs(25) && wait <= Duration::from_secs(30), "{wait:?}");
    assert_eq!(loopback.calls(), 1);
}

#[tokio::test]
async fn retry_after_as_a_date() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
    let header = format!("retry-after: {date}");
    let loopback =
        Loopback::start(move |_, _| answer("503 Service Unavailable", &[&header], "")).await;
    let wait = failure(&open(&loopback), "1").await.retry_after.unwrap();
    assert!(wait > Duration::from_secs(90) && wait <= Duration::from_secs(100), "{wait:?}");
}

#[tokio::test]
async fn a_failure_never_replaces_an_answer() {
    for status in ["401 Unauthorized", "403 Forbidden", "500 Internal Server Error", "302 Found"] {
        let loopback = Loopback::start(move |number, _| match number {
            0 => json("1"),
            _ => answer(status, &[], ""),
        })
        .await;
        let table = open(&loopback);
        body(&table, "1").await;
        table.purge(Purge::All, Depth::Soft);
        let stale = get(&table, "1").await.unwrap();
        assert_eq!((&stale.body()[..], stale.source), (&b"1"[..], Source::Stale), "{status}");
        assert!(loopback.calls() >= 2);
    }
}

#[tokio::test]
async fn validators_are_sent_and_a_304_prolongs() {
    let date = "Wed, 14 Aug 2024 16:41:48 GMT";
    let loopback = Loopback::start(move |_, received| {
        let known = received.header("if-none-match") == Some("\"v1\"")
            && received.header("if-modified-since") == Some(date);
        match known {
            true => vec![Act::Send(b"HTTP/1.1 304 Not Modified\r\n\r\n".into())],
            false => answer("200 OK", &["etag: \"v1\"", &format!("last-modified: {date}")], "[1]"),
        }
    })
    .await;
    let table = open(&loopback);
    assert_eq!(body(&table, "1").await, "[1]");
    for _ in 0..2 {
        table.purge(Purge::Key("1"), Depth::Soft);
        let answer = get(&table, "1").await.unwrap();
        assert_eq!(
            (&answer.body()[..], answer.source),
            (&b"[1]"[..], Source::Miss { collapsed: false })
        );
    }
    assert_eq!(table.stats().failures, 0);
    assert_eq!(loopback.calls(), 3);
}

#[tokio::test]
async fn a_connection_that_the_origin_closed_at_rest_costs_nothing() {
    // The origin reads the request on the old connection and closes it without a word.
    let loopback = Loopback::start(|_, received: &Received| match received.connection {
        0 if received.path.ends_with("=1") => json("1"),
        0 => vec![Act::Close],
        _ => json("2"),
    })
    .await;
    let table = open(&loopback);
    assert_eq!(body(&table, "1").await, "1");
    let start = Instant::now();
    assert_eq!(body(&table, "2").await, "2");
    assert!(start.elapsed() < Duration::from_millis(50), "the guard's pause was taken");
    assert_eq!(table.guard_stats().retries, 0);
    assert_eq!(table.stats().failures, 0);
}

#[tokio::test]
async fn nobody_listens() {
    let loopback = Loopback::start(|_, _| json("1")).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = listener.local_addr().unwrap();
    drop(listener);
    let text = origin_and_table("", "").replace('@', &nowhere.to_string());
    let table = open_text(&text, &loopback).tables.remove(0);
    let failure = failure(&table, "1").await;
    assert_eq!(failure.cause, "cannot connect: Connection refused (os error 111)");
    assert_eq!(failure.kind, FailureKind::Unreachable);
}

#[tokio::test]
async fn a_name_that_nobody_knows() {
    let loopback = Loopback::start(|_, _| json("1")).await;
    // Too long for a name: no resolver has to ask anybody.
    let text = origin_and_table("", "").replace('@', &format!("{}.test", "x".repeat(64)));
    let table = open_text(&text, &loopback).tables.remove(0);
    let failure = failure(&table, "1").await;
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(failure.cause.starts_with("cannot connect: "), "{}", failure.cause);
}

#[tokio::test]
async fn one_table_hangs_and_another_key_is_served() {
    let loopback = Loopback::start(|_, received| match received.path.ends_with("=slow") {
        true => vec![Act::Hang],
        false => json("1"),
    })
    .await;
    let table = Arc::new(open_with(&loopback, "timeout = \"1m\"", ""));
    let slow = tokio::spawn({
        let table = table.clone();
        async move { get(&table, "slow").await.map(drop) }
    });
    until(|| loopback.calls() == 1).await;
    assert_eq!(body(&table, "quick").await, "1");
    assert_eq!(get(&table, "quick").await.unwrap().source, Source::Hit);
    slow.abort();
}

#[tokio::test]
async fn two_tables_that_ask_the_same_share_one_request() {
    let gate = Arc::new(Semaphore::new(0));
    let loopback = Loopback::start({
        let gate = gate.clone();
        move |_, _| [vec![Act::Wait(gate.clone())], json(r#"{"a": 1, "b": 2}"#)].concat()
    })
    .await;
    let text = format!(
        "[origins.lta]\nurl = \"http://@/{{stop}}\"\n{TABLE}map = \".a\"\n{}map = \".b\"",
        TABLE.replace("stops", "others"),
    );
    let tables = open_text(&text, &loopback).tables;
    let open = async {
        until(|| tables.iter().all(|table| table.stats().flights == 1)).await;
        until(|| loopback.calls() > 0).await;
        gate.add_permits(10);
    };
    let (one, two, ()) = tokio::join!(body(&tables[0], "x"), body(&tables[1], "x"), open);
    assert_eq!(loopback.calls(), 1);
    let mut both = [one, two];
    both.sort();
    assert_eq!(both, ["1", "2"]);
}

#[tokio::test]
async fn a_request_after_a_purge_shares_nothing_older() {
    let loopback = Loopback::start(|number, _| match number {
        0 => vec![Act::Hang],
        _ => json("2"),
    })
    .await;
    let text = format!(
        "[origins.lta]\nurl = \"http://@/{{stop}}\"\n{TABLE}{}",
        TABLE.replace("stops", "others"),
    );
    let tables = Arc::new(open_text(&text, &loopback).tables);
    let old = tokio::spawn({
        let tables = tables.clone();
        async move { get(&tables[0], "x").await.map(drop) }
    });
    until(|| loopback.calls() == 1).await;
    tables[1].purge(Purge::Key("x"), Depth::Soft);
    assert_eq!(body(&tables[1], "x").await, "2");
    old.abort();
}

#[tokio::test]
async fn an_answer_is_purged_by_its_tags() {
    let loopback = Loopback::start(|_, received| match received.path.ends_with("=1") {
        true => answer("200 OK", &["surrogate-key: line-15  stop-1"], "1"),
        false => answer("200 OK", &["cache-tag: line-15, line-16"], "2"),
    })
    .await;
    let table = open(&loopback);
    for key in ["1", "2"] {
        body(&table, key).await;
    }
    assert_eq!(table.purge(Purge::Tag("stop-1"), Depth::Soft), 1);
    assert_eq!(table.purge(Purge::Tag("line-16"), Depth::Soft), 1);
    assert_eq!(table.purge(Purge::Tag("line-15"), Depth::Hard), 2);
    assert_eq!(table.purge(Purge::Tag("line-15"), Depth::Hard), 0);
}

#[tokio::test]
async fn a_body_without_mapping_is_passed_on() {
    let loopback = Loopback::start(|_, _| {
        answer("200 OK", &["content-type: text/csv; charset=utf-8"], "a,b\n")
    })
    .await;
    let table = open_with(&loopback, "", "");
    let answer = get(&table, "1").await.unwrap();
    assert_eq!(&answer.body()[..], b"a,b\n");
    let headers = &answer.prepared().representation(|_| false).headers();
    assert_eq!(headers["content-type"], "text/csv");
}

#[tokio::test]
async fn a_mapping_that_fails_names_its_table_and_the_place() {
    let loopback = Loopback::start(|_, _| json(r#"{"buses": [{"no": "15"}]}"#)).await;
    let table = open_with(&loopback, "", "map = \".buses | map(.no.x)\"");
    let failure = failure(&table, "1").await;
    assert_eq!(failure.kind, FailureKind::BadAnswer);
    assert_eq!(
        failure.cause,
        "table `stops`: the mapping failed: cannot index \"15\" with \"x\", at `.buses[0].no`",
    );
}

/// Certificates for `localhost`, each by its own authority.
mod tls {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use tokio_rustls::{
        TlsAcceptor,
        rustls::{
            ServerConfig,
            pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
        },
    };

    use super::*;

    /// An origin with a certificate for `host`, valid until the first day of `year`, and what it answers to a
    /// client that trusts it.
    async fn ask(host: &str, year: i32, trusted: bool) -> Result<String, Failure> {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let certificate = params.self_signed(&key).unwrap();
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let server = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server));
        let loopback = Loopback::start_tls(acceptor, |_, _| json("1")).await;

        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, certificate.pem()).unwrap();
        let origin = if trusted { format!("ca = {ca:?}") } else { String::new() };
        let address = format!("https://localhost:{}", loopback.address().port());
        let text = origin_and_table(&origin, "").replace("http://@", &address);
        let table = open_text(&text, &loopback).tables.remove(0);
        match get(&table, "1").await {
            Ok(answer) => Ok(String::from_utf8(answer.body().to_vec()).unwrap()),
            Err(CacheError::Origin(failure)) => Err(failure),
            Err(other) => panic!("{other}"),
        }
    }

    #[track_caller]
    fn check(result: Result<String, Failure>, wanted: &str) {
        let failure = result.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unreachable);
        assert!(failure.cause.contains(wanted), "{}", failure.cause);
    }

    #[tokio::test]
    async fn a_certificate_that_is_trusted() {
        assert_eq!(ask("localhost", 4000, true).await.unwrap(), "1");
    }

    #[tokio::test]
    async fn a_certificate_that_nobody_vouches_for() {
        check(ask("localhost", 4000, false).await, "UnknownIssuer");
    }

    #[tokio::test]
    async fn a_certificate_that_has_expired() {
        check(ask("localhost", 2021, true).await, "expired");
    }

    #[tokio::test]
    async fn a_certificate_for_another_name() {
        check(ask("elsewhere.test", 4000, true).await, "not valid for name");
    }
}
