//! Tests of cached tables, all in simulated time.
//!
//! - `support`: the clock moved by hand, and the origin that answers when told to.

mod support;
