//! A caching proxy before an origin that answers what it is told. Time is not waited for: an answer that comes
//! with an `Age` is old when it comes.

use std::{fmt::Write, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use sakuin::{
    Config, config,
    document::Document,
    proxy::{Body, Proxy, ProxyError, Reply},
};
use sakuin_cache::{CacheError, Guard, GuardLimits, Source, SystemClock};

use crate::support::origin::Origin;

/// A proxy and its origin.
struct Pair {
    origin: Arc<Origin>,
    proxy: Proxy,
}

async fn pair() -> Pair {
    let origin = Origin::start().await;
    let address = origin.address;
    let config = format!(
        "[origins.wiki]
         url = \"http://{address}/base\"
         headers.X-Key = \"secret\"
         max_answer = \"1KiB\"
         [tables.wiki]
         kind = \"cached\"
         origin = \"wiki\"
         mode = \"rfc9111\"
         route = \"/wiki/\""
    );
    let document = Document::parse(&config, "sakuin.toml", Path::new("/")).unwrap();
    let config = Config::of_document(&document).unwrap();
    let (config::Origin::Http(config), config::Table::Cached(table)) =
        (&config.origins["wiki"], &config.tables["wiki"])
    else {
        panic!("no proxy")
    };
    let limits = GuardLimits { timeout: config.timeout, concurrency: 100, rate: None };
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let guard = Guard::new(limits, SystemClock::default());
    let runtime = tokio::runtime::Handle::current();
    let proxy =
        Proxy::new("/wiki/", config, client, guard, table.options.clone(), runtime).unwrap();
    Pair { origin, proxy }
}

impl Pair {
    /// The next answers of the origin.
    fn tell(&self, answers: &[&str]) {
        answers.iter().for_each(|answer| self.origin.tell(answer));
    }

    /// What a request gets: where from, status, body. `line` is a method and a path, then headers.
    async fn ask(&self, request: &str) -> String {
        shown(self.proxy.answer(parse(request)).await).await
    }

    async fn check(&self, request: &str, expected: &str) {
        let got = self.ask(request).await;
        assert_eq!(got, expected, "{request}\n{}", self.origin.asked().join("\n"));
    }

    /// The requests the origin saw since this was last called: method, path and the headers named.
    fn seen(&self, names: &[&str]) -> Vec<String> {
        let seen = self.origin.take_asked().into_iter().map(|request| {
            let mut lines = request.lines();
            let mut shown = lines.next().unwrap_or_default().to_owned();
            for line in lines {
                let (name, value) = line.split_once(": ").unwrap_or((line, ""));
                if names.contains(&name) {
                    write!(shown, " {name}={value}").unwrap();
                }
            }
            shown
        });
        seen.collect()
    }
}

fn parse(request: &str) -> Request<Body> {
    let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
    let mut lines = head.lines().map(str::trim);
    let (method, path) = lines.next().unwrap().split_once(' ').unwrap();
    let mut built = Request::builder().method(method).uri(path);
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        built = built.header(name, value);
    }
    let body = if body.is_empty() {
        Empty::new().map_err(|never| match never {}).boxed_unsync()
    } else {
        Full::new(Bytes::from(body.to_owned())).map_err(|never| match never {}).boxed_unsync()
    };
    built.body(body).unwrap()
}

async fn shown(reply: Result<Reply, ProxyError>) -> String {
    match reply {
        Ok(Reply::Kept(reply)) => {
            let source = match reply.source {
                Source::Hit => "hit",
                Source::Miss { collapsed: false } => "miss",
                Source::Miss { collapsed: true } => "collapsed",
                Source::Stale => "stale",
            };
            let response = reply.response();
            let body = String::from_utf8_lossy(&response.body);
            format!("{source} {} {body}", response.status.as_u16())
        }
        Ok(Reply::Passed(response, why)) => {
            let (parts, body) = Response::into_parts(response);
            let body = match body.collect().await {
                Ok(body) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
                Err(_) => "(broken)".to_owned(),
            };
            format!("{} {} {body}", why.word(), parts.status.as_u16())
        }
        Err(ProxyError::NotKept) => "not kept".to_owned(),
        Err(ProxyError::Origin(CacheError::Origin(failure))) => {
            format!("failed: {}", failure.cause)
        }
        Err(error) => format!("error: {error}"),
    }
}

const A: &str = "GET /wiki/a?q";
const MINUTE: &str = "200\ncache-control: max-age=60\n\n";

