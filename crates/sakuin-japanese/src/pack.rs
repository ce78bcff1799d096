//! Packing dictionary files into one file with one trie.
//!
//! Every entry becomes a value of the packed table, finished JSON, under a key of its own; every head of
//! every entry, folded, becomes a key of the trie, and every stem of every inflecting head another. The
//! same files give the same bytes.

use std::collections::HashMap;
use std::path::Path;

use sakuin_pack::{BuildError, Builder, Content, Options, ValueHandle};
use serde::Serialize;
use zerocopy::{
    IntoBytes,
    little_endian::{U32, U64},
};

use crate::dictionary::{About, Source};
use crate::entry::{Entry, Headword, Kanji, Reading};
use crate::fold::fold;
use crate::furigana::{self, Readings};
use crate::postings::{self, Posting};
use crate::rank::script_flags;
use crate::read::{self, Item, Summary};
use crate::rules::{Class, rules};
use crate::sections::EntryPlace;
use crate::trie;

/// The credit that must stand wherever entries are shown.
pub const LICENCE: &str = "This uses the EDICT, JMdict, ENAMDICT, JMnedict and KANJIDIC dictionary files. \
These files are the property of the Electronic Dictionary Research and Development Group \
(https://www.edrdg.org/), and are used in conformance with the Group's licence \
(https://www.edrdg.org/edrdg/licence.html), Creative Commons Attribution-ShareAlike 4.0.";

/// Classes that a file may not give: です is an expression to EDICT.
const OVERLAY: [(&str, &str); 1] = [("です", "cop")];

/// How many senses of an entry [`crate::sub_dictionary::Tier::Page`] has.
const SHORT_SENSES: usize = 3;

/// A key longer than this is no word; it is left out of the trie.
const KEY_CHARACTERS: usize = 255;

/// Collects dictionary files and writes them as one.
///
/// ```no_run
/// use sakuin_japanese::pack::Packer;
/// let mut packer = Packer::default();
/// packer.words("edict".as_ref())?;
/// packer.names("enamdict".as_ref())?;
/// packer.write("japanese.skn".as_ref())?;
/// # Ok::<(), sakuin_japanese::pack::Error>(())
/// ```
pub struct Packer {
    builder: Builder,
    sources: Vec<Source>,
    /// How single kanji are read.
    kanji: HashMap<char, Readings>,
    words: u32,
    names: u32,
    entries: Vec<(ValueHandle, u32)>,
    keys: Keys,
}

/// Why dictionaries were not packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A dictionary file was not read.
    #[error(transparent)]
    Read(#[from] read::Error),
    /// The packed file was not written.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The file holds something else than it was given for.
    #[error("`{path}` holds {found}, not {expected}")]
    WrongKind {
        /// The file.
        path: String,
        /// What is in it.
        found: &'static str,
        /// What was asked for.
        expected: &'static str,
    },
    /// Words were added after names: the file numbers words first.
    #[error("names were added before words")]
    NamesFirst,
}

/// What a packing wrote.
#[derive(Clone, Debug)]
pub struct Report {
    /// Entries of words and of names.
    pub words: u32,
    /// Entries of names.
    pub names: u32,
    /// Different keys of the trie, stems among them.
    pub keys: usize,
    /// What the packed table's builder says.
    pub table: sakuin_pack::Report,
}

impl Default for Packer {
    fn default() -> Packer {
        Packer {
            builder: Builder::new(Content::Json, Options::default()),
            sources: Vec::new(),
            kanji: HashMap::new(),
            words: 0,
            names: 0,
            entries: Vec::new(),
            keys: Keys::default(),
        }
    }
}

impl Packer {
    /// Adds the kanji of a KANJIDIC file. Add them before the words, whose furigana they split.
    pub fn kanji(&mut self, path: &Path) -> Result<Summary, Error> {
        self.read(path, |packer, item| match item {
            Item::Kanji(kanji) => packer.add_kanji(&kanji).map(|()| true),
            Item::Entry(_) => Ok(false),
        })
    }

