//! What a cached table promises, each promise with a test that fails when it is broken.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used)]

/// Rate, quota, concurrency, breaker, deadline and retries, in simulated time.
mod guard;