#[tokio::test]
async fn what_may_be_kept_is_asked_for_once() {
    let pair = pair().await;
    pair.tell(&["200\ncache-control: max-age=60\netag: \"1\"\n\none"]);
    pair.check(A, "miss 200 one").await;
    pair.check(A, "hit 200 one").await;
    pair.check("GET /wiki/%61?q", "hit 200 one").await;
    pair.check("HEAD /wiki/a?q", "hit 200 one").await;
    assert_eq!(pair.seen(&["x-key", "via"]), ["GET /base/a?q via=1.1 sakuin x-key=secret"]);
}

#[tokio::test]
async fn headers_are_the_origins_but_for_those_of_the_hop() {
    let pair = pair().await;
    pair.tell(&[
        "200\ncache-control: max-age=60\nage: 7\nx-own: 1\nconnection: x-hop\nx-hop: 1\n\none",
    ]);
    let Ok(Reply::Kept(reply)) = pair.proxy.answer(parse(A)).await else { panic!("not kept") };
    let headers = &reply.response().headers;
    assert!(reply.age >= Duration::from_secs(7) && reply.age < Duration::from_secs(30));
    assert_eq!(headers["x-own"], "1");
    assert_eq!(headers["via"], "1.1 sakuin");
    assert_eq!(headers["content-length"], "3");
    assert!(headers.contains_key("date"), "a response without a date gets one");
    assert!(!headers.contains_key("x-hop") && !headers.contains_key("age"));
}

#[tokio::test]
async fn what_may_not_be_kept_goes_to_the_one_it_is_for() {
    let pair = pair().await;
    for forbidden in ["no-store", "private", "private=\"x\""] {
        let answer = |number| format!("200\ncache-control: {forbidden}\n\n{number}");
        pair.tell(&[&answer(1), &answer(2)]);
        let path = format!("GET /wiki/{}", forbidden.len());
        pair.check(&path, "uri-miss 200 1").await;
        pair.check(&path, "uri-miss 200 2").await;
    }
    pair.tell(&[
        "200\nset-cookie: a=b\ncache-control: max-age=60\n\n1",
        "206\ncontent-range: bytes 0-0/9\ncache-control: max-age=60\n\n2",
    ]);
    pair.check("GET /wiki/c", "uri-miss 200 1").await;
    pair.check("GET /wiki/c", "uri-miss 206 2").await;
}

/// A private answer must not reach another client that happened to wait for it.
#[tokio::test]
async fn who_waits_for_anothers_answer_gets_an_own_one() {
    for answer in ["private", "no-cache", "max-age=0"] {
        let pair = pair().await;
        pair.origin.hold();
        let asks = ["one", "two", "three"].map(|cookie| {
            let (proxy, cookie) = (pair.proxy.clone(), cookie);
            tokio::spawn(async move {
                let request = format!("{A}\ncookie: {cookie}");
                (cookie, shown(proxy.answer(parse(&request)).await).await)
            })
        });
        // Each answer says whose it is.
        for _ in 0..3 {
            pair.tell(&[&format!("200\ncache-control: {answer}\netag: \"1\"\n\n{{cookie}}")]);
        }
        pair.origin.when_asked(1).await;
        pair.origin.release();
        for ask in asks {
            let (cookie, got) = ask.await.unwrap();
            assert!(got.ends_with(&format!("200 {cookie}")), "{answer}: {cookie} got `{got}`");
        }
        assert_eq!(pair.seen(&[]).len(), 3, "{answer}");
    }
}

#[tokio::test]
async fn who_waits_for_what_may_be_kept_shares_it() {
    let pair = pair().await;
    pair.origin.hold();
    pair.tell(&[&format!("{MINUTE}one")]);
    let asks = [(); 3].map(|()| {
        let proxy = pair.proxy.clone();
        tokio::spawn(async move { shown(proxy.answer(parse(A)).await).await })
    });
    pair.origin.when_asked(1).await;
    pair.origin.release();
    let mut got = Vec::new();
    for ask in asks {
        got.push(ask.await.unwrap());
    }
    assert!(got.iter().all(|got| got.ends_with("200 one")), "{got:?}");
    assert_eq!(pair.seen(&[]), ["GET /base/a?q"]);
}

