//! `sakuin serve`, `check` and `stories add`: the server and what it serves.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use sakuin::config::{Ask, Table};
use sakuin_server::{Config, Report};

/// The configuration that is read when none is named, if the current folder has it.
pub(crate) const DEFAULT_CONFIG: &str = "sakuin.toml";

/// Serve the reading site and `POST /v1/scan` until SIGTERM or SIGINT.
///
/// Prints the address of the first page once it listens. Without a configuration, `sakuin.toml` of the current
/// folder is read, or else `japanese.skn` and `stories.db` in it are served.
#[derive(clap::Args)]
pub(crate) struct Serve {
    #[arg(value_name = "CONFIG.toml")]
    config: Option<PathBuf>,
    /// Listen here instead of where the configuration says; port 0 takes any free one
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

/// Check a configuration and everything it names, without serving.
#[derive(clap::Args)]
pub(crate) struct Check {
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
}

/// Stories of the reading site.
#[derive(clap::Subcommand)]
pub(crate) enum Stories {
    Add(Add),
}

/// Add stories from JSON Lines: `date`, `title`, `content`, and perhaps `image`, `audio`, `source`.
///
/// Title and content are HTML with `<ruby>`, plain text, or plain text with ｜base《reading》. A story whose
/// `source` is known is updated. A file with a bad line is refused whole, and the line named.
#[derive(clap::Args)]
pub(crate) struct Add {
    /// Files to read; `-` is standard input
    #[arg(required = true)]
    file: Vec<PathBuf>,
    /// The configuration that names the site's stories
    #[arg(long, value_name = "CONFIG.toml")]
    config: Option<PathBuf>,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut config = config(self.config.as_deref())?;
        if let Some(address) = &self.listen {
            config.listen_on(address)?;
        }
        sakuin_server::serve(&config)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let checked = sakuin_server::check(&self.config)?;
        for warning in &checked.warnings {
            eprintln!("warning: {warning}");
        }
        let dictionaries: Vec<_> = checked
            .sources
            .iter()
            .map(|source| match &source.date {
                Some(date) => format!("{} of {date}", source.name),
                None => source.name.clone(),
            })
            .collect();
        println!("{}: sound", self.config.display());
        for address in &checked.config.server.listen {
            println!("listens on    {address}");
        }
        if checked.config.reader.is_some() {
            println!("dictionaries  {}", dictionaries.join(", "));
            println!("stories       {}", checked.stories.unwrap_or(0));
        }
        for (name, table) in &checked.config.tables.tables {
            let keys = checked.keys.get(name).map(|keys| format!("{keys} keys"));
            let what = keys.unwrap_or_else(|| origin(table));
            println!("table         {name}: {what}{}", route(table));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn origin(table: &Table) -> String {
    match table {
        Table::Cached(table) if table.ask == Ask::Proxy => {
            format!("a caching proxy before {}", table.origin)
        }
        Table::Cached(table) => format!("cached from {}", table.origin),
        Table::Live { schema, .. } => {
            let names = schema.attributes().iter().map(|attribute| attribute.name.as_str());
            format!("live, with {}", names.collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    }
}

fn route(table: &Table) -> String {
    table.route().map_or(String::new(), |route| format!(", at {route}"))
}

impl Stories {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Stories::Add(Add { file: files, config: file }) = self;
        let reader =
            config(file.as_deref())?.reader.context("the configuration has no `[reader]`")?;
        let stories = reader.stories;
        let mut total = Report::default();
        for file in &files {
            let name = file.display().to_string();
            let input: Box<dyn BufRead> = if name == "-" {
                Box::new(io::stdin().lock())
            } else {
                let opened =
                    File::open(file).with_context(|| format!("`{name}` was not opened"))?;
                Box::new(BufReader::new(opened))
            };
            total += sakuin_server::import(&stories, &name, input)?;
        }
        let Report { added, updated, unchanged } = total;
        eprintln!("{}: {added} added, {updated} updated, {unchanged} unchanged", stories.display());
        Ok(ExitCode::SUCCESS)
    }
}

fn config(file: Option<&Path>) -> Result<Config, sakuin_server::ConfigError> {
    match file {
        Some(file) => Config::read(file),
        None if Path::new(DEFAULT_CONFIG).exists() => Config::read(DEFAULT_CONFIG),
        None => Ok(Config::of_folder("")),
    }
}
