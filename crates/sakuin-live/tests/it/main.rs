//! Tests of live tables through their public face.
//!
//! - `model`: any sequence of transactions against a map and a scan
//! - `transactions`: what conflicts, what does not, and what many threads keep true

#![allow(clippy::unwrap_used)]

#[cfg(feature = "exchange")]
mod exchange;
mod model;
mod transactions;
