//! The door of caching proxies: what is kept becomes a whole answer, a part of one, or a 304; what passes goes
//! out as it came. Each answer says how old it is and what the cache had to do with it.

use std::sync::Arc;

use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header,
};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use sakuin::{
    AnswerError,
    proxy::{KeptReply, Proxy, ProxyError, Reply, TargetError},
};
use sakuin_cache::{
    CacheError, FailureKind, Source,
    rfc9111::{self, ByteRange, byte_range, not_modified},
};

use crate::{body::Body, reply::Fault};

/// How a cache took part in an answer (RFC 9211); those of caches before it stay.
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Answers a request below a proxy's route.
pub(crate) async fn answer(
    proxy: Arc<Proxy>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Fault> {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
    Ok(match proxy.answer(request).await.map_err(fault)? {
        Reply::Kept(reply) => kept(rfc9111::Request { method: &method, headers: &headers }, &reply),
        Reply::Passed(response, why) => {
            let mut response = response.map(axum::body::Body::new).map(Body::from);
            response
                .headers_mut()
                .append(CACHE_STATUS, visible(&format!("sakuin; fwd={}", why.word())));
            response
        }
    })
}

/// The answer that a request gets of what is kept.
fn kept(request: rfc9111::Request<'_>, reply: &KeptReply) -> Response<Body> {
    let kept = reply.response();
    let mut headers = kept.headers.clone();
    headers.insert(header::AGE, reply.age.as_secs().into());
    headers.append(CACHE_STATUS, HeaderValue::from_static(status(reply.source)));
    if not_modified(request, kept.as_response()) {
        for name in OF_A_BODY {
            headers.remove(name);
        }
        return response(StatusCode::NOT_MODIFIED, headers, Body::empty());
    }
    let length = kept.body.len();
    match byte_range(request, kept.as_response(), length) {
        ByteRange::Whole => {
            let is_head = request.method == Method::HEAD;
            let body = if is_head { Body::empty() } else { kept.body.clone().into() };
            response(kept.status, headers, body)
        }
        ByteRange::Part(part) => {
            let place = format!("bytes {}-{}/{length}", part.start, part.end - 1);
            headers.insert(header::CONTENT_RANGE, visible(&place));
            headers.insert(header::CONTENT_LENGTH, part.len().into());
            response(StatusCode::PARTIAL_CONTENT, headers, kept.body.slice(part).into())
        }
        ByteRange::Unsatisfiable => {
            for name in OF_A_BODY {
                headers.remove(name);
            }
            headers.insert(header::CONTENT_RANGE, visible(&format!("bytes */{length}")));
            response(StatusCode::RANGE_NOT_SATISFIABLE, headers, Body::empty())
        }
    }
}

/// What describes a body, and has no place where none is sent.
const OF_A_BODY: [HeaderName; 4] = [
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
];

fn visible(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("words, digits and signs are visible")
}

fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn status(source: Source) -> &'static str {
    match source {
        Source::Hit => "sakuin; hit",
        Source::Stale => "sakuin; hit; detail=stale",
        Source::Miss { collapsed: false } => "sakuin; fwd=miss; stored",
        Source::Miss { collapsed: true } => "sakuin; fwd=miss; collapsed",
    }
}

/// One table from what a proxy says to what HTTP says. An origin that is away is 504 here, as RFC 9111 5.2.2.2
/// wants it where nothing stale may be served.
fn fault(error: ProxyError) -> Fault {
    let away = matches!(
        &error,
        ProxyError::Origin(CacheError::Origin(failure)) if failure.kind == FailureKind::Unreachable
    );
    let mut fault = match error {
        ProxyError::Target(TargetError::Elsewhere { .. }) => {
            Fault::not_found(error.to_string(), "ask below it")
        }
        ProxyError::Target(_) => {
            Fault::bad_request(error.to_string(), "write the path without `.` and `..`")
        }
        ProxyError::Method => Fault::method("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
        ProxyError::NotKept => Fault::new(
            StatusCode::GATEWAY_TIMEOUT,
            error.to_string(),
            "ask without `only-if-cached`",
        ),
        ProxyError::Origin(error) => AnswerError::Cached(error).into(),
        error => Fault::internal("the proxy cannot answer", &error),
    };
    if away {
        fault.status = StatusCode::GATEWAY_TIMEOUT;
    }
    fault
}
