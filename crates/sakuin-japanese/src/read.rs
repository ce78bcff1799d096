//! Readers of dictionary files: one module a format, all yielding the same [`Entry`] and [`Kanji`].
//!
//! A file says what it is: gzip and XML by their first bytes, EUC-JP or UTF-8 and the kind of
//! dictionary by its first lines. Text and XML are streamed; only classic EDICT is held whole, because
//! it spreads one entry over many lines. A line that cannot be read costs that line: it is counted, the
//! first ten are named, the rest is read.

mod edict;
mod header;
mod jmdict;
mod kanjidic;
mod lines;
mod merge;
mod source;
mod tags;

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
};

use self::{
    edict::Line,
    header::Header,
    jmdict::Xml,
    lines::{Encoding, Lines, Problems},
};
use crate::entry::{Entry, Headword, Kanji};

/// No word has more senses. What each inherits from the one before stays bounded that way.
const SENSES_MAX: usize = 1000;

/// What a file is, guessed from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `語 [ご] /(n) word/`
    Edict,
    /// As EDICT, with several headwords and readings a line and `EntL` numbers.
    Edict2,
    /// EDICT's form, for names.
    Enamdict,
    /// The text file of kanji.
    Kanjidic,
    /// JMdict XML.
    Jmdict,
    /// JMnedict XML.
    Jmnedict,
}

/// What a reader yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A word or a name.
    Entry(Entry),
    /// A character.
    Kanji(Kanji),
}

/// How to read a file.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its format; guessed if `None`.
    pub format: Option<Format>,
    /// How many bytes it may have, after gzip: 1 GiB unless told.
    pub bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { format: None, bytes_max: 1 << 30 }
    }
}

/// What was read besides the items.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The format found.
    pub format: Format,
    /// The dictionary's name, from its header; without one, the file's name.
    pub name: String,
    /// The day it was made, `2021-02-03`, from its header.
    pub date: Option<String>,
    /// How many lines or elements were not understood.
    pub problems: u64,
    /// The first ten of them: line number and what is wrong.
    pub first_problems: Vec<(u64, String)>,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not there or may not be read.
    #[error("cannot open {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading stopped in the middle: a gzip file cut short, or a failing disk.
    #[error("{name}: reading stopped after line {line}")]
    Read {
        /// The file.
        name: String,
        /// How many lines were read.
        line: u64,
        /// What the system or the decompressor said.
        source: io::Error,
    },
    /// The file is not well-formed XML, not XML of a dictionary, or its entries are beyond all bounds.
    #[error("{name}: line {line}: {reason}")]
    Xml {
        /// The file.
        name: String,
        /// The line that was reached.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// The file is larger than [`Options::bytes_max`], unpacked.
    #[error("{name}: more than {bytes_max} bytes")]
    TooLarge {
        /// The file.
        name: String,
        /// The limit.
        bytes_max: u64,
    },
    /// Nothing in the first lines looks like a dictionary.
    #[error("{name}: not a dictionary of a known format")]
    UnknownFormat {
        /// The file.
        name: String,
    },
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Open { .. } => None,
            Error::Read { .. } => Some("the file may be cut short: fetch it again"),
            Error::TooLarge { .. } => Some("if the file is what it should be, allow more bytes"),
            Error::Xml { .. } | Error::UnknownFormat { .. } => Some(
                "EDICT, EDICT2, ENAMDICT, KANJIDIC, JMdict and JMnedict can be read, plain or gzip",
            ),
        }
    }
}

/// Reads a dictionary file of any known format, plain or gzip, UTF-8 or EUC-JP, and hands each item on.
///
/// Items come in the order of the file. When an error ends the reading, items before it have been
/// handed on already. A file with [`Summary::problems`] is one that a strict caller refuses.
///
/// ```no_run
/// use sakuin_japanese::read::{Item, read};
///
/// let mut words = 0;
/// let summary = read("/usr/share/edict/edict".as_ref(), &mut |item| {
///     words += usize::from(matches!(item, Item::Entry(_)));
/// })?;
/// println!("{} of {:?}: {words} words", summary.name, summary.date);
/// # Ok::<(), sakuin_japanese::read::Error>(())
/// ```
pub fn read(path: &Path, each: &mut dyn FnMut(Item)) -> Result<Summary, Error> {
    let file = File::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
    read_from(file, &path.display().to_string(), &Options::default(), each)
}

/// Reads a dictionary from any source of bytes; `name` is what errors call it.
pub fn read_from(
    bytes: impl Read,
    name: &str,
    options: &Options,
    each: &mut dyn FnMut(Item),
) -> Result<Summary, Error> {
    let fail = |line, fault| fail(name, options, line, fault);
    let (head, bytes) =
        source::open(bytes, options.bytes_max).map_err(|error| fail(0, Fault::Io(error)))?;
    let format = options.format.or_else(|| guess(&head));
    let found = match format {
        None => return Err(Error::UnknownFormat { name: name.to_owned() }),
        Some(Format::Jmdict | Format::Jmnedict) => {
            let mut xml = Xml::new(bytes);
            xml.read(&mut |entry| each(Item::Entry(entry)))
                .map_err(|fault| fail(xml.line(), fault))?
        }
        Some(format) => {
            let mut lines = Lines::new(bytes, Encoding::guess(&head));
            read_text(format, &mut lines, each)
                .map_err(|error| fail(lines.number, Fault::Io(error)))?
        }
    };
    Ok(Summary {
        format: found.format,
        name: found.header.name.unwrap_or_else(|| name.to_owned()),
        date: found.header.date,
        problems: found.problems.count,
        first_problems: found.problems.first,
    })
}

