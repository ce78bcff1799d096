//! The way of an origin's answer without its origin, for fuzzers; built under `cfg(fuzzing)` only.

use std::time::SystemTime;

use reqwest::Response;

use crate::{
    Mapping, Prepared,
    origin::{Content, http},
};

/// Reads, decodes, maps and prepares an answer as a table does. Nothing if it is a failure.
pub async fn answer(response: Response, mapping: &Mapping, max_answer: usize) -> Option<Prepared> {
    let now = SystemTime::UNIX_EPOCH;
    let content = http::read(response, true, max_answer, now).await.ok()?;
    let Content::Found(body) = content else { return None };
    assert!(body.bytes.len() <= max_answer);
    let mapped = mapping.run(&body.bytes, "key", now).ok()?;
    Some(Prepared::found(mapped.into(), body.content_type))
}
