//! `sakuin config`: what a configuration means, with every default in its place.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use crate::serve::DEFAULT_CONFIG;

/// Print a configuration with every default in its place.
///
/// Secrets are printed as where they stand, never as what they are.
#[derive(clap::Args)]
pub(crate) struct Command {
    #[arg(value_name = "CONFIG.toml", default_value = DEFAULT_CONFIG)]
    config: PathBuf,
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        write!(io::stdout(), "{}", sakuin_server::Config::read(&self.config)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
