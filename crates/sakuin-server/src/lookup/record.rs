//! The answer for one key, as HTTP: a hit copies headers that the first one made, says its age, and hands out the
//! body's bytes.

use std::{sync::Arc, sync::LazyLock, time::Duration};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use sakuin::{Answer, AnswerError, Coding, Key, Prepared, Representation, Source, Table};
use sakuin_cache::{CacheError, FailureKind};

use crate::{
    accept::{Accepted, has_already},
    body::Body,
    reply::Fault,
};

/// Where an answer came from: `packed`, `live`, `hit`, `miss` or `stale`.
const SOURCE: HeaderName = HeaderName::from_static("sakuin-source");
/// The version of the repository that an answer is of.
const VERSION: HeaderName = HeaderName::from_static("sakuin-version");
/// The same as every cache says it (RFC 9211).
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// The answer, if there is one without waiting.
pub(crate) fn peek(
    table: &Table,
    key: &Key,
    asked: &HeaderMap,
) -> Result<Option<Response<Body>>, Fault> {
    table.peek(key).map(|answer| respond(table, key, answer, asked)).transpose()
}

/// The answer, whatever it waits for.
pub(crate) async fn answer(
    table: Arc<Table>,
    key: Key,
    asked: HeaderMap,
) -> Result<Response<Body>, Fault> {
    let answer = table.answer(&key).await;
    respond(&table, &key, answer, &asked)
}

fn respond(
    table: &Table,
    key: &Key,
    answer: Result<Option<Answer>, AnswerError>,
    asked: &HeaderMap,
) -> Result<Response<Body>, Fault> {
    let Some(answer) = answer? else { return Err(no_such_key(table, key)) };
    let prepared = answer.prepared();
    if prepared.status() == StatusCode::OK
        && asked.contains_key(header::IF_NONE_MATCH)
        && let Some(known) = known(prepared, asked)
    {
        let headers = told(known.not_modified(), &answer);
        return Ok(response(StatusCode::NOT_MODIFIED, headers, Body::empty()));
    }
    let accepted = Accepted::of(asked);
    let chosen = prepared.representation(|coding| accepted.takes(coding));
    if !accepted.takes(chosen.coding()) {
        return Err(Fault::new(
            StatusCode::NOT_ACCEPTABLE,
            "the answer has no coding that the request accepts",
            "accept `identity`",
        ));
    }
    let headers = match answer.source {
        Source::Hit => {
            let mut headers = chosen.hit_headers(|headers| told(headers, &answer));
            headers.insert(header::AGE, age(answer.age));
            headers
        }
        _ => told(chosen.headers(), &answer),
    };
    Ok(response(prepared.status(), headers, chosen.body.clone().into()))
}

/// The representation whose tag the client has, in whatever coding it keeps it.
fn known<'a>(prepared: &'a Prepared, asked: &HeaderMap) -> Option<&'a Representation> {
    [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd]
        .into_iter()
        .map(|wanted| prepared.representation(|coding| coding == wanted))
        .find(|one| has_already(asked.get_all(header::IF_NONE_MATCH), one.tag().as_bytes()))
}

/// Headers of a representation with the age and the source of this answer.
fn told(mut headers: HeaderMap, answer: &Answer) -> HeaderMap {
    let (source, cache) = words(answer.source);
    headers.insert(SOURCE, HeaderValue::from_static(source));
    if let Some(version) = answer.published() {
        headers.insert(VERSION, version.into());
        headers.insert(header::AGE, age(answer.age));
    }
    if let Some(cache) = cache {
        headers.insert(CACHE_STATUS, HeaderValue::from_static(cache));
        headers.insert(header::AGE, age(answer.age));
    }
    headers
}

pub(super) fn words(source: Source) -> (&'static str, Option<&'static str>) {
    match source {
        Source::Packed => ("packed", None),
        Source::Live => ("live", None),
        Source::Hit => ("hit", Some("sakuin; hit")),
        Source::Stale => ("stale", Some("sakuin; hit; detail=stale")),
        Source::Miss { collapsed: false } => ("miss", Some("sakuin; fwd=miss; stored")),
        Source::Miss { collapsed: true } => ("miss", Some("sakuin; fwd=miss; collapsed")),
        _ => ("other", None),
    }
}

