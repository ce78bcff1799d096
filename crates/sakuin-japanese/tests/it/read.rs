//! Reading dictionary files: authored snippets of every format, bad input, and Debian's dictionaries.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    process::Command,
};

use encoding_rs::EUC_JP;
use flate2::{Compression, write::GzEncoder};
use sakuin_japanese::{
    entry::{Entry, Headword, Kanji, Reading, Sense},
    read::{Error, Format, Item, Options, Summary, read, read_from},
};

fn items(bytes: &[u8]) -> Result<(Summary, Vec<Item>), Error> {
    items_of(bytes, &Options::default())
}

fn items_of(bytes: impl Read, options: &Options) -> Result<(Summary, Vec<Item>), Error> {
    let mut items = Vec::new();
    let summary = read_from(bytes, "file", options, &mut |item| items.push(item))?;
    Ok((summary, items))
}

#[track_caller]
fn entries(text: &str) -> Vec<Entry> {
    let (summary, items) = items(text.as_bytes()).unwrap();
    assert_eq!(summary.first_problems, []);
    items.into_iter().map(entry).collect()
}

fn entry(item: Item) -> Entry {
    match item {
        Item::Entry(entry) => entry,
        Item::Kanji(kanji) => panic!("{kanji:?} among words"),
    }
}

fn sense(tags: &str, glosses: &[&str]) -> Sense {
    let own = |text: &str| text.to_owned();
    Sense {
        tags: tags.split_whitespace().map(own).collect(),
        glosses: glosses.iter().map(|gloss| own(gloss)).collect(),
    }
}

/// Forms as `行く(P,oK)`, for what is common and tagged, and `いく{0,2}` for restrictions.
fn forms(entry: &Entry) -> String {
    let marks = |common: bool, tags: &[String]| {
        let marks: Vec<&str> =
            common.then_some("P").into_iter().chain(tags.iter().map(String::as_str)).collect();
        if marks.is_empty() { String::new() } else { format!("({})", marks.join(",")) }
    };
    let headword = |form: &Headword| format!("{}{}", form.text, marks(form.common, &form.tags));
    let reading = |form: &Reading| {
        let only = if form.only.is_empty() { String::new() } else { format!("{:?}", form.only) };
        let alone = if form.alone { "!" } else { "" };
        format!("{}{}{only}{alone}", form.text, marks(form.common, &form.tags))
    };
    let headwords: Vec<String> = entry.headwords.iter().map(headword).collect();
    let readings: Vec<String> = entry.readings.iter().map(reading).collect();
    format!("{} / {}", headwords.join(" "), readings.join(" "))
}

// EDICT

#[test]
fn a_sense_opens_with_its_number_and_keeps_its_own_tags() {
    let found = entries(
        "行く [いく] /(v5k-s,vi) (1) to go/to move (towards a place)/(2) (uk) (sl) to trip/(aux-v) (3) to keep on .../(P)/\n",
    );
    assert_eq!(forms(&found[0]), "行く(P) / いく(P)");
    assert!(found[0].common);
    assert_eq!(
        found[0].senses,
        [
            sense("v5k-s vi", &["to go", "to move (towards a place)"]),
            sense("v5k-s vi uk sl", &["to trip"]),
            sense("aux-v", &["to keep on ..."]),
        ]
    );
}

#[test]
fn only_known_tags_are_marks() {
    let glosses = |line: &str| entries(line).remove(0).senses;
    assert_eq!(glosses("脂 [やに] /(n) (pine) resin/\n"), [sense("n", &["(pine) resin"])]);
    assert_eq!(
        glosses("巻 [まき] /(n) (a) roll/(n) of film/\n"),
        [sense("n", &["(a) roll", "(n) of film"])]
    );
    assert_eq!(glosses("杯 [はい] /(n) (golf) cup/\n"), [sense("n", &["(golf) cup"])]);
    assert_eq!(glosses("杯 [はい] /(n) {golf} cup/\n"), [sense("n golf", &["cup"])]);
    assert_eq!(
        glosses("窓 [まど] /(n) {comp;math} (ksb:) pane/\n"),
        [sense("n comp math ksb", &["pane"])]
    );
    assert_eq!(glosses("上 [うえ] /(n) (See 下・1) up/\n"), [sense("n", &["up"])]);
    assert_eq!(glosses("年 [ねん] /(n) (1984) novel/\n"), [sense("n", &["(1984) novel"])]);
    assert_eq!(
        glosses("括 [かつ] /(n) (unclosed/(2) second/\n"),
        [sense("n", &["(unclosed"]), sense("n", &["second"])]
    );
}

