//! jq over an origin's JSON, compiled once, run when an answer is fetched.

use std::time::SystemTime;

/// A compiled jq program. It sees the origin's answer as `.`, the key as `$key`, the time as `$now` (seconds
/// since 1970). It cannot read the environment, files or further inputs.
pub struct Mapping {
    _program: (),
}

/// Why a mapping was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// It does not compile.
    #[error("the mapping is no jq: {message}")]
    Program {
        /// What the compiler said, with the place.
        message: String,
    },
    /// The input is no JSON.
    #[error("the answer is no JSON: {message}")]
    Input {
        /// What and where.
        message: String,
    },
    /// The input is nested too deeply to be read safely.
    #[error("the answer is nested deeper than {limit} levels")]
    Deep {
        /// The limit.
        limit: usize,
    },
    /// It failed on this input.
    #[error("the mapping failed: {message}")]
    Run {
        /// jq's own words, with the path where it knows one.
        message: String,
    },
    /// It gave no output.
    #[error("the mapping gave no output")]
    Empty,
}

impl Mapping {
    /// Compiles a jq program.
    pub fn compile(program: &str) -> Result<Mapping, MapError> {
        let _ = program;
        unimplemented!()
    }

    /// The first output for `json`, as JSON without spaces. An empty input is `null`.
    pub fn run(&self, json: &[u8], key: &str, now: SystemTime) -> Result<Vec<u8>, MapError> {
        let _ = (json, key, now);
        unimplemented!()
    }
}
