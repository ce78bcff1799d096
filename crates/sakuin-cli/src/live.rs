//! `sakuin live fill`, `import` and `export`: records into live tables and out of them, while no server has them.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, anyhow};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use sakuin::Tables;
use sakuin_live::{
    Filter, FilterError, Store,
    exchange::{self, Format, Source},
};
use sakuin_server::Config;

mod random;

use random::Random;

/// Fill, import and export live tables.
///
/// These commands open the store that `[live]` of a configuration names, which only one process can do at a time:
/// while a server runs, ask the server. Every transaction is whole, so a command that is interrupted has done a part
/// and harmed nothing.
#[derive(clap::Subcommand)]
pub(crate) enum Live {
    Fill(Fill),
    Import(Import),
    Export(Export),
}

/// Fill a table with records to try it out.
///
/// Of so many ROWS, whole numbers are drawn from 0 to ROWS/10, so that ten records share each; texts are such numbers
/// too. Other numbers are from 0 to 1, times are of the year 2026. Vectors have length 1 and lie around a thousand
/// places at most, as real ones lie together: they are good to see a search run, and no measure of how well it finds.
/// The same seed makes the same records.
#[derive(clap::Args)]
pub(crate) struct Fill {
    table: String,
    /// The configuration that describes the table
    #[arg(long, value_name = "CONFIG.toml", default_value = crate::serve::DEFAULT_CONFIG)]
    config: PathBuf,
    /// How many records to add
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    rows: u64,
    /// Draw their values; there is no other way yet
    #[arg(long, required = true)]
    random: bool,
    /// What the values are drawn from
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Import records from JSON Lines, CSV or Parquet.
///
/// A record with an `id` gets it, and takes the place of the record that has it; others get new ids. An attribute
/// that is left away, `null` or an empty cell is no value. Times are RFC 3339, bytes base64, vectors arrays or, in
/// Parquet, lists of `float32`. Ten thousand records at most are one transaction; at the first bad record the import
/// ends, tells its line or row, and how many before it are in.
#[derive(clap::Args)]
pub(crate) struct Import {
    table: String,
    /// The file; `-` is standard input
    file: PathBuf,
    /// The configuration that describes the table
    #[arg(long, value_name = "CONFIG.toml", default_value = crate::serve::DEFAULT_CONFIG)]
    config: PathBuf,
    /// The file's format, if its name does not say
    #[arg(long)]
    format: Option<FileFormat>,
}

/// Export records to JSON Lines, CSV or Parquet, in the order of their ids.
///
/// Imported again they have the same ids. All are of one moment.
#[derive(clap::Args)]
pub(crate) struct Export {
    table: String,
    /// The file; standard output if none is named. It is replaced only when all is written
    file: Option<PathBuf>,
    /// The configuration that describes the table
    #[arg(long, value_name = "CONFIG.toml", default_value = crate::serve::DEFAULT_CONFIG)]
    config: PathBuf,
    /// The file's format, if its name does not say; `jsonl` on standard output
    #[arg(long)]
    format: Option<FileFormat>,
    /// Only the records that are like this: `value >= 7 AND label = "heron" AND NOT seen:*`
    #[arg(long, default_value = "", hide_default_value = true)]
    filter: String,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FileFormat {
    /// JSON Lines: an object a line
    Jsonl,
    /// With a header of names
    Csv,
    Parquet,
}

/// What keeps a command from its table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("there is no live table `{table}` in `{config}`")]
    Table { table: String, config: String, known: Vec<String> },
    #[error("what `{file}` holds is not known by its name")]
    Format { file: String },
    #[error("the filter cannot be read: {0}")]
    Filter(FilterError),
}

impl Refused {
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Refused::Table { known, .. } if known.is_empty() => {
                "describe it: `[tables.NAME]` with `kind = \"live\"`".to_owned()
            }
            Refused::Table { known, .. } => format!("it has `{}`", known.join("`, `")),
            Refused::Format { .. } => "add `--format jsonl`, `csv` or `parquet`".to_owned(),
            Refused::Filter(error) => error.hint.clone(),
        })
    }
}

impl Live {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Live::Fill(command) => command.run(),
            Live::Import(command) => command.run(),
            Live::Export(command) => command.run(),
        }
    }
}