#[test]
fn tags_of_a_form_are_not_of_the_meaning() {
    let found = entries("為る [する] /(oK) (vs-i) (1) (uk) to do/\n");
    assert_eq!(forms(&found[0]), "為る(oK) / する");
    assert_eq!(found[0].senses, [sense("vs-i uk", &["to do"])]);
}

#[test]
fn a_line_without_brackets_is_a_reading() {
    let found = entries("カード /(n) card/(P)/\nＤＶＤ /(n) disc/\n４° [しど] /\n");
    assert_eq!(forms(&found[0]), " / カード(P)");
    assert_eq!(forms(&found[1]), " / ＤＶＤ");
    assert_eq!((forms(&found[2]).as_str(), &found[2].senses[..]), ("４° / しど", &[][..]));
}

#[test]
fn lines_of_one_meaning_that_share_a_form_are_one_entry() {
    let found = entries(
        "生る [なる] /(v5r,vi) to bear fruit/\n\
         会う [あう] /(v5u,vi) to meet/(P)/\n\
         明日 [あす] /(n-t) tomorrow/\n\
         逢う [あう] /(iK) (v5u,vi) to meet/\n\
         明日 [あした] /(n-t) tomorrow/(P)/\n\
         会う [かいう] /(n) something else/\n\
         成る [なる] /(v5r,vi) to become/\n\
         翌日 [あくるひ] /(n-t) tomorrow/\n\
         あう /(v5u,vi) to meet/\n",
    );
    let found: Vec<String> = found.iter().map(forms).collect();
    assert_eq!(
        found,
        [
            "生る / なる",
            "会う(P) 逢う(iK) / あう(P)",
            "明日(P) / あす あした(P)",
            "会う / かいう",
            "成る / なる",
            "翌日 / あくるひ",
        ]
    );
}

#[test]
fn merged_readings_know_their_headwords() {
    let found = entries(
        "彼処 [あそこ] /(pn) there/\n彼所 [あそこ] /(pn) there/\n彼処 [かしこ] /(pn) there/\n彼所 [あしこ] /(pn) there/\n彼処 [あしこ] /(pn) there/\n",
    );
    assert_eq!(found.len(), 1);
    assert_eq!(forms(&found[0]), "彼処 彼所 / あそこ かしこ[0] あしこ");
}

#[test]
fn the_first_line_names_the_dictionary_and_its_day() {
    let header = "　？？？ /EDICT, EDICT_SUB(P), EDICT2 Japanese-English Files/Copyright 2020/01/2021/Created: 2021-02-03/\n";
    let (summary, items) = items(format!("{header}語 [ご] /(n) word/\r\n\r\n").as_bytes()).unwrap();
    assert_eq!((summary.format, summary.name.as_str()), (Format::Edict, "EDICT"));
    assert_eq!(summary.date.as_deref(), Some("2021-02-03"));
    assert_eq!((summary.problems, items.len()), (0, 1));
}

#[test]
fn without_a_header_the_file_names_the_dictionary() {
    let (summary, _) = items("語 [ご] /(n) word/\n".as_bytes()).unwrap();
    assert_eq!((summary.name.as_str(), summary.date), ("file", None));
}

// EDICT2 and JMdict

const EDICT2: &str = "\
行く(P);往く(oK) [いく(P);ゆく(P)] /(v5k-s,vi) (1) (See 来る・1) to go/to proceed/(aux-v) (2) (after the te-form) to keep on/(P)/EntL9000010X/
馬鹿(ateji)(P);莫迦(ateji) [ばか(P);バカ(nokanji)] /(n,adj-na) (1) (derog) (uk) fool/(adv) (2) (ばか only) (ksb:) awfully/(P)/EntL9000020X/
彼処;彼所 [あそこ;かしこ(彼処);あすこ(ok)(彼処)] /(pn) there/EntL9000030/
アルバイト(P);アルバイター /(n,vs) (1) part-time work (ger: Arbeit)/(2) {comp} <b> & co (wasei: my job)/(P)/EntL9000040X/
";

