//! `sakuin publish`, `pull`, `versions`, `diff`, `promote`, `rollback`, `pin`, `collect` and `upload`: versions of tables in
//! an object store, and plain files.
//!
//! Beside the usual exit codes: 3 if another was faster, 4 if the tables break rules.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    pin::pin,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, anyhow};
use bytesize::ByteSize;
use indicatif::{ProgressBar, ProgressStyle};
use sakuin::repository::PackedFile;
use sakuin_publish::{
    Announcement, Error, Follower, Looked, Opened, Publication, Query, Repository, Rules, Step,
};

const STABLE: &str = "stable";
const CONFLICT: u8 = 3;
const REFUSED: u8 = 4;
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Publish tables as a new version, and announce it on a channel.
///
/// The tables are all that the version has. They are checked against the version that the channel serves: one that is
/// empty, or has lost or gained too much, is refused. Killed at any moment, only whole versions are there, and the same
/// command again goes on. Where the store is and who asks, its usual variables say: AWS_ACCESS_KEY_ID,
/// AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME and others.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sakuin publish s3://bucket/shop words=words.skn names=names.skn
  sakuin publish file:///srv/shop words=words.skn --channel canary --must-have words=tokyo
  sakuin publish gs://bucket/shop words=words.skn --allow shrink=\"two shops closed\"")]
pub(crate) struct Publish {
    /// file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix
    url: String,
    /// The tables and their files
    #[arg(value_name = "TABLE=FILE.skn", required = true, value_parser = pair)]
    tables: Vec<(String, String)>,
    /// Where it is announced
    #[arg(long, default_value = STABLE)]
    channel: String,
    #[command(flatten)]
    limits: Limits,
    /// A rule that may be broken, and why: it is written into the version, and readers honour it
    #[arg(long, value_name = "RULE=WHY", value_parser = pair)]
    allow: Vec<(String, String)>,
}

/// What is refused: by who publishes, and again by who reads.
#[derive(clap::Args)]
struct Limits {
    /// The least number of keys of each table
    #[arg(long, default_value_t = 1)]
    min_keys: u64,
    /// The longest table
    #[arg(long, value_name = "SIZE")]
    max_bytes: Option<ByteSize>,
    /// How much a table may lose, in hundredths
    #[arg(long, value_name = "PERCENT", default_value_t = 20.0)]
    shrink: f64,
    /// How much a table may gain, in hundredths
    #[arg(long, value_name = "PERCENT", default_value_t = 50.0)]
    growth: f64,
    /// A key that must be there
    #[arg(long, value_name = "TABLE=KEY")]
    must_have: Vec<Query>,
    /// A file of queries, `TABLE=KEY` a line, which must find much the same as before
    #[arg(long, value_name = "FILE")]
    rehearse: Option<PathBuf>,
}

impl Limits {
    fn rules(self) -> Result<Rules, Error> {
        let mut rules = Rules::default();
        rules.min_keys = self.min_keys;
        rules.max_bytes = self.max_bytes.map(|most| most.0);
        (rules.shrink, rules.growth) = (self.shrink / 100.0, self.growth / 100.0);
        rules.must_have = self.must_have;
        rules.rehearse = self.rehearse.as_deref().map_or(Ok(Vec::new()), Query::read)?;
        Ok(rules)
    }
}

/// Fetch the version that a channel serves into a folder, for programs that read it there.
#[derive(clap::Args)]
pub(crate) struct Pull {
    url: String,
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[arg(long, default_value = STABLE)]
    channel: String,
    /// Go on following, and say each version
    #[arg(long)]
    watch: bool,
    /// How often the store is asked
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, requires = "watch")]
    poll: f64,
    /// Versions that stay on the disk
    #[arg(long, default_value_t = 2)]
    keep: usize,
    #[command(flatten)]
    limits: Limits,
}

/// List the versions of a repository, and what its channels serve.
#[derive(clap::Args)]
pub(crate) struct Versions {
    url: String,
}

