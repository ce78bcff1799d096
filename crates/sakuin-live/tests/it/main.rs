//! Tests of live tables through their public face.
//!
//! - `durable`: what a store has when it is opened again, and what it refuses to open
//! - `model`: any sequence of transactions against a map and a scan
//! - `transactions`: what conflicts, what does not, and what many threads keep true

#![allow(clippy::unwrap_used)]

mod durable;
mod model;
mod transactions;