#[tokio::test]
async fn variants_stand_beside_each_other() {
    let pair = pair().await;
    let varied = "200\ncache-control: max-age=60\nvary: accept-language\n\n";
    pair.tell(&[&format!("{varied}Tag"), &format!("{varied}day")]);
    let (german, english) =
        (format!("{A}\naccept-language: de"), format!("{A}\naccept-language: en"));
    pair.check(&german, "miss 200 Tag").await;
    pair.check(&english, "miss 200 day").await;
    pair.check(&german, "hit 200 Tag").await;
    pair.check(&english, "hit 200 day").await;
    pair.check(&format!("{A}\naccept-language:  en\naccept: x/y"), "hit 200 day").await;
    assert_eq!(pair.seen(&["accept-language"]).len(), 2);
    let french = format!("{A}\naccept-language: fr");
    for (language, day) in [("fr", "jour"), ("it", "giorno"), ("es", "dia"), ("pt", "dia")] {
        let request = format!("{A}\naccept-language: {language}");
        pair.tell(&[&format!("{varied}{day}")]);
        pair.check(&request, &format!("miss 200 {day}")).await;
        pair.check(&request, &format!("hit 200 {day}")).await;
    }
    assert_eq!(pair.seen(&[]).len(), 4);
    // An invalidation takes all of them.
    pair.tell(&["204\n\n", &format!("{varied}jour 2"), &format!("{varied}day 2")]);
    pair.check("DELETE /wiki/a?q", "bypass 204 ").await;
    pair.check(&french, "miss 200 jour 2").await;
    pair.check(&english, "miss 200 day 2").await;
    assert_eq!(pair.seen(&[]).len(), 3);
}

#[tokio::test]
async fn codings_pass_as_they_come_and_are_kept_apart() {
    let pair = pair().await;
    let varied = "200\ncache-control: max-age=60\nvary: accept-encoding\n";
    pair.tell(&[&format!("{varied}content-encoding: gzip\n\n(gzip)"), &format!("{varied}\nplain")]);
    pair.check(&format!("{A}\naccept-encoding: deflate, gzip;q=0.9"), "miss 200 (gzip)").await;
    pair.check(A, "miss 200 plain").await;
    pair.check(&format!("{A}\naccept-encoding: gzip"), "hit 200 (gzip)").await;
    pair.check(&format!("{A}\naccept-encoding: identity"), "hit 200 plain").await;
    let seen = pair.seen(&["accept-encoding"]);
    assert_eq!(seen, ["GET /base/a?q accept-encoding=gzip", "GET /base/a?q"]);
}

#[tokio::test]
async fn what_is_over_is_validated() {
    let pair = pair().await;
    pair.tell(&["200\ncache-control: max-age=60\nage: 60\netag: \"1\"\nx-old: 1\n\none"]);
    pair.check(A, "miss 200 one").await;
    pair.tell(&["304\ncache-control: max-age=90\netag: \"1\"\nx-new: 2\n\n"]);
    let theirs = format!("{A}\nif-none-match: \"theirs\"");
    let Ok(Reply::Kept(reply)) = pair.proxy.answer(parse(&theirs)).await else {
        panic!("not kept")
    };
    let response = reply.response();
    assert_eq!(
        (&response.body[..], &response.headers["cache-control"]),
        (&b"one"[..], &"max-age=90".parse().unwrap())
    );
    assert_eq!(
        (&response.headers["x-old"], &response.headers["x-new"]),
        (&"1".parse().unwrap(), &"2".parse().unwrap())
    );
    pair.check(A, "hit 200 one").await;
    assert_eq!(
        pair.seen(&["if-none-match"]),
        ["GET /base/a?q", "GET /base/a?q if-none-match=\"1\""]
    );
}

#[tokio::test]
async fn a_304_about_something_else_is_not_believed() {
    let pair = pair().await;
    pair.tell(&["200\ncache-control: max-age=0\netag: \"1\"\n\none"]);
    pair.check(A, "miss 200 one").await;
    pair.tell(&["304\netag: \"other\"\n\n", &format!("{MINUTE}two")]);
    pair.check(A, "miss 200 two").await;
    let seen = pair.seen(&["if-none-match"]);
    assert_eq!(seen[1..], ["GET /base/a?q if-none-match=\"1\"", "GET /base/a?q"]);
}

