//! The origin behind a proxy: requests as they are sent, responses as they are taken in.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version, header,
};
use http_body_util::BodyExt;
use sakuin_cache::{
    Failure, FailureKind, Fetched, Fill, Guard, Kind, Origin, SystemClock,
    rfc9111::{
        self, Freshness, accepted_codings, confirms, freshness, initial_age, refreshed, storable,
        strip_hop_by_hop, validate,
    },
};
use tokio::runtime::Handle;
use url::Url;

use super::{
    Kept,
    body::{Body, Passing, Read, Sent, read},
    kept::Value,
    target::{Base, Target},
    waiting::{Asked, Waiting},
};
use crate::{
    config,
    origin::http::{copy, retry_after},
};

/// An origin and the requests that wait for it.
pub(super) struct Upstream {
    pub(super) base: Base,
    pub(super) waiting: Waiting,
    client: reqwest::Client,
    guard: Guard<SystemClock>,
    /// Sent with every request.
    headers: HeaderMap,
    timeout: Duration,
    max_answer: usize,
    runtime: Handle,
    numbers: AtomicU64,
}

/// An origin as a cached table knows it.
pub(super) struct Fetches(pub(super) Arc<Upstream>);

impl Origin for Fetches {
    type Value = Value;

    async fn fetch(&self, key: &str, previous: Option<&Value>) -> Result<Fetched<Value>, Failure> {
        let upstream = &*self.0;
        let previous = previous.and_then(Option::as_ref);
        let (asked_by, headers, reply) = match upstream.waiting.take(key) {
            Some(Asked { number, headers, reply }) => (number, headers, Some(reply)),
            // A refresh that nobody waits for repeats what it was chosen by.
            None => (0, previous.map(repeated).unwrap_or_default(), None),
        };
        let errand = Errand { key, previous, asked_by, headers };
        let mut passed = None;
        let attempt = async {
            let (fetched, response) = upstream.fetch(&errand).await;
            passed = response;
            fetched
        };
        let fetched = upstream.guard.once(attempt).await;
        if let Some((reply, response)) = reply.zip(passed) {
            // Whoever waited for it may have left.
            let _ = reply.send(response);
        }
        fetched
    }
}

/// What a fetch is about.
struct Errand<'f> {
    key: &'f str,
    previous: Option<&'f Kept>,
    /// The number of the request that waits for it; 0 if none does.
    asked_by: u64,
    /// That request's headers.
    headers: HeaderMap,
}

/// What a fetch tells the table, and the response if that is for one request alone.
type Outcome = (Result<Fetched<Value>, Failure>, Option<Response<Body>>);

/// A response with when it was asked for and when it came.
struct Received {
    response: Response<reqwest::Body>,
    delay: Duration,
    at: SystemTime,
}

