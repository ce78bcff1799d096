//! Tests of cached tables, all in simulated time.
//!
//! - `support`: the clock moved by hand, and the origin that answers when told to
//! - `model`: random histories against a table written plainly, for every strategy
//! - `table`: what a history must never show, one by one
//! - `flights`: who waits, who leaves, what breaks
//! - `room`: bytes, and what goes for want of them

mod flights;
mod model;
mod room;
mod support;
mod table;
