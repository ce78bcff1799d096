//! Scans any text, with and without ruby, by a small dictionary: what is found lies in the text, and both forms of
//! the answer are JSON.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sakuin_japanese::dictionary::Dictionary;
use sakuin_japanese::pack::Packer;
use sakuin_japanese::sub_dictionary::Tier;
use sakuin_japanese::text::Text;
use serde_json::Value;

const WORDS: &str = "\
食べる [たべる] /(v1,vt) to eat/(P)/
行く [いく] /(v5k-s,vi) to go/(P)/
する /(vs-i) to do/(P)/
来る [くる] /(vk,vi) to come/
くる /(vk,vi) to come/
高い [たかい] /(adj-i) high/
お母さん [おかあさん] /(n) mother/
人人 [ひとびと] /(n) people/
国 [くに] /(n) country/
ああ /(int) ah/
アー /(int) ah/
か /(prt) question/
";
const NAMES: &str = "国 [くに] /(u) Kuni/\nたか /(f) Taka/\n";

static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, lines: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, lines).expect("it can be written");
        path
    };
    let mut packer = Packer::default();
    packer.words(&file("edict", WORDS)).expect("words");
    packer.names(&file("enamdict", NAMES)).expect("names");
    let path = folder.path().join("small.skn");
    packer.write(&path).expect("a dictionary");
    Dictionary::open(path).expect("a dictionary")
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut answer = Vec::new();
    DICTIONARY.answer(&Text::plain(&text), &mut answer).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    let characters: Vec<char> = text.chars().collect();
    assert_eq!(answer["characters"], characters.len());
    for found in answer["matches"].as_array().expect("an array") {
        let at = |field: &str| found[field].as_u64().expect("a number") as usize;
        let surface: String = characters[at("start")..at("end")].iter().collect();
        assert_eq!(found["surface"], surface.as_str());
    }

    // Every other piece of the text is a ruby unit, read by the piece after it.
    let pieces: Vec<&str> = text.split('|').collect();
    let ruby = (0..)
        .zip(&pieces)
        .map(|(at, &piece)| (piece, pieces.get(at + 1).filter(|_| at % 2 == 1).copied()));
    let texts = [Text::segments(ruby), Text::plain(&text)];
    for tier in [Tier::Page, Tier::Words, Tier::Names] {
        let json = DICTIONARY.sub_dictionary(&texts, tier).expect("a sub-dictionary");
        serde_json::from_slice::<Value>(&json).expect("JSON");
    }
});
