//! `sakuin japanese`: packs dictionaries, explains inflections, scans texts.

use std::fs;
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use bytesize::ByteSize;
use sakuin_japanese::deinflect::deinflect;
use sakuin_japanese::dictionary::Dictionary;
use sakuin_japanese::pack::Packer;
use sakuin_japanese::read::Summary;
use sakuin_japanese::text::Text;

/// Japanese text: dictionaries, inflections, every word of a text.
#[derive(clap::Subcommand)]
pub(crate) enum Japanese {
    Pack(Pack),
    Deinflect(Deinflect),
    Scan(Scan),
}

/// Pack dictionary files into one file with one trie.
///
/// Reads EDICT, EDICT2, ENAMDICT, KANJIDIC, JMdict and JMnedict, in EUC-JP or UTF-8, plain or gzip; which
/// of them a file is shows in the file.
#[derive(clap::Args)]
#[command(after_help = "Example:
  sakuin japanese pack --words /usr/share/edict/edict --names /usr/share/edict/enamdict \\
      --kanji /usr/share/edict/kanjidic -o japanese.skn")]
pub(crate) struct Pack {
    /// Dictionaries of words: EDICT, EDICT2 or JMdict
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    words: Vec<PathBuf>,
    /// Dictionaries of names: ENAMDICT or JMnedict
    #[arg(long, num_args = 1.., value_name = "FILE")]
    names: Vec<PathBuf>,
    /// A dictionary of kanji: KANJIDIC
    #[arg(long, value_name = "FILE")]
    kanji: Option<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE.skn")]
    output: PathBuf,
    /// Refuse a dictionary with a line that is not understood, instead of leaving that line out
    #[arg(long)]
    strict: bool,
}

/// Print every way to read a word as an inflected form, a JSON object a line; needs no dictionary.
#[derive(clap::Args)]
#[command(after_help = "Example:
  sakuin japanese deinflect 食べさせられた
  {\"word\":\"食べさせられた\",\"form\":\"食べる\",\"classes\":[\"v1\"],\"reasons\":[…]}")]
pub(crate) struct Deinflect {
    /// Words; without any, a word a line from standard input
    word: Vec<String>,
}

/// Print every dictionary word of a text as JSON.
#[derive(clap::Args)]
pub(crate) struct Scan {
    /// A dictionary made by `sakuin japanese pack`
    #[arg(long, value_name = "japanese.skn")]
    dictionary: PathBuf,
    /// A text in UTF-8; without it, standard input
    file: Option<PathBuf>,
}

impl Japanese {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Japanese::Pack(command) => command.run(),
            Japanese::Deinflect(command) => command.run(),
            Japanese::Scan(command) => command.run(),
        }
    }
}

impl Pack {
    fn run(self) -> anyhow::Result<ExitCode> {
        let files = self.words.len() + self.names.len() + self.kanji.iter().count();
        let bar = indicatif::ProgressBar::new(files as u64 + 1);
        bar.set_style(indicatif::ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}")?);
        let mut packer = Packer::default();
        let add = |path: &Path, read: &mut dyn FnMut() -> anyhow::Result<Summary>| {
            bar.set_message(path.display().to_string());
            let summary = read().with_context(|| format!("`{}` was not packed", path.display()))?;
            bar.suspend(|| self.report(path, &summary))?;
            bar.inc(1);
            anyhow::Ok(())
        };
        if let Some(path) = &self.kanji {
            add(path, &mut || Ok(packer.kanji(path)?))?;
        }
        for path in &self.words {
            add(path, &mut || Ok(packer.words(path)?))?;
        }
        for path in &self.names {
            add(path, &mut || Ok(packer.names(path)?))?;
        }
        bar.set_message(self.output.display().to_string());
        let report = packer
            .write(&self.output)
            .with_context(|| format!("`{}` was not written", self.output.display()))?;
        bar.finish_and_clear();
        eprintln!(
            "{}: {} words, {} names, {} keys, {}",
            self.output.display(),
            report.words,
            report.names,
            report.keys,
            ByteSize(report.table.file_bytes)
        );
        Ok(ExitCode::SUCCESS)
    }

    /// Names what was not understood; refuses it if strict.
    fn report(&self, path: &Path, summary: &Summary) -> anyhow::Result<()> {
        let path = path.display();
        for (line, reason) in &summary.first_problems {
            eprintln!("warning: {path}:{line}: {reason}");
        }
        if summary.problems > 0 {
            let count = summary.problems;
            if self.strict {
                bail!("`{path}` has {count} lines that are not understood");
            }
            eprintln!("warning: {path}: {count} lines not understood and left out");
        }
        Ok(())
    }
}

impl Deinflect {
    fn run(self) -> anyhow::Result<ExitCode> {
        let mut out = BufWriter::new(io::stdout().lock());
        for word in &self.word {
            print_inflections(&mut out, word)?;
        }
        if self.word.is_empty() {
            let mut line = Vec::new();
            let mut input = io::stdin().lock();
            let mut number = 0;
            while {
                line.clear();
                input.read_until(b'\n', &mut line)? > 0
            } {
                number += 1;
                let word = std::str::from_utf8(&line)
                    .with_context(|| format!("line {number} is not UTF-8"))?;
                print_inflections(&mut out, word.trim_end_matches(['\n', '\r']))?;
            }
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

fn print_inflections(out: &mut impl Write, word: &str) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct Shown<'a> {
        word: &'a str,
        form: &'a str,
        classes: &'a [&'a str],
        reasons: &'a [&'a str],
    }
    for inflection in deinflect(word) {
        let (form, classes) = (&inflection.form, &inflection.classes);
        let shown = Shown { word, form, classes, reasons: &inflection.reasons };
        serde_json::to_writer(&mut *out, &shown)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

impl Scan {
    fn run(self) -> anyhow::Result<ExitCode> {
        let dictionary = Dictionary::open(&self.dictionary)
            .with_context(|| format!("`{}` was refused", self.dictionary.display()))?;
        let (name, bytes) = match &self.file {
            Some(path) => (path.display().to_string(), fs::read(path)),
            None => {
                let mut bytes = Vec::new();
                ("standard input".to_owned(), io::stdin().read_to_end(&mut bytes).map(|_| bytes))
            }
        };
        let bytes = bytes.with_context(|| format!("`{name}` was not read"))?;
        let text = std::str::from_utf8(&bytes).with_context(|| format!("`{name}` is not UTF-8"))?;
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        dictionary.answer(&Text::plain(text), &mut out)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