/// Say what two versions differ in.
#[derive(clap::Args)]
pub(crate) struct Diff {
    url: String,
    from: u64,
    to: u64,
    /// Compare every key: fetches both versions
    #[arg(long)]
    keys: bool,
}

/// Have a channel serve what another serves: `sakuin promote URL canary stable`.
#[derive(clap::Args)]
pub(crate) struct Promote {
    url: String,
    from: String,
    to: String,
}

/// Have a channel serve an older version again: the one before, or the one of a number.
#[derive(clap::Args)]
pub(crate) struct Rollback {
    url: String,
    channel: String,
    version: Option<u64>,
    /// What went wrong; it stays in the channel's log
    #[arg(long)]
    why: String,
}

/// Keep a version from being collected; or no more.
#[derive(clap::Args)]
pub(crate) struct Pin {
    url: String,
    version: u64,
    #[arg(long, required_unless_present = "remove", conflicts_with = "remove")]
    why: Option<String>,
    #[arg(long)]
    remove: bool,
}

/// Say which versions and objects nobody needs any more, or delete them.
///
/// What channels serve or served lately stays, and so does what is pinned or younger than two days.
#[derive(clap::Args)]
pub(crate) struct Collect {
    url: String,
    /// Delete what is listed; without it, nothing is touched
    #[arg(long)]
    run: bool,
}

/// Send the plain files of a folder to a store, many at once, and only those that have changed.
#[derive(clap::Args)]
pub(crate) struct Upload {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    url: String,
}

fn pair(text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text.split_once('=').context("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs what waits for a store.
fn wait<T>(work: impl Future<Output = Result<T, Error>>) -> anyhow::Result<T> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    Ok(runtime.block_on(work)?)
}

/// The exit code of what two may do at once, and of what may be refused.
fn coded(outcome: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    let error = match outcome {
        Ok(()) => return Ok(ExitCode::SUCCESS),
        Err(error) => error,
    };
    let code = match error.downcast_ref::<Error>() {
        Some(Error::Conflict { .. }) => CONFLICT,
        Some(Error::Refused(_)) => REFUSED,
        _ => return Err(error),
    };
    crate::report(&error);
    Ok(ExitCode::from(code))
}

/// Who does it, as the log of a channel has it.
fn by() -> String {
    let user = std::env::var("USER")
        .or_else(|_| std::env::var("LOGNAME"))
        .unwrap_or_else(|_| "somebody".to_owned());
    let host = fs::read_to_string("/etc/hostname").unwrap_or_default();
    match host.trim() {
        "" => user,
        host => format!("{user}@{host}"),
    }
}

fn said(announcement: &Announcement, channel: &str) {
    eprintln!("`{channel}` serves version {}", announcement.version);
}

impl Publish {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        coded(self.publish())
    }

    fn publish(self) -> anyhow::Result<()> {
        let files: BTreeMap<String, PathBuf> =
            self.tables.into_iter().map(|(name, file)| (name, file.into())).collect();
        let publication = Publication {
            files,
            channel: self.channel,
            rules: self.limits.rules()?,
            allow: self.allow.into_iter().collect(),
            by: by(),
        };
        let bar = bar_of_bytes();
        let told = |step: Step<'_>| match step {
            Step::Checking(table) => bar.set_message(format!("checking {table}")),
            Step::Uploading(table, bytes, all) => {
                if bar.message() != table {
                    bar.set_message(table.to_owned());
                    bar.set_position(0);
                }
                bar.set_length(all);
                bar.inc(bytes);
            }
            Step::Waiting => bar.set_message("waiting for `sakuin collect`, ten minutes"),
            _ => bar.set_message("announcing"),
        };
        let repository = Repository::open(&self.url)?;
        let published = wait(repository.publish(&publication, PackedFile::open, told));
        bar.finish_and_clear();
        let published = published?;
        let (version, channel) = (published.version, &publication.channel);
        if published.is_unchanged {
            eprintln!("`{channel}` serves the very same already: version {version}");
        } else {
            let (sent, reused) = (published.uploaded.len(), published.reused.len());
            eprintln!(
                "`{channel}` serves version {version}: {sent} tables sent, {reused} were there"
            );
        }
        println!("{version}");
        Ok(())
    }
}

