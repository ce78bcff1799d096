//! Folding: the one form under which keys are stored and text is looked up.
//!
//! Dictionaries and texts write the same word in many ways: in katakana or hiragana, in full or half
//! width, with a combining mark or a ready-made character, with any of six dashes. [`fold`] takes each of
//! them to one form. It works character by character, so a folded text can still tell where each of its
//! characters came from. What needs a second opinion (old kanji, long vowels, repetition marks) is not
//! folded here: a [`crate::text::Text`] offers it as an alternative beside the folded character.

mod old_kanji;

use old_kanji::OLD_KANJI;
use unicode_normalization::UnicodeNormalization;

/// Folds a word.
///
/// ```
/// use sakuin_japanese::fold::fold;
/// assert_eq!(fold("テーブル"), "てーぶる");
/// assert_eq!(fold("ＤＶＤ−ＲＡＭ"), fold("dvd-ram"));
/// assert_eq!(fold("ｶﾞｽ"), "がす");
/// assert_eq!(fold("㍿"), "株式会社");
/// ```
pub fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    fold_each(word, |c, _| folded.push(c));
    folded
}

/// Folds one character that stands for one character: katakana to hiragana, full width to half width,
/// lower case, dashes and tildes to one each.
pub fn fold_char(c: char) -> char {
    match c {
        'ぁ'..='ん' | '一'..='鿿' => c,
        'ァ'..='ヶ' | 'ヽ' | 'ヾ' => shifted(c, -0x60),
        'Ａ'..='Ｚ' => shifted(c, 0x20 - 0xFEE0),
        '－' => '-',
        '～' => '〜',
        '！'..='｝' => shifted(c, -0xFEE0),
        '\u{3000}' => ' ',
        '−' | '‐' | '‑' | '–' => '-',
        _ => c.to_ascii_lowercase(),
    }
}

/// Folds `text` and hands on each folded character with the byte range it came from. Several characters
/// may come from one (`㍿`): all have its range. One may come from several (`か` and a combining mark).
pub(crate) fn fold_each(text: &str, mut each: impl FnMut(char, std::ops::Range<usize>)) {
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let mut end = at + c.len_utf8();
        if is_ignorable(c) {
            continue;
        }
        let marked = characters.peek().and_then(|&(mark_at, mark)| {
            let composed = compose(widen(c), mark)?;
            end = mark_at + mark.len_utf8();
            Some(composed)
        });
        if marked.is_some() {
            characters.next();
        }
        let c = marked.unwrap_or(c);
        if is_compatible(c) {
            for part in std::iter::once(c).nfkc() {
                each(fold_char(part), at..end);
            }
        } else {
            each(fold_char(c), at..end);
        }
    }
}

/// Whether a folded character is hiragana, the long vowel mark or a repetition mark of kana.
pub(crate) fn is_kana(folded: char) -> bool {
    matches!(folded, 'ぁ'..='ゖ' | 'ー' | 'ゝ' | 'ゞ')
}

/// Whether a folded character only ever follows another kana: no word is cut before it.
pub(crate) fn is_small_kana(folded: char) -> bool {
    matches!(folded, 'ゃ' | 'ゅ' | 'ょ' | 'ぁ' | 'ぃ' | 'ぅ' | 'ぇ' | 'ぉ')
}

/// The kana that a long vowel mark may stand for after `folded`: あ after か, お or う after こ.
pub(crate) fn long_vowels(folded: char) -> &'static [char] {
    match folded {
        'あ' | 'か' | 'が' | 'さ' | 'ざ' | 'た' | 'だ' | 'な' | 'は' | 'ば' | 'ぱ' | 'ま'
        | 'や' | 'ら' | 'わ' | 'ゃ' | 'ぁ' => &['あ'],
        'い' | 'き' | 'ぎ' | 'し' | 'じ' | 'ち' | 'ぢ' | 'に' | 'ひ' | 'び' | 'ぴ' | 'み'
        | 'り' | 'ぃ' => &['い'],
        'う' | 'く' | 'ぐ' | 'す' | 'ず' | 'つ' | 'づ' | 'ぬ' | 'ふ' | 'ぶ' | 'ぷ' | 'む'
        | 'ゆ' | 'る' | 'ゅ' | 'ぅ' => &['う'],
        'え' | 'け' | 'げ' | 'せ' | 'ぜ' | 'て' | 'で' | 'ね' | 'へ' | 'べ' | 'ぺ' | 'め'
        | 'れ' | 'ぇ' => &['え', 'い'],
        'お' | 'こ' | 'ご' | 'そ' | 'ぞ' | 'と' | 'ど' | 'の' | 'ほ' | 'ぼ' | 'ぽ' | 'も'
        | 'よ' | 'ろ' | 'を' | 'ょ' | 'ぉ' => &['お', 'う'],
        _ => &[],
    }
}

/// The voiced form of a kana: `が` of `か`.
pub(crate) fn voiced(folded: char) -> Option<char> {
    compose(folded, '\u{3099}')
}

/// What another writer may have used in place of `folded`: づ for ず, the new form of an old kanji.
pub(crate) fn variant(folded: char) -> Option<char> {
    match folded {
        'ず' => Some('づ'),
        'づ' => Some('ず'),
        'じ' => Some('ぢ'),
        'ぢ' => Some('じ'),
        '一'..='鿿' => {
            let at = OLD_KANJI.binary_search_by_key(&folded, |&(old, _)| old).ok()?;
            Some(OLD_KANJI[at].1)
        }
        _ => None,
    }
}

fn shifted(c: char, by: i32) -> char {
    char::from_u32((c as i32 + by) as u32).unwrap_or(c)
}

/// Zero-width characters and variation selectors: they say nothing about which word it is.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Characters that Unicode keeps only for round trips with older sets: half-width kana, squared words,
/// circled and parenthesised characters, radicals and ideographs encoded twice.
fn is_compatible(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{2FDF}' | '\u{3200}'..='\u{33FF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF61}'..='\u{FF9F}')
}

fn widen(c: char) -> char {
    if matches!(c, '\u{FF61}'..='\u{FF9F}') {
        std::iter::once(c).nfkc().next().unwrap_or(c)
    } else {
        c
    }
}

/// The single character for a kana and the voicing mark after it, combining or half-width.
fn compose(c: char, mark: char) -> Option<char> {
    let mark = match mark {
        '\u{3099}' | '\u{309A}' => mark,
        '\u{FF9E}' => '\u{3099}',
        '\u{FF9F}' => '\u{309A}',
        _ => return None,
    };
    unicode_normalization::char::compose(c, mark)
}
