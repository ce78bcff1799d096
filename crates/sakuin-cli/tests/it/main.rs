//! Contents: the command as other programs call it, a module a group of subcommands.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bank;
mod checker;
mod command;
mod config;
mod contacts;
mod examples;
mod history;
mod japanese;
mod live;
mod mortal;
mod original;
mod pack;
#[allow(dead_code, reason = "the tests of the library need more of it")]
#[path = "../../../sakuin/tests/it/support/postgres.rs"]
mod postgres;
mod publish;
mod readme;
mod reflection;
mod replay;
mod serve;
mod server;
mod tools;