impl Pull {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        coded(self.pull())
    }

    fn pull(self) -> anyhow::Result<()> {
        let repository = Repository::open(&self.url)?;
        let follower = Follower::open(
            repository,
            &self.channel,
            &self.folder,
            self.limits.rules()?,
            self.keep,
            PackedFile::open,
        )?;
        let poll =
            Duration::try_from_secs_f64(self.poll).context("--poll is a number of seconds")?;
        let say = |follower: &Follower<PackedFile>| {
            if let Some(current) = follower.current() {
                println!("{}", current.number);
            }
        };
        if !self.watch {
            wait(look(&follower))?;
            say(&follower);
            return Ok(());
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(async {
            say(&follower);
            let mut told = String::new();
            loop {
                match look(&follower).await {
                    Ok(Looked::Switched(_)) => say(&follower),
                    Ok(Looked::Unchanged) => {}
                    Err(error) if error.to_string() != told => {
                        told = error.to_string();
                        eprintln!("error: {error}");
                    }
                    Err(_) => {}
                }
                tokio::time::sleep(follower.wait(poll)).await;
            }
        })
    }
}

/// Looks for news, and shows how much of it is there.
async fn look(follower: &Follower<PackedFile>) -> Result<Looked, Error> {
    let bar = bar_of_bytes();
    let mut look = pin!(follower.look());
    let mut ticks = tokio::time::interval(SHOWN_EVERY);
    loop {
        tokio::select! {
            looked = &mut look => {
                bar.finish_and_clear();
                return looked;
            }
            _ = ticks.tick() => {
                if let Some((there, all)) = follower.status().fetching {
                    bar.set_message("fetching");
                    bar.set_length(all);
                    bar.set_position(there);
                }
            }
        }
    }
}

