//! Tests of cached tables, all in simulated time.
//!
//! - `support`: the clock moved by hand, and the origin that answers when told to
//! - `model`: random histories against a table written plainly, for every strategy
//! - `table`: what a history must never show, one by one
//! - `flights`: who waits, who leaves, what breaks
//! - `room`: what goes for want of room; bytes are counted in `tests/memory`
//! - `guard`: rate, quota, concurrency, breaker, deadline and retries
//! - `rfc9111`: headers as times, against the RFC's words and another implementation

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod flights;
mod guard;
mod model;
mod rfc9111;
mod room;
mod support;
mod table;
