//! What every answer of every door shares: content codings, conditional requests, refusals, and the
//! reading of bodies up to a limit.
//!
//! Compression costs more than most answers, so it happens where the answer is made, on the pool, and
//! only for a client that asks.

use std::{
    convert::Infallible,
    io::{BufWriter, Seek, Write},
    time::Duration,
};

use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{self, HeaderName},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use brotli::CompressorWriter;
use flate2::{Compression, write::GzEncoder};
use http_body_util::BodyExt;
use tempfile::{SpooledData, SpooledTempFile};
use tokio_util::io::ReaderStream;

use crate::{
    accept::{Accepted, has_already},
    error::chain,
    pool,
};

/// What a request's headers say about the form of its answer.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    coding: Coding,
    if_none_match: Option<HeaderValue>,
    if_modified_since: Option<HeaderValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Brotli,
}

/// How long a client may keep an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// For ever: the address changes with the content.
    Forever,
    /// As long as it asks whether it is still true.
    Revalidate,
    /// Not at all.
    Never,
}

/// An answer before it is coded.
pub(crate) struct Reply {
    pub(crate) content_type: &'static str,
    pub(crate) keep: Keep,
    /// Equal tags, equal content; none for what is never asked again.
    pub(crate) tag: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Asked, Infallible> {
        let header = |name: HeaderName| parts.headers.get(name).cloned();
        Ok(Asked {
            coding: coding(&parts.headers),
            if_none_match: header(header::IF_NONE_MATCH),
            if_modified_since: header(header::IF_MODIFIED_SINCE),
        })
    }
}

impl Asked {
    /// The empty answer to a client that already has the content with this tag.
    pub(crate) fn not_modified(&self, tag: &str) -> Option<Response> {
        let known = has_already(&self.if_none_match, etag(tag).as_bytes());
        known.then(|| not_modified(Some(tag)))
    }

    /// The empty answer to a client that asks by date alone; `changed` is in seconds since 1970.
    pub(crate) fn not_modified_since(&self, changed: i64) -> Option<Response> {
        if self.if_none_match.is_some() {
            return None;
        }
        let since =
            httpdate::parse_http_date(self.if_modified_since.as_ref()?.to_str().ok()?).ok()?;
        (time(changed) <= since).then(|| not_modified(None))
    }

    /// For content that is compressed in itself.
    pub(crate) fn uncoded(self) -> Asked {
        Asked { coding: Coding::Identity, ..self }
    }

    /// The answer, coded as asked.
    pub(crate) fn reply(&self, reply: Reply) -> Response {
        // Below a packet's worth, coding gains nothing.
        let coding = if reply.body.len() < 1024 { Coding::Identity } else { self.coding };
        let (body, name) = match coding {
            Coding::Identity => (reply.body, None),
            Coding::Gzip => (gzip(&reply.body), Some("gzip")),
            Coding::Brotli => (brotli(&reply.body), Some("br")),
        };
        let mut response = coded(Body::from(body), reply.content_type, reply.keep, name);
        if let Some(tag) = reply.tag {
            response.headers_mut().insert(header::ETAG, etag(&tag));
        }
        response
    }

    /// An answer of any length, coded as asked while it is written. What does not fit in a few megabytes
    /// waits in a temporary file for its client, so that a slow one costs no memory.
    pub(crate) fn reply_with(
        &self,
        content_type: &'static str,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Fault>,
    ) -> Result<Response, Fault> {
        let failed = |error| Fault::internal("the answer cannot be kept", &error);
        let mut spool = SpooledTempFile::new(SPOOL_BYTES_MAX);
        let name = match self.coding {
            Coding::Identity => {
                let mut buffer = BufWriter::new(&mut spool);
                write(&mut buffer)?;
                buffer.flush().map_err(failed)?;
                None
            }
            Coding::Gzip => {
                let mut encoder = gzip_encoder(&mut spool);
                write(&mut encoder)?;
                encoder.finish().map_err(failed)?;
                Some("gzip")
            }
            Coding::Brotli => {
                let mut encoder = brotli_encoder(&mut spool);
                write(&mut encoder)?;
                encoder.flush().map_err(failed)?;
                drop(encoder);
                Some("br")
            }
        };
        spool.rewind().map_err(failed)?;
        let body = match spool.into_inner() {
            SpooledData::InMemory(bytes) => Body::from(bytes.into_inner()),
            SpooledData::OnDisk(file) => Body::from_stream(ReaderStream::with_capacity(
                tokio::fs::File::from_std(file),
                SPOOL_CHUNK_BYTES,
            )),
        };
        Ok(coded(body, content_type, Keep::Never, name))
    }
}