fn fail(name: &str, options: &Options, line: u64, fault: Fault) -> Error {
    let name = name.to_owned();
    match fault {
        Fault::Io(source) if source.kind() == io::ErrorKind::FileTooLarge => {
            Error::TooLarge { name, bytes_max: options.bytes_max }
        }
        Fault::Io(source) => Error::Read { name, line, source },
        Fault::Malformed(reason) => Error::Xml { name, line, reason },
    }
}

/// Why reading ended before the file did.
enum Fault {
    /// The bytes ended or failed.
    Io(io::Error),
    /// They are not XML, or XML that no dictionary is.
    Malformed(String),
}

/// What a reader of one format brings back.
struct Found {
    format: Format,
    header: Header,
    problems: Problems,
}

/// Reads a dictionary of lines.
fn read_text(
    format: Format,
    lines: &mut Lines<impl BufRead>,
    each: &mut dyn FnMut(Item),
) -> io::Result<Found> {
    let parse: fn(&str) -> Result<Item, &'static str> = match format {
        Format::Edict => return read_edict(lines, each),
        Format::Kanjidic => |line| kanjidic::parse(line).map(Item::Kanji),
        Format::Enamdict => |line| Line::parse(line).map(|line| Item::Entry(line.name())),
        _ => |line| Line::parse(line)?.entry().map(Item::Entry),
    };
    read_lines(format, lines, |line| {
        each(parse(line)?);
        Ok(())
    })
}

/// Reads a text file line by line; headers and empty lines never reach `each`.
fn read_lines(
    format: Format,
    lines: &mut Lines<impl BufRead>,
    mut each: impl FnMut(&str) -> Result<(), &'static str>,
) -> io::Result<Found> {
    let (mut header, mut problems) = (None, Problems::default());
    while let Some(line) = lines.next()? {
        let outcome = match line {
            Ok(line) if line.is_empty() => Ok(()),
            Ok(line) => match header_of(&line) {
                Some(text) => {
                    header.get_or_insert_with(|| Header::parse(text));
                    Ok(())
                }
                None => each(&line),
            },
            Err(reason) => Err(reason),
        };
        if let Err(reason) = outcome {
            problems.note(lines.number, reason);
        }
    }
    Ok(Found { format, header: header.unwrap_or_default(), problems })
}

/// The text of a header line: a comment, or the entry of `？？？`.
fn header_of(line: &str) -> Option<&str> {
    if let Some(comment) = line.strip_prefix('#') {
        return Some(comment);
    }
    line.trim_start_matches('　')
        .starts_with("？？？")
        .then(|| Line::parse(line).ok())?
        .map(|line| line.body)
}

/// Classic EDICT: all lines are held, because those of one entry stand anywhere in the file.
fn read_edict(lines: &mut Lines<impl BufRead>, each: &mut dyn FnMut(Item)) -> io::Result<Found> {
    let mut held = String::new();
    let found = read_lines(Format::Edict, lines, |line| {
        Line::parse(line)?;
        held.push_str(line);
        held.push('\n');
        Ok(())
    })?;
    let lines: Vec<Line<'_>> = held.lines().filter_map(|line| Line::parse(line).ok()).collect();
    merge::merge(&lines, &mut |entry| each(Item::Entry(entry)));
    Ok(found)
}

/// Where each headword of an entry stands, by its text.
fn headword_places(headwords: &[Headword]) -> HashMap<&str, usize> {
    headwords.iter().enumerate().map(|(at, headword)| (headword.text.as_str(), at)).collect()
}

/// The headwords a reading belongs to, in order; all of them are no restriction.
fn restriction(mut only: Vec<usize>, headwords: usize) -> Vec<usize> {
    only.sort_unstable();
    only.dedup();
    if only.len() == headwords { Vec::new() } else { only }
}

/// Guesses the format from the first lines of a file: by its header, else by what its lines look like.
fn guess(head: &[u8]) -> Option<Format> {
    if head.trim_ascii_start().starts_with(b"<") {
        return Some(Format::Jmdict); // The root element tells which of the two.
    }
    let encoding = Encoding::guess(head);
    let text: Vec<_> =
        head.split(|&byte| byte == b'\n').filter_map(|line| encoding.decode(line)).collect();
    let header = text.iter().find_map(|line| header_of(line)).unwrap_or_default();
    let entries: Vec<Line<'_>> = text
        .iter()
        .filter_map(|line| Line::parse(line.trim_end()).ok())
        .filter(|line| !line.is_header())
        .collect();
    let is_name = |line: &Line<'_>| line.is_name();
    if header.contains("KANJIDIC") || text.iter().any(|line| kanjidic::is_line(line)) {
        Some(Format::Kanjidic)
    } else if header.contains("ENAMDICT") {
        Some(Format::Enamdict)
    } else if entries.iter().any(Line::is_edict2) {
        Some(Format::Edict2)
    } else if !entries.is_empty() && entries.iter().all(is_name) {
        Some(Format::Enamdict)
    } else if !entries.is_empty() || header.contains("EDICT") {
        Some(Format::Edict)
    } else {
        None
    }
}
