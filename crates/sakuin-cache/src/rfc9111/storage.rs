//! Which responses may be kept (RFC 9111 3).

use http::{Method, StatusCode, header};

use super::{Request, RequestDirectives, Response, ResponseDirectives, Selecting};

/// Whether a shared cache may keep `response` and answer later requests with it.
///
/// Beyond what RFC 9111 forbids, these are not kept: responses to other methods than GET, parts (206),
/// failures of the server (5xx but 501), and what sets a cookie without being `public`.
pub fn storable(request: Request<'_>, response: Response<'_>) -> bool {
    let asked = RequestDirectives::of(request.headers);
    let said = ResponseDirectives::of(response.headers);
    request.method == Method::GET
        && keepable_status(response.status)
        && !asked.no_store
        && !forbids_storing(&said, response.status)
        && !said.private
        && (!request.headers.contains_key(header::AUTHORIZATION) || allows_authorized(&said))
        && (!response.headers.contains_key(header::SET_COOKIE) || said.public)
        && Selecting::of(request.headers, response.headers).is_some()
        && (has_lifetime(&said, response) || said.public || by_default(response.status))
}

fn keepable_status(status: StatusCode) -> bool {
    match status.as_u16() {
        206 | 304 | 412 | 416 => false,
        status => matches!(status, 200..=499 | 501),
    }
}

/// `no-store`, unless `must-understand` puts knowing the status in its place (RFC 9111 5.2.2.3).
fn forbids_storing(said: &ResponseDirectives, status: StatusCode) -> bool {
    if said.must_understand {
        !by_default(status) && !REDIRECTS.contains(&status)
    } else {
        said.no_store
    }
}

const REDIRECTS: [StatusCode; 3] =
    [StatusCode::FOUND, StatusCode::SEE_OTHER, StatusCode::TEMPORARY_REDIRECT];

/// RFC 9111 3.5.
fn allows_authorized(said: &ResponseDirectives) -> bool {
    said.must_revalidate || said.public || said.s_maxage.is_some()
}

fn has_lifetime(said: &ResponseDirectives, response: Response<'_>) -> bool {
    said.max_age.is_some()
        || said.s_maxage.is_some()
        || (!said.targeted && response.headers.contains_key(header::EXPIRES))
}

/// The statuses that may be kept though nothing says so (RFC 9110 15.1), without 206.
pub(super) fn by_default(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}