/// How much of an answer of unknown length is kept in memory, and how much of it is read back at once.
const SPOOL_BYTES_MAX: usize = 4 << 20;
const SPOOL_CHUNK_BYTES: usize = 64 << 10;

fn coded(
    body: Body,
    content_type: &'static str,
    keep: Keep,
    coding: Option<&'static str>,
) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, keep.header());
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

impl Keep {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Keep::Forever => "public, max-age=31536000, immutable",
            Keep::Revalidate => "no-cache",
            Keep::Never => "no-store",
        })
    }
}

/// Seconds since 1970 as a header writes them.
pub(crate) fn http_date(seconds: i64) -> String {
    httpdate::fmt_http_date(time(seconds))
}

fn time(seconds: i64) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + Duration::from_secs(seconds.max(0).unsigned_abs())
}

fn not_modified(tag: Option<&str>) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    if let Some(tag) = tag {
        response.headers_mut().insert(header::ETAG, etag(tag));
    }
    response.headers_mut().insert(header::CACHE_CONTROL, Keep::Revalidate.header());
    response
}

/// Weak, because every coding of one content carries the same tag.
fn etag(tag: &str) -> HeaderValue {
    HeaderValue::try_from(format!("W/\"{tag}\"")).expect("a tag is hexadecimal")
}

fn coding(headers: &HeaderMap) -> Coding {
    let accepted = Accepted::of(headers);
    match () {
        () if accepted.takes(sakuin::Coding::Brotli) => Coding::Brotli,
        () if accepted.takes(sakuin::Coding::Gzip) => Coding::Gzip,
        () => Coding::Identity,
    }
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = gzip_encoder(Vec::new());
    encoder.write_all(body).expect("memory takes every write");
    encoder.finish().expect("memory takes every write")
}

fn brotli(body: &[u8]) -> Vec<u8> {
    let mut coded = Vec::with_capacity(body.len() / 3);
    let mut encoder = brotli_encoder(&mut coded);
    encoder.write_all(body).expect("memory takes every write");
    drop(encoder);
    coded
}

fn gzip_encoder<W: Write>(to: W) -> GzEncoder<W> {
    GzEncoder::new(to, Compression::fast())
}

/// Quality 1, and a window of 256 KiB that holds a page and keeps the encoder's memory small.
fn brotli_encoder<W: Write>(to: W) -> CompressorWriter<W> {
    CompressorWriter::new(to, 4096, 1, 18)
}

/// A request that is not answered: the status, why, and what the client can do.
///
/// Handlers return it; the door's outermost layer gives it the form of the door, a page or JSON.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) cause: String,
    pub(crate) cure: String,
    /// Seconds after which the same may go well.
    pub(crate) retry_after: Option<u64>,
    /// The methods that would do.
    allow: Option<&'static str>,
}

impl Fault {
    pub(crate) fn new(
        status: StatusCode,
        cause: impl Into<String>,
        cure: impl Into<String>,
    ) -> Fault {
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        Fault { status, cause: cause.into(), cure: cure.into(), retry_after, allow: None }
    }

    pub(crate) fn not_found(cause: impl Into<String>, cure: impl Into<String>) -> Fault {
        Fault::new(StatusCode::NOT_FOUND, cause, cure)
    }

    pub(crate) fn bad_request(cause: impl Into<String>, cure: impl Into<String>) -> Fault {
        Fault::new(StatusCode::BAD_REQUEST, cause, cure)
    }

