//! The one form in which a story's markup is kept, and the pieces of text that the dictionary scans.
//!
//! Whatever a story came as (HTML, plain text, text with `｜base《reading》`), it is stored as canonical
//! HTML that is also XHTML: a body is `<p>…</p>` blocks and nothing between them, a title has no block;
//! inside stand only text, `<br/>`, `<em>`, `<strong>` and `<ruby>base<rt>reading</rt></ruby>`.
//!
//! **The rule of positions**, which the page's script follows too: walk the element's nodes in document
//! order; a text node outside `<rt>` and `<rp>` counts its characters, a `<br>` counts one line feed, and
//! the end of each `<p>` counts one line feed. Nothing else counts. The pieces of a passage, joined
//! without their readings, are exactly that text.

use std::mem;

use super::{markup, ruby};

/// A title or a body: canonical HTML, and the same text in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Canonical HTML.
    pub html: String,
    /// The pieces in one string, as [`pieces`] reads it.
    pub pieces: String,
}

const PIECE: char = '\u{1e}';
const READING: char = '\u{1f}';

/// The pieces of a passage in their order: base text, and its reading if it has ruby. Costs no copy.
pub fn pieces(packed: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    packed.split_terminator(PIECE).map(|piece| match piece.split_once(READING) {
        Some((base, reading)) => (base, Some(reading)),
        None => (piece, None),
    })
}

/// The text of a passage without readings.
pub fn plain(packed: &str) -> String {
    pieces(packed).map(|(base, _)| base).collect()
}

/// Canonical HTML without its furigana.
pub fn without_ruby(html: &str) -> String {
    let mut plain = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, after)) = rest.split_once("<ruby>") {
        let Some((unit, after)) = after.split_once("</ruby>") else { break };
        plain.push_str(before);
        plain.push_str(unit.split_once("<rt>").map_or(unit, |(base, _)| base));
        rest = after;
    }
    plain.push_str(rest);
    plain
}

impl Passage {
    /// A title: one line, without blocks.
    pub fn title(source: &str) -> Passage {
        Writer::new(Shape::Line).read(source)
    }

    /// A body: paragraphs.
    pub fn body(source: &str) -> Passage {
        Writer::new(Shape::Blocks).read(source)
    }

    /// A text that is never taken for HTML, as paragraphs.
    pub fn text(source: &str) -> Passage {
        let mut writer = Writer::new(Shape::Blocks);
        writer.plain(source);
        writer.finish()
    }

    /// Whether nothing is left to read.
    pub fn is_empty(&self) -> bool {
        pieces(&self.pieces).all(|(base, _)| base.chars().all(char::is_whitespace))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Line,
    Blocks,
}

/// What was written last, which decides whether white space after it is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Narrow,
    Wide,
    Unit,
}

/// White space seen but not yet written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Space,
    Line,
}

/// Writes the HTML and the pieces side by side, so that they cannot disagree.
pub(super) struct Writer {
    shape: Shape,
    passage: Passage,
    /// Base text since the last ruby.
    run: String,
    block_open: bool,
    marks: Vec<&'static str>,
    last: Last,
    gap: Gap,
}

impl Writer {
    fn new(shape: Shape) -> Writer {
        Writer {
            shape,
            passage: Passage::default(),
            run: String::new(),
            block_open: false,
            marks: Vec::new(),
            last: Last::Nothing,
            gap: Gap::None,
        }
    }

    fn read(mut self, source: &str) -> Passage {
        if markup::is_html(source) {
            markup::write(source, &mut self);
        } else {
            self.plain(source);
        }
        self.finish()
    }

    fn finish(mut self) -> Passage {
        self.end_block();
        self.end_run();
        self.passage
    }

