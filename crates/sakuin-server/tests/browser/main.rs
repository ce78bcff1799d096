//! The reading page as a reader meets it: a real server, a real browser, a dictionary of a few lines.
//!
//! - `site`: a server with the demo stories and the dictionary written in this folder;
//! - `browser`: Debian's chromium, driven over WebDriver, and what a reader can do in it;
//! - `desktop`, `phone`, `plain`: what happens then;
//! - `contacts`: the pages of contacts, at a desk, on a telephone and without scripts.
//!
//! Nothing sleeps: every wait is for a condition in the page. Screenshots are kept under
//! `target/screenshots`, to be looked at.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod browser;
mod contacts;
mod desktop;
mod phone;
mod plain;
mod site;
