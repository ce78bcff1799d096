//! The scan against brute force: every substring, the plain deinflector, a hash map.
//!
//! Nothing here shares code with the scanner: words come from the dictionary's readers (or its raw lines),
//! inflections from the oracle, and spans from trying all of them. What the scan reports must be that, and
//! besides only what an alternative of the text explains.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use sakuin_japanese::deinflect::{Deinflector, Reading};
use sakuin_japanese::dictionary::Dictionary;
use sakuin_japanese::fold::fold;
use sakuin_japanese::pack::Packer;
use sakuin_japanese::read::{Item, read};
use sakuin_japanese::rules::{Class, rules};
use sakuin_japanese::sub_dictionary::Tier;
use sakuin_japanese::text::Text;
use serde_json::Value;

use crate::debian;

/// No word of the dictionaries is longer.
const SPAN_CHARACTERS_MAX: usize = 30;

const TEXTS: [&str; 3] = [
    include_str!("../data/market.txt"),
    include_str!("../data/marks.txt"),
    include_str!("../data/inflected.txt"),
];

#[test]
fn every_substring_that_edict_has_is_found() {
    let forms = raw_forms(Path::new(debian::EDICT));
    for text in TEXTS {
        let answer = answer(debian::dictionary(), text);
        let found = forms_at(&answer);
        let characters: Vec<char> = text.chars().collect();
        let mut tried = 0;
        for start in 0..characters.len() {
            for end in start + 1..=characters.len().min(start + SPAN_CHARACTERS_MAX) {
                if !is_japanese(characters[end - 1]) {
                    break;
                }
                let span: String = characters[start..end].iter().collect();
                if forms.contains(&span) {
                    tried += 1;
                    assert!(
                        found.get(&(start, end)).is_some_and(|forms| forms.contains(&span)),
                        "`{span}` at {start}–{end} is in EDICT and was not found"
                    );
                }
            }
        }
        assert!(tried > 50, "only {tried} substrings of `{text}` are in EDICT");
    }
}

#[test]
fn the_scan_is_what_the_oracle_and_a_hash_map_find() {
    let lookup = Lookup::new(Path::new(debian::EDICT));
    for text in TEXTS {
        let expected = lookup.find(text);
        let found = words_at(&answer(debian::dictionary(), text));
        let missing: Vec<_> = expected.difference(&found).collect();
        assert!(missing.is_empty(), "not found: {missing:?}");
        let characters: Vec<char> = text.chars().collect();
        for (start, end, reasons, entry) in found.difference(&expected) {
            let surface: String = characters[*start..*end].iter().collect();
            let explained = has_alternatives(&characters, *start, *end);
            assert!(explained, "`{surface}` is not `{entry}` by {reasons:?}");
        }
    }
}

/// Whether a character of the span may stand for another.
fn has_alternatives(text: &[char], start: usize, end: usize) -> bool {
    text[start..end].iter().any(|&c| "ーっッ々ゝヽゞヾ〻ずづじぢズヅジヂ國學體氣".contains(c))
}

/// EDICT's entries by folded form, with the classes a form may have.
struct Lookup {
    whole: HashMap<String, BTreeSet<String>>,
    by_class: HashMap<(String, Class), BTreeSet<String>>,
    oracle: Deinflector<'static>,
}

type Found = BTreeSet<(usize, usize, Vec<String>, String)>;

impl Lookup {
    fn new(edict: &Path) -> Lookup {
        let mut lookup = Lookup {
            whole: HashMap::new(),
            by_class: HashMap::new(),
            oracle: Deinflector::new(rules()),
        };
        let mut number = 0;
        read(edict, &mut |item| {
            let Item::Entry(entry) = item else { return };
            number += 1;
            let id = format!("w{number}");
            let tags: BTreeSet<_> = entry.senses.iter().flat_map(|sense| &sense.tags).collect();
            let heads = entry.headwords.iter().map(|head| &head.text);
            for head in heads.chain(entry.readings.iter().map(|reading| &reading.text)) {
                let head = fold(head);
                let mut classes: Vec<_> =
                    tags.iter().filter_map(|tag| rules().class(tag)).collect();
                if head == "です" || head == "だ" {
                    classes.extend(rules().class("cop"));
                }
                for class in classes {
                    let key = (head.clone(), class);
                    lookup.by_class.entry(key).or_default().insert(id.clone());
                }
                lookup.whole.entry(head).or_default().insert(id.clone());
            }
        })
        .unwrap();
        lookup
    }

    /// Every word at every span of a text, as the oracle and the maps have it.
    fn find(&self, text: &str) -> Found {
        let mut found = BTreeSet::new();
        let characters: Vec<char> = text.chars().collect();
        for start in 0..characters.len() {
            let run = characters[start..].iter().take(SPAN_CHARACTERS_MAX);
            let length = run.take_while(|&&c| is_japanese(c)).count();
            for end in start + 1..=start + length {
                let span = fold(&characters[start..end].iter().collect::<String>());
                for id in self.whole.get(&span).into_iter().flatten() {
                    found.insert((start, end, vec![], id.clone()));
                }
                for Reading { form, class, reasons } in self.oracle.readings(&span) {
                    let reasons: Vec<_> =
                        reasons.iter().map(|&reason| rules().label(reason).to_owned()).collect();
                    for id in self.by_class.get(&(form, class)).into_iter().flatten() {
                        found.insert((start, end, reasons.clone(), id.clone()));
                    }
                }
            }
        }
        found
    }
}

