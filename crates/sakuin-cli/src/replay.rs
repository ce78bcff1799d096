//! `sakuin replay`: a stand-in origin that serves recorded answers, as slow and as broken as asked.
//!
//! Requests are numbered as they come, and a number decides alone whether and how it fails, so that a run with
//! the same `--seed` fails at the same places.

mod recording;
mod server;

use std::{
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow};
use tokio::net::TcpListener;

pub(crate) use recording::{Answer, Recording, Target};
use server::{Outage, Replay, Weather};

/// Serve recorded answers as a stand-in origin, slow and failing as asked.
///
/// DIR holds `replay.toml`, which names a body for each path and query; `sakuin record` writes one. What it does not
/// name is answered 404. `GET /_replay/calls` tells how often each was asked.
#[derive(clap::Args)]
pub(crate) struct Command {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Listen here; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9100")]
    listen: SocketAddr,
    /// Wait so many milliseconds before each answer
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay: u64,
    /// Wait up to so many milliseconds more
    #[arg(long, value_name = "MS", default_value_t = 0)]
    jitter: u64,
    /// Let so many of a hundred requests fail: in turn 500, 503 with `Retry-After`, a reset connection, a cut body,
    /// and no answer at all
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    fail: f64,
    /// What decides which requests fail and how long each waits
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Reset every connection from one time after the start to another: `30s..90s`
    #[arg(long, value_name = "FROM..TO", value_parser = outage)]
    outage: Vec<Outage>,
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let recording = Recording::read(&self.folder)?;
        let weather = Weather {
            delay: Duration::from_millis(self.delay),
            jitter: Duration::from_millis(self.jitter),
            fail: self.fail / 100.0,
            seed: self.seed,
            outages: self.outage,
            start: Instant::now(),
        };
        let replay = Replay::new(recording, weather);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind(self.listen).await;
            let listener = listener.with_context(|| format!("cannot listen on {}", self.listen))?;
            let mut out = std::io::stdout();
            writeln!(out, "http://{}/", listener.local_addr()?)?;
            out.flush()?;
            server::run(listener, replay).await;
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| (0.0..=100.0).contains(number)).ok_or("it is 0 to 100".to_owned())
}

fn outage(text: &str) -> anyhow::Result<Outage> {
    let time = sakuin::document::duration;
    let (from, to) = text.split_once("..").ok_or(anyhow!("write two times: `30s..90s`"))?;
    let from = time(from).ok_or(anyhow!("`{from}` is no time such as `30s`"))?;
    let to = time(to).ok_or(anyhow!("`{to}` is no time such as `90s`"))?;
    Ok(Outage { from, to })
}
