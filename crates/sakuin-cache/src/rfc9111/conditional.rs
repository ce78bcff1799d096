//! Conditions of a request that a cache answers by itself (RFC 9111 4.3.2, RFC 9110 13).

use http::{HeaderMap, StatusCode, header};

use super::{Request, Response, date::Dated, is_safe, validation::opaque};

/// Whether a request has a condition that only its origin may judge: `If-Match` or `If-Unmodified-Since`.
pub fn only_for_the_origin(request: &HeaderMap) -> bool {
    request.contains_key(header::IF_MATCH) || request.contains_key(header::IF_UNMODIFIED_SINCE)
}

/// Whether the client has `response` already, so that a 304 will do. `If-None-Match` counts before
/// `If-Modified-Since`; what is no date, and what was answered otherwise than with 200, meets no condition.
pub fn not_modified(request: Request<'_>, response: Response<'_>) -> bool {
    if response.status != StatusCode::OK || !is_safe(request.method) {
        return false;
    }
    if request.headers.contains_key(header::IF_NONE_MATCH) {
        let lines = request.headers.get_all(header::IF_NONE_MATCH).iter();
        let stored = response.headers.get(header::ETAG).map(|tag| opaque(tag.as_bytes()));
        return lines.flat_map(|line| Tags { rest: line.as_bytes() }).any(|tag| match tag {
            Tag::Any => true,
            Tag::Opaque(tag) => stored == Some(tag),
        });
    }
    let since = Dated::of(request.headers, &header::IF_MODIFIED_SINCE).at();
    let changed = Dated::of(response.headers, &header::LAST_MODIFIED).at();
    let changed = changed.or_else(|| Dated::of(response.headers, &header::DATE).at());
    since.zip(changed).is_some_and(|(since, changed)| changed <= since)
}

enum Tag<'a> {
    Any,
    Opaque(&'a [u8]),
}

/// A list of entity tags; a tag may hold commas. Ends at the first that is none.
struct Tags<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        let start = self.rest.iter().position(|byte| !matches!(byte, b',' | b' ' | b'\t'))?;
        let tag = &self.rest[start..];
        self.rest = &[];
        if let Some(rest) = tag.strip_prefix(b"*") {
            self.rest = rest;
            return Some(Tag::Any);
        }
        let tag = tag.strip_prefix(b"W/").unwrap_or(tag);
        let quoted = tag.strip_prefix(b"\"")?;
        let close = quoted.iter().position(|&byte| byte == b'"')?;
        let (tag, rest) = tag.split_at(close + 2);
        self.rest = rest;
        Some(Tag::Opaque(tag))
    }
}