const JMDICT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE JMdict [
<!-- It's the file's own grammar: "quotes", > and ]] stand here. -->
<!ELEMENT JMdict (entry*)>
<!ATTLIST gloss xml:lang CDATA "eng">
<!ENTITY v5k-s "Godan verb - Iku/Yuku special class">
<!ENTITY vi "intransitive verb">
]>
<!-- JMdict created: 2026-11-20 -->
<JMdict>
<entry>
<ent_seq>9000010</ent_seq>
<k_ele><keb>行く</keb><ke_pri>ichi1</ke_pri><ke_pri>nf01</ke_pri></k_ele>
<k_ele><keb>往く</keb><ke_inf>&oK;</ke_inf><ke_pri>news2</ke_pri></k_ele>
<r_ele><reb>いく</reb><re_pri>ichi1</re_pri></r_ele>
<r_ele><reb>ゆく</reb><re_pri>spec1</re_pri></r_ele>
<sense><pos>&v5k-s;</pos><pos>&vi;</pos><xref>来る・1</xref><gloss>to go</gloss><gloss>to proceed</gloss></sense>
<sense><pos>&aux-v;</pos><s_inf>after the te-form</s_inf><gloss>to keep on</gloss></sense>
<sense><gloss xml:lang="ger">gehen</gloss></sense>
</entry>
<entry>
<ent_seq>9000020</ent_seq>
<k_ele><keb>馬鹿</keb><ke_inf>&ateji;</ke_inf><ke_pri>ichi1</ke_pri></k_ele>
<k_ele><keb>莫迦</keb><ke_inf>&ateji;</ke_inf></k_ele>
<r_ele><reb>ばか</reb><re_pri>ichi1</re_pri></r_ele>
<r_ele><reb>バカ</reb><re_nokanji/></r_ele>
<sense><pos>&n;</pos><pos>&adj-na;</pos><misc>&derog;</misc><misc>&uk;</misc><gloss>fool</gloss></sense>
<sense><stagr>ばか</stagr><pos>&adv;</pos><dial>&ksb;</dial><gloss>awfully</gloss></sense>
</entry>
<entry>
<ent_seq>9000030</ent_seq>
<k_ele><keb>彼処</keb></k_ele>
<k_ele><keb>彼所</keb></k_ele>
<r_ele><reb>あそこ</reb></r_ele>
<r_ele><reb>かしこ</reb><re_restr>彼処</re_restr></r_ele>
<r_ele><reb>あすこ</reb><re_restr>彼処</re_restr><re_inf>&ok;</re_inf></r_ele>
<sense><pos>&pn;</pos><gloss>there</gloss></sense>
</entry>
<entry>
<ent_seq>9000040</ent_seq>
<r_ele><reb>アルバイト</reb><re_pri>gai1</re_pri></r_ele>
<r_ele><reb>アルバイター</reb></r_ele>
<sense><pos>&n;</pos><pos>&vs;</pos><lsource xml:lang="ger">Arbeit</lsource><gloss xml:lang="eng">part-time work</gloss></sense>
<sense><field>&comp;</field><lsource ls_wasei="y">my job</lsource><gloss>&lt;b&#62; &amp; <![CDATA[co]]></gloss></sense>
</entry>
</JMdict>
"#;

#[test]
fn edict2_has_all_forms_in_one_line() {
    let found = entries(EDICT2);
    let all: Vec<String> = found.iter().map(forms).collect();
    assert_eq!(
        all,
        [
            "行く(P) 往く(oK) / いく(P) ゆく(P)",
            "馬鹿(P,ateji) 莫迦(ateji) / ばか(P) バカ!",
            "彼処 彼所 / あそこ かしこ[0] あすこ(ok)[0]",
            " / アルバイト(P) アルバイター",
        ]
    );
    assert_eq!(
        found[0].senses,
        [
            sense("v5k-s vi", &["to go", "to proceed"]),
            sense("aux-v", &["(after the te-form) to keep on"]),
        ]
    );
    assert_eq!(found[1].senses[1], sense("adv ksb", &["(ばか only) awfully"]));
    assert_eq!(found[3].senses[1], sense("n vs comp", &["<b> & co (wasei: my job)"]));
    assert_eq!(
        found.iter().map(|entry| entry.common).collect::<Vec<_>>(),
        [true, true, false, true]
    );
}