    /// Adds the entries of a dictionary of words: EDICT, EDICT2 or JMdict.
    pub fn words(&mut self, path: &Path) -> Result<Summary, Error> {
        if self.names > 0 {
            return Err(Error::NamesFirst);
        }
        self.read(path, |packer, item| match item {
            Item::Entry(entry) => {
                packer.words += 1;
                let id = format!("w{}", packer.words);
                packer.add_entry(&id, "word", &entry).map(|()| true)
            }
            Item::Kanji(_) => Ok(false),
        })
    }

    /// Adds the entries of a dictionary of names: ENAMDICT or JMnedict.
    pub fn names(&mut self, path: &Path) -> Result<Summary, Error> {
        self.read(path, |packer, item| match item {
            Item::Entry(entry) => {
                packer.names += 1;
                let id = format!("n{}", packer.names);
                packer.add_entry(&id, "name", &entry).map(|()| true)
            }
            Item::Kanji(_) => Ok(false),
        })
    }

    /// Writes the packed file, replacing `path` in one step.
    pub fn write(self, path: &Path) -> Result<Report, Error> {
        let Packer { mut builder, sources, words, names, entries, keys, .. } = self;
        let about = About {
            title: "Japanese dictionary".to_owned(),
            licence: LICENCE.to_owned(),
            dictionaries: sources,
            words,
            stems: keys.stem_names(),
        };
        builder.meta(&json(&about))?;
        let index = keys.index();
        let table = builder.write_with(path, |placed, sections| {
            let entries: Vec<EntryPlace> = entries
                .iter()
                .map(|&(value, short)| EntryPlace {
                    value: U64::new(placed.id(value).0),
                    short: U32::new(short),
                    reserved: U32::new(0),
                })
                .collect();
            sections.add("japanese.alphabet", index.alphabet.as_bytes().to_vec(), false)?;
            sections.add("japanese.trie", index.trie.nodes.as_bytes().to_vec(), false)?;
            sections.add("japanese.codes", index.trie.codes.as_bytes().to_vec(), false)?;
            sections.add("japanese.tail", index.trie.tail.as_bytes().to_vec(), false)?;
            sections.add("japanese.postings", index.postings.as_bytes().to_vec(), false)?;
            sections.add("japanese.entries", entries.as_bytes().to_vec(), false)
        })?;
        Ok(Report { words, names, keys: index.keys, table })
    }

    /// Reads a file; `each` says whether an item is of the kind wanted.
    fn read(
        &mut self,
        path: &Path,
        each: impl Fn(&mut Packer, Item) -> Result<bool, Error>,
    ) -> Result<Summary, Error> {
        let mut outcome = Ok(());
        let summary = read::read(path, &mut |item| {
            if outcome.is_ok() {
                let is_kanji = matches!(item, Item::Kanji(_));
                outcome = match each(self, item) {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(Error::WrongKind {
                        path: path.display().to_string(),
                        found: if is_kanji { "kanji" } else { "words or names" },
                        expected: if is_kanji { "words or names" } else { "kanji" },
                    }),
                    Err(error) => Err(error),
                };
            }
        })?;
        outcome?;
        self.sources.push(Source { name: summary.name.clone(), date: summary.date.clone() });
        Ok(summary)
    }

    fn add_kanji(&mut self, kanji: &Kanji) -> Result<(), Error> {
        self.kanji.insert(kanji.character, Readings::of(kanji));
        let value = self.builder.value(json(&KanjiJson::of(kanji)).as_bytes())?;
        self.builder.point(format!("k{}", kanji.character).as_bytes(), value)?;
        Ok(())
    }

    fn add_entry(&mut self, id: &str, kind: &'static str, entry: &Entry) -> Result<(), Error> {
        let (value, short) = self.entry_json(id, kind, entry);
        let value = self.builder.value(&value)?;
        self.builder.point(id.as_bytes(), value)?;
        self.keys.add(self.entries.len() as u32, entry);
        self.entries.push((value, short as u32));
        Ok(())
    }

