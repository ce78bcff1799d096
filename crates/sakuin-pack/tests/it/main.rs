//! What a packed table promises, each promise with a test that fails when it is broken.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used)]

/// Values stored once, sections of other crates, the description.
mod build;
/// Tables of all kinds answer as a `BTreeMap` does.
mod model;