#[tokio::test]
async fn what_changes_something_invalidates() {
    let pair = pair().await;
    pair.tell(&[&format!("{MINUTE}one"), &format!("{MINUTE}list")]);
    pair.check(A, "miss 200 one").await;
    pair.check("GET /wiki/list", "miss 200 list").await;
    pair.tell(&["500\n\n", "201\nlocation: /base/list\n\nmade"]);
    pair.check("POST /wiki/a?q\n\nbody", "bypass 500 ").await;
    pair.check(A, "hit 200 one").await;
    pair.check("POST /wiki/a?q\n\nbody", "bypass 201 made").await;
    pair.tell(&[&format!("{MINUTE}two"), &format!("{MINUTE}list 2")]);
    pair.check(A, "miss 200 two").await;
    pair.check("GET /wiki/list", "miss 200 list 2").await;
    let seen = pair.seen(&["content-length", "body"]);
    assert_eq!(seen[3], "POST /base/a?q content-length=4 body=body");
}

#[tokio::test]
async fn what_is_invalid_is_not_served_when_the_origin_is_away() {
    let pair = pair().await;
    pair.tell(&["200\ncache-control: max-age=60, stale-if-error=99\n\none", "204\n\n"]);
    pair.check(A, "miss 200 one").await;
    pair.check("PUT /wiki/a?q\n\nbody", "bypass 204 ").await;
    pair.check(A, "failed: the origin's answer was cut off").await;
}

#[tokio::test]
async fn what_nobody_could_use_again_is_not_kept() {
    let pair = pair().await;
    pair.tell(&[
        "200\n\none",
        "200\ncache-control: max-age=60\nage: 60\n\ntwo",
        "200\netag: \"1\"\n\nthree",
    ]);
    pair.check(A, "uri-miss 200 one").await;
    pair.check(A, "uri-miss 200 two").await;
    pair.check(A, "miss 200 three").await;
    pair.tell(&["200\ncache-control: max-age=0, stale-while-revalidate=9\n\nfour"]);
    pair.check("GET /wiki/b", "miss 200 four").await;
    pair.check("GET /wiki/b", "stale 200 four").await;
}

#[tokio::test]
async fn strict_answers_are_never_stale() {
    for strict in ["must-revalidate", "proxy-revalidate", "s-maxage=10", "no-cache"] {
        let pair = pair().await;
        pair.tell(&[&format!("200\ncache-control: max-age=10, stale-if-error=99, stale-while-revalidate=99, {strict}\nage: 20\netag: \"1\"\n\none")]);
        pair.check(A, "miss 200 one").await;
        pair.check(A, "failed: the origin's answer was cut off").await;
        pair.tell(&["503\n\nin repair"]);
        pair.check(A, "uri-miss 503 in repair").await;
    }
}

#[tokio::test]
async fn a_failing_origin_is_stood_in_for() {
    let pair = pair().await;
    pair.tell(&[
        "200\ncache-control: max-age=10, stale-if-error=99\nage: 20\netag: \"1\"\n\none",
        "503\n\nin repair",
    ]);
    pair.check(A, "miss 200 one").await;
    pair.check(A, "stale 200 one").await;
    // It is left in peace for a while, by those who take what is stale.
    pair.check(A, "stale 200 one").await;
    pair.tell(&[&format!("{MINUTE}new")]);
    pair.check(&format!("{A}\ncache-control: max-age=5"), "request 200 new").await;
    assert_eq!(pair.seen(&[]).len(), 3);
}

#[tokio::test]
async fn what_is_stale_is_served_while_one_request_refreshes_it() {
    let pair = pair().await;
    pair.tell(&["200\ncache-control: max-age=10, stale-while-revalidate=99\nage: 20\netag: \"1\"\nvary: accept-language\n\nein"]);
    let german = format!("{A}\naccept-language: de\ncookie: a=b");
    pair.check(&german, "miss 200 ein").await;
    pair.origin.hold();
    pair.tell(&["200\ncache-control: max-age=10\nvary: accept-language\n\nzwei"]);
    for _ in 0..3 {
        pair.check(&german, "stale 200 ein").await;
    }
    pair.origin.when_asked(2).await;
    pair.origin.release();
    while pair.ask(&german).await != "hit 200 zwei" {
        tokio::task::yield_now().await;
    }
    let seen = pair.seen(&["accept-language", "if-none-match", "cookie"]);
    assert_eq!(seen[1..], ["GET /base/a?q accept-language=de if-none-match=\"1\""]);
}