#[test]
fn jmdict_and_edict2_of_one_day_say_the_same() {
    let (summary, items) = items(JMDICT.as_bytes()).unwrap();
    assert_eq!((summary.format, summary.name.as_str()), (Format::Jmdict, "JMdict"));
    assert_eq!(summary.date.as_deref(), Some("2026-11-20"));
    let from_xml: Vec<Entry> = items.into_iter().map(entry).collect();
    assert_eq!(from_xml, entries(EDICT2));
}

#[test]
fn edict2_forms_may_be_missing_or_spaced() {
    let (summary, items) = items_of(
        " ;行く (P) ; [;いく(行く) (P)] /(v) go/EntL1X/\n語 [;] /(n) word/EntL2X/\n".as_bytes(),
        &Options { format: Some(Format::Edict2), ..Options::default() },
    )
    .unwrap();
    assert_eq!(
        items.into_iter().map(|item| forms(&entry(item))).collect::<Vec<_>>(),
        ["行く(P) / いく(P)"]
    );
    assert_eq!(summary.first_problems, [(2, "no word before the gloss".to_owned())]);
}

// ENAMDICT and JMnedict

const ENAMDICT: &str = "\
あつ香 [あつか] /(f) Atsuka/
林 [はやし] /(p,s) Hayashi/(m) Rin/
ユピテル /(dei) Jupiter/Jove (also) called/
加賀市 [かがし] /(p) Kaga (city)/
";

const JMNEDICT: &str = r#"<!DOCTYPE JMnedict [<!ENTITY fem "female given name or forename">]>
<!-- JMnedict created: 2026-11-20 -->
<JMnedict>
<entry><k_ele><keb>あつ香</keb></k_ele><r_ele><reb>あつか</reb></r_ele>
<trans><name_type>&fem;</name_type><trans_det>Atsuka</trans_det></trans></entry>
<entry><k_ele><keb>林</keb></k_ele><r_ele><reb>はやし</reb></r_ele>
<trans><name_type>&place;</name_type><name_type>&surname;</name_type><trans_det>Hayashi</trans_det></trans>
<trans><name_type>&masc;</name_type><trans_det>Rin</trans_det></trans></entry>
<entry><r_ele><reb>ユピテル</reb></r_ele>
<trans><name_type>&dei;</name_type><trans_det>Jupiter</trans_det><trans_det>Jove (also) called</trans_det></trans></entry>
<entry><k_ele><keb>加賀市</keb></k_ele><r_ele><reb>かがし</reb></r_ele>
<trans><name_type>&place;</name_type><trans_det>Kaga (city)</trans_det></trans></entry>
</JMnedict>
"#;

#[test]
fn enamdict_and_jmnedict_say_the_same() {
    let names = entries(ENAMDICT);
    assert_eq!(names[1].senses, [sense("place surname", &["Hayashi"]), sense("masc", &["Rin"])]);
    assert_eq!(names[2].senses, [sense("dei", &["Jupiter", "Jove (also) called"])]);
    let (summary, _) = items(ENAMDICT.as_bytes()).unwrap();
    assert_eq!(summary.format, Format::Enamdict);

    let (summary, items) = items(JMNEDICT.as_bytes()).unwrap();
    assert_eq!((summary.format, summary.date.as_deref()), (Format::Jmnedict, Some("2026-11-20")));
    assert_eq!(items.into_iter().map(entry).collect::<Vec<_>>(), names);
}

// KANJIDIC

#[test]
fn kanjidic_keeps_readings_and_drops_codes() {
    let text = "# KANJIDIC JIS X 0208 Kanji File/Copyright/2022-08-23/\n\
        変 4A51 U5909 B8 G4 S9 S10 F238 N306 P2-6-3 Ybian4 Wbyeon ヘン か.わる -がわり T1 つぐ T2 へんのかんむり {unusual} {change} \n";
    let (summary, items) = items(text.as_bytes()).unwrap();
    assert_eq!((summary.format, summary.problems), (Format::Kanjidic, 0));
    assert_eq!((summary.name.as_str(), summary.date.as_deref()), ("KANJIDIC", Some("2022-08-23")));
    let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let kanji = Kanji {
        character: '変',
        grade: Some(4),
        strokes: 9,
        frequency: Some(238),
        on: own(&["ヘン"]),
        kun: own(&["か.わる", "-がわり"]),
        nanori: own(&["つぐ"]),
        meanings: own(&["unusual", "change"]),
    };
    assert_eq!(items, [Item::Kanji(kanji)]);
}

