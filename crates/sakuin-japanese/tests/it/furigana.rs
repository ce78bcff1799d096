//! Splitting readings over headwords.
#![allow(clippy::unwrap_used)]

use std::{collections::HashMap, sync::LazyLock};

use proptest::prelude::*;
use sakuin_japanese::{
    fold::fold,
    furigana::{Readings, Segment, split},
    read::{Item, read},
};

/// The kanji of Debian's KANJIDIC, as words and as names read them.
static KANJI: LazyLock<HashMap<char, [Readings; 2]>> = LazyLock::new(|| {
    let mut kanji = HashMap::new();
    let mut take = |item| match item {
        Item::Kanji(of) => kanji.insert(of.character, [Readings::of(&of), Readings::of_name(&of)]),
        Item::Entry(_) => None,
    };
    read("/usr/share/edict/kanjidic".as_ref(), &mut |item| drop(take(item))).unwrap();
    kanji
});

fn words(c: char) -> Option<&'static Readings> {
    KANJI.get(&c).map(|[words, _]| words)
}

fn names(c: char) -> Option<&'static Readings> {
    KANJI.get(&c).map(|[_, names]| names)
}

fn shown(segments: &[Segment<'_>]) -> String {
    let show = |segment: &Segment<'_>| match segment.reading {
        Some(reading) => format!("{}[{reading}]", segment.base),
        None => segment.base.to_owned(),
    };
    segments.iter().map(show).collect()
}

#[track_caller]
fn check(headword: &str, reading: &str, expected: &str) {
    assert_eq!(shown(&split(headword, reading, &words)), expected);
}

#[test]
fn kana_anchor_the_reading() {
    check("食べる", "たべる", "食[た]べる");
    check("言い合い", "いいあい", "言[い]い合[あ]い");
    check("お茶の子", "おちゃのこ", "お茶[ちゃ]の子[こ]");
    check("サボる", "さぼる", "サボる");
    check("消しゴム", "けしゴム", "消[け]しゴム");
    check("カード", "かーど", "カード");
}

#[test]
fn kanji_take_their_readings() {
    check("学生", "がくせい", "学[がく]生[せい]");
    check("図書館", "としょかん", "図[と]書[しょ]館[かん]");
    check("食物", "しょくもつ", "食[しょく]物[もつ]");
    check("食物", "たべもの", "食[たべ]物[もの]");
    check("見物", "みもの", "見[み]物[もの]");
    check("話", "はなし", "話[はなし]");
    check("受付", "うけつけ", "受[うけ]付[つけ]");
    check("早分り", "はやわかり", "早[はや]分[わか]り");
    check("行く", "ゆく", "行[ゆ]く");
}

#[test]
fn sounds_change_inside_a_word() {
    check("手紙", "てがみ", "手[て]紙[がみ]");
    check("学校", "がっこう", "学[がっ]校[こう]");
    check("発表", "はっぴょう", "発[はっ]表[ぴょう]");
    check("一杯", "いっぱい", "一[いっ]杯[ぱい]");
    check("鼻血", "はなぢ", "鼻[はな]血[ぢ]");
    check("三日月", "みかづき", "三[み]日[か]月[づき]");
    check("観音", "かんのん", "観[かん]音[のん]");
}

#[test]
fn marks_repeat_and_join() {
    check("人々", "ひとびと", "人[ひと]々[びと]");
    check("時々", "ときどき", "時[とき]々[どき]");
    check("人々Ｑ", "ひとびときゅー", "人[ひと]々[びと]Ｑ[きゅー]");
    check("一ヶ月", "いっかげつ", "一[いっ]ヶ[か]月[げつ]");
    check("霞ヶ関", "かすみがせき", "霞[かすみ]ヶ[が]関[せき]");
}