impl Upstream {
    pub(super) fn new(
        base: Base,
        origin: &config::Http,
        client: reqwest::Client,
        guard: Guard<SystemClock>,
        runtime: Handle,
    ) -> Upstream {
        let headers = origin.headers.iter().filter_map(|(name, value)| {
            let mut secret = HeaderValue::from_str(value.value()).ok()?;
            secret.set_sensitive(true);
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, secret))
        });
        Upstream {
            base,
            waiting: Waiting::default(),
            client,
            guard,
            headers: headers.collect(),
            timeout: origin.timeout,
            max_answer: origin.max_answer,
            runtime,
            numbers: AtomicU64::new(1),
        }
    }

    /// Hands on a request as it is. Runs on the origins' runtime, to which the connections belong.
    pub(super) async fn forward(
        self: &Arc<Self>,
        target: &Target,
        request: Request<Body>,
    ) -> Result<Response<Body>, Failure> {
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        self.outgoing(&mut headers, parts.version);
        let (upstream, url, body) = (self.clone(), target.url.clone(), Sent::of(body));
        let answered = self.runtime.spawn(async move {
            let mut refused = None;
            let attempt = async {
                let received = upstream.send(parts.method, url, headers, body).await?;
                match failure(&received) {
                    None => Ok(received),
                    Some(failure) => {
                        refused = Some(received);
                        Err(failure)
                    }
                }
            };
            let received = upstream.guard.once(attempt).await;
            received.or_else(|failure| refused.ok_or(failure))
        });
        let received = answered.await.unwrap_or_else(|_| Err(broken()))?;
        Ok(received.response.map(|body| Passing::of(body, self.timeout)))
    }

    async fn fetch(&self, errand: &Errand<'_>) -> Outcome {
        let received = match self.get(errand).await {
            Ok(Got::Response(received)) => received,
            Ok(Got::Confirmed(kept, received)) => {
                let headers = refreshed(&kept.headers, received.response.headers());
                return match self.fill(errand, kept.status, headers, &received) {
                    Some(fill) => (Ok(Fetched::New(fill(kept.body.clone()))), None),
                    // A 304 that forbids keeping what it confirms.
                    None => (Ok(Fetched::New(passed())), Some(response_of(kept))),
                };
            }
            Err(failure) => return (Err(failure), None),
        };
        let failure = failure(&received);
        let Received { response, .. } = &received;
        let (status, headers) = (response.status(), response.headers().clone());
        let fill = match failure {
            None => self.fill(errand, status, headers, &received),
            Some(_) => None,
        };
        let response = received.response;
        let Some(fill) = fill else {
            let fetched = failure.map_or_else(|| Ok(Fetched::New(passed())), Err);
            return (fetched, Some(response.map(|body| Passing::of(body, self.timeout))));
        };
        let (parts, body) = response.into_parts();
        match read(body, self.max_answer, self.timeout).await {
            Ok(Read::Whole(body)) => (Ok(Fetched::New(fill(body))), None),
            Ok(Read::Long(body)) => {
                (Ok(Fetched::New(passed())), Some(Response::from_parts(parts, body)))
            }
            Err(error) => (Err(failed(&error)), None),
        }
    }

    /// Asks for a key, with the validators of what is kept if that is for the same request.
    async fn get<'f>(&self, errand: &Errand<'f>) -> Result<Got<'f>, Failure> {
        let url = self.base.of_key(errand.key).map_err(|_| broken())?;
        let mut headers = errand.headers.clone();
        self.outgoing(&mut headers, Version::HTTP_11);
        // No conditions but ours, and nothing but the whole.
        validate(&mut headers, &HeaderMap::new());
        match accepted_codings(&errand.headers) {
            Some(codings) => headers.insert(header::ACCEPT_ENCODING, codings),
            None => headers.remove(header::ACCEPT_ENCODING),
        };
        let previous = errand.previous.filter(|kept| kept.selecting.matches(&errand.headers));
        let mut conditional = headers.clone();
        if let Some(kept) = previous
            && validate(&mut conditional, &kept.headers)
        {
            let received = self.send_get(url.clone(), conditional).await?;
            if received.response.status() != StatusCode::NOT_MODIFIED {
                return Ok(Got::Response(received));
            }
            if confirms(received.response.headers(), &kept.headers) {
                return Ok(Got::Confirmed(kept, received));
            }
        }
        let received = self.send_get(url, headers).await?;
        if received.response.status() == StatusCode::NOT_MODIFIED {
            let cause = "the origin answered 304 to a request without conditions".to_owned();
            return Err(Failure { kind: FailureKind::BadAnswer, cause, retry_after: None });
        }
        Ok(Got::Response(received))
    }

    async fn send_get(&self, url: Url, headers: HeaderMap) -> Result<Received, Failure> {
        self.send(Method::GET, url, headers, reqwest::Body::default()).await
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: reqwest::Body,
    ) -> Result<Received, Failure> {
        let request = self.client.request(method, url).headers(headers).body(body);
        let sent = Instant::now();
        let response = request.send().await.map_err(|error| failed(&error))?;
        let at = SystemTime::now();
        let mut response = Response::<reqwest::Body>::from(response);
        incoming(&mut response, at);
        Ok(Received { response, delay: sent.elapsed(), at })
    }

    /// Makes the headers of a client's request those of ours.
    fn outgoing(&self, headers: &mut HeaderMap, version: Version) {
        strip_hop_by_hop(headers);
        for name in [header::HOST, header::CONTENT_LENGTH, header::EXPECT] {
            headers.remove(name);
        }
        headers.append(header::VIA, via(version));
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
    }

    /// What to keep of a response, once its body is there; nothing if it may not be kept, or is of no use.
    fn fill<'f>(
        &self,
        errand: &Errand<'f>,
        status: StatusCode,
        mut headers: HeaderMap,
        received: &Received,
    ) -> Option<impl FnOnce(Bytes) -> Fill<Value> + use<'f>> {
        let request = rfc9111::Request { method: &Method::GET, headers: &errand.headers };
        let response = rfc9111::Response { status, headers: &headers };
        let selecting = rfc9111::Selecting::of(&errand.headers, &headers)?;
        let Freshness { mut lifetimes, strict } = freshness(response, received.at);
        let age = initial_age(received.response.headers(), received.delay, received.at);
        let stale = lifetimes.stale_while_revalidate.max(lifetimes.stale_if_error);
        let is_useful = lifetimes.fresh + stale > age
            || headers.contains_key(header::ETAG)
            || headers.contains_key(header::LAST_MODIFIED);
        if !storable(request, response) || !is_useful {
            return None;
        }
        // A refresh that nobody waits for has nobody's authorization.
        if errand.headers.contains_key(header::AUTHORIZATION) {
            lifetimes.stale_while_revalidate = Duration::ZERO;
        }
        headers.remove(header::AGE);
        headers.values_mut().for_each(|value| *value = copy(value));
        let number = errand.previous.map(|kept| kept.number);
        let number = number.unwrap_or_else(|| self.numbers.fetch_add(1, Ordering::Relaxed));
        let age = age.saturating_sub(received.delay);
        let (key, asked_by) = (errand.key, errand.asked_by);
        Some(move |body: Bytes| {
            headers.insert(header::CONTENT_LENGTH, body.len().into());
            let freshness = Freshness { lifetimes, strict };
            let key = key.into();
            let kept = Kept { status, headers, body, selecting, freshness, number, asked_by, key };
            let missing = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
            Fill {
                bytes: kept.weight(),
                value: Some(kept),
                kind: if missing { Kind::Missing } else { Kind::Found },
                tags: Vec::new(),
                lifetimes: Some(lifetimes),
                age,
            }
        })
    }
}

