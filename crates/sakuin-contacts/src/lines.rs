//! The content lines of a card, as ranges of its text: nothing is copied but a line that is folded, and nothing is
//! ever printed anew (RFC 6350, section 3.3; RFC 2426, section 4; and vCard 2.1 as far as its lines go).
//!
//! A line that has no colon is a line without a name: what it meant nobody knows, and it is kept.

use std::{borrow::Cow, ops::Range};

/// One content line.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// Where it lies in the card, with its folds and the end of its last line.
    pub range: Range<usize>,
    /// It without folds and end.
    content: Cow<'a, str>,
    /// Where the name begins, after the group; where it ends; and where the value begins.
    name_start: usize,
    name_end: usize,
    value_start: usize,
}

/// One parameter of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'l> {
    /// As it is written; `TYPE` for a value alone, as vCard 2.1 has them.
    pub name: &'l str,
    /// As it is written, with quotes.
    raw: &'l str,
}

/// The lines of a card, in order.
///
/// ```
/// use sakuin_contacts::lines;
/// let card = "BEGIN:VCARD\r\nitem1.EMAIL;TYPE=home:ada@example.org\r\nNOTE:fol\r\n ded\\, once\r\nEND:VCARD\r\n";
/// let lines: Vec<_> = lines(card).collect();
/// assert_eq!((lines[1].group(), lines[1].name()), (Some("item1"), "EMAIL"));
/// assert_eq!((lines[2].value(), &*lines[2].text()), ("folded\\, once", "folded, once"));
/// assert_eq!(&card[lines[3].range.clone()], "END:VCARD\r\n");
/// ```
pub fn lines(card: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &card[start..];
        let line = Line::first(rest)?;
        let range = start..start + line.range.end;
        start = range.end;
        Some(Line { range, ..line })
    })
}

impl<'a> Line<'a> {
    /// The line a text begins with.
    fn first(text: &'a str) -> Option<Line<'a>> {
        if text.is_empty() {
            return None;
        }
        let mut content = Cow::Borrowed("");
        let mut end = 0;
        loop {
            let next = physical(&text[end..]);
            // Of a line that goes on, the space that says so is left out.
            let from = end + usize::from(end > 0 && !is_soft(&content));
            if is_soft(&content) {
                content.to_mut().pop();
            }
            join(&mut content, &text[from..end + next.length]);
            end += next.length + next.ending;
            let is_folded = text[end..].starts_with([' ', '\t']);
            if end == text.len() || !(is_folded || is_soft(&content)) {
                break;
            }
        }
        Some(Line::of(0..end, content))
    }

    fn of(range: Range<usize>, content: Cow<'a, str>) -> Line<'a> {
        let (mut is_quoted, mut name_end, mut colon) = (false, None, None);
        for (at, byte) in content.bytes().enumerate() {
            match byte {
                b'"' if name_end.is_some() => is_quoted = !is_quoted,
                b';' if !is_quoted => name_end = name_end.or(Some(at)),
                b':' if !is_quoted => {
                    colon = Some(at);
                    break;
                }
                _ => {}
            }
        }
        // A quote that is never closed hides the colon: then it was no quote.
        let Some(colon) = colon.or_else(|| content.find(':')) else {
            return Line { range, content, name_start: 0, name_end: 0, value_start: 0 };
        };
        let name_end = name_end.map_or(colon, |end| end.min(colon));
        let name_start = content[..name_end].rfind('.').map_or(0, |dot| dot + 1);
        Line { range, content, name_start, name_end, value_start: colon + 1 }
    }

    /// The group, if it has one: `item1` of `item1.EMAIL`.
    pub fn group(&self) -> Option<&str> {
        self.name_start.checked_sub(1).map(|dot| self.content[..dot].trim_start())
    }

    /// The name as it is written, without the group; empty for a line without a colon.
    pub fn name(&self) -> &str {
        let name = self.content[self.name_start..self.name_end].trim();
        name.trim_start_matches('\u{feff}')
    }

    /// Whether it has this name, in whatever case.
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name)
    }

