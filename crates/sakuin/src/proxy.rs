//! A caching proxy: a table whose keys are requests and whose answers live as their headers say (RFC 9111).
//!
//! What may be kept, for how long and for whom is decided in [`sakuin_cache::rfc9111`]; flights, refreshes and
//! stale answers are the cached table's own. This module brings the two together: which key a request has,
//! when an answer of one request is good for another, and what goes to the origin as it came.
//!
//! A response stands under its URL. If it varies, those for other requests stand under keys of their own
//! beside it, which hold the number of the first: when that is invalidated, none of them is found any more.
//! What cannot be kept is handed to the one request it was made for and to no other, even if others waited.

mod body;
mod kept;
mod target;
mod upstream;
mod waiting;

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode, header, request::Parts};
use http_body::Body as _;
use sakuin_cache::{
    CacheError, CachedTable, Clock, Depth, Entry, Failure, Guard, Options, Peek, Purge, Source,
    Stats, SystemClock,
    rfc9111::{
        RequestDirectives, Reuse, confirms, invalidated, is_safe, only_for_the_origin, reuse,
    },
};
use tokio::runtime::Handle;

pub use self::{body::Body, kept::Kept, target::TargetError};
use self::{
    kept::Value,
    target::{Base, Target},
    upstream::{Fetches, Upstream},
};
use crate::config;

/// A caching proxy before one origin; cheap to clone.
#[derive(Clone)]
pub struct Proxy {
    table: CachedTable<Fetches>,
    upstream: Arc<Upstream>,
}

/// What a proxy answers.
pub enum Reply {
    /// A response that is kept, or was fetched to be kept.
    Kept(KeptReply),
    /// The origin's response as it comes, and why it was asked.
    Passed(Response<Body>, Forward),
}

/// A kept response, and how it was come by.
pub struct KeptReply {
    entry: Arc<Entry<Value>>,
    /// Its age (RFC 9111 4.2.3).
    pub age: Duration,
    /// Where it came from.
    pub source: Source,
}

impl KeptReply {
    /// The response.
    pub fn response(&self) -> &Kept {
        kept(&self.entry)
    }
}

/// Why a request went to the origin; with the words of RFC 9211 2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Its method, a body, or a condition that only the origin can judge.
    Bypass,
    /// Nothing is kept under its URL, or nothing that can be.
    UriMiss,
    /// What is kept under its URL answers other requests.
    VaryMiss,
    /// It does not take what is kept.
    Request,
}

impl Forward {
    /// Its word in `Cache-Status`.
    pub fn word(self) -> &'static str {
        match self {
            Forward::Bypass => "bypass",
            Forward::UriMiss => "uri-miss",
            Forward::VaryMiss => "vary-miss",
            Forward::Request => "request",
        }
    }
}

/// Why a proxy did not answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The path of the request leads nowhere.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A method that is for other proxies, or would show what only the origin should see.
    #[error("the method is not passed on")]
    Method,
    /// The request wants nothing but what is kept, and nothing is.
    #[error("nothing is kept that this request takes")]
    NotKept,
    /// The origin did not answer in time, or not at all, and nothing may be served in its place.
    #[error(transparent)]
    Origin(#[from] CacheError),
}

impl From<Failure> for ProxyError {
    fn from(failure: Failure) -> ProxyError {
        ProxyError::Origin(CacheError::Origin(failure))
    }
}

/// How many keys are tried for a request: the URL, its variant, and one more if the origin changes its mind
/// about what varies.
const KEYS_MAX: usize = 3;

impl Proxy {
    /// A proxy for what lies below `route`, before `origin`. Fetches run on `runtime`.
    pub fn new(
        route: &str,
        origin: &config::Http,
        client: reqwest::Client,
        guard: Guard<SystemClock>,
        options: Options,
        runtime: Handle,
    ) -> Result<Proxy, TargetError> {
        let base = Base::new(route, &origin.url)?;
        let upstream = Arc::new(Upstream::new(base, origin, client, guard, runtime.clone()));
        let fetches = Fetches(upstream.clone());
        let table = CachedTable::new(fetches, options, SystemClock::default(), runtime);
        Ok(Proxy { table, upstream })
    }

    /// Where it stands: begins and ends with a slash.
    pub fn route(&self) -> &str {
        &self.upstream.base.route
    }

    /// Whether a path lies below the proxy's route.
    pub fn covers(&self, path: &str) -> bool {
        self.upstream.base.covers(path)
    }

