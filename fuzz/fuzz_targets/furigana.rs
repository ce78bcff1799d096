//! A headword and a reading, a line each, with kanji readings on the lines after: the segments always
//! join to the two, whatever they are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_japanese::{
    entry::Kanji,
    furigana::{Readings, split},
};

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let (headword, reading) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let kun: Vec<String> = lines.map(str::to_owned).collect();
    let readings =
        Readings::of_name(&Kanji { on: kun.clone(), nanori: kun.clone(), kun, ..Kanji::default() });
    let segments = split(headword, reading, &|_| Some(&readings));

    let bases: String = segments.iter().map(|segment| segment.base).collect();
    assert_eq!(bases, headword);
    let mut rest = reading;
    for segment in &segments {
        match segment.reading {
            Some(read) => rest = rest.strip_prefix(read).expect("the next part of the reading"),
            None => {
                let same = segment.base.chars().count();
                let end = rest.char_indices().nth(same).map_or(rest.len(), |(at, _)| at);
                rest = &rest[end..];
            }
        }
    }
    assert_eq!(rest, "");
});
