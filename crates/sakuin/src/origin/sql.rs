//! A SQL query as an origin.