    /// What stands before the value, with the colon.
    pub fn head(&self) -> &str {
        &self.content[..self.value_start]
    }

    /// The value as it is written, with its escapes.
    pub fn value(&self) -> &str {
        &self.content[self.value_start..]
    }

    /// The value with its escapes undone; decoded, if it is quoted-printable.
    pub fn text(&self) -> Cow<'_, str> {
        if self.is_quoted_printable() {
            return Cow::Owned(unprinted(self.value()));
        }
        unescaped(self.value())
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        let end = self.value_start.saturating_sub(1).max(self.name_end);
        let written = self.content[self.name_end..end].strip_prefix(';');
        parts(written, b';').map(|one| {
            let (name, raw) = one.split_once('=').unwrap_or(("TYPE", one));
            Parameter { name: name.trim(), raw }
        })
    }

    /// Whether a parameter of this name has this value, in whatever case.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.parameters()
            .filter(|parameter| parameter.name.eq_ignore_ascii_case(name))
            .any(|parameter| parameter.values().any(|one| one.eq_ignore_ascii_case(value)))
    }

    fn is_quoted_printable(&self) -> bool {
        const NAME: &str = "QUOTED-PRINTABLE";
        self.value().contains('=') && (self.has("ENCODING", NAME) || self.has("TYPE", NAME))
    }
}

impl<'l> Parameter<'l> {
    /// Its values: those between commas, without their quotes.
    pub fn values(&self) -> impl Iterator<Item = &'l str> {
        parts(Some(self.raw), b',').map(|one| {
            let one = one.trim();
            let quoted = one.strip_prefix('"').and_then(|one| one.strip_suffix('"'));
            quoted.unwrap_or(one)
        })
    }
}

/// What lies between bytes that are in no quotes.
fn parts(text: Option<&str>, between: u8) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let text = rest?;
        let (one, after) = match outside_quotes(text, between) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        rest = after;
        Some(one)
    })
}

/// Where a byte is first that is in no quotes.
fn outside_quotes(text: &str, wanted: u8) -> Option<usize> {
    let mut is_quoted = false;
    text.bytes().position(|byte| {
        is_quoted ^= byte == b'"';
        byte == wanted && !is_quoted
    })
}

/// A line as an editor shows it.
struct Physical {
    length: usize,
    /// How long its end is: two, one, or none at the end of the text.
    ending: usize,
}

fn physical(text: &str) -> Physical {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        None => Physical { length: text.len(), ending: 0 },
        Some(length) if text[length..].starts_with("\r\n") => Physical { length, ending: 2 },
        Some(length) => Physical { length, ending: 1 },
    }
}

fn join<'a>(content: &mut Cow<'a, str>, more: &'a str) {
    match content.is_empty() {
        true => *content = Cow::Borrowed(more),
        false => content.to_mut().push_str(more),
    }
}

/// Whether it is the first part of a quoted-printable value that goes on in the next line.
fn is_soft(content: &str) -> bool {
    content.ends_with('=') && {
        let head = content.split(':').next().unwrap_or_default();
        let named = head.as_bytes().windows(16);
        content.len() > head.len() && named.into_iter().any(is_quoted_printable)
    }
}

fn is_quoted_printable(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"QUOTED-PRINTABLE")
}

/// A text value as it was meant: `\n`, `\,`, `\;` and `\\` undone.
pub fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains('\\') {
        return Cow::Borrowed(value);
    }
    let mut text = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(one) = rest.next() {
        match one {
            '\\' => match rest.next() {
                Some('n' | 'N') => text.push('\n'),
                Some(escaped) => text.push(escaped),
                None => text.push('\\'),
            },
            one => text.push(one),
        }
    }
    Cow::Owned(text)
}

/// A text as a value is written.
pub fn escaped(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\r' => value.push_str("\\n"),
            '\\' | ',' | ';' => value.extend(['\\', one]),
            one => value.push(one),
        }
    }
    value
}

