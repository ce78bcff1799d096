//! A caching proxy as a client sees it. An answer that comes with an `Age` is old when it comes, so nothing is
//! waited for.

use std::sync::Arc;

use sakuin_server::{Config, Error, Server};
use tokio::runtime::Runtime;
use ureq::http::Request;

use crate::{
    scripted::Origin,
    support::{Answer, Running, agent, dictionary, limits},
};

/// A server that is a caching proxy, and its origin.
struct Pair {
    origin: Arc<Origin>,
    server: Running,
    _runtime: Runtime,
}

fn pair() -> Pair {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.unwrap();
    let origin = runtime.block_on(Origin::start());
    let text = format!(
        "[server]
         listen = \"127.0.0.1:0\"
         admin = \"127.0.0.1:0\"
         [origins.wiki]
         url = \"http://{}/base\"
         max_answer = \"1KiB\"
         [tables.wiki]
         kind = \"cached\"
         mode = \"rfc9111\"
         origin = \"wiki\"
         route = \"/wiki/\"",
        origin.address
    );
    let config = Config::parse(&text, "test.toml", "/".as_ref()).unwrap();
    Pair { origin, server: Running::start(&config, &limits()), _runtime: runtime }
}

impl Pair {
    fn tell(&self, answers: &[&str]) {
        answers.iter().for_each(|answer| self.origin.tell(answer));
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let url = format!("http://{}{path}", self.server.address);
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::read(agent().run(request.body(()).unwrap()).unwrap())
    }

    fn get(&self, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", "/wiki/a?q", headers)
    }

    /// A GET, its status, what the cache had to do with it, and its body.
    #[track_caller]
    fn check(&self, headers: &[(&str, &str)], status: u16, cache: &str, body: &str) {
        let answer = self.get(headers);
        let got = (answer.status, answer.header("cache-status"), answer.text());
        assert_eq!(got, (status, cache, body), "{headers:?}");
    }

    /// How often the origin was asked.
    fn asked(&self) -> usize {
        self.origin.asked().len()
    }
}

const KEPT: &str = "200
cache-control: max-age=60
etag: \"1\"
content-type: text/plain
age: 7

0123456789";

#[test]
fn a_kept_answer_says_how_old_it_is_and_how_it_was_come_by() {
    let pair = pair();
    pair.tell(&[&KEPT.replace("age: 7", "age: 7\ncache-status: far; hit")]);
    pair.check(&[], 200, "far; hit", "0123456789");
    let again = pair.get(&[]);
    let age: u64 = again.header("age").parse().unwrap();
    assert!((7..30).contains(&age), "{age}");
    assert_eq!(again.all("cache-status"), ["far; hit", "sakuin; hit"]);
    assert_eq!(again.header("via"), "1.1 sakuin");
    assert_eq!(again.header("content-type"), "text/plain");
    assert!(!again.header("date").is_empty());
    assert_eq!(pair.asked(), 1);
    assert_eq!(pair.server.metric("sakuin_table_hits_total", "wiki"), 1.0);
}

#[test]
fn conditions_are_answered_from_what_is_kept() {
    let pair = pair();
    pair.tell(&[KEPT]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "0123456789");
    let known = pair.get(&[("if-none-match", "\"0\", W/\"1\"")]);
    assert_eq!((known.status, known.text(), known.header("etag")), (304, "", "\"1\""));
    assert_eq!(known.header("cache-control"), "max-age=60");
    assert_eq!((known.header("content-type"), known.header("content-length")), ("", ""));
    pair.check(&[("if-none-match", "\"2\"")], 200, "sakuin; hit", "0123456789");
    // A condition on what is not kept yet fetches it, and is then judged.
    pair.tell(&[KEPT]);
    assert_eq!(pair.ask("GET", "/wiki/b", &[("if-none-match", "\"1\"")]).status, 304);
    assert_eq!(pair.asked(), 2);
}

#[test]
fn ranges_are_cut_from_what_is_kept() {
    let pair = pair();
    pair.tell(&[KEPT]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "0123456789");
    let part = pair.get(&[("range", "bytes=2-4")]);
    assert_eq!((part.status, part.text()), (206, "234"));
    assert_eq!(part.header("content-range"), "bytes 2-4/10");
    assert_eq!(part.header("content-length"), "3");
    pair.check(&[("range", "bytes=-2")], 206, "sakuin; hit", "89");
    pair.check(&[("range", "bytes=2-4"), ("if-range", "\"1\"")], 206, "sakuin; hit", "234");
    pair.check(&[("range", "bytes=2-4"), ("if-range", "\"2\"")], 200, "sakuin; hit", "0123456789");
    pair.check(&[("range", "bytes=0-1,4-5")], 200, "sakuin; hit", "0123456789");
    let none = pair.get(&[("range", "bytes=10-")]);
    assert_eq!((none.status, none.header("content-range")), (416, "bytes */10"));
    assert_eq!(pair.asked(), 1);
}

#[test]
fn head_is_answered_from_get() {
    let pair = pair();
    pair.tell(&[KEPT]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "0123456789");
    let head = pair.ask("HEAD", "/wiki/a?q", &[]);
    assert_eq!((head.status, head.header("content-length"), head.text()), (200, "10", ""));
    assert_eq!(head.header("cache-status"), "sakuin; hit");
    assert_eq!(pair.asked(), 1);
}

