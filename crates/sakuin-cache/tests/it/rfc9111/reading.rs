//! Headers as they really come.

use http::{Method, StatusCode};
use proptest::{collection::vec, prelude::*};
use sakuin_cache::rfc9111::{
    ByteRange, Request, Response, Selecting, accepted_codings, byte_range, not_modified,
};

use super::{date, fresh, headers, kept, life};

#[test]
fn directives_are_read_whatever_their_dress() {
    assert_eq!(fresh("cache-control: max-age=60"), 60);
    assert_eq!(fresh("cache-control: MAX-Age=60"), 60);
    assert_eq!(fresh("cache-control: ,, max-age = \"60\" ,"), 60);
    assert_eq!(fresh("cache-control: max-age=\"6\\0\""), 60);
    assert_eq!(fresh("cache-control: public\ncache-control: max-age=60"), 60);
    assert_eq!(fresh("cache-control: max-age=60, max-age=60"), 60);
    assert_eq!(fresh("cache-control: community=\"a, max-age=9\", max-age=60"), 60);
    assert_eq!(fresh("cache-control: x=\"\\\", max-age=9\", max-age=60"), 60);
}

#[test]
fn what_is_damaged_is_over() {
    for damaged in [
        "max-age",
        "max-age=",
        "max-age=-1",
        "max-age=+1",
        "max-age=1.5",
        "max-age=1s",
        "max-age=\"60",
        "max-age=60, max-age=61",
        "max-age=60, x=\"unclosed",
        "max-age=\"60\"x",
        "s-maxage=x, max-age=60",
    ] {
        assert_eq!(fresh(&format!("cache-control: {damaged}")), 0, "{damaged}");
    }
    assert_eq!(fresh("cache-control: max-age=99999999999999999999999"), 1 << 31);
}

#[test]
fn no_quote_hides_a_prohibition() {
    assert!(!kept("", 200, "cache-control: x=\"a, no-store"));
    assert!(!kept("", 200, "cache-control: private=\"set-cookie\", max-age=60"));
    assert_eq!(fresh("cache-control: no-cache=\"set-cookie\", max-age=60"), 0);
    assert!(kept("", 200, "cache-control: x=\"no-store, private\", max-age=60"));
}

#[test]
fn a_targeted_field_rules_alone() {
    let targeted = |cdn: &str| {
        fresh(&format!("cache-control: max-age=5\nexpires: {}\ncdn-cache-control: {cdn}", date(9)))
    };
    assert_eq!(targeted("max-age=60"), 60);
    assert_eq!(targeted("max-age=60;note=\"x\", unknown"), 60);
    assert_eq!(targeted("max-age=60, max-age=70"), 70, "structured fields: the last one counts");
    assert_eq!(targeted("must-revalidate"), 0, "neither max-age nor Expires counts beside it");
    assert_eq!(targeted("max-age=\"60\""), 0, "a string is no number: as if it were not there");
    assert_eq!(targeted("max-age=60,"), 5, "what does not parse is as good as absent");
    assert_eq!(targeted(""), 5);
    assert!(!kept("", 200, "cache-control: max-age=60\ncdn-cache-control: no-store"));
    assert!(kept("", 200, "cache-control: no-store\ncdn-cache-control: max-age=60"));
    let swr = life("cdn-cache-control: max-age=60, stale-while-revalidate=30").lifetimes;
    assert_eq!(swr.stale_while_revalidate.as_secs(), 30);
}

#[test]
fn accepted_codings_are_a_small_set() {
    let reduced = |accept: &str| {
        let accepted = accepted_codings(&headers(&format!("accept-encoding: {accept}")));
        accepted.map(|codings| codings.to_str().expect("text").to_owned())
    };
    assert_eq!(reduced("gzip, deflate, br").as_deref(), Some("br, gzip"));
    assert_eq!(reduced("br;q=0.1, GZIP ; q=1.0, zstd;q=0.000").as_deref(), Some("br, gzip"));
    assert_eq!(reduced("*").as_deref(), Some("br, gzip, zstd"));
    assert_eq!(reduced("*, br;q=0").as_deref(), Some("gzip, zstd"));
    assert_eq!(reduced("*;q=0, br").as_deref(), Some("br"));
    assert_eq!(reduced("x-gzip").as_deref(), Some("gzip"));
    assert_eq!(reduced("identity, deflate"), None);
    assert_eq!(reduced(""), None);
}

#[test]
fn selecting_fields_are_compared_as_written() {
    let request = "accept: text/html\naccept-language: de\naccept-language: en;q=0.5";
    let varied = headers("vary: Accept-Language, x-absent\nvary: accept-language");
    let selecting = Selecting::of(&headers(request), &varied).expect("it can match");
    let matches = |request: &str| selecting.matches(&headers(request));
    assert!(matches("accept-language: de, en;q=0.5"));
    assert!(matches("accept-language:  de\naccept-language: en;q=0.5\naccept: image/png"));
    assert!(!matches("accept-language: en;q=0.5, de"));
    assert!(!matches("accept-language: de"));
    assert!(!matches(""));
    assert!(!matches("accept-language: de, en;q=0.5\nx-absent: now it is there"));
    let names: Vec<&str> = selecting.fields().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["accept-language", "x-absent"]);
    assert_eq!(Selecting::of(&headers(""), &headers("vary: accept, *")), None);
    assert_eq!(Selecting::of(&headers(""), &headers("vary: two words")), None);
}

