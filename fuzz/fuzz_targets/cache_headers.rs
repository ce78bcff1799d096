//! Reads any bytes as the headers of a request and of its response, as a shared cache does: what is decided
//! agrees with itself, and a range lies in its body.

#![no_main]

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use libfuzzer_sys::fuzz_target;
use sakuin_cache::rfc9111::{
    ByteRange, Request, RequestDirectives, Response, Reuse, Selecting, accepted_codings,
    byte_range, confirms, freshness, initial_age, not_modified, refreshed, reuse, storable,
    strip_hop_by_hop, validate,
};

const NAMES: [&str; 18] = [
    "cache-control",
    "cdn-cache-control",
    "vary",
    "age",
    "range",
    "if-none-match",
    "if-range",
    "if-modified-since",
    "expires",
    "date",
    "last-modified",
    "accept-encoding",
    "pragma",
    "etag",
    "connection",
    "authorization",
    "set-cookie",
    "accept-language",
];

/// Each line goes to the header that its first byte chooses; an empty line ends the request.
fn headers<'a>(lines: &mut impl Iterator<Item = &'a [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.take(32) {
        let [first, value @ ..] = line else { break };
        if let Ok(value) = HeaderValue::from_bytes(value) {
            let name = NAMES[usize::from(*first) % NAMES.len()];
            headers.append(HeaderName::from_static(name), value);
        }
    }
    headers
}

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let (asked, mut answered) = (headers(&mut lines), headers(&mut lines));
    let length = bytes.len();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);

    let request = Request { method: &Method::GET, headers: &asked };
    let response = Response { status: StatusCode::OK, headers: &answered };
    let life = freshness(response, now);
    if life.strict {
        assert_eq!(life.lifetimes.stale_while_revalidate, Duration::ZERO);
        assert_eq!(life.lifetimes.stale_if_error, Duration::ZERO);
    }
    let age = initial_age(&answered, Duration::from_secs(1), now);
    assert!(age >= Duration::from_secs(1));

    let selecting = Selecting::of(&asked, &answered);
    if storable(request, response) {
        assert!(selecting.as_ref().is_some_and(|selecting| selecting.matches(&asked)));
    }
    let wishes = RequestDirectives::of(&asked);
    let late = life.lifetimes.fresh.saturating_add(Duration::from_secs(1));
    if life.strict {
        assert_ne!(reuse(&wishes, &life, late), Reuse::Serve);
    }
    if wishes.no_cache {
        assert_ne!(reuse(&wishes, &life, age), Reuse::Serve);
    }
    if let ByteRange::Part(part) = byte_range(request, response, length) {
        assert!(part.start < part.end && part.end <= length);
    }
    if let Some(codings) = accepted_codings(&asked) {
        let mut reduced = HeaderMap::new();
        reduced.insert("accept-encoding", codings.clone());
        assert_eq!(accepted_codings(&reduced), Some(codings));
    }

    // Who sends back the validators it was given has it already, and a 304 with them confirms it.
    let mut validation = HeaderMap::new();
    let tag = answered.get("etag").is_some_and(|tag| {
        let tag = tag.as_bytes();
        let tag = tag.strip_prefix(b"W/").unwrap_or(tag);
        tag.len() > 1
            && tag.starts_with(b"\"")
            && tag.iter().position(|&b| b == b'"') == Some(0)
            && tag[1..].iter().position(|&b| b == b'"') == Some(tag.len() - 2)
    });
    if validate(&mut validation, &answered) && tag {
        assert!(not_modified(Request { method: &Method::GET, headers: &validation }, response));
    }
    not_modified(request, response);
    assert!(confirms(&answered, &answered));
    let again = refreshed(&answered, &answered);
    assert_eq!(again.keys_len(), answered.keys_len());
    strip_hop_by_hop(&mut answered);
    assert!(!answered.contains_key("connection"));
});
