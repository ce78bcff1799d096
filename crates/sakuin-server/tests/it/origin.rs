//! Cached tables over HTTP, with an origin that does what the key says: `01012` is found, `00404` is missing,
//! `00500` fails, `09999` waits until it is let go.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use sakuin_server::Config;
use tempfile::TempDir;

use crate::support::{Answer, Running, limits};

/// An origin of its own threads; it ends with the process.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    script: Arc<Script>,
}

#[derive(Default)]
struct Script {
    calls: AtomicU64,
    released: Mutex<bool>,
    release: Condvar,
    is_away: std::sync::atomic::AtomicBool,
}

impl Origin {
    pub(crate) fn start() -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, script) = (listener.local_addr().unwrap(), Arc::new(Script::default()));
        let shared = script.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, script) = (stream.unwrap(), shared.clone());
                thread::spawn(move || script.answer(&stream));
            }
        });
        Origin { address, script }
    }

    fn calls(&self) -> u64 {
        self.script.calls.load(Relaxed)
    }

    /// Lets go what waits, and all that comes.
    pub(crate) fn release(&self) {
        *self.script.released.lock().unwrap() = true;
        self.script.release.notify_all();
    }
}

impl Script {
    fn answer(&self, stream: &TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream).lines();
        loop {
            let line = lines.next()?.ok()?;
            while !lines.next()?.ok()?.is_empty() {}
            self.calls.fetch_add(1, Relaxed);
            let key = line.split([' ', '/']).nth(3)?.to_owned();
            if key == "09999" {
                let released = self.released.lock().unwrap();
                drop(self.release.wait_while(released, |released| !*released).unwrap());
            }
            let (status, body) = match &*key {
                "00404" => ("404 Not Found", String::new()),
                _ if key == "00500" || self.is_away.load(Relaxed) => {
                    ("500 Internal Server Error", String::new())
                }
                key => {
                    let names = vec![format!("stop {key}"); 60];
                    ("200 OK", serde_json::json!({ "stop": key, "names": names }).to_string())
                }
            };
            let length = body.len();
            let head = "content-type: application/json\r\ncontent-length";
            write!(&mut &*stream, "HTTP/1.1 {status}\r\n{head}: {length}\r\n\r\n{body}").ok()?;
        }
    }
}

/// A server with one cached table over `origin`.
pub(crate) struct Cached {
    pub(crate) running: Running,
    _folder: TempDir,
}

pub(crate) fn cached(origin: &Origin, more: &str) -> Cached {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        r#"
[server]
listen = "127.0.0.1:0"
admin = "127.0.0.1:0"
[origins.city]
url = "http://{}/stops/{{stop}}"
[tables.stops]
kind = "cached"
origin = "city"
route = "/stops/{{stop}}"
key.stop = {{ pattern = "[0-9]{{5}}" }}
map = "{{stop, names}}"
{more}
"#,
        origin.address
    );
    let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
    Cached { running: Running::start(&config, &limits()), _folder: folder }
}

#[test]
fn the_first_asks_and_the_rest_are_hits() {
    let origin = Origin::start();
    let stops = cached(&origin, "ttl = \"1h\"");
    let first = stops.running.get("/stops/01012");
    assert_eq!((first.status, first.header("sakuin-source")), (200, "miss"), "{}", first.text());
    assert_eq!(first.header("cache-status"), "sakuin; fwd=miss; stored");
    for path in ["/stops/01012", "/v1/tables/stops/01012", "/stops/%3001012"] {
        let hit = stops.running.get(path);
        if path.contains('%') {
            assert_eq!(hit.status, 400);
            continue;
        }
        assert_eq!((hit.header("sakuin-source"), hit.header("age")), ("hit", "0"), "{path}");
        assert_eq!(hit.header("cache-status"), "sakuin; hit");
        assert_eq!(hit.body, first.body);
        assert_eq!(hit.header("etag"), first.header("etag"));
    }
    assert_eq!(stops.running.get("/stops/1012").status, 400);
    assert_eq!(origin.calls(), 1);
    assert_eq!(stops.running.metric("sakuin_table_hits_total", "stops"), 2.0);
    assert_eq!(stops.running.metric("sakuin_table_fetches_total", "stops"), 1.0);
    assert_eq!(stops.running.metric("sakuin_table_fetch_seconds_count", "stops"), 1.0);
}