// Encodings and packing

fn euc(text: &str) -> Vec<u8> {
    let (bytes, _, lossy) = EUC_JP.encode(text);
    assert!(!lossy, "not in JIS X 0208");
    bytes.into_owned()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn encodings_and_packing_change_nothing() {
    for text in [EDICT2, ENAMDICT, "語 [ご] /(n) word/\n", "亜 3021 U4e9c S7 ア {Asia}\n"] {
        let plain = items(text.as_bytes()).unwrap().1;
        let with_mark = ["\u{FEFF}", text].concat();
        for same in [euc(text), gzip(text.as_bytes()), gzip(&euc(text)), with_mark.into_bytes()] {
            let (summary, found) = items(&same).unwrap();
            assert_eq!((found, summary.problems), (plain.clone(), 0));
        }
    }
    assert_eq!(items(&gzip(JMDICT.as_bytes())).unwrap().1, items(JMDICT.as_bytes()).unwrap().1);
}

#[test]
fn euc_jp_includes_jis_x_0212_and_the_symbols_of_jis() {
    // 佱 is 8F B0 F5 in EUC-JP with JIS X 0212; 〜 − ‖ ¢ £ ¬ have other codes in browsers.
    let mut bytes = euc("語 [ご] /(n) word/\n");
    bytes.extend(b"\x8F\xB0\xF5\xA1\xC1\xA1\xDD\xA1\xC2\xA1\xF1\xA1\xF2\xA2\xCC /(n) x/\n");
    let (summary, items) = items(&bytes).unwrap();
    assert_eq!(summary.problems, 0);
    assert_eq!(entry(items[1].clone()).readings[0].text, "佱〜−‖¢£¬");
}

#[test]
fn a_format_may_be_forced() {
    let forced = Options { format: Some(Format::Enamdict), ..Options::default() };
    let (summary, found) = items_of("林 [はやし] /Hayashi/\n".as_bytes(), &forced).unwrap();
    assert_eq!(summary.format, Format::Enamdict);
    assert_eq!(entry(found[0].clone()).senses, [sense("", &["Hayashi"])]);
}

// Bad input

#[test]
fn bad_lines_are_counted_named_and_passed_over() {
    let mut text = String::from("語 [ご] /(n) word/\n");
    for bad in [
        "no gloss",
        "切 [せつ /(n) cut/",
        "切 [せつ] /(n) cut",
        "[ご] /(n) word/",
        "空 [] /(n) sky/",
    ] {
        text += &format!("{bad}\n{bad}\n{bad}\n");
    }
    text += "木 [き] /(n) tree/\n";
    let (summary, items) = items(text.as_bytes()).unwrap();
    assert_eq!((items.len(), summary.problems), (2, 15));
    let lines: Vec<u64> = summary.first_problems.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, (2..=11).collect::<Vec<_>>());
    assert_eq!(summary.first_problems[0].1, "no ` /` after the word");
    assert_eq!(summary.first_problems[3].1, "no `]` after the reading");
    assert_eq!(summary.first_problems[6].1, "no `/` at the end");
}

#[test]
fn bytes_of_no_encoding_cost_their_line() {
    for encode in [|text: &str| text.as_bytes().to_vec(), euc] {
        let mut bytes = encode("語 [ご] /(n) word/\n手 [て] /(n) hand/\n");
        bytes.extend(b"\xFF\xFE /(n) bytes/\nnul\0 /(n) nul/\n\x8F\xA4 /(n) half/\n");
        bytes.extend(encode("木 [き] /(n) tree/\n"));
        let (summary, items) = items(&bytes).unwrap();
        assert_eq!(items.len(), 3);
        let lines: Vec<u64> = summary.first_problems.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 4, 5]);
        assert_eq!(summary.first_problems[1].1, "the line holds a NUL byte");
    }
}