impl Versions {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let versions = wait(Repository::open(&self.url)?.versions())?;
        for manifest in &versions.manifests {
            let served =
                versions.channels.iter().filter(|(_, head)| head.version == manifest.number);
            let served: Vec<&str> = served.map(|(channel, _)| channel.as_str()).collect();
            let pin = versions.pins.get(&manifest.number).map(|why| format!("  pinned: {why}"));
            let tables =
                manifest.tables.iter().map(|(name, table)| format!("{name} {}", table.facts.keys));
            println!(
                "{:>6}  {}  {}  {}{}{}",
                manifest.number,
                manifest.made.strftime("%Y-%m-%d %H:%M:%S"),
                manifest.by,
                tables.collect::<Vec<_>>().join(", "),
                if served.is_empty() {
                    String::new()
                } else {
                    format!("  ← {}", served.join(", "))
                },
                pin.unwrap_or_default(),
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Diff {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let repository = Repository::open(&self.url)?;
        let (from, to) = wait(async {
            Ok((repository.manifest(self.from).await?, repository.manifest(self.to).await?))
        })?;
        let folder = tempfile::tempdir()?;
        let mut names: Vec<&String> = from.tables.keys().chain(to.tables.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let line = match (from.tables.get(name), to.tables.get(name)) {
                (Some(before), Some(after)) if before == after => format!("{name}: the same"),
                (Some(before), Some(after)) => {
                    let (keys, bytes) = (
                        after.facts.keys as i128 - before.facts.keys as i128,
                        after.facts.bytes as i128 - before.facts.bytes as i128,
                    );
                    let compared = match self.keys {
                        true => {
                            let fetch = async |at: &str, object| {
                                let file = folder.path().join(at);
                                repository.fetch(object, &file, |_| ()).await.map(|()| file)
                            };
                            let files = wait(async {
                                Ok((fetch("from", before).await?, fetch("to", after).await?))
                            })?;
                            format!("; {}", compared(&files.0, &files.1)?)
                        }
                        false => String::new(),
                    };
                    format!("{name}: {keys:+} keys, {bytes:+} bytes{compared}")
                }
                (None, Some(after)) => format!("{name}: new, {} keys", after.facts.keys),
                _ => format!("{name}: gone"),
            };
            println!("{line}");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Every key of two files against the other.
fn compared(from: &Path, to: &Path) -> anyhow::Result<String> {
    let open = |file: &Path| PackedFile::open(file).map_err(|cause| anyhow!(cause));
    let (from, to) = (open(from)?, open(to)?);
    let (mut gone, mut changed, mut added) = (0_u64, 0_u64, 0_u64);
    let mut failed = None;
    from.each(&mut |key, value| match to.get(key) {
        Ok(None) => gone += 1,
        Ok(Some(now)) => changed += u64::from(now != value),
        Err(cause) => failed = Some(cause),
    })
    .map_err(|cause| anyhow!(cause))?;
    to.each(&mut |key, _| match from.get(key) {
        Ok(found) => added += u64::from(found.is_none()),
        Err(cause) => failed = Some(cause),
    })
    .map_err(|cause| anyhow!(cause))?;
    match failed {
        Some(cause) => Err(anyhow!(cause)),
        None => Ok(format!("{added} keys new, {gone} gone, {changed} changed")),
    }
}

impl Promote {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        coded(self.promote())
    }

    fn promote(self) -> anyhow::Result<()> {
        let repository = Repository::open(&self.url)?;
        let announced = wait(repository.promote(&self.from, &self.to, &by()))?;
        said(&announced, &self.to);
        Ok(())
    }
}

impl Rollback {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        coded(self.rollback())
    }

    fn rollback(self) -> anyhow::Result<()> {
        let repository = Repository::open(&self.url)?;
        let announced = wait(repository.rollback(&self.channel, self.version, &self.why, &by()))?;
        said(&announced, &self.channel);
        Ok(())
    }
}

impl Pin {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let repository = Repository::open(&self.url)?;
        match &self.why {
            Some(why) => wait(repository.pin(self.version, why))?,
            None => wait(repository.unpin(self.version))?,
        }
        eprintln!("version {} {}", self.version, if self.remove { "may go" } else { "stays" });
        Ok(ExitCode::SUCCESS)
    }
}

impl Collect {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let collection = wait(Repository::open(&self.url)?.collect(self.run))?;
        for (version, why) in &collection.stays {
            println!("stays    version {version}: {why}");
        }
        for deletion in &collection.deletions {
            let verb = if collection.is_done { "deleted" } else { "goes   " };
            println!("{verb}  {}: {}", deletion.name, deletion.why);
        }
        let bytes = ByteSize(collection.deletions.iter().map(|one| one.bytes).sum());
        let count = collection.deletions.len();
        match collection.is_done {
            true => eprintln!("deleted {count} objects, {bytes}"),
            false => eprintln!("{count} objects would go, {bytes}; `--run` deletes them"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Upload {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let bar = bar_of_bytes();
        let told = |bytes, all| {
            bar.set_length(all);
            bar.inc(bytes);
        };
        let uploaded = wait(sakuin_publish::upload(&self.folder, &self.url, told));
        bar.finish_and_clear();
        let uploaded = uploaded?;
        let bytes = ByteSize(uploaded.bytes);
        eprintln!("{} files sent, {bytes}; {} unchanged", uploaded.sent, uploaded.unchanged);
        Ok(ExitCode::SUCCESS)
    }
}

fn bar_of_bytes() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:30} {wide_bar} {bytes}/{total_bytes} {eta}");
    ProgressBar::new(0).with_style(style.expect("it is a template"))
}
