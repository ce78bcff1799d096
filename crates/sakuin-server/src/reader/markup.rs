//! HTML as people write it: made safe, read token by token, its ruby paired whatever its form.
//!
//! The sanitiser takes away every attribute and every tag that is not listed here, and writes well-formed
//! markup; what is left is simple enough to be read by looking for angle brackets.

use std::{collections::HashSet, mem};

use super::html::Writer;

/// Text that names a tag is HTML; `a < b` is not.
pub(super) fn is_html(source: &str) -> bool {
    source.split('<').skip(1).any(|after| {
        after.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/' || first == '!')
    })
}

/// Writes HTML of any kind into `writer`.
pub(super) fn write(source: &str, writer: &mut Writer) {
    let clean = ALLOWED.with(|allowed| allowed.clean(source).to_string());
    let mut ruby = Ruby::default();
    for token in tokens(&clean) {
        if ruby.take(&token, writer) {
            continue;
        }
        match token {
            Token::Text(text) => writer.text(&text),
            Token::Start("br") => writer.line_break(),
            Token::Start("em" | "i") => writer.start_mark("em"),
            Token::Start("strong" | "b") => writer.start_mark("strong"),
            Token::End("em" | "i") => writer.end_mark("em"),
            Token::End("strong" | "b") => writer.end_mark("strong"),
            // Parts of ruby that stand outside of it.
            Token::Start("rb" | "rt" | "rtc" | "rp") | Token::End("rb" | "rt" | "rtc" | "rp") => {}
            Token::Start(_) | Token::End(_) => writer.end_block(),
        }
    }
}

/// The ruby element being read. Bases and readings are gathered until a base follows a reading or the
/// element ends, and then paired in their order; of nested ruby the inner readings win.
#[derive(Default)]
struct Ruby {
    depth: usize,
    places: Vec<Place>,
    bases: Vec<String>,
    readings: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Base,
    Reading,
    Aside,
}

impl Ruby {
    /// Takes what belongs to ruby; false if the token stands outside.
    fn take(&mut self, token: &Token<'_>, writer: &mut Writer) -> bool {
        match token {
            Token::Start("ruby") => self.depth += 1,
            Token::End("ruby") => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.flush(writer);
                    self.places.clear();
                }
            }
            _ if self.depth == 0 => return false,
            Token::Start("rt") => {
                self.places.push(Place::Reading);
                self.readings.push(String::new());
            }
            Token::Start("rp" | "rtc") => self.places.push(Place::Aside),
            Token::Start("rb") => {
                self.part(writer);
                self.bases.push(String::new());
                self.places.push(Place::Base);
            }
            Token::End("rt" | "rp" | "rtc" | "rb") => {
                self.places.pop();
            }
            Token::Text(text) => self.text(text, writer),
            _ => {}
        }
        true
    }

    fn text(&mut self, text: &str, writer: &mut Writer) {
        match self.places.last() {
            Some(Place::Aside) => {}
            Some(Place::Reading) => {
                if let Some(reading) = self.readings.last_mut() {
                    reading.push_str(text);
                }
            }
            Some(Place::Base) | None if text.bytes().all(|byte| byte.is_ascii_whitespace()) => {}
            Some(Place::Base) | None => {
                self.part(writer);
                match self.bases.last_mut() {
                    Some(base) => base.push_str(text),
                    None => self.bases.push(text.to_owned()),
                }
            }
        }
    }

    /// A base after readings begins a new unit; bases in a row wait for their readings:
    /// `<rb>東<rb>京<rt>とう<rt>きょう`.
    fn part(&mut self, writer: &mut Writer) {
        if !self.readings.is_empty() {
            self.flush(writer);
        }
    }

    fn flush(&mut self, writer: &mut Writer) {
        let (bases, readings) = (mem::take(&mut self.bases), mem::take(&mut self.readings));
        if let [reading] = &readings[..] {
            return writer.unit(&bases.concat(), reading);
        }
        let mut readings = readings.into_iter();
        for base in bases {
            match readings.next() {
                Some(reading) => writer.unit(&base, &reading),
                None => writer.text(&base),
            }
        }
    }
}

const INLINE: [&str; 6] = ["ruby", "rb", "rt", "rtc", "rp", "br"];
const MARKS: [&str; 4] = ["em", "i", "strong", "b"];
const BLOCKS: [&str; 27] = [
    "p",
    "div",
    "section",
    "article",
    "header",
    "footer",
    "main",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "blockquote",
    "hr",
    "tr",
    "td",
    "th",
    "pre",
    "figure",
    "figcaption",
];

thread_local! {
    /// No attribute passes, so a tag of the cleaned text is its name between angle brackets.
    static ALLOWED: ammonia::Builder<'static> = {
        let mut allowed = ammonia::Builder::empty();
        let tags: HashSet<_> = [&INLINE[..], &MARKS, &BLOCKS].concat().into_iter().collect();
        allowed.tags(tags).clean_content_tags(["script", "style", "title"].into()).link_rel(None);
        allowed
    };
}

enum Token<'a> {
    Text(String),
    Start(&'a str),
    End(&'a str),
}

/// Reads back what the sanitiser wrote: tags without attributes, and five character references.
fn tokens(clean: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = clean;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((tag, after)) = rest.strip_prefix('<').and_then(|tag| tag.split_once('>')) {
            rest = after;
            return Some(match tag.strip_prefix('/') {
                Some(name) => Token::End(name),
                None => Token::Start(tag),
            });
        }
        let skip = usize::from(rest.starts_with('<'));
        let end = rest[skip..].find('<').map_or(rest.len(), |found| found + skip);
        let text = unescape(&rest[..end]);
        rest = &rest[end..];
        Some(Token::Text(text))
    })
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let known = REFERENCES.iter().find_map(|(name, character)| {
            after.strip_prefix(name).map(|after| (*character, after))
        });
        let (character, after) = known.unwrap_or(('&', after));
        plain.push(character);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

const REFERENCES: [(&str, char); 5] =
    [("amp;", '&'), ("lt;", '<'), ("gt;", '>'), ("quot;", '"'), ("nbsp;", '\u{a0}')];
