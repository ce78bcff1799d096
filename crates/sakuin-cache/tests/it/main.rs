//! Tests of cached tables, all in simulated time.
//!
//! - `support`: the clock moved by hand, and the origin that answers when told to
//! - `model`: random histories against a table written plainly, for every strategy
//! - `table`: what a history must never show, one by one
//! - `flights`: who waits, who leaves, what breaks
//! - `room`: bytes, and what goes for want of them
//! - `guard`: rate, quota, concurrency, breaker, deadline and retries
//! - `rfc9111`: headers as times, against the RFC's words and another implementation

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod flights;
mod guard;
mod model;
mod rfc9111;
mod room;
mod support;
//! What a cached table promises, each promise with a test that fails when it is broken. All in simulated time.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used)]

/// Who waits for a flight, who leaves it, what breaks.
mod flights;
/// Rate, quota, concurrency, breaker, deadline and retries.
mod guard;
/// Random histories against a table written plainly, for every strategy.
mod model;
/// Headers as times, against the RFC's words and another implementation.
mod rfc9111;
/// Bytes, and what goes for want of them.
mod room;
/// The clock moved by hand, and the origin that answers when told to.
mod support;
/// What the model does not compare: counts, shared values, tables that take over from others.
mod table;
