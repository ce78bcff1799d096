//! What an HTTP answer means: which statuses are answers and which are failures, and its body within bounds.

use std::{
    io::Read,
    time::{Duration, SystemTime},
};

use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use reqwest::Response;
use sakuin_cache::{Failure, FailureKind, Tick};

use super::{failure, innermost};
use crate::origin::{Body, Content, Validators};

/// Tags of one answer; more are not kept.
const TAGS_MAX: usize = 64;

/// An answer as several tables share it.
pub(crate) struct Found {
    pub(crate) content: Content,
    /// When it was asked for.
    pub(crate) asked: Tick,
}

/// Reads an answer to its end. No more than `max_answer` bytes of it are ever held, and no more than that of
/// what it decodes to; what it says about its own length is no reason to take memory.
pub(crate) async fn read(
    response: Response,
    conditional: bool,
    max_answer: usize,
    now: SystemTime,
) -> Result<Content, Failure> {
    use StatusCode as S;
    match response.status() {
        S::OK | S::NON_AUTHORITATIVE_INFORMATION => {
            let headers = response.headers().clone();
            let bytes = match body(response, max_answer).await? {
                bytes if bytes.is_empty() => bytes,
                bytes => decoded(bytes, &headers, max_answer)?,
            };
            Ok(Content::Found(Box::new(Body {
                bytes,
                content_type: content_type(&headers),
                validators: Validators {
                    etag: headers.get(header::ETAG).map(copy),
                    last_modified: headers.get(header::LAST_MODIFIED).map(copy),
                },
                tags: tags(&headers),
            })))
        }
        S::NO_CONTENT => Ok(Content::Found(Box::default())),
        S::NOT_MODIFIED if conditional => Ok(Content::NotModified),
        S::NOT_FOUND | S::GONE => Ok(Content::Missing),
        status => Err(refused(status, response.headers(), now)),
    }
}

/// A value of its own. A clone would keep the whole buffer alive that the connection read it into.
pub(crate) fn copy(value: &HeaderValue) -> HeaderValue {
    HeaderValue::from_bytes(value.as_bytes()).expect("it is the value of a header")
}

fn refused(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Failure {
    let later = status.is_server_error()
        || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
    let kind = match status {
        _ if later => FailureKind::Refused,
        _ if status.is_success() || status == StatusCode::NOT_MODIFIED => FailureKind::BadAnswer,
        _ => FailureKind::Denied,
    };
    let why = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ": look at the key we send",
        _ if kind == FailureKind::Denied && status.is_redirection() => {
            ", and redirects are not followed: name the last address"
        }
        _ => "",
    };
    Failure {
        kind,
        cause: format!("the origin answered {status}{why}"),
        retry_after: if later { retry_after(headers, now) } else { None },
    }
}

/// `Retry-After`, in seconds or as a date (RFC 9110 10.2.3).
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).ok(),
    }
}

async fn body(mut response: Response, max_answer: usize) -> Result<Bytes, Failure> {
    let announced = response.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > max_answer as u64) {
        return Err(too_long(max_answer));
    }
    let mut whole = BytesMut::new();
    while let Some(part) = response.chunk().await.map_err(|error| cut(&error))? {
        if whole.len() + part.len() > max_answer {
            return Err(too_long(max_answer));
        }
        whole.extend_from_slice(&part);
    }
    Ok(whole.freeze())
}

fn decoded(bytes: Bytes, headers: &HeaderMap, max_answer: usize) -> Result<Bytes, Failure> {
    let coding =
        headers.get(header::CONTENT_ENCODING).map_or(Ok("identity"), |coding| coding.to_str());
    match coding.map(|coding| coding.trim().to_ascii_lowercase()).as_deref() {
        Ok("identity" | "") => Ok(bytes),
        Ok("gzip" | "x-gzip") => {
            let mut plain = Vec::new();
            let bound = max_answer as u64 + 1;
            MultiGzDecoder::new(&bytes[..]).take(bound).read_to_end(&mut plain).map_err(
                |error| failure(FailureKind::BadAnswer, &format!("the answer is no gzip: {error}")),
            )?;
            if plain.len() > max_answer {
                return Err(too_long(max_answer));
            }
            Ok(plain.into())
        }
        _ => {
            Err(failure(FailureKind::BadAnswer, "the answer has a coding that we did not ask for"))
        }
    }
}

fn too_long(max_answer: usize) -> Failure {
    let cause = format!("the answer is longer than {max_answer} bytes (`max_answer`)");
    failure(FailureKind::BadAnswer, &cause)
}

fn cut(error: &reqwest::Error) -> Failure {
    failure(FailureKind::Unreachable, &format!("the answer was cut: {}", innermost(error)))
}

/// The types that are passed on; of any other only bytes are promised.
fn content_type(headers: &HeaderMap) -> &'static str {
    const KNOWN: [&str; 8] = [
        "application/json",
        "application/geo+json",
        "application/xml",
        "application/pdf",
        "text/plain",
        "text/html",
        "text/csv",
        "text/xml",
    ];
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next()).unwrap_or("application/json").trim();
    let known = KNOWN.into_iter().find(|known| known.eq_ignore_ascii_case(kind));
    known.unwrap_or("application/octet-stream")
}

/// What an answer may be purged by: `Surrogate-Key` with spaces, `Cache-Tag` with commas.
fn tags(headers: &HeaderMap) -> Vec<Box<str>> {
    const SURROGATE_KEY: HeaderName = HeaderName::from_static("surrogate-key");
    const CACHE_TAG: HeaderName = HeaderName::from_static("cache-tag");
    let words = |name, separator: fn(char) -> bool| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(move |value| value.split(separator)).map(str::trim)
    };
    words(SURROGATE_KEY, char::is_whitespace)
        .chain(words(CACHE_TAG, |character| character == ','))
        .filter(|tag| !tag.is_empty())
        .take(TAGS_MAX)
        .map(Box::from)
        .collect()
}
