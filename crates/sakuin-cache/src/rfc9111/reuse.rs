//! Whether a request may be answered with what is kept (RFC 9111 4, 5.2.1).

use std::time::Duration;

use super::{Freshness, RequestDirectives};

/// What to do with a stored response that matches a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Answer with it.
    Serve,
    /// Ask the origin first, with its validators.
    Validate,
    /// Answer 504: the request wants nothing but what is kept, and may not have that.
    Refuse,
}

/// What to do with a response of this `freshness` that is `age` old.
pub fn reuse(request: &RequestDirectives, freshness: &Freshness, age: Duration) -> Reuse {
    let lifetimes = &freshness.lifetimes;
    let left = lifetimes.fresh.saturating_sub(age);
    let stale = age.saturating_sub(lifetimes.fresh);
    let timely = if left.is_zero() {
        !freshness.strict && stale_allowed(request, lifetimes.stale_while_revalidate, stale)
    } else {
        request.min_fresh.is_none_or(|wanted| left >= wanted)
    };
    let young = request.max_age.is_none_or(|limit| age <= limit);
    match timely && young && !request.no_cache {
        true => Reuse::Serve,
        false if request.only_if_cached => Reuse::Refuse,
        false => Reuse::Validate,
    }
}

/// `max-stale` decides for itself. Who asks for `max-age` or `min-fresh` and says nothing of staleness wants
/// none; everybody else takes what the origin allows.
fn stale_allowed(request: &RequestDirectives, allowed: Duration, stale: Duration) -> bool {
    match request.max_stale {
        _ if request.min_fresh.is_some() => false,
        Some(limit) => stale <= limit,
        None => request.max_age.is_none() && stale < allowed,
    }
}
