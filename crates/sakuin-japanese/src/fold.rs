//! Folding: the one form under which keys are stored and text is looked up.

/// Folds one character that stands for itself: katakana to hiragana, full width to half width, lower
/// case, dashes and tildes to one each. Never changes how many characters there are.
pub fn fold_char(c: char) -> char {
    match c {
        'ァ'..='ヶ' | 'ヽ' | 'ヾ' => char::from_u32(c as u32 - 0x60).unwrap_or(c),
        'Ａ'..='Ｚ' => char::from_u32(c as u32 - 0xFEE0 + 32).unwrap_or(c),
        '！'..='｝' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
        '\u{3000}' => ' ',
        '−' | '‐' | '‑' | '–' | '－' => '-',
        '～' => '〜',
        _ => c.to_ascii_lowercase(),
    }
}

/// Folds every character of a word by [`fold_char`].
pub fn fold(word: &str) -> String {
    word.chars().map(fold_char).collect()
}