#[test]
fn the_client_has_it_already() {
    let response =
        headers(&format!("etag: \"a,b\"\nlast-modified: {}\ndate: {}", date(-100), date(0)));
    let asked = |method: &Method, status: u16, request: &str| {
        let (request, status) = (headers(request), StatusCode::from_u16(status).expect("one"));
        let request = Request { method, headers: &request };
        not_modified(request, Response { status, headers: &response })
    };
    let get = |request: &str| asked(&Method::GET, 200, request);
    assert!(get("if-none-match: \"x\", \"a,b\""));
    assert!(get("if-none-match: \"x\"\nif-none-match: W/\"a,b\""));
    assert!(get("if-none-match: *"));
    assert!(!get("if-none-match: \"a\""));
    assert!(!get("if-none-match: a,b"));
    assert!(!get("if-none-match: \"a,b"));
    assert!(get(&format!("if-modified-since: {}", date(-100))));
    assert!(!get(&format!("if-modified-since: {}", date(-101))));
    assert!(!get("if-modified-since: yesterday"));
    assert!(!get(&format!("if-none-match: \"x\"\nif-modified-since: {}", date(0))));
    assert!(!get(""));
    assert!(asked(&Method::HEAD, 200, "if-none-match: \"a,b\""));
    assert!(!asked(&Method::GET, 404, "if-none-match: \"a,b\""));
    assert!(!asked(&Method::POST, 200, "if-none-match: \"a,b\""));
}

#[test]
fn one_range_of_bytes() {
    let response =
        headers(&format!("etag: \"a\"\nlast-modified: {}\ndate: {}", date(-100), date(0)));
    let range = |request: &str| {
        let request = headers(request);
        let request = Request { method: &Method::GET, headers: &request };
        byte_range(request, Response { status: StatusCode::OK, headers: &response }, 10)
    };
    assert_eq!(range("range: bytes=0-0"), ByteRange::Part(0..1));
    assert_eq!(range("range: bytes=2-"), ByteRange::Part(2..10));
    assert_eq!(range("range: bytes=-3"), ByteRange::Part(7..10));
    assert_eq!(range("range: bytes=-30"), ByteRange::Part(0..10));
    assert_eq!(range("range: Bytes = 2 - 99999999999999999999999"), ByteRange::Part(2..10));
    assert_eq!(range("range: bytes=10-"), ByteRange::Unsatisfiable);
    assert_eq!(range("range: bytes=-0"), ByteRange::Unsatisfiable);
    for whole in ["bytes=3-2", "bytes=0-1,4-5", "bytes=", "bytes=-", "lines=1-2", "bytes=a-b", ""] {
        assert_eq!(range(&format!("range: {whole}")), ByteRange::Whole, "{whole}");
    }
    assert_eq!(range("range: bytes=0-1\nrange: bytes=4-5"), ByteRange::Whole);
    assert_eq!(range("range: bytes=0-1\nif-range: \"a\""), ByteRange::Part(0..2));
    assert_eq!(range("range: bytes=0-1\nif-range: W/\"a\""), ByteRange::Whole);
    assert_eq!(range("range: bytes=0-1\nif-range: \"b\""), ByteRange::Whole);
    let of = |seconds| range(&format!("range: bytes=0-1\nif-range: {}", date(seconds)));
    assert_eq!(of(-100), ByteRange::Part(0..2));
    assert_eq!(of(-99), ByteRange::Whole);
}

proptest! {
    #[test]
    fn a_part_lies_in_its_body(line in "bytes=[0-9]{0,25}-[0-9]{0,25}", length in 0_usize..100) {
        let (request, response) = (headers(&format!("range: {line}")), headers(""));
        let request = Request { method: &Method::GET, headers: &request };
        let response = Response { status: StatusCode::OK, headers: &response };
        if let ByteRange::Part(part) = byte_range(request, response, length) {
            prop_assert!(part.start < part.end && part.end <= length);
        }
    }

    #[test]
    fn any_bytes_are_read(lines in vec(vec(prop_oneof![Just(b'"'), Just(b','), Just(b'='), 32..=126_u8], 0..40), 0..3)) {
        let mut all = http::HeaderMap::new();
        for line in &lines {
            let value = http::HeaderValue::from_bytes(line).expect("visible bytes");
            for name in ["cache-control", "cdn-cache-control", "vary", "age", "accept-encoding"] {
                all.append(name, value.clone());
            }
        }
        let response = Response { status: StatusCode::OK, headers: &all };
        sakuin_cache::rfc9111::freshness(response, super::at(0));
        Selecting::of(&all, &all);
    }
}
