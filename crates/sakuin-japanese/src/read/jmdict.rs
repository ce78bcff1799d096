//! JMdict and JMnedict: XML, streamed, an entry at a time.
//!
//! Tags are entities of the file's own DTD, `<pos>&v5k-s;</pos>`. Their names are the tags, so no entity
//! is ever expanded, and a bomb of entities has nothing to go off. An entry becomes what EDICT2 makes of
//! it: notes and restrictions of a sense stand in parentheses before its first gloss, the word's foreign
//! source behind it.

use std::io::{self, BufRead, Read};

use quick_xml::{
    Reader,
    events::{BytesRef, BytesStart, Event},
};

use super::{
    Fault, Format, Found, SENSES_MAX, header::Header, headword_places, lines::Problems, restriction,
};
use crate::entry::{Entry, Headword, Reading, Sense};

/// JMdict nests four deep.
const DEPTH_MAX: usize = 16;

/// The DTD has some 40 KB, the longest entry some 10 KB.
const ENTRY_BYTES_MAX: u64 = 1 << 20;

/// All parts of speech of a sense together have some 30 bytes.
const CLASS_BYTES_MAX: usize = 1 << 10;

impl From<quick_xml::Error> for Fault {
    fn from(error: quick_xml::Error) -> Fault {
        match error {
            quick_xml::Error::Io(error) if error.kind() != io::ErrorKind::Other => {
                Fault::Io(io::Error::new(error.kind(), error))
            }
            quick_xml::Error::Io(error) => Fault::Malformed(error.to_string()),
            other => Fault::Malformed(other.to_string()),
        }
    }
}

/// Reads the elements of a dictionary in XML.
pub(super) struct Xml<R> {
    reader: Reader<Counted<R>>,
    /// The names of the open elements, outermost first.
    open: Vec<String>,
    draft: Draft,
    format: Option<Format>,
    header: Option<Header>,
    problems: Problems,
}

impl<R: BufRead> Xml<R> {
    pub(super) fn new(source: R) -> Self {
        let mut reader = Reader::from_reader(Counted { source, line: 1, left: ENTRY_BYTES_MAX });
        reader.config_mut().expand_empty_elements = true;
        Xml {
            reader,
            open: Vec::new(),
            draft: Draft::default(),
            format: None,
            header: None,
            problems: Problems::default(),
        }
    }

    /// The line that was reached.
    pub(super) fn line(&self) -> u64 {
        self.reader.get_ref().line
    }

