//! A text to scan: its folded characters, what else each may stand for, its ruby, and the way back to
//! the original.
//!
//! A text is a row of *places*. At each stands one folded character; some places also have
//! [`Alternative`]s, which lead past one or more characters under another name. Positions given out are
//! those of the base text (ruby readings do not count), in whatever unit the reader counts.

use crate::fold;

/// A text prepared for scanning. Costs about 30 bytes a character and a few nanoseconds to make.
#[derive(Clone, Debug, Default)]
pub struct Text {
    base: String,
    pub(crate) folded: Vec<char>,
    /// One more than `folded`: the last place is the end of the text.
    places: Vec<Place>,
    alternatives: Vec<Alternative>,
    units: Vec<Unit>,
}

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

/// Another way to read on from a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alternative {
    pub(crate) at: u32,
    /// The place where reading goes on.
    pub(crate) to: u32,
    /// The character read in place of those between; none if they are passed over as mere emphasis.
    pub(crate) reads: Option<char>,
}

/// A run of base text with one ruby reading, as places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) reading: Vec<char>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    byte: u32,
    character: u32,
    utf16: u32,
    flags: u8,
}

/// A word may begin or end here: not inside a ruby unit, not inside what was one character.
const BOUNDARY: u8 = 1;
/// A word is looked up from here.
const START: u8 = 2;
/// There are alternatives to the character here.
const ALTERNATIVES: u8 = 4;
/// A small kana follows: a cut here is not between words.
const SMALL_KANA: u8 = 8;

impl Text {
    /// A text without ruby.
    ///
    /// # Panics
    /// If the text is longer than 4 GiB.
    ///
    /// ```
    /// use sakuin_japanese::text::Text;
    /// assert_eq!(Text::plain("日本語").base(), "日本語");
    /// ```
    pub fn plain(text: &str) -> Text {
        Text::segments([(text, None)])
    }