#[test]
fn long_lines_are_passed_over_without_being_held() {
    let long = format!("長 [ちょう] /(n) {}/\n", "x".repeat(3 << 20));
    let fits = format!("短 [たん] /(n) {}/\n", "x".repeat((1 << 20) - 30));
    let text = format!("語 [ご] /(n) word/\n{long}{fits}木 [き] /(n) tree/");
    let (summary, items) = items(text.as_bytes()).unwrap();
    assert_eq!(items.len(), 3);
    assert_eq!(summary.first_problems, [(2, "the line is longer than 1 MiB".to_owned())]);
}

/// What senses inherit and what readings are restricted to could grow with the square of a line.
#[test]
fn entries_made_to_grow_stay_small() {
    let numbered = |number| format!("({number}) x/");
    let senses: String = (1..60_000).map(numbered).collect();
    let tags = "n,vs,".repeat(20_000);
    let found = entries(&format!("木 [き] /(n) tree/\n語 [ご] /({tags}n) {senses}\n"));
    assert_eq!(found[1].senses.len(), 1000);
    assert_eq!(found[1].senses[999].tags, ["n", "vs"]);

    let headwords: Vec<String> = (0..20_000).map(|at| format!("語{at}")).collect();
    let readings: String = headwords.iter().map(|headword| format!("ご({headword});")).collect();
    let line = format!("{} [{readings}] /(n) word/EntL2X/\n", headwords.join(";"));
    let found = entries(&format!("木 [き] /(n) tree/EntL1X/\n{line}"));
    assert_eq!(found[1].readings[19_999].only, [19_999]);

    let pair = |at| format!("{at} [{at}] /(n) x/\n{at} [{}] /(n) x/\n", at + 1);
    let found = entries(&(0..100_000).map(pair).collect::<String>());
    assert_eq!((found.len(), found[0].readings.len()), (1, 100_001));

    let sense = "<sense><gloss>x</gloss></sense>".repeat(10_000);
    let first = format!("<sense>{}<gloss>x</gloss></sense>", "<pos>&n;</pos>".repeat(20_000));
    let entry = format!("<entry><r_ele><reb>ご</reb></r_ele>{first}{sense}</entry>");
    let (summary, items) = items(format!("<JMdict>{entry}</JMdict>").as_bytes()).unwrap();
    assert_eq!((summary.problems, items.len()), (1, 0));
}

#[test]
fn what_is_no_dictionary_is_refused() {
    for bytes in [&b""[..], b"\n\n", b"key,value\n1,2\n", b"{\"a\": 1}\n", &[0; 5000], b"\x1F\x8B"]
    {
        let error = items(bytes).unwrap_err();
        let named = error.to_string().starts_with("file: ");
        assert!(named && error.hint().is_some(), "{error}");
    }
    let error = items(b"<!DOCTYPE html>\n<html><body>404</body></html>").unwrap_err();
    assert_eq!(
        error.to_string(),
        "file: line 2: the root element is `html`, not JMdict or JMnedict"
    );
}

#[test]
fn a_missing_file_is_named() {
    let error = read("/nowhere/edict".as_ref(), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "cannot open /nowhere/edict");
}

#[test]
fn gzip_cut_short_names_file_and_line() {
    let text = "林 [はやし] /(s) Hayashi/\n".repeat(50_000);
    let packed = gzip(text.as_bytes());
    let mut count = 0;
    let cut = &packed[..packed.len() / 2];
    let error = read_from(cut, "names.gz", &Options::default(), &mut |_| count += 1).unwrap_err();
    assert!(
        matches!(&error, Error::Read { name, line, .. } if name == "names.gz" && *line > 1000),
        "{error:?}"
    );
    assert!(count > 1000);
}

#[test]
fn gzip_bombs_are_refused() {
    let small = gzip(&vec![b'\n'; 4 << 20]);
    assert!(small.len() < 1 << 20);
    let options = Options { format: Some(Format::Edict), bytes_max: 1 << 20 };
    let error = items_of(&small[..], &options).unwrap_err();
    assert_eq!(error.to_string(), "file: more than 1048576 bytes");
    let xml = gzip(format!("<JMdict>{}", "<entry></entry>".repeat(1 << 18)).as_bytes());
    let options = Options { bytes_max: 1 << 20, ..Options::default() };
    assert!(matches!(items_of(&xml[..], &options), Err(Error::TooLarge { .. })));
}