/// Ages that are handed out without being written anew: an hour.
static AGES: LazyLock<Vec<HeaderValue>> =
    LazyLock::new(|| (0..3600u64).map(HeaderValue::from).collect());

fn age(age: Duration) -> HeaderValue {
    let seconds = age.as_secs();
    match usize::try_from(seconds).ok().and_then(|at| AGES.get(at)) {
        Some(written) => written.clone(),
        None => seconds.into(),
    }
}

fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn no_such_key(table: &Table, key: &Key) -> Fault {
    let key: String = key.as_str().chars().take(64).collect();
    match table {
        Table::Live(_) => Fault::not_found(
            format!("the table has no record {key}"),
            "a record that was deleted leaves its id to no other; was it this one?",
        ),
        _ => Fault::not_found(
            format!("the table has no key `{key}`"),
            "keys are compared byte for byte; is it spelt as it was packed?",
        ),
    }
}

/// One table from what a table says to what HTTP says.
impl From<AnswerError> for Fault {
    fn from(error: AnswerError) -> Fault {
        match error {
            AnswerError::Key(error) => Fault::of_key(&error),
            AnswerError::Packed(error) => Fault::internal("the table cannot be read", &error),
            AnswerError::Cached(error) => Fault::of_origin(&error),
            error => Fault::internal("the table cannot answer", &error),
        }
    }
}

impl Fault {
    /// A key that its table does not allow.
    pub(crate) fn of_key(error: &sakuin::KeyError) -> Fault {
        Fault::bad_request(error.to_string(), format!("a `{}` is {}", error.part, error.wanted))
    }

    fn of_origin(error: &CacheError) -> Fault {
        let (status, cause, wait) = match error {
            CacheError::Crowded => (StatusCode::SERVICE_UNAVAILABLE, error.to_string(), None),
            CacheError::Late => (StatusCode::GATEWAY_TIMEOUT, error.to_string(), None),
            CacheError::Origin(failure) => {
                let status = match failure.kind {
                    FailureKind::Guarded => StatusCode::SERVICE_UNAVAILABLE,
                    FailureKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
                    _ => StatusCode::BAD_GATEWAY,
                };
                (status, format!("{error}: {failure}"), failure.retry_after)
            }
            _ => (StatusCode::BAD_GATEWAY, error.to_string(), None),
        };
        let seconds = wait.map_or(1, |wait| wait.as_secs_f64().ceil() as u64).max(1);
        let mut fault = Fault::new(status, cause, format!("ask again in {seconds} s"));
        fault.retry_after = Some(seconds);
        fault
    }
}

#[cfg(test)]
mod tests {
    use sakuin_cache::Failure;

    use super::*;

    #[test]
    fn ages_are_whole_seconds() {
        for (age_ms, written) in
            [(0, "0"), (999, "0"), (15_000, "15"), (3_600_000, "3600"), (9_000_000, "9000")]
        {
            assert_eq!(age(Duration::from_millis(age_ms)), written);
        }
    }

    #[test]
    fn an_origin_that_fails_is_no_fault_of_the_client() {
        let check = |error: &CacheError, status: u16, seconds: u64| {
            let fault = Fault::of_origin(error);
            assert_eq!(
                (fault.status.as_u16(), fault.retry_after),
                (status, Some(seconds)),
                "{error:?}"
            );
        };
        check(&CacheError::Crowded, 503, 1);
        check(&CacheError::Late, 504, 1);
        let failure = |kind, retry_after| {
            CacheError::Origin(Failure { kind, cause: "x".to_owned(), retry_after })
        };
        check(&failure(FailureKind::BadAnswer, None), 502, 1);
        check(&failure(FailureKind::TimedOut, None), 504, 1);
        check(&failure(FailureKind::Guarded, Some(Duration::from_millis(29_100))), 503, 30);
    }
}
