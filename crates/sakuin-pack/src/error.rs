//! What can go wrong: when building, opening and reading.

/// Why a table was not built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {}

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {}

/// Why a read was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {}