/// The words of an answer: span, reasons, entry.
fn words_at(answer: &Value) -> Found {
    let mut found = BTreeSet::new();
    for found_at in answer["matches"].as_array().unwrap() {
        if found_at["kind"] != "word" {
            continue;
        }
        let strings = |field: &str| -> Vec<String> {
            let values = found_at[field].as_array().unwrap().iter();
            values.map(|value| value.as_str().unwrap().to_owned()).collect()
        };
        for entry in strings("entries") {
            let (start, end) = span(found_at);
            found.insert((start, end, strings("reasons"), entry));
        }
    }
    found
}

/// The heads, as their entries have them, of what an answer has at each span without inflection.
fn forms_at(answer: &Value) -> BTreeMap<(usize, usize), HashSet<String>> {
    let heads: HashMap<&str, Vec<&str>> = answer["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let of = |field: &str| entry[field].as_array().unwrap().iter();
            let heads = of("headwords").chain(of("readings")).map(|head| head.as_str().unwrap());
            (entry["id"].as_str().unwrap(), heads.collect())
        })
        .collect();
    let mut found: BTreeMap<_, HashSet<String>> = BTreeMap::new();
    for found_at in answer["matches"].as_array().unwrap() {
        if found_at["kind"] == "word" && found_at["reasons"].as_array().unwrap().is_empty() {
            for entry in found_at["entries"].as_array().unwrap() {
                let heads = heads[entry.as_str().unwrap()].iter().map(|&head| head.to_owned());
                found.entry(span(found_at)).or_default().extend(heads);
            }
        }
    }
    found
}

fn span(found_at: &Value) -> (usize, usize) {
    let of = |field: &str| found_at[field].as_u64().unwrap() as usize;
    (of("start"), of("end"))
}

fn answer(dictionary: &Dictionary, text: &str) -> Value {
    let mut json = Vec::new();
    dictionary.answer(&Text::plain(text), &mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// Everything in EDICT that stands before a gloss, read without the project's readers.
fn raw_forms(edict: &Path) -> HashSet<String> {
    let bytes = std::fs::read(edict).unwrap();
    let (text, _, _) = encoding_rs::EUC_JP.decode(&bytes);
    let mut forms = HashSet::new();
    for line in text.lines().skip(1) {
        let Some((head, _)) = line.split_once(" /") else { continue };
        forms.extend(head.split([' ', '[', ']']).filter(|f| !f.is_empty()).map(str::to_owned));
    }
    forms
}

fn is_japanese(c: char) -> bool {
    matches!(c, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | 'ー' | '々' | 'ゝ' | 'ゞ' | 'ヽ' | 'ヾ' | '一'..='鿿')
}

/// A dictionary of a few authored lines of EDICT and ENAMDICT.
fn small(words: &str, names: &str) -> Dictionary {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.skn");
    let mut packer = Packer::default();
    let write = |name: &str, lines: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, lines).unwrap();
        file
    };
    packer.words(&write("edict", words)).unwrap();
    if !names.is_empty() {
        packer.names(&write("enamdict", names)).unwrap();
    }
    packer.write(&path).unwrap();
    Dictionary::open(&path).unwrap()
}

const WORDS: &str = "\
食べる [たべる] /(v1,vt) (1) to eat/(2) to live on/(3) to third/(4) to fourth/(P)/
喰べる [たべる] /(v1,vt) (1) to eat/(2) to live on/(3) to third/(4) to fourth/
市場 [いちば] /(n) market/(P)/
市場 [しじょう] /(n) (stock) market <index>/
お母さん [おかあさん] /(n) mother/(P)/
アイス /(n) ice/
あいす /(n) thing of the same sound/
人人 [ひとびと] /(n) people/
国 [くに] /(n) country/(P)/
する /(vs-i) to do/(P)/
勉強 [べんきょう] /(n,vs) study/(P)/
日 [ひ] /(n) day/(P)/
明日 [あした] /(n) tomorrow/(P)/
";
const NAMES: &str = "市 [いち] /(u) Ichi/\n市場 [いちば] /(s) Ichiba/\nたべ /(f) Tabe/\n";

/// Surface, form, reasons and kind of each match.
#[track_caller]
fn check(text: &str, expected: &[(&str, &str, &[&str], &str)]) {
    let answer = answer(&small(WORDS, NAMES), text);
    let shown: Vec<String> = answer["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            let (surface, form) = (found["surface"].as_str(), found["form"].as_str());
            let kind = found["kind"].as_str();
            format!("{} {} {} {}", surface.unwrap(), form.unwrap(), found["reasons"], kind.unwrap())
        })
        .collect();
    let expected: Vec<String> = expected
        .iter()
        .map(|(surface, form, reasons, kind)| {
            format!("{surface} {form} {} {kind}", serde_json::json!(reasons))
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn inflected_words_are_found_with_their_chain() {
    check(
        "食べさせた",
        &[
            ("食べさせた", "食べる", &["causative", "past"], "word"),
            ("食べさせ", "食べる", &["causative", "masu stem"], "word"),
            ("食べさ", "食べる", &["short causative", "imperative"], "word"),
            ("食べ", "食べる", &["masu stem"], "word"),
            ("させ", "する", &["causative", "masu stem"], "word"),
            ("させた", "する", &["causative", "past"], "word"),
        ][..1],
    );
}