    /// An entry as JSON, its senses last, and how long it is up to the fourth sense.
    fn entry_json(&self, id: &str, kind: &'static str, entry: &Entry) -> (Vec<u8>, usize) {
        let is_word = kind == "word";
        let head = HeadJson {
            id,
            kind,
            headwords: entry.headwords.iter().map(|head| head.text.as_str()).collect(),
            readings: entry.readings.iter().map(|reading| reading.text.as_str()).collect(),
            common: entry.common,
            furigana: if is_word { self.furigana(entry) } else { Vec::new() },
        };
        let mut value = json(&head).into_bytes();
        value.pop();
        value.extend_from_slice(b",\"senses\":[");
        let mut short = None;
        for (at, sense) in entry.senses.iter().enumerate() {
            if at == SHORT_SENSES {
                short = Some(value.len());
            }
            if at > 0 {
                value.push(b',');
            }
            let sense = SenseJson { tags: &sense.tags, glosses: &sense.glosses };
            value.extend_from_slice(json(&sense).as_bytes());
        }
        value.extend_from_slice(b"]}");
        let short = short.unwrap_or(value.len());
        (value, short)
    }

    /// The furigana of each headword, by the first reading that belongs to it.
    fn furigana<'e>(&self, entry: &'e Entry) -> Vec<Vec<Piece<'e>>> {
        let of_headword = |(at, head): (usize, &'e Headword)| {
            let belongs = |reading: &&Reading| {
                !reading.alone && (reading.only.is_empty() || reading.only.contains(&at))
            };
            let reading = entry.readings.iter().find(belongs);
            let reading = reading.map_or("", |reading| reading.text.as_str());
            furigana::split(&head.text, reading, &|c| self.kanji.get(&c))
                .into_iter()
                .map(|piece| match piece.reading {
                    Some(reading) => Piece::Ruby(piece.base, reading),
                    None => Piece::Plain(piece.base),
                })
                .collect()
        };
        entry.headwords.iter().enumerate().map(of_headword).collect()
    }
}

#[derive(Serialize)]
struct HeadJson<'a> {
    id: &'a str,
    kind: &'static str,
    headwords: Vec<&'a str>,
    readings: Vec<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    common: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    furigana: Vec<Vec<Piece<'a>>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Piece<'a> {
    Ruby(&'a str, &'a str),
    Plain(&'a str),
}

#[derive(Serialize)]
struct SenseJson<'a> {
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    glosses: &'a [String],
}

#[derive(Serialize)]
struct KanjiJson<'a> {
    character: char,
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<u8>,
    strokes: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency: Option<u16>,
    on: &'a [String],
    kun: &'a [String],
    nanori: &'a [String],
    meanings: &'a [String],
}

impl KanjiJson<'_> {
    fn of(kanji: &Kanji) -> KanjiJson<'_> {
        let Kanji { character, grade, strokes, frequency, on, kun, nanori, meanings } = kanji;
        KanjiJson {
            character: *character,
            grade: *grade,
            strokes: *strokes,
            frequency: *frequency,
            on,
            kun,
            nanori,
            meanings,
        }
    }
}

/// JSON that can stand in an HTML script element as it is.
fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("strings and numbers always are JSON");
    if json.contains('<') { json.replace('<', "\\u003c") } else { json }
}

/// The keys of the trie as they are collected.
#[derive(Default)]
struct Keys {
    text: String,
    rows: Vec<Row>,
    /// The stem kinds met, numbered from 1 in the order of the rules.
    stems: std::collections::BTreeSet<crate::rules::Stem>,
}

struct Row {
    start: u32,
    length: u16,
    /// 0 for a whole word, else the stem's number in the rules plus one, until the file's own is known.
    kind: u16,
    posting: Posting,
}

/// The finished index.
struct Index {
    alphabet: Vec<U32>,
    trie: trie::build::Built,
    postings: Vec<U32>,
    keys: usize,
}

impl Keys {
    fn add(&mut self, entry: u32, of: &Entry) {
        let classes = classes(of);
        let usually_kana = of.headwords.is_empty()
            || of.senses.iter().any(|sense| sense.tags.iter().any(|tag| tag == "uk"));
        for (at, head) in of.headwords.iter().enumerate() {
            let common = head.common || of.common;
            self.add_head(entry, at, &head.text, Posting::WRITTEN, common, &classes);
        }
        for (at, reading) in of.readings.iter().enumerate() {
            let written = if usually_kana { Posting::WRITTEN } else { 0 };
            let common = reading.common || of.common;
            let flags = written | Posting::READING;
            self.add_head(entry, at, &reading.text, flags, common, &classes);
        }
    }