impl Fill {
    fn run(self) -> anyhow::Result<ExitCode> {
        let Fill { table, rows, seed, random: drawn, .. } = &self;
        debug_assert!(*drawn, "the arguments require it");
        let store = open(&self.config, table)?;
        let bar = bar(Some(*rows))?;
        let snapshot = store.snapshot();
        let schema = snapshot.schema(table)?;
        let mut random = Random::new(schema, *rows, *seed);
        let mut left = *rows;
        while left > 0 {
            let count = left.min(random.records_at_once());
            let mut transaction = store.begin();
            for _ in 0..count {
                transaction.insert(table, random.record())?;
            }
            store.commit(transaction).with_context(|| {
                format!("{} of {rows} records were added to `{table}`", rows - left)
            })?;
            left -= count;
            bar.inc(count);
        }
        bar.finish_and_clear();
        done(table, "added", *rows, &store)
    }
}

impl Import {
    fn run(self) -> anyhow::Result<ExitCode> {
        let Import { table, file, .. } = &self;
        let format = format(self.format, Some(file))?;
        let name = file.display();
        let source = match file.to_str() {
            Some("-") => Source::Stream(Box::new(BufReader::new(io::stdin()))),
            _ => {
                Source::File(File::open(file).with_context(|| format!("`{name}` was not opened"))?)
            }
        };
        let store = open(&self.config, table)?;
        let bar = bar(None)?;
        let count =
            exchange::import(&store, table, format, source, &mut |count| bar.set_position(count))
                .with_context(|| format!("`{name}` was not imported"))?;
        bar.finish_and_clear();
        done(table, "imported", count, &store)
    }
}

impl Export {
    fn run(self) -> anyhow::Result<ExitCode> {
        let Export { table, file, .. } = &self;
        let format = format(self.format, file.as_deref())?;
        let store = open(&self.config, table)?;
        let snapshot = store.snapshot();
        let filter =
            Filter::parse(&self.filter, snapshot.schema(table)?).map_err(Refused::Filter)?;
        let bar = bar(Some(snapshot.count(table)?))?;
        let export = |to: &mut (dyn Write + Send)| {
            let mut progress = |count| bar.set_position(count);
            exchange::export(&snapshot, table, &filter, format, to, &mut progress)
        };
        let count = match file {
            None => export(&mut BufWriter::new(io::stdout()))?,
            Some(file) => {
                let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
                let refused = || format!("`{}` was not written", file.display());
                let part = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
                let mut part = part.with_context(refused)?;
                let count =
                    export(&mut BufWriter::new(part.as_file_mut())).with_context(refused)?;
                part.as_file().sync_all().with_context(refused)?;
                part.persist(file).map_err(|error| error.error).with_context(refused)?;
                count
            }
        };
        bar.finish_and_clear();
        eprintln!("{table}: {count} records exported");
        Ok(ExitCode::SUCCESS)
    }
}

/// Opens the store of a configuration, and nothing else that it names.
fn open(file: &Path, table: &str) -> anyhow::Result<Arc<Store>> {
    let mut config = Config::read(file)?.tables;
    config.tables.retain(|_, table| table.schema().is_some());
    if !config.tables.contains_key(table) {
        let known = config.tables.into_keys().collect();
        return Err(Refused::Table {
            table: table.to_owned(),
            config: file.display().to_string(),
            known,
        }
        .into());
    }
    config.origins.clear();
    let tables = Tables::open(&config)?;
    tables.store().cloned().ok_or_else(|| anyhow!("the store was not opened"))
}

fn format(said: Option<FileFormat>, file: Option<&Path>) -> Result<Format, Refused> {
    match (said, file) {
        (Some(FileFormat::Jsonl), _) | (None, None) => Ok(Format::JsonLines),
        (Some(FileFormat::Csv), _) => Ok(Format::Csv),
        (Some(FileFormat::Parquet), _) => Ok(Format::Parquet),
        (None, Some(file)) => Format::of_path(file)
            .ok_or_else(|| Refused::Format { file: file.display().to_string() }),
    }
}

/// A bar over so many records, or a counter if nobody knows how many there will be.
fn bar(total: Option<u64>) -> anyhow::Result<ProgressBar> {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{wide_bar} {human_pos}/{human_len} {eta}"),
        None => (ProgressBar::new_spinner(), "{spinner} {human_pos} records, {per_sec}"),
    };
    bar.set_style(ProgressStyle::with_template(template)?);
    bar.enable_steady_tick(Duration::from_millis(200));
    Ok(bar)
}

fn done(table: &str, what: &str, count: u64, store: &Store) -> anyhow::Result<ExitCode> {
    // Of a store whose durability is not `sync` the last is on the disk only now.
    store.close()?;
    let total = HumanCount(store.snapshot().count(table)?);
    eprintln!("{table}: {} records {what}, {total} in all", HumanCount(count));
    Ok(ExitCode::SUCCESS)
}
