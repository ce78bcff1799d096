//! The header of a dictionary: its name and the day it was made.
//!
//! EDICT and ENAMDICT hide it in an entry for `？？？`, KANJIDIC in a comment, XML in `<!-- JMdict
//! created: 2026-11-20 -->`. All have a title first and somewhere a day.

/// What a header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) name: Option<String>,
    pub(super) date: Option<String>,
}

impl Header {
    /// Reads the text of a header, title first.
    pub(super) fn parse(text: &str) -> Header {
        let name = text.split([' ', ',', '/']).find(|word| !word.is_empty());
        Header { name: name.map(str::to_owned), date: date(text).map(str::to_owned) }
    }
}

/// The first day in a text, as `2021-02-03`.
fn date(text: &str) -> Option<&str> {
    text.as_bytes().windows(10).position(is_date).map(|at| &text[at..at + 10])
}

fn is_date(bytes: &[u8]) -> bool {
    let fits = |(at, byte): (usize, &u8)| {
        if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() }
    };
    bytes.iter().enumerate().all(fits)
}
