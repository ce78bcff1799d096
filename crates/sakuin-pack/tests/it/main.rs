//! What a packed table promises, each promise with a test that fails when it is broken.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used)]

/// Values stored once, sections of other crates, the description.
mod build;
/// Damaged, cut, foreign and newer files are refused by name and never answered from.
mod damage;
/// Files of earlier releases, and files that are replaced while they are read.
mod golden;
/// Tables of all kinds answer as a `BTreeMap` does.
mod model;