#[test]
fn what_readings_do_not_explain_shares_a_ruby() {
    check("今日", "きょう", "今日[きょう]");
    check("大人しい", "おとなしい", "大人[おとな]しい");
    check("田舎者", "いなかもの", "田舎[いなか]者[もの]");
    check("大和魂", "やまとだましい", "大和[やまと]魂[だましい]");
    check("風邪薬", "かぜぐすり", "風邪[かぜ]薬[ぐすり]");
    check("仏蘭西", "フランス", "仏蘭西[フランス]");
    check("独逸語", "ドイツご", "独逸[ドイツ]語[ご]");
    check("貴方の物", "あなたのもの", "貴方[あなた]の物[もの]");
    check("果物", "くだもの", "果物[くだもの]");
    check("茹海老", "ゆでえび", "茹[ゆで]海老[えび]");
    // 八[や]百屋[おや] and 八百[やお]屋[や] are as good.
    check("八百屋", "やおや", "八百屋[やおや]");
    check("素人", "しろうと", "素人[しろうと]");
    check("ＤＶＤ−ＲＡＭ", "ディーブイディーラム", "ＤＶＤ−ＲＡＭ[ディーブイディーラム]");
    check("Ｔシャツ", "ティーシャツ", "Ｔ[ティー]シャツ");
    check("𠮟る", "しかる", "𠮟[しか]る");
    // ー never begins a reading.
    check("酸辣湯", "スーラータン", "酸辣湯[スーラータン]");
}

#[test]
fn names_have_more_readings() {
    assert_eq!(shown(&split("一輝", "かずき", &words)), "一輝[かずき]");
    assert_eq!(shown(&split("一輝", "かずき", &names)), "一[かず]輝[き]");
}

#[test]
fn nothing_fits_and_nothing_is_lost() {
    check("", "", "");
    check("語", "", "語[]");
    check("", "ご", "[ご]");
    check("食べる", "のむ", "食べる[のむ]");
    check("あいう", "あう", "あいう[あう]");
    check("宣ふ", "のたもう", "宣ふ[のたもう]");
}

#[test]
fn long_words_are_anchored_at_their_ends() {
    let (kanji, kana) = ("語".repeat(50), "ご".repeat(50));
    check(&format!("お{kanji}る"), &format!("お{kana}る"), &format!("お{kanji}[{kana}]る"));
}

/// The bases are the headword; the readings, or the kana that need none, are the reading.
fn assert_whole(headword: &str, reading: &str, segments: &[Segment<'_>]) {
    let bases: String = segments.iter().map(|segment| segment.base).collect();
    assert_eq!(bases, headword);
    let mut rest = reading;
    for segment in segments {
        let length = match segment.reading {
            Some(read) => read.len(),
            None => rest.chars().take(segment.base.chars().count()).map(char::len_utf8).sum(),
        };
        let (read, after) = rest.split_at(length);
        assert_eq!(fold(read), fold(segment.reading.unwrap_or(segment.base)));
        rest = after;
    }
    assert_eq!(rest, "");
}

#[test]
fn every_word_of_edict_stays_whole() {
    let (mut pairs, mut shared) = (0, 0);
    let mut check = |headword: &str, reading: &str| {
        let segments = split(headword, reading, &words);
        assert_whole(headword, reading, &segments);
        pairs += 1;
        shared += i32::from(
            segments
                .iter()
                .any(|segment| segment.reading.is_some() && segment.base.chars().count() > 1),
        );
    };
    read("/usr/share/edict/edict".as_ref(), &mut |item| {
        let Item::Entry(entry) = item else { return };
        for reading in &entry.readings {
            for (at, headword) in entry.headwords.iter().enumerate() {
                if reading.only.is_empty() || reading.only.contains(&at) {
                    check(&headword.text, &reading.text);
                }
            }
        }
    })
    .unwrap();
    assert!(pairs > 200_000, "{pairs}");
    // Latin and irregular words; more of them would mean that rules were lost.
    assert!(shared * 100 < pairs * 7, "{shared} of {pairs} share a ruby");
}

proptest! {
    #[test]
    fn any_two_strings_stay_whole(
        headword in "[食日一々人ヶ語あいかがんッーカ・Ｄ ]{0,12}",
        reading in "[あいうかがしひとびたべんっーカ・Ｄ ]{0,16}",
    ) {
        assert_whole(&headword, &reading, &split(&headword, &reading, &words));
    }

    #[test]
    fn any_unicode_stays_whole(headword in ".{0,60}", reading in ".{0,60}") {
        assert_whole(&headword, &reading, &split(&headword, &reading, &words));
    }
}