    /// An address that takes only certain methods.
    pub(crate) fn method(allowed: &'static str) -> Fault {
        let fault = Fault::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this address does not take that method",
            format!("it takes {allowed}"),
        );
        Fault { allow: Some(allowed), ..fault }
    }

    /// A handler that panicked.
    pub(crate) fn panicked() -> Fault {
        Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this answer failed",
            "the cause is in the server's log",
        )
    }

    /// A failure of ours: the log has the whole chain of causes, the client learns what is broken.
    pub(crate) fn internal(what: &str, error: &dyn std::error::Error) -> Fault {
        tracing::error!("{what}: {}", chain(error));
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, what, "the cause is in the server's log")
    }

    /// For a refusal that came from below the handlers, known by its status alone.
    pub(crate) fn of_status(status: StatusCode) -> Fault {
        let (cause, cure) = match status {
            StatusCode::NOT_FOUND => ("there is no such page", "go on from the latest stories"),
            StatusCode::METHOD_NOT_ALLOWED => (
                "this address does not take that method",
                "pages are read with GET, scans sent with POST",
            ),
            _ => ("the request cannot be read", "check the address and what is sent with it"),
        };
        Fault::new(status, cause, cure)
    }
}

impl From<pool::Refused> for Fault {
    fn from(refused: pool::Refused) -> Fault {
        match refused {
            pool::Refused::Full => Fault::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too much is asked of this server at the moment",
                "ask again in a second",
            ),
            pool::Refused::Panicked => Fault::panicked(),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl Fault {
    /// Takes the refusal out of an answer, if it is one.
    pub(crate) fn of(response: &mut Response) -> Option<Fault> {
        let status = response.status();
        let is_refused = status.is_client_error() || status.is_server_error();
        let fault = response.extensions_mut().remove::<Fault>();
        fault.or_else(|| is_refused.then(|| Fault::of_status(status)))
    }
}

/// A refusal that is told in another form.
pub(crate) fn refusal(refused: Response, body: String, content_type: &'static str) -> Response {
    let (mut parts, _) = refused.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    parts.headers.insert(header::CACHE_CONTROL, Keep::Never.header());
    Response::from_parts(parts, Body::from(body))
}

/// Gives an answer the headers that protect its reader. One that has a policy of its own keeps it.
pub(crate) fn protect(mut response: Response, policy: &'static str) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
    response
}

/// The type of pages.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// A refusal in the form of RFC 9457.
pub(crate) fn problem(fault: &Fault) -> serde_json::Value {
    serde_json::json!({
        "title": fault.status.canonical_reason(),
        "status": fault.status.as_u16(),
        "detail": fault.cause,
        "hint": fault.cure,
    })
}

impl Fault {
    /// The answer of a door for programs.
    pub(crate) fn into_problem(self) -> Response<crate::body::Body> {
        let mut response = crate::body::Body::json(problem(&self).to_string().into());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(allowed) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
        }
        response
    }
}

/// The type of [`problem`].
pub(crate) const PROBLEM: &str = "application/problem+json";

/// A body that does not arrive within this time is given up.
const BODY_SECONDS_MAX: u64 = 30;

/// How much of a body that is too long is read and thrown away, so that the refusal reaches a client
/// that sends before it listens.
const DRAIN_BYTES_MAX: usize = 64 << 20;

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read_body(mut body: Body, limit: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let mut length = 0;
    let read = async {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| cut())?.into_data() else { continue };
            length += data.len();
            if length <= limit {
                bytes.extend_from_slice(&data);
            } else if length > DRAIN_BYTES_MAX {
                break;
            }
        }
        Ok::<_, Fault>(())
    };
    match tokio::time::timeout(Duration::from_secs(BODY_SECONDS_MAX), read).await {
        Ok(done) => done?,
        Err(_) => {
            return Err(Fault::new(
                StatusCode::REQUEST_TIMEOUT,
                format!("the body did not arrive within {BODY_SECONDS_MAX} seconds"),
                "send it faster, or in parts",
            ));
        }
    }
    if length > limit {
        return Err(Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is longer than {limit} bytes"),
            "send it in parts",
        ));
    }
    Ok(bytes)
}

fn cut() -> Fault {
    Fault::bad_request("the body ended too early", "send all of it")
}

/// A body as text, or where it stops being UTF-8.
pub(crate) fn utf8(bytes: Vec<u8>) -> Result<String, Fault> {
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        Fault::bad_request(
            format!("byte {byte} of the body is not UTF-8"),
            "send the text as UTF-8",
        )
    })
}
