//! `sakuin pack`: makes a packed table of one or more inputs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use bytesize::ByteSize;
use indicatif::{ProgressBar, ProgressStyle};

use crate::input::{self, ContentType, Fields, Format};

/// Pack keys and values into one file that is read in place.
///
/// Inputs are JSON, JSON Lines, CSV or TSV; `-` is standard input. The file is replaced in one step: a
/// killed `pack` leaves the old one whole.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  sakuin pack settings.json -o settings.skn
  sakuin pack people.jsonl --key id -o people.skn
  sakuin pack stops.csv --key code --value name --content-type text -o stops.skn
  sakuin dump old.skn | sakuin pack - -o new.skn")]
pub(crate) struct Pack {
    /// Files to read in this order; `-` is standard input
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE.skn")]
    output: PathBuf,
    /// How the input is written; guessed from its name and first bytes
    #[arg(long)]
    format: Option<Format>,
    /// The field or column that holds the key
    #[arg(long, value_name = "FIELD")]
    key: Option<String>,
    /// The field or column that holds the value; without it the whole record is the value
    #[arg(long, value_name = "FIELD")]
    value: Option<String>,
    /// What values are; `json`, or `text` where a CSV or TSV has a column of values
    #[arg(long)]
    content_type: Option<ContentType>,
    /// The perfect hash
    #[arg(long, default_value = "phast")]
    hash: Hash,
    /// Store the keys, or only a 16-bit fingerprint of each (one absent key in 65,536 then seems present)
    #[arg(long, default_value = "exact")]
    keys: Keys,
    /// What to do with a key that comes twice
    #[arg(long, default_value = "error")]
    duplicates: Duplicates,
    /// How much memory the build may use before it spills to disk, as `256MiB`
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Hash {
    /// Fewest bits and the fastest
    Phast,
    /// The classic, simple to read from other languages
    Chd,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Keys {
    Exact,
    Approximate,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Duplicates {
    /// Refuse, naming the key
    Error,
    /// Keep its first value
    First,
    /// Keep its last value
    Last,
    /// Keep all its values, in order
    Keep,
}

impl Pack {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let bar = progress_bar(&self.input)?;
        let first = Source::open(&self.input[0], &bar)?;
        let format = self.format.unwrap_or_else(|| first.guess());
        let content = self.content_type.unwrap_or(match format {
            Format::Csv | Format::Tsv if self.value.is_some() => ContentType::Text,
            _ => ContentType::Json,
        });
        let fields = Fields { key: self.key.clone(), value: self.value.clone(), content };
        let writing = progress_bar_of_entries()?;
        let shown = writing.clone();
        let options = self.options().progress(move |progress| {
            shown.set_length(progress.total);
            shown.set_position(progress.done);
            ControlFlow::Continue(())
        });
        let mut builder = sakuin_pack::Builder::new(content.into(), options);
        let mut add = |key: &[u8], value: &[u8]| builder.add(key, value);
        let mut source = Some(first);
        for path in &self.input {
            let source = match source.take() {
                Some(first) => first,
                None => Source::open(path, &bar)?,
            };
            let format = self.format.unwrap_or_else(|| source.guess());
            input::read(source.reader, format, &fields, &mut add)
                .with_context(|| format!("`{}` was not packed", path.display()))?;
        }
        bar.finish_and_clear();
        let report = builder
            .write(&self.output)
            .with_context(|| format!("`{}` was not written", self.output.display()))?;
        writing.finish_and_clear();
        eprintln!(
            "{}: {} keys, {} values, {}",
            self.output.display(),
            report.keys,
            report.values,
            ByteSize(report.file_bytes)
        );
        Ok(ExitCode::SUCCESS)
    }

    fn options(&self) -> sakuin_pack::Options {
        let hash = match self.hash {
            Hash::Phast => sakuin_pack::Hash::Phast,
            Hash::Chd => sakuin_pack::Hash::Chd,
        };
        let keys = match self.keys {
            Keys::Exact => sakuin_pack::Keys::Exact,
            Keys::Approximate => sakuin_pack::Keys::Approximate { bits: 16 },
        };
        let duplicates = match self.duplicates {
            Duplicates::Error => sakuin_pack::Duplicates::Error,
            Duplicates::First => sakuin_pack::Duplicates::First,
            Duplicates::Last => sakuin_pack::Duplicates::Last,
            Duplicates::Keep => sakuin_pack::Duplicates::Keep,
        };
        let options = sakuin_pack::Options::new().hash(hash).keys(keys).duplicates(duplicates);
        match self.memory {
            Some(memory) => options.memory(memory.0 as usize),
            None => options,
        }
    }
}

impl From<ContentType> for sakuin_pack::Content {
    fn from(content: ContentType) -> sakuin_pack::Content {
        match content {
            ContentType::Json => sakuin_pack::Content::Json,
            ContentType::Text => sakuin_pack::Content::Text,
            ContentType::Bytes => sakuin_pack::Content::Bytes,
        }
    }
}

/// One input, buffered, its reading shown on the bar.
struct Source {
    name: String,
    reader: BufReader<Box<dyn Read>>,
    first: Vec<u8>,
}

impl Source {
    fn open(path: &Path, bar: &ProgressBar) -> anyhow::Result<Source> {
        let name = path.display().to_string();
        let bytes: Box<dyn Read> = if name == "-" {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).with_context(|| format!("`{name}` was not opened"))?)
        };
        bar.set_message(name.clone());
        let mut reader =
            BufReader::with_capacity(1 << 18, Box::new(bar.wrap_read(bytes)) as Box<dyn Read>);
        let first = reader.fill_buf().with_context(|| format!("`{name}` was not read"))?.to_vec();
        Ok(Source { name, reader, first })
    }

    fn guess(&self) -> Format {
        input::guess(&self.name, &self.first)
    }
}

/// A bar over the bytes of all inputs, or a counter where their size is not known.
fn progress_bar(inputs: &[PathBuf]) -> anyhow::Result<ProgressBar> {
    let size = |path: &PathBuf| {
        let data = std::fs::metadata(path).ok()?;
        data.is_file().then_some(data.len())
    };
    let sizes: Option<u64> = inputs.iter().map(size).sum();
    let bar = sizes.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let template = match sizes {
        Some(_) => "{msg:30} {wide_bar} {bytes}/{total_bytes} {eta}",
        None => "{msg:30} {spinner} {bytes} {elapsed}",
    };
    bar.set_style(ProgressStyle::with_template(template)?);
    Ok(bar)
}

/// A bar over the entries of a table being written; it appears when the first are.
fn progress_bar_of_entries() -> anyhow::Result<ProgressBar> {
    let style = ProgressStyle::with_template("{msg:30} {wide_bar} {pos}/{len} {eta}")?;
    let bar = ProgressBar::no_length().with_style(style).with_message("writing");
    Ok(bar)
}