    fn add_head(
        &mut self,
        entry: u32,
        at: usize,
        text: &str,
        flags: u32,
        common: bool,
        classes: &[Class],
    ) {
        let key = fold(text);
        let is_number = key.chars().all(|c| c.is_ascii_digit());
        if is_number || key.chars().count() > KEY_CHARACTERS || at > 0xFFFF {
            return;
        }
        let common = if common { Posting::COMMON } else { 0 };
        let info = at as u32 | flags | common | script_flags(text);
        let posting = Posting { entry, info };
        self.push(&key, 0, posting);
        let overlay = OVERLAY.iter().filter(|&&(word, _)| word == key);
        let overlay = overlay.filter_map(|&(_, tag)| rules().class(tag));
        let overlay = overlay.filter(|class| !classes.contains(class));
        for class in classes.iter().copied().chain(overlay) {
            for (stem, kind) in rules().stems(class, &key) {
                self.stems.insert(kind);
                self.push(&stem, u16::from(kind.0) + 1, posting);
            }
        }
    }

    fn push(&mut self, key: &str, kind: u16, posting: Posting) {
        let start = self.text.len() as u32;
        self.text.push_str(key);
        self.rows.push(Row { start, length: key.len() as u16, kind, posting });
    }

    fn stem_names(&self) -> Vec<String> {
        self.stems.iter().map(|&stem| rules().stem_name(stem).to_owned()).collect()
    }

    fn index(mut self) -> Index {
        let numbers: Vec<_> = self.stems.iter().map(|stem| u16::from(stem.0) + 1).collect();
        for row in &mut self.rows {
            if let Ok(at) = numbers.binary_search(&row.kind) {
                row.kind = at as u16 + 1;
            }
        }
        let text = self.text;
        let key = |row: &Row| &text[row.start as usize..][..usize::from(row.length)];
        // The better head of an entry under one key comes first: a headword before a reading.
        self.rows.sort_unstable_by(|a, b| {
            let of = |row: &Row| (row.kind, row.posting.entry, row.posting.info & 0x1_FFFF);
            key(a).cmp(key(b)).then_with(|| of(a).cmp(&of(b)))
        });
        let alphabet = alphabet(self.rows.iter().flat_map(|row| key(row).chars()));
        let codes = crate::alphabet::Alphabet::new(&alphabet);
        let mut postings = Vec::new();
        let mut keys = Vec::new();
        let mut group = Vec::new();
        for rows in self.rows.chunk_by(|a, b| key(a) == key(b)) {
            group.clear();
            group.extend(rows.iter().map(|row| row.posting));
            let mut start = 0;
            let groups = rows.chunk_by(|a, b| a.kind == b.kind).map(|rows| {
                let postings = &group[start..start + rows.len()];
                start += rows.len();
                (rows[0].kind as u8, postings)
            });
            let list = postings::append(&mut postings, groups);
            keys.push((key(&rows[0]).chars().map(|c| codes.code(c)).collect(), list));
        }
        let trie = trie::build::build(&keys, alphabet.len() as u16);
        Index { alphabet, trie, postings, keys: keys.len() }
    }
}

/// The inflecting classes of an entry, over all its senses.
fn classes(entry: &Entry) -> Vec<Class> {
    let tags = entry.senses.iter().flat_map(|sense| &sense.tags);
    let mut classes: Vec<_> = tags.filter_map(|tag| rules().class(tag)).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// The characters of all keys, the most frequent first.
fn alphabet(characters: impl Iterator<Item = char>) -> Vec<U32> {
    let mut counts = HashMap::<char, u64>::new();
    for c in characters {
        *counts.entry(c).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    counts.truncate(usize::from(u16::MAX));
    counts.into_iter().map(|(c, _)| U32::new(c as u32)).collect()
}