#[test]
fn entities_are_names_and_never_expand() {
    let bomb = r#"<!DOCTYPE JMdict [
        <!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">
        <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
        <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
        <!ENTITY file SYSTEM "file:///etc/passwd">]>
        <JMdict><entry><r_ele><reb>ご</reb></r_ele>
        <sense><pos>&c;</pos><misc>&file;</misc><gloss>&c;&c;</gloss></sense></entry></JMdict>"#;
    assert_eq!(entries(bomb)[0].senses, [sense("c file", &["cc"])]);
}

#[test]
fn xml_may_be_longer_than_any_entry() {
    let entry = "<entry><r_ele><reb>き</reb></r_ele><sense><gloss>tree</gloss></sense></entry>\n";
    let text = format!("<JMdict>{}</JMdict>", entry.repeat(40_000));
    assert!(text.len() > 3 << 20);
    assert_eq!(entries(&text).len(), 40_000);
}

#[test]
fn xml_elements_that_make_no_entry_are_counted() {
    let text = "<JMdict>\n<entry>\n<k_ele><keb>語</keb></k_ele>\n</entry>\n\
        <entry><r_ele><reb>き</reb></r_ele><sense><gloss>tree</gloss></sense></entry>\n\
        <entry><r_ele><reb> </reb></r_ele></entry>\n\
        <entry><r_ele><reb>て</reb></r_ele><sense><gloss>ha&#xFFFFFFF;nd</gloss></sense></entry>\n</JMdict>";
    let (summary, items) = items(text.as_bytes()).unwrap();
    assert_eq!(items.len(), 2);
    let own = |line, reason: &str| (line, reason.to_owned());
    assert_eq!(
        summary.first_problems,
        [
            own(2, "the entry has no reading"),
            own(6, "a form of the entry is empty"),
            own(7, "`&#xFFFFFFF;` is no character"),
        ]
    );
}

#[test]
fn xml_that_is_none_names_the_line() {
    let line = |text: &str| match items(text.as_bytes()) {
        Err(Error::Xml { line, .. }) => line,
        other => panic!("{other:?}"),
    };
    assert_eq!(line("<JMdict>\n<entry>\n<k_ele></r_ele>\n</entry>\n</JMdict>"), 3);
    assert_eq!(line("<JMdict>\n<entry>\n<k_ele>"), 3);
    assert_eq!(line("<JMdict>\n<entry><r_ele><reb>a & b</reb>\n"), 2);
    let deep = items(format!("<JMdict>\n{}", "<entry>\n".repeat(50)).as_bytes()).unwrap_err();
    assert_eq!(deep.to_string(), "file: line 17: more than 16 elements deep");
    assert_eq!(line(&format!("<JMdict>\n<entry>{}", "x".repeat(5 << 20))), 2);
    assert!(line(&format!("<JMdict>\n<entry><r_ele>{}", "<reb>き</reb>\n".repeat(1 << 18))) > 1000);
    let mut bytes = b"<JMdict>\n<entry><r_ele><reb>".to_vec();
    bytes.extend(b"\xFF\xFE</reb></r_ele></entry></JMdict>");
    assert!(matches!(items(&bytes), Err(Error::Xml { line: 2, .. })));
}

// Debian's dictionaries

fn debian(name: &str) -> Vec<u8> {
    fs::read(format!("/usr/share/edict/{name}")).unwrap()
}

/// The characters of JIS X 0212 in a file, each as often as it stands there.
fn jis_x_0212(bytes: &[u8]) -> Vec<char> {
    let announced = (0..bytes.len()).filter(|&at| bytes[at] == 0x8F);
    announced
        .flat_map(|at| EUC_JP.decode(&bytes[at..at + 3]).0.chars().collect::<Vec<_>>())
        .collect()
}

fn texts(entry: &Entry) -> impl Iterator<Item = &str> {
    let headwords = entry.headwords.iter().map(|form| form.text.as_str());
    let readings = entry.readings.iter().map(|form| form.text.as_str());
    let glosses = entry.senses.iter().flat_map(|sense| &sense.glosses).map(String::as_str);
    headwords.chain(readings).chain(glosses)
}