    /// Reads to the end and hands on each entry.
    pub(super) fn read(&mut self, each: &mut dyn FnMut(Entry)) -> Result<Found, Fault> {
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            match self.reader.read_event_into(&mut buffer)? {
                Event::Start(start) => self.start(&start)?,
                Event::End(_) => self.end(each),
                Event::Text(text) => self.draft.text.push_str(&text),
                Event::CData(text) => self.draft.text.push_str(&text),
                Event::GeneralRef(reference) => self.reference(&reference),
                Event::Comment(comment) => self.comment(&comment),
                Event::Eof => return self.finish(),
                Event::Empty(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    fn finish(&mut self) -> Result<Found, Fault> {
        match self.format {
            Some(format) if self.open.is_empty() => {
                let header = self.header.take().unwrap_or_default();
                Ok(Found { format, header, problems: std::mem::take(&mut self.problems) })
            }
            _ => Err(Fault::Malformed("the file ends in the middle".to_owned())),
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Fault> {
        let name = start.local_name().as_ref().to_owned();
        match self.open.len() {
            0 => self.format = Some(root_format(&name)?),
            1 => {
                self.reader.get_mut().left = ENTRY_BYTES_MAX;
                self.draft = Draft { line: self.line(), ..Draft::default() };
            }
            2 => self.draft.open_group(&name),
            DEPTH_MAX.. => {
                return Err(Fault::Malformed(format!("more than {DEPTH_MAX} elements deep")));
            }
            _ => {}
        }
        // Text of elements inside a field belongs to the field.
        if self.open.len() <= 3 {
            self.draft.text.clear();
            self.draft.attributes = Attributes::of(start);
        }
        self.open.push(name);
        Ok(())
    }

    fn end(&mut self, each: &mut dyn FnMut(Entry)) {
        let Some(name) = self.open.pop() else { return };
        match self.open.len() {
            3 => {
                let group = self.open[2].as_str();
                self.draft.field(group, &name);
            }
            2 => self.draft.close_group(&name),
            1 => match std::mem::take(&mut self.draft).finish() {
                Ok(entry) => each(entry),
                Err((line, reason)) => self.problems.note(line, reason),
            },
            _ => {}
        }
    }

    /// Takes the name of an entity, but the character that a number or a predefined name stands for.
    fn reference(&mut self, reference: &BytesRef<'_>) {
        let text = &mut self.draft.text;
        match &**reference {
            "lt" => text.push('<'),
            "gt" => text.push('>'),
            "amp" => text.push('&'),
            "quot" => text.push('"'),
            "apos" => text.push('\''),
            name => match reference.resolve_char_ref() {
                Ok(Some(character)) => text.push(character),
                Ok(None) => text.push_str(name),
                Err(_) => {
                    let reason = format!("`&{name};` is no character");
                    self.problems.note(self.line(), reason);
                }
            },
        }
    }

    fn comment(&mut self, comment: &str) {
        if self.header.is_none() && comment.contains(" created: ") {
            self.header = Some(Header::parse(comment.trim_start()));
        }
    }
}

fn root_format(name: &str) -> Result<Format, Fault> {
    match name {
        "JMdict" => Ok(Format::Jmdict),
        "JMnedict" => Ok(Format::Jmnedict),
        other => {
            Err(Fault::Malformed(format!("the root element is `{other}`, not JMdict or JMnedict")))
        }
    }
}

/// The attributes that matter, of the element opened last.
#[derive(Debug, Default)]
struct Attributes {
    language: Option<String>,
    is_japanese_made: bool,
}

impl Attributes {
    fn of(start: &BytesStart<'_>) -> Attributes {
        let mut found = Attributes::default();
        for attribute in start.attributes().with_checks(false).flatten() {
            match attribute.key.as_ref() {
                "xml:lang" => found.language = Some(attribute.value.into_owned()),
                "ls_wasei" => found.is_japanese_made = attribute.value == "y",
                _ => {}
            }
        }
        found
    }

    fn language(&self) -> &str {
        self.language.as_deref().unwrap_or("eng")
    }
}

/// An entry in the making.
#[derive(Debug, Default)]
struct Draft {
    line: u64,
    /// The text of the element opened last.
    text: String,
    attributes: Attributes,
    entry: Entry,
    /// For each reading the headwords it is restricted to, by their text.
    restrictions: Vec<Vec<String>>,
    sense: SenseDraft,
    /// The parts of speech that a sense without any inherits.
    classes: Vec<String>,
    /// Whether copying them to every sense would take more than a file deserves.
    is_excessive: bool,
}

/// A sense in the making.
#[derive(Debug, Default)]
struct SenseDraft {
    classes: Vec<String>,
    tags: Vec<String>,
    glosses: Vec<String>,
    restrictions: Vec<String>,
    notes: Vec<String>,
    sources: Vec<String>,
}

impl Draft {
    fn open_group(&mut self, name: &str) {
        match name {
            "k_ele" => self.entry.headwords.push(Headword::default()),
            "r_ele" => {
                self.entry.readings.push(Reading::default());
                self.restrictions.push(Vec::new());
            }
            "sense" | "trans" => self.sense = SenseDraft::default(),
            _ => {}
        }
    }

    /// Takes the text of a field that has just been closed.
    fn field(&mut self, group: &str, name: &str) {
        let text = self.text.trim().to_owned();
        if text.is_empty() && name != "lsource" && name != "re_nokanji" {
            return;
        }
        match group {
            "k_ele" => self.headword_field(name, text),
            "r_ele" => self.reading_field(name, text),
            "sense" | "trans" => self.sense.field(name, text, &self.attributes),
            _ => {}
        }
    }

    fn headword_field(&mut self, name: &str, text: String) {
        let Some(headword) = self.entry.headwords.last_mut() else { return };
        match name {
            "keb" => headword.text = text,
            "ke_inf" => headword.tags.push(text),
            "ke_pri" => headword.common |= is_common(&text),
            _ => {}
        }
    }

    fn reading_field(&mut self, name: &str, text: String) {
        let Some(reading) = self.entry.readings.last_mut() else { return };
        match name {
            "reb" => reading.text = text,
            "re_inf" => reading.tags.push(text),
            "re_pri" => reading.common |= is_common(&text),
            "re_nokanji" => reading.alone = true,
            "re_restr" => {
                if let Some(last) = self.restrictions.last_mut() {
                    last.push(text);
                }
            }
            _ => {}
        }
    }

    fn close_group(&mut self, name: &str) {
        if name != "sense" && name != "trans" {
            return;
        }
        let sense = std::mem::take(&mut self.sense);
        if !sense.classes.is_empty() {
            self.classes.clone_from(&sense.classes);
        }
        let class_bytes: usize = self.classes.iter().map(String::len).sum();
        self.is_excessive |= class_bytes > CLASS_BYTES_MAX || self.entry.senses.len() == SENSES_MAX;
        if self.is_excessive {
            return;
        }
        // In the editions of many languages a sense may have no English at all.
        if !sense.glosses.is_empty() {
            self.entry.senses.push(sense.finish(&self.classes));
        }
    }

    fn finish(self) -> Result<Entry, (u64, &'static str)> {
        let mut entry = self.entry;
        if entry.readings.is_empty() {
            return Err((self.line, "the entry has no reading"));
        }
        let empty = entry.headwords.iter().any(|headword| headword.text.is_empty())
            || entry.readings.iter().any(|reading| reading.text.is_empty());
        if empty {
            return Err((self.line, "a form of the entry is empty"));
        }
        if self.is_excessive {
            return Err((self.line, "the entry has more senses or tags than any word"));
        }
        let places = headword_places(&entry.headwords);
        for (reading, restrictions) in entry.readings.iter_mut().zip(&self.restrictions) {
            let only = restrictions.iter().filter_map(|text| places.get(text.as_str()).copied());
            reading.only = restriction(only.collect(), places.len());
        }
        drop(places);
        entry.common = entry.headwords.iter().any(|headword| headword.common)
            || entry.readings.iter().any(|reading| reading.common);
        Ok(entry)
    }
}

impl SenseDraft {
    fn field(&mut self, name: &str, text: String, attributes: &Attributes) {
        match name {
            "pos" => self.classes.push(text),
            "misc" | "field" | "dial" | "name_type" => self.tags.push(text),
            "stagk" | "stagr" => self.restrictions.push(text),
            "s_inf" => self.notes.push(text),
            "lsource" if attributes.is_japanese_made => self.sources.push(format!("wasei: {text}")),
            "lsource" => self.sources.push(format!("{}: {text}", attributes.language())),
            "gloss" | "trans_det" if attributes.language() == "eng" => self.glosses.push(text),
            _ => {}
        }
    }

    fn finish(mut self, classes: &[String]) -> Sense {
        let mut first = String::new();
        if !self.restrictions.is_empty() {
            first = format!("({} only) ", self.restrictions.join(", "));
        }
        for note in &self.notes {
            first += &format!("({note}) ");
        }
        first += &self.glosses[0];
        if !self.sources.is_empty() {
            let sources: Vec<&str> = self.sources.iter().map(|source| source.trim_end()).collect();
            first += &format!(" ({})", sources.join(", "));
        }
        self.glosses[0] = first;
        let mut tags = classes.to_vec();
        tags.append(&mut self.tags);
        Sense { tags, glosses: self.glosses }
    }
}

/// Whether a priority is one that EDICT's `(P)` stands for. `nf01` and the like rank a corpus.
fn is_common(priority: &str) -> bool {
    matches!(priority, "news1" | "ichi1" | "spec1" | "spec2" | "gai1")
}

/// Counts lines, and bounds what one entry may make the XML reader hold.
struct Counted<R> {
    source: R,
    line: u64,
    left: u64,
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Err(io::Error::other("an entry is longer than 1 MiB"));
        }
        let available = self.source.fill_buf()?;
        let length = available.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        Ok(&available[..length])
    }

    fn consume(&mut self, length: usize) {
        if let Ok(available) = self.source.fill_buf() {
            let consumed = &available[..length.min(available.len())];
            self.line += consumed.iter().filter(|&&byte| byte == b'\n').count() as u64;
        }
        self.left = self.left.saturating_sub(length as u64);
        self.source.consume(length);
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let read = available.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}