/// Quoted-printable bytes, taken as UTF-8 and where they are none as Latin-1.
fn unprinted(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |digit: &u8| (*digit as char).to_digit(16);
        match (first, after) {
            (b'=', [high, low, after @ ..]) => match (hex(high), hex(low)) {
                (Some(high), Some(low)) => {
                    bytes.push((high << 4 | low) as u8);
                    rest = after;
                    continue;
                }
                _ => bytes.push(*first),
            },
            _ => bytes.push(*first),
        }
        rest = after;
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(card: &str) -> Line<'_> {
        let all: Vec<_> = lines(card).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().unwrap()
    }

    #[test]
    fn a_line_is_group_name_parameters_value() {
        let line = one("item1.Tel;TYPE=\"work,x\",Home;PREF=1;VOICE:+49: 1;2\r\n");
        assert_eq!((line.group(), line.name(), line.value()), (Some("item1"), "Tel", "+49: 1;2"));
        let parameters: Vec<_> = line
            .parameters()
            .map(|it| (it.name.to_owned(), it.values().map(str::to_owned).collect::<Vec<_>>()))
            .collect();
        let wanted =
            [("TYPE", vec!["work,x", "Home"]), ("PREF", vec!["1"]), ("TYPE", vec!["VOICE"])];
        let wanted = wanted.map(|(name, values)| {
            (name.to_owned(), values.into_iter().map(str::to_owned).collect())
        });
        assert_eq!(parameters, wanted);
        assert!(line.has("type", "home") && !line.has("type", "work"));
    }

    #[test]
    fn quotes_hide_colons_unless_they_are_never_closed() {
        assert_eq!(one("A;X=\"a:b;c\":v").value(), "v");
        assert_eq!(one("A;X=\"a:v").value(), "v");
        assert_eq!(one("A\"b:c:d").value(), "c:d");
        let without = one("no colon here");
        assert_eq!((without.name(), without.value()), ("", "no colon here"));
        assert_eq!(without.parameters().count(), 0);
    }

    #[test]
    fn folds_and_soft_ends_are_joined() {
        assert_eq!(one("NOTE:a\r\n b\n\tc\r d\r\n").value(), "abcd");
        assert_eq!(one("NOTE:a\r\n  b").value(), "a b");
        let printed = one("NOTE;ENCODING=QUOTED-PRINTABLE:caf=C3=A9=\r\n au lait=\n!\n");
        assert_eq!(printed.text(), "café au lait!");
        assert_eq!(one("NOTE;quoted-printable:=E9").text(), "é");
        assert_eq!(lines("NOTE:a=\nB:c\n").count(), 2);
    }

    #[test]
    fn escapes_are_undone_and_made() {
        assert_eq!(unescaped(r"a\,b\;c\\d\ne\Nf\x\"), "a,b;c\\d\ne\nfx\\");
        assert_eq!(escaped("a,b;c\\d\r\ne\nf"), r"a\,b\;c\\d\ne\nf");
    }

    proptest! {
        /// Lines are the whole card, one after another, and nothing panics.
        #[test]
        fn lines_leave_nothing_out(card in "([A-Za-z.;:=\",\\\\ \r\n\té]|QUOTED-PRINTABLE){0,80}") {
            let mut end = 0;
            for line in lines(&card) {
                prop_assert_eq!(line.range.start, end);
                prop_assert!(line.range.end > end);
                end = line.range.end;
                let values = line.parameters().map(|parameter| parameter.values().count());
                let _ = (line.group(), line.name(), line.text(), values.sum::<usize>());
            }
            prop_assert_eq!(end, card.len());
        }

        #[test]
        fn what_is_escaped_comes_back(text in "[^\r]{0,40}") {
            let written = escaped(&text);
            let read = unescaped(&written);
            prop_assert_eq!(&*read, &*text);
        }
    }
}
