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
                if head == "です" {
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
                // A voicing mark of its own is a part of the kana before it.
                let is_mark = |at| matches!(characters.get(at), Some('ﾞ' | 'ﾟ'));
                if is_mark(start) || is_mark(end) {
                    continue;
                }
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
    matches!(c, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | 'ｦ'..='ﾟ' | 'ー' | '々' | 'ゝ' | 'ゞ' | 'ヽ' | 'ヾ' | '一'..='鿿')
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

/// What is found at the start of a text: surface, form, reasons and kind.
#[track_caller]
fn check(text: &str, expected: &[(&str, &str, &[&str], &str)]) {
    let answer = answer(&small(WORDS, NAMES), text);
    let matches = answer["matches"].as_array().unwrap().iter();
    let shown: Vec<String> = matches
        .filter(|found| found["start"] == 0)
        .map(|found| {
            let [surface, form, kind] =
                ["surface", "form", "kind"].map(|field| found[field].as_str().unwrap());
            format!("{surface} {form} {} {kind}", found["reasons"])
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
fn the_longest_span_comes_first_and_words_before_names() {
    check(
        "市場へ",
        &[("市場", "市場", &[], "word"), ("市場", "市場", &[], "name"), ("市", "市", &[], "name")],
    );
}

#[test]
fn inflected_words_are_found_with_their_chain() {
    check(
        "食べた",
        &[("食べた", "食べる", &["past"], "word"), ("食べ", "食べる", &["masu stem"], "word")],
    );
    check(
        "勉強した",
        &[
            ("勉強した", "勉強", &["do (suru)", "past"], "word"),
            ("勉強し", "勉強", &["do (suru)", "masu stem"], "word"),
            ("勉強", "勉強", &[], "word"),
        ],
    );
}

#[test]
fn the_head_in_the_same_script_is_the_form() {
    check("アイスが", &[("アイス", "アイス", &[], "word"), ("アイス", "あいす", &[], "word")]);
    check("あいすが", &[("あいす", "あいす", &[], "word"), ("あいす", "アイス", &[], "word")]);
}

#[test]
fn alternatives_reach_the_word() {
    check("おかーさん", &[("おかーさん", "おかあさん", &[], "word")]);
    check("人々", &[("人々", "人人", &[], "word")]);
    check("國", &[("國", "国", &[], "word")]);
    check("ﾀﾍﾞ", &[("ﾀﾍﾞ", "たべる", &["masu stem"], "word"), ("ﾀﾍﾞ", "たべ", &[], "name")]);
}

#[test]
fn names_in_hiragana_alone_are_left_out() {
    check("たべ", &[("たべ", "たべる", &["masu stem"], "word")]);
    check("タベ", &[("タベ", "たべる", &["masu stem"], "word"), ("タベ", "たべ", &[], "name")]);
}

/// The ids at the first place of a page's sub-dictionary.
fn first_ids(pieces: &[(&str, Option<&str>)], tier: Tier) -> Vec<String> {
    let text = Text::segments(pieces.iter().copied());
    let json = small(WORDS, NAMES).sub_dictionary(&[text], tier).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    let Some(first) = json["texts"][0].get(0) else { return Vec::new() };
    let entries = first[2].as_array().unwrap().iter();
    entries
        .map(|pair| {
            json["entries"][pair[0].as_u64().unwrap() as usize]["id"].as_str().unwrap().into()
        })
        .collect()
}

#[test]
fn ruby_decides_which_entry_comes_first() {
    assert_eq!(first_ids(&[("市場", Some("しじょう"))], Tier::Page)[0], "w3");
    assert_eq!(first_ids(&[("市場", Some("いちば"))], Tier::Page)[0], "w2");
    assert_eq!(first_ids(&[("市場", None)], Tier::Page)[0], "w2");
    assert_eq!(first_ids(&[("食", Some("た")), ("べた", None)], Tier::Page), ["w1"]);
}

#[test]
fn no_word_begins_or_ends_inside_a_ruby_unit() {
    assert_eq!(first_ids(&[("明日", Some("あした"))], Tier::Page), ["w12"]);
    let text = Text::segments([("明日", Some("あした"))]);
    let json = small(WORDS, NAMES).sub_dictionary(&[text], Tier::Words).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["texts"][0].as_array().unwrap().len(), 1, "{json}");
    // 国 would end inside the unit, 日 begin inside it.
    assert!(first_ids(&[("国日", Some("くにび"))], Tier::Words).is_empty());
}

#[test]
fn a_page_has_no_word_that_changes_script_in_its_middle() {
    assert_eq!(first_ids(&[("食べタら", None)], Tier::Page), ["w1"]);
    let text = Text::plain("あイス");
    let json = small(WORDS, NAMES).sub_dictionary(&[text], Tier::Page).unwrap();
    assert!(String::from_utf8(json).unwrap().starts_with(r#"{"texts":[[]]"#));
}

#[test]
fn a_page_carries_three_senses_and_the_words_all() {
    let senses = |tier| {
        let json = small(WORDS, NAMES).sub_dictionary(&[Text::plain("食べる")], tier).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        json["entries"][0]["senses"].as_array().unwrap().len()
    };
    assert_eq!(senses(Tier::Page), 3);
    assert_eq!(senses(Tier::Words), 4);
}

#[test]
fn positions_of_a_page_are_utf16() {
    let json = small(WORDS, NAMES).sub_dictionary(&[Text::plain("𠮟国")], Tier::Page).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["texts"][0][0][0], 2);
    assert_eq!(json["texts"][0][0][1], 1);
}

#[test]
fn a_sub_dictionary_can_stand_in_a_page() {
    let json = small(WORDS, NAMES).sub_dictionary(&[Text::plain("市場")], Tier::Words).unwrap();
    let json = String::from_utf8(json).unwrap();
    assert!(!json.contains('<') && json.contains("market \\u003cindex>"), "{json}");
}

#[test]
fn pages_words_and_names_together_are_the_scan() {
    for text in TEXTS {
        let dictionary = debian::dictionary();
        let spans = |tier| {
            let json = dictionary.sub_dictionary(&[Text::plain(text)], tier).unwrap();
            let json: Value = serde_json::from_slice(&json).unwrap();
            let mut spans = BTreeSet::new();
            for span in json["texts"][0].as_array().unwrap() {
                for pair in span[2].as_array().unwrap() {
                    let id = json["entries"][pair[0].as_u64().unwrap() as usize]["id"].clone();
                    spans.insert((
                        span[0].as_u64().unwrap(),
                        span[0].as_u64().unwrap() + span[1].as_u64().unwrap(),
                        id.as_str().unwrap().to_owned(),
                    ));
                }
            }
            spans
        };
        let (page, words, names) = (spans(Tier::Page), spans(Tier::Words), spans(Tier::Names));
        let fetched: BTreeSet<_> = words.union(&names).cloned().collect();
        assert!(page.is_subset(&fetched));
        // These texts are of the basic plane, so characters and UTF-16 units are the same.
        let mut scanned = BTreeSet::new();
        for found in answer(dictionary, text)["matches"].as_array().unwrap() {
            let (start, end) = span(found);
            for id in found["entries"].as_array().unwrap() {
                scanned.insert((start as u64, end as u64, id.as_str().unwrap().to_owned()));
            }
        }
        assert!(fetched.is_subset(&scanned));
        let characters: Vec<char> = text.chars().collect();
        for (start, end, id) in scanned.difference(&fetched) {
            let (start, end) = (*start as usize, *end as usize);
            let small = |at: usize| {
                characters.get(at).is_some_and(|c| "ゃゅょぁぃぅぇぉャュョァィゥェォ".contains(*c))
            };
            let surface: String = characters[start..end].iter().collect();
            let mixed = surface.contains(|c| matches!(c, 'ァ'..='ヶ' | 'ｦ'..='ﾟ'))
                && surface.contains(|c| matches!(c, 'ぁ'..='ゖ'));
            assert!(small(start) || small(end) || mixed, "{surface} {id} is on no page");
        }
    }
}

#[test]
fn hostile_text_takes_time_in_proportion() {
    for unit in ["られ", "て", "ー", "っ", "々", "あ", "〜", "かー"] {
        let found = |times: usize| {
            let text = Text::plain(&unit.repeat(times));
            debian::dictionary().scan(&text).unwrap().len()
        };
        let (once, tenfold) = (found(300), found(3000));
        assert!(tenfold <= 11 * once + 1000, "{unit}: {once} in 300, {tenfold} in 3,000");
    }
}

#[test]
fn any_bytes_of_a_text_are_taken() {
    let dictionary = small(WORDS, NAMES);
    for text in
        ["", "\0", "\0食\0べ\0", "\u{FEFF}食べた", "𠮟\u{3099}", "ａｂｃ", &"食".repeat(100_000)]
    {
        answer(&dictionary, text);
    }
}
