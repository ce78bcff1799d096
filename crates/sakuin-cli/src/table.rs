//! `sakuin get`, `dump`, `verify` and `inspect`: reading a packed table.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytesize::ByteSize;
use sakuin_pack::{Content, Table, TableOptions};

/// Print the values of keys, a value a line. Exit code 1 if a key is absent.
#[derive(clap::Args)]
pub struct Get {
    #[arg(value_name = "FILE.skn")]
    file: PathBuf,
    #[arg(required = true)]
    key: Vec<String>,
}

/// Print a whole table as JSON Lines: `{"key":…,"values":[…]}`.
///
/// `sakuin pack` reads this form. Keys and values that are no UTF-8 are printed as `{"base64":"…"}`.
#[derive(clap::Args)]
pub struct Dump {
    #[arg(value_name = "FILE.skn")]
    file: PathBuf,
}

/// Check every byte of a table against its checksums, and that every key is found.
#[derive(clap::Args)]
pub struct Verify {
    #[arg(value_name = "FILE.skn")]
    file: PathBuf,
}

/// Print what a table holds and how.
#[derive(clap::Args)]
pub struct Inspect {
    #[arg(value_name = "FILE.skn")]
    file: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Get {
    pub fn run(self) -> anyhow::Result<ExitCode> {
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
    pub fn run(self) -> anyhow::Result<ExitCode> {
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
    pub fn run(self) -> anyhow::Result<ExitCode> {
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
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let table = open(&self.file)?;
        let stats = table.stats();
        let meta = table.meta().with_context(|| refused(&self.file))?.map(str::to_owned);
        let _ = (stats, meta);
        Ok(ExitCode::SUCCESS)
    }
}

fn open(path: &Path) -> anyhow::Result<Table> {
    TableOptions::default().open(path).with_context(|| refused(path))
}

fn refused(path: &Path) -> String {
    format!("`{}` was refused", path.display())
}