    /// A text in pieces, each with its ruby reading if it has one. Positions count the base text alone, as
    /// if the pieces stood in one string without their readings.
    ///
    /// ```
    /// use sakuin_japanese::text::Text;
    /// let text = Text::segments([("猫", Some("ねこ")), ("がいる。", None)]);
    /// assert_eq!(text.base(), "猫がいる。");
    /// ```
    ///
    /// # Panics
    /// If the text is longer than 4 GiB.
    pub fn segments<'a>(pieces: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Text {
        let mut text = Text::default();
        for (base, reading) in pieces {
            text.push(base, reading);
        }
        text.finish();
        text
    }

    /// The base text.
    pub fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn length(&self) -> usize {
        self.folded.len()
    }

    pub(crate) fn is_start(&self, place: usize) -> bool {
        self.places[place].flags & START != 0
    }

    pub(crate) fn is_boundary(&self, place: usize) -> bool {
        self.places[place].flags & BOUNDARY != 0
    }

    pub(crate) fn precedes_small_kana(&self, place: usize) -> bool {
        self.places[place].flags & SMALL_KANA != 0
    }

    pub(crate) fn alternatives(&self, place: usize) -> &[Alternative] {
        if self.places[place].flags & ALTERNATIVES == 0 {
            return &[];
        }
        let first = self.alternatives.partition_point(|a| (a.at as usize) < place);
        let count = self.alternatives[first..].partition_point(|a| a.at as usize == place);
        &self.alternatives[first..first + count]
    }

    /// The position of a place in the base text.
    pub(crate) fn offset(&self, place: u32, unit: Offsets) -> u32 {
        let place = &self.places[place as usize];
        match unit {
            Offsets::Characters => place.character,
            Offsets::Utf16 => place.utf16,
            Offsets::Bytes => place.byte,
        }
    }

    /// The base text between two places.
    pub(crate) fn surface(&self, start: u32, end: u32) -> &str {
        let start = self.offset(start, Offsets::Bytes) as usize;
        &self.base[start..self.offset(end, Offsets::Bytes) as usize]
    }

    /// The folded reading of a span as its ruby gives it: none if a ruby unit crosses its ends or it has
    /// no ruby at all.
    pub(crate) fn reading(&self, start: u32, end: u32) -> Option<Vec<char>> {
        let first = self.units.partition_point(|unit| unit.end <= start);
        let inside = self.units[first..].iter().take_while(|unit| unit.start < end);
        let mut reading = Vec::new();
        let mut read_to = start;
        for unit in inside {
            if unit.start < start || unit.end > end {
                return None;
            }
            reading.extend_from_slice(&self.folded[read_to as usize..unit.start as usize]);
            reading.extend_from_slice(&unit.reading);
            read_to = unit.end;
        }
        if read_to == start {
            return None;
        }
        reading.extend_from_slice(&self.folded[read_to as usize..end as usize]);
        Some(reading)
    }

    fn push(&mut self, piece: &str, reading: Option<&str>) {
        let start = self.folded.len();
        let base_start = self.base.len();
        self.base.push_str(piece);
        assert!(u32::try_from(self.base.len()).is_ok(), "a text is shorter than 4 GiB");
        let Text { folded, places, .. } = self;
        let mut last = usize::MAX;
        fold::fold_each(piece, |c, range| {
            let is_new = range.start != last;
            last = range.start;
            folded.push(c);
            let flags = if is_new { BOUNDARY } else { 0 };
            places.push(Place {
                byte: (base_start + range.start) as u32,
                flags,
                ..Place::default()
            });
        });
        let Some(reading) = reading else { return };
        for place in self.places.iter_mut().skip(start + 1) {
            place.flags = 0;
        }
        if start < self.folded.len() {
            self.units.push(Unit {
                start: start as u32,
                end: self.folded.len() as u32,
                reading: fold::fold(reading).chars().collect(),
            });
        }
    }

    fn finish(&mut self) {
        self.places.push(Place {
            byte: self.base.len() as u32,
            flags: BOUNDARY,
            ..Place::default()
        });
        self.count_positions();
        self.find_starts();
        self.find_alternatives();
    }

    fn count_positions(&mut self) {
        let (mut byte, mut character, mut utf16) = (0, 0, 0);
        let mut rest = self.base.chars();
        for place in &mut self.places {
            while byte < place.byte {
                let Some(c) = rest.next() else { break };
                byte += c.len_utf8() as u32;
                character += 1;
                utf16 += c.len_utf16() as u32;
            }
            place.character = character;
            place.utf16 = utf16;
        }
    }

    /// Words begin at every boundary, save inside a run of Latin letters and digits.
    fn find_starts(&mut self) {
        let mut in_latin = false;
        for (at, &c) in self.folded.iter().enumerate() {
            let is_latin = !is_japanese(c) && c.is_alphanumeric();
            let place = &mut self.places[at];
            if place.flags & BOUNDARY != 0 && !(is_latin && in_latin) && !c.is_whitespace() {
                place.flags |= START;
            }
            if fold::is_small_kana(c) {
                place.flags |= SMALL_KANA;
            }
            in_latin = is_latin;
        }
    }

    fn find_alternatives(&mut self) {
        let mut run_end = 0;
        for at in 0..self.folded.len() {
            let c = self.folded[at];
            let before = at.checked_sub(1).map(|i| self.folded[i]);
            let from = self.alternatives.len();
            let mut offer = |to: usize, reads: Option<char>| {
                let (at, to) = (at as u32, to as u32);
                self.alternatives.push(Alternative { at, to, reads });
            };
            match c {
                'ー' => {
                    for &vowel in before.map_or(&[][..], fold::long_vowels) {
                        offer(at + 1, Some(vowel));
                    }
                }
                '々' | '〻' | 'ゝ' => {
                    if let Some(before) = before {
                        offer(at + 1, Some(before));
                    }
                }
                'ゞ' => {
                    if let Some(voiced) = before.and_then(fold::voiced) {
                        offer(at + 1, Some(voiced));
                    }
                }
                _ => {
                    if let Some(variant) = fold::variant(c) {
                        offer(at + 1, Some(variant));
                    }
                }
            }
            // すごーい is すごい, すっっごい is すっごい or すごい.
            if matches!(c, 'ー' | 'っ') && at >= run_end && before.is_some_and(fold::is_kana) {
                run_end = at + self.folded[at..].iter().take_while(|&&next| next == c).count();
                if c == 'ー' {
                    offer(run_end, None);
                } else if run_end - at > 1 {
                    offer(run_end, Some('っ'));
                    offer(run_end, None);
                }
            }
            if self.alternatives.len() > from {
                self.places[at].flags |= ALTERNATIVES;
            }
        }
    }
}