    /// Answers a request: with what is kept if that may be, else with what the origin says.
    pub async fn answer(&self, request: Request<Body>) -> Result<Reply, ProxyError> {
        if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
            return Err(ProxyError::Method);
        }
        let target = self.upstream.base.target(request.uri())?;
        let (parts, body) = request.into_parts();
        let reads = matches!(parts.method, Method::GET | Method::HEAD)
            && body.is_end_stream()
            && !only_for_the_origin(&parts.headers);
        if !reads {
            return self.pass(&target, Request::from_parts(parts, body), Forward::Bypass).await;
        }
        let found = self.look_up(&target, &parts).await?;
        let request = Request::from_parts(parts, body);
        match found {
            Found::Reply(reply) => Ok(reply),
            Found::Forward(why) => self.pass(&target, request, why).await,
            Found::Unwanted(entry) => self.check(&target, request, &entry).await,
        }
    }

    /// What happened so far, and what is kept.
    pub fn stats(&self) -> Stats {
        self.table.stats()
    }

    /// Purges what is kept under URLs below the origin's: `Purge::Key("/wiki/Main?page=2")`.
    pub fn purge(&self, purge: Purge<'_>, depth: Depth) -> usize {
        self.table.purge(purge, depth)
    }

    async fn look_up(&self, target: &Target, request: &Parts) -> Result<Found, ProxyError> {
        let headers = &request.headers;
        let wishes = RequestDirectives::of(headers);
        let mut key = target.key.clone();
        let mut varying: Vec<HeaderName> = Vec::new();
        for _ in 0..KEYS_MAX {
            let (entry, source, own) = match self.table.peek(&key) {
                Peek::Fresh(entry) => (entry, Source::Hit, false),
                Peek::Stale(entry) => (entry, Source::Stale, false),
                Peek::Absent if wishes.only_if_cached => return Err(ProxyError::NotKept),
                Peek::Absent if goes_alone(request, &wishes) => {
                    return Ok(Found::Forward(Forward::UriMiss));
                }
                Peek::Absent => match self.fetch(&key, headers).await? {
                    Fetched::Kept { entry, source, own } => (entry, source, own),
                    Fetched::Passed(response) => {
                        return Ok(Found::Reply(Reply::Passed(response, Forward::UriMiss)));
                    }
                    Fetched::NotMine => return Ok(Found::Forward(Forward::UriMiss)),
                },
            };
            let response = kept(&entry);
            if !response.selecting.matches(headers) {
                key = target.variant(response, &mut varying, headers);
                continue;
            }
            let age = entry.age(self.table.clock().now());
            let freshness = match source {
                // The table has decided that it may be served.
                Source::Stale => response.freshness.permitted(),
                Source::Hit | Source::Miss { .. } => response.freshness,
            };
            let verdict = if own { Reuse::Serve } else { reuse(&wishes, &freshness, age) };
            return match verdict {
                Reuse::Serve => Ok(Found::Reply(Reply::Kept(KeptReply { entry, age, source }))),
                Reuse::Validate => Ok(Found::Unwanted(entry)),
                Reuse::Refuse => Err(ProxyError::NotKept),
            };
        }
        Ok(Found::Forward(Forward::VaryMiss))
    }

    /// Waits for a flight, with `headers` for the origin should this request be the one to ask.
    async fn fetch(&self, key: &str, headers: &HeaderMap) -> Result<Fetched, ProxyError> {
        let place = self.upstream.waiting.enter(key, headers);
        let landed = self.table.answer(key).await;
        let own = place.number();
        let passed = place.leave();
        match landed {
            Ok(answer) => match answer.entry.value() {
                Some(kept) => {
                    let own = kept.asked_by == own;
                    Ok(Fetched::Kept { entry: answer.entry, source: answer.source, own })
                }
                None => match passed {
                    Some(response) => Ok(response.await.map_or(Fetched::NotMine, Fetched::Passed)),
                    None => Ok(Fetched::NotMine),
                },
            },
            // The origin's own words about its failure are better than ours.
            Err(error) => match passed.and_then(|mut response| response.try_recv().ok()) {
                Some(response) => Ok(Fetched::Passed(response)),
                None => Err(error.into()),
            },
        }
    }

    /// Asks the origin for a request that does not take what is kept. If the origin answers otherwise, what is
    /// kept is outdated.
    async fn check(
        &self,
        target: &Target,
        request: Request<Body>,
        entry: &Entry<Value>,
    ) -> Result<Reply, ProxyError> {
        let key = kept(entry).key.clone();
        let reply = self.pass(target, request, Forward::Request).await?;
        if let Reply::Passed(response, _) = &reply
            && contradicts(response, kept(entry))
        {
            self.table.purge(Purge::Key(&key), Depth::Soft);
        }
        Ok(reply)
    }

    /// Hands a request to the origin, and its response back, as they come.
    async fn pass(
        &self,
        target: &Target,
        request: Request<Body>,
        why: Forward,
    ) -> Result<Reply, ProxyError> {
        let method = request.method().clone();
        let response = self.upstream.forward(target, request).await?;
        if !is_safe(&method) {
            let named = invalidated(&method, &target.url, response.status(), response.headers());
            for url in named {
                self.table.purge(Purge::Key(&target::key(&url)), Depth::Hard);
            }
        }
        Ok(Reply::Passed(response, why))
    }
}

/// What looking up a request came to.
enum Found {
    Reply(Reply),
    Forward(Forward),
    /// A response that the request does not take.
    Unwanted(Arc<Entry<Value>>),
}

/// What a flight brought to a request.
enum Fetched {
    Kept {
        entry: Arc<Entry<Value>>,
        source: Source,
        /// Whether it was fetched with this request's headers, so that it is its answer whatever it says.
        own: bool,
    },
    /// It cannot be kept, and is this request's.
    Passed(Response<Body>),
    /// It cannot be kept, and is another's.
    NotMine,
}

/// Whether a request for something that is not kept is better handed on as it is: it may not be kept, wants
/// nothing kept, or does not want all of it.
fn goes_alone(request: &Parts, wishes: &RequestDirectives) -> bool {
    wishes.no_store
        || wishes.no_cache
        || request.method == Method::HEAD
        || request.headers.contains_key(header::RANGE)
}

/// Whether a response shows that what is kept is no longer true. A part has a status of its own, a 304 answers
/// the client's conditions, and a failure says nothing.
fn contradicts(response: &Response<Body>, kept: &Kept) -> bool {
    let says_something = match response.status() {
        StatusCode::PARTIAL_CONTENT => false,
        StatusCode::NOT_FOUND | StatusCode::GONE => true,
        status => status.is_success(),
    };
    says_something
        && (response.status() != kept.status || !confirms(response.headers(), &kept.headers))
}

fn kept(entry: &Entry<Value>) -> &Kept {
    entry.value().as_ref().expect("what is passed on is not kept")
}