#[test]
fn codings_have_their_own_tags_and_any_of_them_is_known_again() {
    let origin = Origin::start();
    let stops = cached(&origin, "ttl = \"1h\"").running;
    let plain = stops.get("/stops/01012");
    let get = |accept: &str| stops.get_with("/stops/01012", &[("accept-encoding", accept)]);
    let mut tags = vec![plain.header("etag").to_owned()];
    for (accept, coding) in
        [("gzip", "gzip"), ("br", "br"), ("zstd", "zstd"), ("identity;q=0, gzip;q=0.1", "gzip")]
    {
        let answer = get(accept);
        assert_eq!(answer.header("content-encoding"), coding, "{accept}");
        assert_eq!(answer.header("vary"), "accept-encoding");
        assert!(answer.body.len() < plain.body.len());
        tags.push(answer.header("etag").to_owned());
    }
    assert_eq!(get("gzip;q=0, identity").header("content-encoding"), "");
    assert!(!get("*").header("content-encoding").is_empty());
    tags.truncate(4);
    for (at, tag) in tags.iter().enumerate() {
        assert!(!tags[..at].contains(tag), "{tags:?}");
        let headers = [("if-none-match", tag.as_str()), ("accept-encoding", "br")];
        let known = stops.get_with("/stops/01012", &headers);
        assert_eq!((known.status, known.header("etag")), (304, &**tag));
        assert_eq!(known.header("age"), "0");
    }
}

#[test]
fn what_an_origin_does_is_told_and_costs_nobody_else() {
    let origin = Origin::start();
    let stops = cached(&origin, "ttl = \"1h\"").running;
    let missing = stops.get("/stops/00404");
    assert_eq!((missing.status, missing.header("content-type")), (404, "application/problem+json"));
    assert_eq!(missing.header("sakuin-source"), "miss");
    assert_eq!(stops.get("/stops/00404").header("sakuin-source"), "hit");
    let failed = stops.get("/stops/00500");
    assert_eq!((failed.status, failed.header("content-type")), (502, "application/problem+json"));
    assert!(failed.json()["hint"].as_str().unwrap().starts_with("ask again in "));
    assert_eq!(stops.get("/stops/01012").status, 200);
}

#[test]
fn those_who_wait_share_one_call() {
    let origin = Origin::start();
    let stops = cached(&origin, "ttl = \"1h\"").running;
    let ask = || Answer::header(&stops.get("/stops/09999"), "cache-status").to_owned();
    let mut sources: Vec<_> = thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        // All of them have come before the origin answers.
        while stops.metric("sakuin_connections_accepted_total", "") < 8.0 {
            thread::yield_now();
        }
        origin.release();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    sources.sort();
    assert_eq!(origin.calls(), 1);
    assert_eq!(
        sources.iter().filter(|one| *one == "sakuin; fwd=miss; stored").count(),
        1,
        "{sources:?}"
    );
}

#[test]
fn an_origin_that_is_away_leaves_stale_answers_marked_as_such() {
    let origin = Origin::start();
    let stops = cached(&origin, "ttl = \"1ms\"\nstale_if_error = \"1h\"").running;
    assert_eq!(stops.get("/stops/01012").status, 200);
    origin.script.is_away.store(true, Relaxed);
    let stale = stops.get("/stops/01012");
    assert_eq!((stale.status, stale.header("sakuin-source")), (200, "stale"));
    assert_eq!(stale.header("cache-status"), "sakuin; hit; detail=stale");
    // The answer does not wait for the last of the attempts, and what is told does.
    let ready = loop {
        let ready = stops.admin("/ready");
        if ready.json()["tables_without_origin"] != serde_json::json!([]) {
            break ready;
        }
        thread::yield_now();
    };
    assert_eq!((ready.status, &ready.json()["tables_without_origin"][0]), (200, &"stops".into()));
    assert!(stops.metric("sakuin_table_stale_cover_seconds", "stops") > 3000.0);
}
