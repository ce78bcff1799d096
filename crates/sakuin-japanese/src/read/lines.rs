//! Lines of a text dictionary: cut at the line break, bounded, decoded.
//!
//! The old files are EUC-JP with JIS X 0212, the new ones UTF-8, and none says which. The first lines
//! tell: UTF-8 if they are all valid, else whichever of the two fits more of them. From then on a line
//! that does not decode is that line's problem and nobody else's.

use std::{
    borrow::Cow,
    io::{self, BufRead, Read},
};

use encoding_rs::EUC_JP;

/// A longer line is no dictionary line.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// How many problems are kept with their reason.
const PROBLEMS_KEPT: usize = 10;

/// Lines that were not understood: all counted, the first ten kept.
#[derive(Debug, Default)]
pub(super) struct Problems {
    pub(super) count: u64,
    pub(super) first: Vec<(u64, String)>,
}

impl Problems {
    pub(super) fn note(&mut self, line: u64, reason: impl Into<String>) {
        self.count += 1;
        if self.first.len() < PROBLEMS_KEPT {
            self.first.push((line, reason.into()));
        }
    }
}

/// The character encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    EucJp,
}

impl Encoding {
    /// Guesses from the first bytes of a file.
    pub(super) fn guess(head: &[u8]) -> Encoding {
        let lines = || head.split(|&byte| byte == b'\n').filter(|line| !line.is_ascii());
        let fit =
            |encoding: Encoding| lines().filter(|line| encoding.decode(line).is_some()).count();
        if fit(Encoding::Utf8) >= fit(Encoding::EucJp) { Encoding::Utf8 } else { Encoding::EucJp }
    }

    /// Decodes a line; `None` if it holds a sequence that is not of this encoding.
    pub(super) fn decode(self, line: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Encoding::Utf8 => std::str::from_utf8(line).ok().map(Cow::Borrowed),
            Encoding::EucJp => {
                EUC_JP.decode_without_bom_handling_and_without_replacement(line).map(jis_symbols)
            }
        }
    }
}

/// Six symbols of JIS X 0208 have two homes in Unicode. `encoding_rs` follows the browsers, the UTF-8
/// editions of the dictionaries follow JIS; so do we, that both editions give the same keys.
fn jis_symbols(text: Cow<'_, str>) -> Cow<'_, str> {
    const BROWSER: [char; 6] = ['～', '∥', '－', '￠', '￡', '￢'];
    const JIS: [char; 6] = ['〜', '‖', '−', '¢', '£', '¬'];
    if !text.contains(BROWSER) {
        return text;
    }
    let jis = |c| BROWSER.iter().position(|&browser| browser == c).map_or(c, |at| JIS[at]);
    Cow::Owned(text.chars().map(jis).collect())
}

/// Reads lines one after the other into one buffer.
pub(super) struct Lines<R> {
    source: R,
    encoding: Encoding,
    /// The number of the line read last, from 1.
    pub(super) number: u64,
    raw: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(source: R, encoding: Encoding) -> Self {
        Lines { source, encoding, number: 0, raw: Vec::new() }
    }

    /// The next line without its break; inside it the reason why it has no text, if so.
    pub(super) fn next(&mut self) -> io::Result<Option<Result<Cow<'_, str>, &'static str>>> {
        self.raw.clear();
        self.number += 1;
        let limit = LINE_BYTES_MAX as u64 + 1;
        if self.source.by_ref().take(limit).read_until(b'\n', &mut self.raw)? == 0 {
            return Ok(None);
        }
        if self.raw.len() > LINE_BYTES_MAX && self.raw.last() != Some(&b'\n') {
            self.skip_line()?;
            return Ok(Some(Err("the line is longer than 1 MiB")));
        }
        let line = self.raw.trim_ascii_end();
        if line.contains(&0) {
            return Ok(Some(Err("the line holds a NUL byte")));
        }
        Ok(Some(self.encoding.decode(line).ok_or(match self.encoding {
            Encoding::Utf8 => "the line is not valid UTF-8",
            Encoding::EucJp => "the line is not valid EUC-JP",
        })))
    }

    /// Passes over what is left of a line that is too long, without holding it.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            self.raw.clear();
            let read = self.source.by_ref().take(1 << 16).read_until(b'\n', &mut self.raw)?;
            if read == 0 || self.raw.last() == Some(&b'\n') {
                return Ok(());
            }
        }
    }
}
