//! Tests of live tables through their public face.
//!
//! - `durable`: what a store has when it is opened again, and what it refuses to open
//! - `disk`: a disk that loses its power and fails
//! - `power`: what is there after that, and what such a store still does
//! - `kill`: what is there after a writer was killed
//! - `exchange`: records into files and back
//! - `model`: any sequence of transactions against a map and a scan
//! - `nearest`: the nearest vectors, beside writers and within transactions
//! - `transactions`: what conflicts, what does not, and what many threads keep true

#![allow(clippy::unwrap_used)]

mod disk;
mod durable;
#[cfg(feature = "exchange")]
mod exchange;
mod kill;
mod model;
mod nearest;
mod power;
mod transactions;
