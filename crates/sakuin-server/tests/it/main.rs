//! Tests of the doors as a client sees them: a real server on a free loopback port, a real client.
//!
//! - `config`: what is refused, and what the refusal says
//! - `stories`: adding, updating, finding; import of JSON Lines
//! - `positions`: canonical HTML and the pieces that are scanned name the same positions
//! - `site`: every route, what every page carries, conditional requests, refusals
//! - `feed`, `book`: read back by other programs
//! - `connections`: slow clients, draining

#![allow(clippy::unwrap_used)]

mod book;
mod config;
mod connections;
mod feed;
mod positions;
mod site;
mod stories;
mod support;