fn is_japanese(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_folded(text: &str, folded: &str) {
        assert_eq!(Text::plain(text).folded.iter().collect::<String>(), folded);
    }

    #[test]
    fn folds_scripts_widths_and_marks() {
        check_folded("サボっている", "さぼっている");
        check_folded("ｶﾞｷﾞﾊﾟ", "がぎぱ");
        check_folded("か\u{3099}は\u{309A}", "がぱ");
        check_folded("ＤＶＤ－ＲＡＭ", "dvd-ram");
        check_folded("㍿の㌔", "株式会社のきろ");
        check_folded("葛\u{E0100}城\u{200B}", "葛城");
        check_folded("⼀", "一");
    }

    /// Positions of each place in characters, UTF-16 units and bytes.
    #[track_caller]
    fn check_offsets(text: &str, expected: &[(u32, u32, u32)]) {
        let text = Text::plain(text);
        let of = |place| {
            [Offsets::Characters, Offsets::Utf16, Offsets::Bytes]
                .map(|unit| text.offset(place, unit))
        };
        let offsets: Vec<_> =
            (0..=text.length() as u32).map(of).map(|[a, b, c]| (a, b, c)).collect();
        assert_eq!(offsets, expected);
    }

    #[test]
    fn offsets_lead_back_to_the_original() {
        check_offsets("", &[(0, 0, 0)]);
        check_offsets("𠮟る", &[(0, 0, 0), (1, 2, 4), (2, 3, 7)]);
        check_offsets("か\u{3099}く", &[(0, 0, 0), (2, 2, 6), (3, 3, 9)]);
        check_offsets("㌔だ", &[(0, 0, 0), (0, 0, 0), (1, 1, 3), (2, 2, 6)]);
        check_offsets("ｶﾞ", &[(0, 0, 0), (2, 2, 6)]);
        check_offsets("\u{200B}あ", &[(1, 1, 3), (2, 2, 6)]);
    }

    #[track_caller]
    fn check_alternatives(text: &str, at: usize, expected: &[(u32, Option<char>)]) {
        let text = Text::plain(text);
        let found: Vec<_> = text.alternatives(at).iter().map(|a| (a.to, a.reads)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn alternatives_of_marks_and_old_forms() {
        check_alternatives("おかーさん", 2, &[(3, Some('あ')), (3, None)]);
        check_alternatives("そーだ", 1, &[(2, Some('お')), (2, Some('う')), (2, None)]);
        check_alternatives("すっっごい", 1, &[(3, Some('っ')), (3, None)]);
        check_alternatives("人々", 1, &[(2, Some('人'))]);
        check_alternatives("いすゞ", 2, &[(3, Some('ず'))]);
        check_alternatives("國", 0, &[(1, Some('国'))]);
        check_alternatives("つづく", 1, &[(2, Some('ず'))]);
        check_alternatives("っ", 0, &[]);
        check_alternatives("ー", 0, &[]);
    }

    #[test]
    fn words_begin_once_in_a_latin_run() {
        let text = Text::plain("abc 12日");
        let starts: Vec<_> = (0..text.length()).filter(|&at| text.is_start(at)).collect();
        assert_eq!(starts, [0, 4, 6]);
    }

    #[test]
    fn ruby_units_are_not_cut_and_give_readings() {
        let text = Text::segments([("昨日", Some("きのう")), ("は", None), ("猫", Some("ねこ"))]);
        assert!(!text.is_boundary(1));
        assert!(text.is_boundary(2));
        let reading = |start, end| text.reading(start, end).map(String::from_iter);
        assert_eq!(reading(0, 2).as_deref(), Some("きのう"));
        assert_eq!(reading(0, 4).as_deref(), Some("きのうはねこ"));
        assert_eq!(reading(2, 3), None);
        assert_eq!(reading(1, 3), None);
        assert_eq!(text.base(), "昨日は猫");
    }
}
