//! `sakuin reload`: tells a running server to read its configuration again.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, anyhow};
use reqwest::Client;
use sakuin::{
    ConfigError,
    document::{self, Document},
};
use serde::Deserialize;

use crate::serve::DEFAULT_CONFIG;

/// Tell a running server to read its configuration again.
///
/// The server checks the new configuration and takes it over whole, without failing a request; if it refuses it, it
/// goes on with the old one and this command says why.
#[derive(clap::Args)]
pub(crate) struct Command {
    /// The configuration that names the server's `admin` address [default: sakuin.toml]
    #[arg(long, value_name = "CONFIG.toml", conflicts_with = "admin")]
    config: Option<PathBuf>,
    /// The server's admin address
    #[arg(long, value_name = "ADDR")]
    admin: Option<SocketAddr>,
}

/// The server went on with its old configuration.
#[derive(Debug, thiserror::Error, Deserialize)]
#[error("the server goes on as it was: {detail}")]
pub(crate) struct Refused {
    detail: String,
    hint: Option<String>,
}

impl Refused {
    /// What would cure it.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let admin = match self.admin {
            Some(admin) => admin.to_string(),
            None => admin(self.config.as_deref().unwrap_or(Path::new(DEFAULT_CONFIG)))?,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(reload(&admin))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The admin address of a configuration. Nothing else of it is looked at: whoever reloads may not have the secrets
/// of the one who serves.
fn admin(file: &Path) -> Result<String, ConfigError> {
    let text = document::read(file)?;
    let name = file.display().to_string();
    let document = Document::parse(&text, &name, Path::new(""))?;
    let root = document.root();
    let hint = "add `admin = \"127.0.0.1:8081\"`, or name the address with `--admin`";
    let server = root.section("server")?.ok_or_else(|| root.missing("server.admin", hint))?;
    Ok(server.required("admin", hint)?.string()?.to_owned())
}

async fn reload(admin: &str) -> anyhow::Result<()> {
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(60)).build()?;
    let request = client.post(format!("http://{admin}/reload")).header("sakuin-admin", "1");
    let sent = request.send().await.map_err(reqwest::Error::without_url);
    let response = sent.with_context(|| format!("no server answers at {admin}"))?;
    if response.status().is_success() {
        return Ok(());
    }
    let status = response.status();
    let body = response.bytes().await?;
    let refused = serde_json::from_slice::<Refused>(&body);
    Err(refused.map_or_else(|_| anyhow!("{admin} answered {status}"), anyhow::Error::new))
}
