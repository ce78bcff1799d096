//! Furigana (stand-in until the splitter lands).
use crate::entry::Kanji;
/// Readings.
#[derive(Default)]
pub struct Readings;
/// Piece.
pub struct Piece {
    /// base
    pub base: String,
    /// reading
    pub reading: Option<String>,
}
impl Readings {
    /// add
    pub fn add(&mut self, _k: &Kanji) {}
    /// split
    pub fn split(&self, h: &str, r: &str) -> Vec<Piece> {
        vec![Piece { base: h.into(), reading: Some(r.into()) }]
    }
}
