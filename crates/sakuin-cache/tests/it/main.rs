//! What a cached table promises, each promise with a test that fails when it is broken. All in simulated time.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used)]

/// Rate, quota, concurrency, breaker, deadline and retries.
mod guard;
/// Headers as times and as yes or no, against the RFC's words and another implementation.
mod rfc9111;
/// The clock moved by hand, and the origin that answers when told to.
mod support;
