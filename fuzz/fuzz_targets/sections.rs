//! Opens and scans with forged sections: sums are right, contents are anything. A wrong answer is allowed, a panic or
//! a read outside the section is not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_japanese::dictionary::Dictionary;
use sakuin_japanese::sub_dictionary::Tier;
use sakuin_japanese::text::Text;
use sakuin_pack::{Builder, Content, Options, Table};

const NAMES: [&str; 6] = [
    "japanese.alphabet",
    "japanese.trie",
    "japanese.codes",
    "japanese.tail",
    "japanese.postings",
    "japanese.entries",
];
const META: &str = r#"{"title":"","licence":"","dictionaries":[],"words":3,"stems":["v1","v5k"]}"#;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("forged.skn");
    let mut builder = Builder::new(Content::Json, Options::new());
    builder
        .add(b"w1", br#"{"id":"w1","headwords":["a"],"readings":[],"senses":[]}"#)
        .expect("a value");
    builder.meta(META).expect("JSON");
    let mut parts = bytes.splitn(NAMES.len(), |&byte| byte == 0xFE);
    let written = builder.write_with(&path, |_, sections| {
        for name in NAMES {
            let mut part = parts.next().unwrap_or_default().to_vec();
            // Most sections are rows of 2, 4, 12 or 16 bytes: whole rows go further than a bad length.
            part.truncate(part.len() / 48 * 48);
            sections.add(name, part, false)?;
        }
        Ok(())
    });
    written.expect("it can be written");
    let Ok(dictionary) = Dictionary::from_table(Table::open(&path).expect("a table")) else {
        return;
    };
    let text = Text::plain("食べられた本を読んでaaaああいう");
    let _ = dictionary.scan(&text);
    let _ = dictionary.answer(&text, &mut Vec::new());
    let _ = dictionary.sub_dictionary(&[text], Tier::Words);
});
