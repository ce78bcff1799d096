//! Headers as times and as yes or no.

mod musts; // every MUST of RFC 9111, sections 3 to 5, as a case
mod oracle; // generated headers, against the crate http-cache-semantics
mod reading; // headers as they really come: quoted, repeated, broken

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use sakuin_cache::rfc9111::{
    Freshness, Request, RequestDirectives, Response, Reuse, freshness, initial_age, reuse, storable,
};

/// When responses come: Fri, 15 Jan 2027 08:00:00 GMT.
const NOW: u64 = 1_800_000_000;

fn at(seconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.strict_add_signed(seconds))
}

/// The date `seconds` after [`NOW`], as headers write it.
fn date(seconds: i64) -> String {
    httpdate::fmt_http_date(at(seconds))
}

/// Headers, one a line.
fn headers(lines: &str) -> HeaderMap {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let parsed = lines.map(|line| {
        let (name, value) = line.split_once(':').expect("`name: value`");
        let value = HeaderValue::from_bytes(value.trim().as_bytes()).expect("a value");
        (HeaderName::from_bytes(name.as_bytes()).expect("a name"), value)
    });
    let mut headers = HeaderMap::new();
    for (name, value) in parsed {
        headers.append(name, value);
    }
    headers
}

/// Whether the response to a GET is kept.
fn kept(request: &str, status: u16, response: &str) -> bool {
    kept_of(&Method::GET, request, status, response)
}

fn kept_of(method: &Method, request: &str, status: u16, response: &str) -> bool {
    let (request, response) = (headers(request), headers(response));
    let status = StatusCode::from_u16(status).expect("a status");
    storable(Request { method, headers: &request }, Response { status, headers: &response })
}

/// How a 200 that comes now may be used.
fn life(response: &str) -> Freshness {
    let response = headers(response);
    freshness(Response { status: StatusCode::OK, headers: &response }, at(0))
}

/// How many seconds it is fresh.
fn fresh(response: &str) -> u64 {
    life(response).lifetimes.fresh.as_secs()
}

/// How old it is when it comes, after two seconds of waiting.
fn age(response: &str) -> u64 {
    initial_age(&headers(response), Duration::from_secs(2), at(0)).as_secs()
}

/// What a request gets of a 200 that is `age` seconds old.
fn get(request: &str, response: &str, age: u64) -> Reuse {
    let request = RequestDirectives::of(&headers(request));
    reuse(&request, &life(response), Duration::from_secs(age))
}
