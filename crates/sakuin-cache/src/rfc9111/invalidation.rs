//! What a request that changes something makes untrue (RFC 9111 4.4).

use http::{HeaderMap, Method, StatusCode, header};
use url::Url;

/// Whether a method asks only to be told something. One that nobody knows may change anything.
pub fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

/// What is no longer true after the origin answered `method` on `target` with `status`: the target, and what
/// `Location` and `Content-Location` name on the same origin. Nothing after a safe method or a failure.
pub fn invalidated(
    method: &Method,
    target: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Vec<Url> {
    if is_safe(method) || !(status.is_success() || status.is_redirection()) {
        return Vec::new();
    }
    let named = [header::LOCATION, header::CONTENT_LOCATION].into_iter().filter_map(|name| {
        let named = target.join(headers.get(name)?.to_str().ok()?).ok()?;
        // Anybody could otherwise make untrue what others say.
        (named.origin() == target.origin()).then_some(named)
    });
    let mut invalidated: Vec<Url> = std::iter::once(target.clone()).chain(named).collect();
    for url in &mut invalidated {
        url.set_fragment(None);
    }
    invalidated.dedup();
    invalidated
}