#[test]
fn the_whole_of_edict() {
    let bytes = debian("edict");
    let (summary, items) = items(&bytes).unwrap();
    assert_eq!((summary.format, summary.name.as_str()), (Format::Edict, "EDICT"));
    assert_eq!((summary.date.as_deref(), summary.problems), (Some("2021-02-03"), 0));
    let entries: Vec<Entry> = items.into_iter().map(entry).collect();
    assert_eq!(entries.len(), 220_661);
    // The file has 267,380 lines after its header, two of them twice; none lost its pair of forms.
    let pairs = |entry: &Entry| -> usize {
        let headwords = entry.headwords.len().max(1);
        let of = |reading: &Reading| {
            if reading.only.is_empty() { headwords } else { reading.only.len() }
        };
        entry.readings.iter().map(of).sum()
    };
    assert_eq!(entries.iter().map(pairs).sum::<usize>(), 267_378);
    // However far from the first parenthesis a class stands, it is found.
    let (text, _, _) = EUC_JP.decode(&bytes);
    let inflects = |tag: &str| {
        let number = tag.strip_prefix('v').and_then(|rest| rest.chars().next());
        number.is_some_and(|c| c.is_ascii_digit())
            || ["vk", "vz", "vn", "vr", "vs-i", "vs-s", "vs-c", "adj-i", "adj-ix"].contains(&tag)
    };
    let lists = |line: &str| {
        let mut lists = line.split('(').filter_map(|rest| rest.split_once(')'));
        lists.any(|(list, _)| list.split(',').any(inflects))
    };
    let has_class =
        |entry: &&Entry| entry.senses.iter().flat_map(|sense| &sense.tags).any(|tag| inflects(tag));
    let inflecting: usize = entries.iter().filter(has_class).map(pairs).sum();
    assert_eq!(inflecting, text.lines().filter(|line| lists(line)).count());
    let expected = jis_x_0212(&bytes);
    assert_eq!(expected.len(), 112);
    let found: BTreeSet<char> = entries.iter().flat_map(texts).flat_map(str::chars).collect();
    assert!(expected.iter().all(|c| found.contains(c)));
}

#[test]
fn the_whole_of_enamdict() {
    let bytes = debian("enamdict");
    let (summary, items) = items(&bytes).unwrap();
    assert_eq!((summary.format, summary.name.as_str()), (Format::Enamdict, "ENAMDICT"));
    assert_eq!((summary.date.as_deref(), summary.problems), (Some("2021-02-03"), 0));
    assert_eq!(items.len(), 741_379);
    let expected = jis_x_0212(&bytes);
    let rare: BTreeSet<char> = expected.iter().copied().collect();
    let entries: Vec<Entry> = items.into_iter().map(entry).collect();
    let found = entries.iter().flat_map(texts).flat_map(str::chars).filter(|c| rare.contains(c));
    assert_eq!((expected.len(), found.count()), (25_128, 25_128));
}

#[test]
fn the_whole_of_kanjidic() {
    let (summary, items) = items(&debian("kanjidic")).unwrap();
    assert_eq!((summary.format, summary.name.as_str()), (Format::Kanjidic, "KANJIDIC"));
    assert_eq!((summary.date.as_deref(), summary.problems), (Some("2022-08-23"), 0));
    assert_eq!(items.len(), 6_355);
    let kanji = |item| match item {
        Item::Kanji(kanji) => kanji,
        Item::Entry(entry) => panic!("{entry:?} among kanji"),
    };
    let kanji: Vec<Kanji> = items.into_iter().map(kanji).collect();
    assert!(kanji.iter().all(|kanji| kanji.strokes > 0 && !kanji.meanings.is_empty()));
    // 碵 is read in names only, 鬥 as a radical only.
    assert_eq!(kanji.iter().filter(|kanji| kanji.on.len() + kanji.kun.len() > 0).count(), 6_353);
    assert_eq!(kanji.iter().filter(|kanji| kanji.frequency.is_some()).count(), 2_501);
    assert_eq!(kanji.iter().filter(|kanji| kanji.grade == Some(1)).count(), 80);
}

#[test]
fn debian_files_in_utf_8_give_the_same_items() {
    for name in ["edict", "enamdict", "kanjidic"] {
        let path = format!("/usr/share/edict/{name}");
        let utf8 =
            Command::new("iconv").args(["-f", "EUC-JP", "-t", "UTF-8", &path]).output().unwrap();
        assert!(utf8.status.success());
        assert_eq!(items(&utf8.stdout).unwrap().1, items(&debian(name)).unwrap().1, "{name}");
    }
}