#[test]
fn what_is_over_is_validated_and_renewed() {
    let pair = pair();
    pair.tell(&[
        &KEPT.replace("age: 7", "age: 60"),
        "304\netag: \"1\"\ncache-control: max-age=90\n\n",
    ]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "0123456789");
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "0123456789");
    let renewed = pair.get(&[]);
    assert_eq!(renewed.header("cache-control"), "max-age=90");
    assert_eq!(renewed.header("cache-status"), "sakuin; hit");
    assert!(pair.origin.asked()[1].contains("if-none-match: \"1\""));
    assert_eq!(pair.asked(), 2);
}

#[test]
fn variants_are_told_apart() {
    let pair = pair();
    let varied = "200\ncache-control: max-age=60\nvary: accept-language\n\n{accept-language}";
    pair.tell(&[varied, varied]);
    for cache in ["sakuin; fwd=miss; stored", "sakuin; hit"] {
        for language in ["de", "en"] {
            pair.check(&[("accept-language", language)], 200, cache, language);
        }
    }
}

#[test]
fn other_methods_pass_and_make_untrue() {
    let pair = pair();
    pair.tell(&[KEPT, "204\n\n", &KEPT.replace("0123456789", "new")]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "0123456789");
    let gone = pair.ask("DELETE", "/wiki/a?q", &[]);
    assert_eq!((gone.status, gone.header("cache-status")), (204, "sakuin; fwd=bypass"));
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "new");
    pair.tell(&["201\n\nmade of {body}"]);
    let made = pair.server.post("/wiki/list", b"a body");
    assert_eq!((made.status, made.text()), (201, "made of a body"));
}

#[test]
fn an_origin_that_is_away_is_504_where_nothing_stale_may_be_served() {
    let pair = pair();
    pair.tell(&["200\ncache-control: max-age=10, must-revalidate\nage: 20\netag: \"1\"\n\none"]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "one");
    let away = pair.get(&[]);
    assert_eq!((away.status, away.header("content-type")), (504, "application/problem+json"));
    assert!(!away.text().contains(&pair.origin.address.to_string()), "{}", away.text());
}

#[test]
fn an_origin_that_fails_is_stood_in_for() {
    let pair = pair();
    let kept = "200\ncache-control: max-age=10, stale-if-error=99\nage: 20\n\none";
    pair.tell(&[kept, "503\n\nin repair"]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "one");
    pair.check(&[], 200, "sakuin; hit; detail=stale", "one");
    pair.tell(&["503\n\nin repair"]);
    let other = pair.ask("GET", "/wiki/b", &[]);
    assert_eq!((other.status, other.text()), (503, "in repair"));
}

#[test]
fn what_is_stale_is_refreshed_once() {
    let pair = pair();
    pair.tell(&["200\ncache-control: max-age=10, stale-while-revalidate=99\nage: 20\n\none"]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "one");
    pair.origin.hold();
    for _ in 0..5 {
        pair.check(&[], 200, "sakuin; hit; detail=stale", "one");
    }
    pair.tell(&["200\ncache-control: max-age=10\n\ntwo"]);
    pair.origin.release();
    while pair.get(&[]).header("cache-status") != "sakuin; hit" {}
    pair.check(&[], 200, "sakuin; hit", "two");
    assert_eq!(pair.asked(), 2);
}

#[test]
fn requests_are_heard() {
    let pair = pair();
    let only = [("cache-control", "only-if-cached")];
    assert_eq!(pair.get(&only).status, 504);
    pair.tell(&[KEPT, KEPT]);
    pair.check(&[], 200, "sakuin; fwd=miss; stored", "0123456789");
    pair.check(&only, 200, "sakuin; hit", "0123456789");
    pair.check(&[("cache-control", "no-cache")], 200, "sakuin; fwd=request", "0123456789");
    assert_eq!(pair.asked(), 2);
}

#[test]
fn what_is_too_long_streams_through() {
    let pair = pair();
    let long = "0123456789".repeat(10_000);
    pair.tell(&[&format!("200\ncache-control: max-age=60\ntransfer-encoding: chunked\n\n{long}")]);
    pair.check(&[], 200, "sakuin; fwd=uri-miss", &long);
}

#[test]
fn paths_that_lead_upwards_are_refused() {
    let pair = pair();
    let answer = pair.ask("GET", "/wiki/%2e%2e/secret", &[]);
    assert_eq!((answer.status, answer.header("content-type")), (400, "application/problem+json"));
    assert_eq!(pair.asked(), 0);
}

#[test]
fn a_proxy_hides_no_site() {
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[reader]\ndictionary = {:?}\n\
         [origins.wiki]\nurl = \"http://127.0.0.1:1\"\n\
         [tables.wiki]\nkind = \"cached\"\nmode = \"rfc9111\"\norigin = \"wiki\"\nroute = \"/\"\n",
        dictionary()
    );
    let folder = tempfile::tempdir().unwrap();
    let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
    let refused = Server::bind(&config, &limits()).err();
    assert!(matches!(refused, Some(Error::Route { .. })), "{refused:?}");
}
