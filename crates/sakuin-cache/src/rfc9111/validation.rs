//! Asking whether a stored response is still true, and what a 304 changes in it (RFC 9111 3.2, 4.3).

use http::{HeaderMap, HeaderName, header};

/// Makes `request` ask whether `stored` is still true: its own conditions give way to the stored validators.
/// Whether there were any.
pub fn validate(request: &mut HeaderMap, stored: &HeaderMap) -> bool {
    for name in [
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        header::IF_MODIFIED_SINCE,
        header::IF_UNMODIFIED_SINCE,
        header::IF_RANGE,
        header::RANGE,
    ] {
        request.remove(name);
    }
    let mut validators = false;
    for (condition, validator) in
        [(header::IF_NONE_MATCH, header::ETAG), (header::IF_MODIFIED_SINCE, header::LAST_MODIFIED)]
    {
        if let Some(value) = stored.get(validator) {
            request.insert(condition, value.clone());
            validators = true;
        }
    }
    validators
}

/// Whether a 304 with the headers `confirmation` is about the stored response (RFC 9111 4.3.4).
///
/// One without any validator is believed: it answers a request that carried this response's validators and
/// no others.
pub fn confirms(confirmation: &HeaderMap, stored: &HeaderMap) -> bool {
    match (confirmation.get(header::ETAG), stored.get(header::ETAG)) {
        (Some(new), Some(old)) => opaque(new.as_bytes()) == opaque(old.as_bytes()),
        (Some(_), None) => false,
        (None, _) => {
            let changed = |headers: &HeaderMap| headers.get(header::LAST_MODIFIED).cloned();
            changed(confirmation).is_none_or(|new| changed(stored) == Some(new))
        }
    }
}

/// An entity tag without its mark of weakness.
pub(super) fn opaque(tag: &[u8]) -> &[u8] {
    let tag = tag.trim_ascii();
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// What describes the stored body, which a 304 does not bring (RFC 9111 3.2).
const OF_THE_BODY: [HeaderName; 4] =
    [header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::CONTENT_TYPE, header::CONTENT_RANGE];

/// The stored headers as a 304 leaves them. `confirmation` is without hop-by-hop fields.
pub fn refreshed(stored: &HeaderMap, confirmation: &HeaderMap) -> HeaderMap {
    let mut headers = stored.clone();
    // An age belongs to the response it came with.
    headers.remove(header::AGE);
    for name in confirmation.keys().filter(|name| !OF_THE_BODY.contains(name)) {
        headers.remove(name);
        for value in confirmation.get_all(name) {
            headers.append(name, value.clone());
        }
    }
    headers
}
