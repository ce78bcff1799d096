//! Any bytes as a dictionary file: guessed, and forced into each format. Reading may refuse, never panic,
//! and gives entries that can be packed: none without a form, no restriction beyond the headwords.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_japanese::read::{Format, Item, Options, read_from};

const FORMATS: [Option<Format>; 6] = [
    None,
    Some(Format::Edict),
    Some(Format::Edict2),
    Some(Format::Enamdict),
    Some(Format::Kanjidic),
    Some(Format::Jmdict),
];

fuzz_target!(|bytes: &[u8]| {
    for format in FORMATS {
        let options = Options { format, bytes_max: 1 << 20 };
        // An error is an answer.
        let _ = read_from(bytes, "fuzz", &options, &mut check);
    }
});

fn check(item: Item) {
    let Item::Entry(entry) = item else { return };
    assert!(!entry.headwords.is_empty() || !entry.readings.is_empty());
    assert!(entry.headwords.iter().all(|headword| !headword.text.is_empty()));
    for reading in &entry.readings {
        assert!(!reading.text.is_empty());
        assert!(reading.only.iter().all(|&at| at < entry.headwords.len()));
    }
}
