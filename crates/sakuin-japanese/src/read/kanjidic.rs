//! KANJIDIC: one kanji a line, its facts as words with a letter in front.
//!
//! `亜 3021 U4e9c G8 S7 F1509 … ア つ.ぐ T1 や つぎ {Asia} {rank next}`. Kept are grade, strokes,
//! frequency, the readings, those in names (after `T1`) and the meanings. Numbers of printed
//! dictionaries are dropped, and so are codes with a licence of their own (SKIP, after `P`).

use crate::entry::Kanji;

/// Whether a line looks like one of KANJIDIC: a character, its JIS code in hexadecimal, its Unicode.
pub(super) fn is_line(line: &str) -> bool {
    let mut words = line.split(' ');
    let one_character = words.next().is_some_and(|word| word.chars().count() == 1);
    let is_hexadecimal =
        |word: &str| word.len() >= 4 && word.bytes().all(|b| b.is_ascii_hexdigit());
    one_character
        && words.next().is_some_and(is_hexadecimal)
        && words.next().and_then(|word| word.strip_prefix('U')).is_some_and(is_hexadecimal)
}

/// Reads one line.
pub(super) fn parse(line: &str) -> Result<Kanji, &'static str> {
    if !is_line(line) {
        return Err("not `kanji code Ucode …`");
    }
    let (facts, meanings) = line.split_at(line.find('{').unwrap_or(line.len()));
    let mut words = facts.split_ascii_whitespace();
    let mut kanji = Kanji {
        character: first_char(&mut words),
        meanings: braced(meanings)?,
        ..Kanji::default()
    };
    // Readings after T1 are of names; after T2, of the kanji as a radical, which nobody reads.
    let mut readings_of = Readings::Words;
    for word in words.skip(1) {
        if word.is_ascii() {
            match word.split_at(1) {
                ("T", "1") => readings_of = Readings::Names,
                ("T", _) => readings_of = Readings::Radical,
                ("G", number) => kanji.grade = number.parse().ok(),
                // Further stroke counts are common miscounts.
                ("S", number) if kanji.strokes == 0 => kanji.strokes = number.parse().unwrap_or(0),
                ("F", number) => kanji.frequency = number.parse().ok(),
                _ => {}
            }
            continue;
        }
        match (readings_of, word.trim_start_matches('-').chars().next()) {
            (Readings::Words, Some('ァ'..='ヺ')) => kanji.on.push(word.to_owned()),
            (Readings::Words, Some('ぁ'..='ゖ')) => kanji.kun.push(word.to_owned()),
            (Readings::Names, _) => kanji.nanori.push(word.to_owned()),
            _ => {}
        }
    }
    Ok(kanji)
}

#[derive(Clone, Copy)]
enum Readings {
    Words,
    Names,
    Radical,
}

fn first_char<'l>(words: &mut impl Iterator<Item = &'l str>) -> char {
    words.next().and_then(|word| word.chars().next()).unwrap_or_default()
}

fn braced(mut meanings: &str) -> Result<Vec<String>, &'static str> {
    let mut found = Vec::new();
    while let Some(open) = meanings.find('{') {
        let rest = &meanings[open + 1..];
        let close = rest.find('}').ok_or("a `{` without its `}`")?;
        found.push(rest[..close].to_owned());
        meanings = &rest[close + 1..];
    }
    Ok(found)
}
