//! Tests of tables by name.
//!
//! - `map`: jq programs over good, odd and hostile answers

#![allow(clippy::unwrap_used)]

mod map;
