//! A text to scan: its folded characters, their alternatives, its ruby, and the way back to the original.

/// A text prepared for scanning.
pub struct Text {}

/// In which unit positions in a text are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// Unicode code points, as Python counts.
    Characters,
    /// UTF-16 code units, as a browser counts.
    Utf16,
    /// UTF-8 bytes, as Rust counts.
    Bytes,
}

impl Text {
    /// A text without ruby.
    pub fn plain(_text: &str) -> Text {
        unimplemented!()
    }
    /// A text in pieces, each with its ruby reading if it has one. Positions count the base text
    /// alone, as if the pieces stood in one string without their readings.
    pub fn segments<'a>(_pieces: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Text {
        unimplemented!()
    }
}
