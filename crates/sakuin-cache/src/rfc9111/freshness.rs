//! How long a response is fresh, how long it may be used stale, and how old it was when it came
//! (RFC 9111 4.2, RFC 5861).

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

use super::{Response, ResponseDirectives, cache_control::delta_seconds, date::Dated, storage};
use crate::Lifetimes;

/// How long a response may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Its times, from its headers alone.
    pub lifetimes: Lifetimes,
    /// Whether it must never be used stale, whatever anybody wishes: `must-revalidate`, `proxy-revalidate`,
    /// `s-maxage` or `no-cache`.
    pub strict: bool,
}

impl Freshness {
    /// The same for a response that the table has found good to be served stale: only the request may refuse.
    pub fn permitted(self) -> Freshness {
        let lifetimes = Lifetimes { stale_while_revalidate: Duration::MAX, ..self.lifetimes };
        Freshness { lifetimes, strict: false }
    }
}

/// Without a word from the origin, a response lives a tenth of the time since it was last changed, and no
/// longer than this.
const HEURISTIC_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How long `response`, which came at `received`, may be used.
pub fn freshness(response: Response<'_>, received: SystemTime) -> Freshness {
    let said = ResponseDirectives::of(response.headers);
    let strict =
        said.no_cache || said.must_revalidate || said.proxy_revalidate || said.s_maxage.is_some();
    let fresh = if said.no_cache { Duration::ZERO } else { fresh_for(&said, response, received) };
    let stale = |time: Duration| if strict { Duration::ZERO } else { time };
    let lifetimes = Lifetimes {
        fresh,
        stale_while_revalidate: stale(said.stale_while_revalidate),
        stale_if_error: stale(said.stale_if_error),
    };
    Freshness { lifetimes, strict }
}

/// RFC 9111 4.2.1: the first that is there counts, even if it is damaged.
fn fresh_for(said: &ResponseDirectives, response: Response<'_>, received: SystemTime) -> Duration {
    if let Some(lifetime) = said.s_maxage.or(said.max_age) {
        return lifetime;
    }
    let date = Dated::of(response.headers, &header::DATE).at().unwrap_or(received);
    let expires = Dated::of(response.headers, &header::EXPIRES);
    match expires {
        Dated::At(expires) if !said.targeted => expires.duration_since(date).unwrap_or_default(),
        Dated::Invalid if !said.targeted => Duration::ZERO,
        _ if said.public || storage::by_default(response.status) => {
            let changed = Dated::of(response.headers, &header::LAST_MODIFIED).at();
            let unchanged = changed.and_then(|changed| date.duration_since(changed).ok());
            Duration::from_secs(unchanged.unwrap_or_default().as_secs() / 10).min(HEURISTIC_MAX)
        }
        _ => Duration::ZERO,
    }
}

/// How old a response was when it came at `received`, `delay` after it was asked for (RFC 9111 4.2.3).
pub fn initial_age(headers: &HeaderMap, delay: Duration, received: SystemTime) -> Duration {
    let date = Dated::of(headers, &header::DATE).at();
    let apparent = date.and_then(|date| received.duration_since(date).ok()).unwrap_or_default();
    apparent.max(age(headers) + delay)
}

/// `Age`: the first number counts, what is none does not (RFC 9111 5.1).
fn age(headers: &HeaderMap) -> Duration {
    let first = headers.get(header::AGE).map(http::HeaderValue::as_bytes);
    let first = first.and_then(|line| line.split(|&byte| byte == b',').next());
    Duration::from_secs(first.and_then(|age| delta_seconds(age.trim_ascii())).unwrap_or(0))
}
