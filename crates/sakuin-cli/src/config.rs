//! `sakuin config`: what a configuration means, with every default in its place.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use sakuin::document::{self, Document};

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
        let text = document::read(&self.config)?;
        let name = self.config.display().to_string();
        let folder = self.config.parent().unwrap_or(Path::new(""));
        let document = Document::parse(&text, &name, folder)?;
        write!(io::stdout(), "{}", sakuin::Config::of_document(&document)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
