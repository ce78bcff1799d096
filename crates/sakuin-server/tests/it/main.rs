//! Tests of the doors as a client sees them: a real server on a free loopback port, a real client.
//!
//! - `config`: what is refused, and what the refusal says
//! - `stories`: adding, updating, finding; import of JSON Lines
//! - `positions`: canonical HTML and the pieces that are scanned name the same positions
//! - `site`: every route, what every page carries, conditional requests, refusals
//! - `feed`, `book`: read back by other programs
//! - `lookup`: tables by key, by route and many at once; conditional requests, codings, refusals
//! - `origin`: cached tables, with an origin that does what a key says
//! - `live_http`: live tables: records as JSON, and writes that lose no update
//! - `description`: the OpenAPI description, held against a server
//! - `tls`: handshakes, HTTP/2, a certificate that changes
//! - `http2`: many requests on one connection
//! - `connections`: slow clients, draining, loops that share connections
//! - `proxy`: a caching proxy before a scripted origin
//! - `dav`: books and cards, as programs of telephones and desks ask for them
//! - `grpc`: calls of gRPC, in files of their own
//! - `reload`: a changed configuration and a changed certificate under load
//! - `admin`: what the admin door tells, and to whom

#![allow(clippy::unwrap_used)]

mod admin;
mod book;
mod config;
mod connections;
mod contacts;
mod dav;
mod description;
mod feed;
mod grpc;
mod http2;
mod live_http;
mod lookup;
mod origin;
mod positions;
mod proxy;
mod reload;
#[allow(dead_code, reason = "the tests of the library need more of it")]
#[path = "../../../sakuin/tests/it/support/origin.rs"]
mod scripted;
mod site;
mod stories;
mod support;
mod tls;