#[tokio::test]
async fn requests_are_heard() {
    let pair = pair().await;
    let with = |directive: &str| format!("{A}\ncache-control: {directive}");
    pair.check(&with("only-if-cached"), "not kept").await;
    pair.tell(&["200\ncache-control: max-age=60\netag: \"1\"\nage: 20\n\none"]);
    pair.check(A, "miss 200 one").await;
    pair.check(&with("only-if-cached"), "hit 200 one").await;
    pair.check(&with("max-age=30"), "hit 200 one").await;
    pair.check(&with("no-store"), "hit 200 one").await;
    pair.check(&with("only-if-cached, max-age=10"), "not kept").await;
    // The same answer again leaves what is kept as it is.
    pair.tell(&["200\ncache-control: max-age=60\netag: \"1\"\n\none"]);
    pair.check(&with("no-cache"), "request 200 one").await;
    pair.check(A, "hit 200 one").await;
    pair.tell(&["206\ncontent-range: bytes 0-0/3\netag: \"1\"\n\no"]);
    pair.check(&format!("{}\nrange: bytes=0-0", with("no-cache")), "request 206 o").await;
    pair.check(A, "hit 200 one").await;
    // Another one shows that it is outdated.
    pair.tell(&[
        "200\ncache-control: max-age=60\netag: \"2\"\n\ntwo",
        "200\ncache-control: max-age=60\netag: \"2\"\n\ntwo",
    ]);
    pair.check(&with("max-age=10"), "request 200 two").await;
    pair.check(A, "miss 200 two").await;
    pair.check(A, "hit 200 two").await;
    pair.tell(&["200\ncache-control: max-age=60\n\nunseen"]);
    pair.check("GET /wiki/b\ncache-control: no-store", "uri-miss 200 unseen").await;
    pair.check("GET /wiki/b\ncache-control: only-if-cached", "not kept").await;
    // It spoils nothing for others.
    pair.tell(&[&format!("{MINUTE}seen")]);
    pair.check("GET /wiki/b", "miss 200 seen").await;
    pair.check("GET /wiki/b", "hit 200 seen").await;
}

#[tokio::test]
async fn what_is_too_long_streams_through() {
    for length in ["", "content-length: 3000\n", "transfer-encoding: chunked\n"] {
        let pair = pair().await;
        let long = "0123456789".repeat(300);
        pair.tell(&[
            &format!("200\ncache-control: max-age=60\n{length}\n{long}"),
            &format!("{MINUTE}short"),
        ]);
        pair.check(A, &format!("uri-miss 200 {long}")).await;
        pair.check(A, "miss 200 short").await;
    }
}

#[tokio::test]
async fn what_is_cut_off_is_not_kept() {
    let pair = pair().await;
    pair.tell(&[
        "200\ncache-control: max-age=60\ncontent-length: 99\n\nnot all of it",
        &format!("{MINUTE}all"),
    ]);
    pair.check(A, "failed: the origin's answer was cut off").await;
    pair.check(A, "miss 200 all").await;
}

#[tokio::test]
async fn conditions_for_the_origin_and_parts_of_what_is_not_kept_pass() {
    let pair = pair().await;
    pair.tell(&[
        "412\n\n",
        "206\ncontent-range: bytes 0-0/3\n\no",
        "200\ncache-control: max-age=60\n\n",
    ]);
    pair.check(&format!("{A}\nif-match: \"1\""), "bypass 412 ").await;
    pair.check(&format!("{A}\nrange: bytes=0-0"), "uri-miss 206 o").await;
    pair.check("HEAD /wiki/a?q", "uri-miss 200 ").await;
    let seen = pair.seen(&["if-match", "range"]);
    assert_eq!(
        seen,
        ["GET /base/a?q if-match=\"1\"", "GET /base/a?q range=bytes=0-0", "HEAD /base/a?q"]
    );
}

#[tokio::test]
async fn authorization_is_nobody_elses() {
    let pair = pair().await;
    let asked = format!("{A}\nauthorization: Basic eDp5");
    pair.tell(&[
        &format!("{MINUTE}mine"),
        &format!("{MINUTE}yours"),
        "200\ncache-control: max-age=60, public\n\neverybody's",
    ]);
    pair.check(&asked, "uri-miss 200 mine").await;
    pair.check(A, "miss 200 yours").await;
    pair.check("GET /wiki/b\nauthorization: Basic eDp5", "miss 200 everybody's").await;
    pair.check("GET /wiki/b", "hit 200 everybody's").await;
}

#[tokio::test]
async fn what_would_lead_or_show_too_much_is_refused() {
    let pair = pair().await;
    pair.check("GET /wiki/../secret", "error: the path leads upwards").await;
    pair.check("GET /wiki/%2e%2e/secret", "error: the path leads upwards").await;
    // The origin would send back the key that only it should see.
    pair.check("TRACE /wiki/a", "error: the method is not passed on").await;
    assert!(pair.seen(&[]).is_empty());
}
