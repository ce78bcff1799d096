//! `sakuin serve`, `check` and `stories`: the doors.

use std::process::ExitCode;

/// Serve.
#[derive(clap::Args)]
pub(crate) struct Serve {}
/// Check.
#[derive(clap::Args)]
pub(crate) struct Check {}
/// Stories.
#[derive(clap::Subcommand)]
pub(crate) enum Stories {
    /// Add.
    Add {},
}
impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}
impl Check {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}
impl Stories {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}
