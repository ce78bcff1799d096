//! `sakuin get`, `dump`, `verify` and `inspect`: reading a packed table.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytesize::ByteSize;
use sakuin_pack::{Content, Hash, Keys, ReadError, Table, TableOptions};
use serde::Serialize;
use serde_json::value::RawValue;

/// Print the values of keys, a value a line. Exit code 1 if a key is absent.
#[derive(clap::Args)]
pub(crate) struct Get {
    #[arg(value_name = "FILE.skn")]
    file: PathBuf,
    #[arg(required = true)]
    key: Vec<String>,
}

/// Print a whole table as JSON Lines: `{"key":…,"values":[…]}`.
///
/// `sakuin pack` reads this form. Keys and values that are no UTF-8 are printed as `{"base64":"…"}`.
#[derive(clap::Args)]
pub(crate) struct Dump {
    #[arg(value_name = "FILE.skn")]
    file: PathBuf,
}

/// Check every byte of a table against its checksums, and that every key is found.
#[derive(clap::Args)]
pub(crate) struct Verify {
    #[arg(value_name = "FILE.skn")]
    file: PathBuf,
}

/// Print what a table holds and how.
#[derive(clap::Args)]
pub(crate) struct Inspect {
    #[arg(value_name = "FILE.skn")]
    file: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Get {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let table = open(&self.file)?;
        let mut out = BufWriter::new(io::stdout().lock());
        let mut code = ExitCode::SUCCESS;
        for key in &self.key {
            match table.get(key.as_bytes()).with_context(|| refused(&self.file))? {
                Some(values) => {
                    for value in values.iter() {
                        out.write_all(value.bytes())?;
                        out.write_all(b"\n")?;
                    }
                }
                None => {
                    out.flush()?;
                    eprintln!("error: no key `{key}` in `{}`", self.file.display());
                    code = ExitCode::FAILURE;
                }
            }
        }
        out.flush()?;
        Ok(code)
    }
}

impl Dump {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let table = open(&self.file)?;
        let is_json = table.content() == Content::Json;
        let mut out = BufWriter::new(io::stdout().lock());
        for entry in table.iter().with_context(|| refused(&self.file))? {
            let (key, values) = entry.with_context(|| refused(&self.file))?;
            out.write_all(b"{\"key\":")?;
            write_string(&mut out, key)?;
            out.write_all(b",\"values\":[")?;
            for (at, value) in values.iter().enumerate() {
                out.write_all(if at > 0 { b"," } else { b"" })?;
                if is_json {
                    out.write_all(value.bytes())?;
                } else {
                    write_string(&mut out, value.bytes())?;
                }
            }
            out.write_all(b"]}\n")?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A JSON string, or `{"base64":"…"}` for bytes that are none.
fn write_string(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::to_writer(out, text).map_err(io::Error::from),
        Err(_) => write!(out, "{{\"base64\":\"{}\"}}", BASE64.encode(bytes)),
    }
}

impl Verify {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let table = open(&self.file)?;
        table.verify().with_context(|| refused(&self.file))?;
        let stats = table.stats();
        println!(
            "{}: sound, {} keys, {}",
            self.file.display(),
            stats.keys,
            ByteSize(stats.file_bytes)
        );
        Ok(ExitCode::SUCCESS)
    }
}

impl Inspect {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let table = open(&self.file)?;
        let facts = Facts::of(&table).with_context(|| refused(&self.file))?;
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &facts)?;
            writeln!(out)?;
        } else {
            facts.print(&mut out)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What `inspect` shows; the names are those of its JSON.
#[derive(Serialize)]
struct Facts {
    keys: u64,
    values: u64,
    several_values: bool,
    file_bytes: u64,
    content_type: &'static str,
    key_mode: &'static str,
    fingerprint_bits: Option<u8>,
    hash: &'static str,
    hash_bits_per_key: f64,
    index_bytes_per_key: f64,
    format_version: String,
    content_id: String,
    sections: Vec<Section>,
    meta: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Section {
    name: String,
    offset: u64,
    bytes: u64,
}

impl Facts {
    fn of(table: &Table) -> Result<Facts, ReadError> {
        let stats = table.stats();
        let (major, minor) = stats.format_version;
        let (key_mode, fingerprint_bits) = match stats.key_mode {
            Keys::Exact => ("exact", None),
            Keys::Approximate { bits } => ("approximate", Some(bits)),
        };
        let section = |(name, offset, bytes)| Section { name, offset, bytes };
        Ok(Facts {
            keys: stats.keys,
            values: stats.values,
            several_values: stats.multi,
            file_bytes: stats.file_bytes,
            content_type: match stats.content {
                Content::Json => "json",
                Content::Text => "text",
                Content::Bytes => "bytes",
            },
            key_mode,
            fingerprint_bits,
            hash: match stats.hash {
                Hash::Phast => "phast",
                Hash::Chd => "chd",
            },
            hash_bits_per_key: stats.hash_bits_per_key,
            index_bytes_per_key: stats.index_bytes_per_key,
            format_version: format!("{major}.{minor}"),
            content_id: table.content_id(),
            sections: stats.sections.into_iter().map(section).collect(),
            meta: table.meta()?.and_then(|meta| RawValue::from_string(meta.to_owned()).ok()),
        })
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let several = if self.several_values { ", several a key" } else { "" };
        writeln!(out, "keys            {} ({})", self.keys, self.key_mode)?;
        writeln!(out, "values          {} ({}{several})", self.values, self.content_type)?;
        writeln!(out, "file            {}", ByteSize(self.file_bytes))?;
        writeln!(out, "hash            {}, {:.3} bits a key", self.hash, self.hash_bits_per_key)?;
        writeln!(out, "index           {:.2} bytes a key", self.index_bytes_per_key)?;
        writeln!(out, "format version  {}", self.format_version)?;
        writeln!(out, "content id      {}", self.content_id)?;
        for Section { name, offset, bytes } in &self.sections {
            writeln!(out, "section         {name:24} {bytes:>12} bytes at {offset}")?;
        }
        match &self.meta {
            Some(meta) => writeln!(out, "meta            {meta}"),
            None => Ok(()),
        }
    }
}

fn open(path: &Path) -> anyhow::Result<Table> {
    TableOptions::default().open(path).with_context(|| refused(path))
}

fn refused(path: &Path) -> String {
    format!("`{}` was refused", path.display())
}