    fn plain(&mut self, source: &str) {
        for line in source.lines() {
            for piece in ruby::pieces(line) {
                match piece {
                    (base, Some(reading)) => self.unit(base, reading),
                    (text, None) => self.text(text),
                }
            }
            self.end_block();
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\n' | '\r' => self.gap = Gap::Line,
                ' ' | '\t' | '\u{c}' => {
                    self.gap = if self.gap == Gap::None { Gap::Space } else { self.gap }
                }
                _ if !may_stand_in_xml(character) => {}
                _ => {
                    let next = if character.is_ascii() { Last::Narrow } else { Last::Wide };
                    self.before(next);
                    escape(character, &mut self.passage.html);
                    self.run.push(character);
                }
            }
        }
    }

    pub(super) fn unit(&mut self, base: &str, reading: &str) {
        let clean = |text: &str| -> String {
            text.trim()
                .chars()
                .filter(|&c| may_stand_in_xml(c) && !c.is_ascii_whitespace())
                .collect()
        };
        let (base, reading) = (clean(base), clean(reading));
        if base.is_empty() || reading.is_empty() {
            return self.text(&base);
        }
        self.before(Last::Unit);
        self.end_run();
        let html = &mut self.passage.html;
        html.push_str("<ruby>");
        base.chars().for_each(|character| escape(character, html));
        html.push_str("<rt>");
        reading.chars().for_each(|character| escape(character, html));
        html.push_str("</rt></ruby>");
        self.passage.pieces.extend([&base, READING.encode_utf8(&mut [0; 4]) as &str, &reading]);
        self.passage.pieces.push(PIECE);
    }

    /// Opens a block if none is, and settles the white space before what comes next. A line's end in
    /// the source is a space only between Latin words, and nothing parts two pieces of ruby.
    fn before(&mut self, next: Last) {
        if self.shape == Shape::Blocks && !self.block_open {
            self.block_open = true;
            self.passage.html.push_str("<p>");
            for mark in &self.marks {
                self.passage.html.extend(["<", mark, ">"]);
            }
        }
        let keep = match (self.gap, self.last) {
            (Gap::None, _) | (_, Last::Nothing) => false,
            (Gap::Line, last) => last == Last::Narrow && next == Last::Narrow,
            (Gap::Space, last) => !(last == Last::Unit && next == Last::Unit),
        };
        if keep {
            self.passage.html.push(' ');
            self.run.push(' ');
        }
        self.gap = Gap::None;
        self.last = next;
    }

    pub(super) fn line_break(&mut self) {
        if self.shape == Shape::Line {
            self.gap = Gap::Space;
        } else if self.block_open {
            self.passage.html.push_str("<br/>");
            self.run.push('\n');
            (self.gap, self.last) = (Gap::None, Last::Nothing);
        }
    }

    pub(super) fn end_block(&mut self) {
        if self.shape == Shape::Line {
            self.gap = Gap::Space;
        } else if mem::take(&mut self.block_open) {
            for mark in self.marks.iter().rev() {
                self.passage.html.extend(["</", mark, ">"]);
            }
            self.passage.html.push_str("</p>");
            self.run.push('\n');
            (self.gap, self.last) = (Gap::None, Last::Nothing);
        }
    }

    pub(super) fn start_mark(&mut self, mark: &'static str) {
        if self.block_open || self.shape == Shape::Line {
            self.passage.html.extend(["<", mark, ">"]);
        }
        self.marks.push(mark);
    }

    pub(super) fn end_mark(&mut self, mark: &'static str) {
        if self.marks.pop() == Some(mark) && (self.block_open || self.shape == Shape::Line) {
            self.passage.html.extend(["</", mark, ">"]);
        }
    }

    fn end_run(&mut self) {
        if !self.run.is_empty() {
            self.passage.pieces.push_str(&mem::take(&mut self.run));
            self.passage.pieces.push(PIECE);
        }
    }
}

/// Characters that XML 1.0 allows; the rest, the borders of the pieces among them, never get in.
fn may_stand_in_xml(character: char) -> bool {
    !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}')
}

/// Writes a character as HTML text.
pub(crate) fn escape(character: char, html: &mut String) {
    match character {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '"' => html.push_str("&quot;"),
        other => html.push(other),
    }
}
