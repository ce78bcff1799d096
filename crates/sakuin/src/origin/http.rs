//! An HTTP API as an origin.