/// What an origin said to a GET.
enum Got<'k> {
    Response(Received),
    /// What is kept is still true.
    Confirmed(&'k Kept, Received),
}

/// Makes the headers of an origin's response ours to send: none of its hop, with a date (RFC 9110 6.6.1).
fn incoming(response: &mut Response<reqwest::Body>, at: SystemTime) {
    let via = via(response.version());
    let headers = response.headers_mut();
    strip_hop_by_hop(headers);
    headers.append(header::VIA, via);
    if !headers.contains_key(header::DATE)
        && let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(at))
    {
        headers.insert(header::DATE, date);
    }
}

fn via(version: Version) -> HeaderValue {
    HeaderValue::from_static(match version {
        Version::HTTP_2 => "2 sakuin",
        Version::HTTP_10 => "1.0 sakuin",
        _ => "1.1 sakuin",
    })
}

fn repeated(kept: &Kept) -> HeaderMap {
    let fields = kept
        .selecting
        .fields()
        .filter_map(|(name, value)| Some((name.clone(), HeaderValue::from_bytes(value?).ok()?)));
    fields.collect()
}

fn response_of(kept: &Kept) -> Response<Body> {
    let body = http_body_util::Full::new(kept.body.clone());
    let mut response = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = kept.status;
    *response.headers_mut() = kept.headers.clone();
    response
}

/// Nothing to keep.
fn passed() -> Fill<Value> {
    Fill {
        value: None,
        kind: Kind::Unstorable,
        bytes: size_of::<Value>(),
        tags: Vec::new(),
        lifetimes: None,
        age: Duration::ZERO,
    }
}

/// The failure that a response tells of, in whose place something stale may be served (RFC 5861 4).
fn failure(Received { response, at, .. }: &Received) -> Option<Failure> {
    let status = response.status().as_u16();
    if !matches!(status, 500 | 502 | 503 | 504) {
        return None;
    }
    Some(Failure {
        kind: FailureKind::Refused,
        cause: format!("the origin answered {status}"),
        retry_after: retry_after(response.headers(), *at),
    })
}

fn failed(error: &reqwest::Error) -> Failure {
    let (kind, cause) = if error.is_timeout() {
        return late();
    } else if error.is_connect() {
        (FailureKind::Unreachable, "the origin cannot be reached")
    } else {
        (FailureKind::Unreachable, "the origin's answer was cut off")
    };
    Failure { kind, cause: cause.to_owned(), retry_after: None }
}

fn late() -> Failure {
    let cause = "the origin did not answer in time".to_owned();
    Failure { kind: FailureKind::TimedOut, cause, retry_after: None }
}

fn broken() -> Failure {
    let cause = "the request broke".to_owned();
    Failure { kind: FailureKind::Broken, cause, retry_after: None }
}
