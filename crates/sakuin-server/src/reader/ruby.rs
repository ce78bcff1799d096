//! Ruby as plain text writes it: `｜base《reading》`, the way of the Aozora library.
//!
//! Without the bar, the base is the run of kanji that stands before the brackets. Brackets that close
//! nothing, stand after nothing, or hold nothing are text.

/// The pieces of a line: base text, and its reading if it has one.
///
/// ```
/// # use sakuin_server::ruby_pieces as pieces;
/// let line: Vec<_> = pieces("その｜大きな木《たいぼく》と花《はな》").collect();
/// assert_eq!(line, [("その", None), ("大きな木", Some("たいぼく")), ("と", None), ("花", Some("はな"))]);
/// ```
pub fn pieces(line: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = line;
    let mut unit = None;
    std::iter::from_fn(move || {
        if let Some(unit) = unit.take() {
            return Some(unit);
        }
        if rest.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(open) = rest[from..].find('《').map(|found| from + found) {
            let inside = open + '《'.len_utf8();
            let Some(end) = rest[inside..].find(['《', '》']).map(|found| inside + found) else {
                break;
            };
            let base = base_of(&rest[from..open]);
            if rest[end..].starts_with('》') && end > inside && !base.is_empty() {
                let text = rest[..open - base.len()].trim_end_matches(BAR);
                let reading = Some(&rest[inside..end]);
                rest = &rest[end + '》'.len_utf8()..];
                if text.is_empty() {
                    return Some((base, reading));
                }
                unit = Some((base, reading));
                return Some((text, None));
            }
            from = if rest[end..].starts_with('》') { end + '》'.len_utf8() } else { end };
        }
        let text = std::mem::take(&mut rest);
        Some((text, None))
    })
}

const BAR: char = '｜';

/// The end of `before` that the brackets are about: what follows the bar, or the last kanji.
fn base_of(before: &str) -> &str {
    if let Some((_, base)) = before.rsplit_once(BAR) {
        return base;
    }
    let start = before.char_indices().rev().take_while(|(_, c)| is_kanji(*c)).last();
    start.map_or("", |(at, _)| &before[at..])
}

fn is_kanji(character: char) -> bool {
    matches!(character,
        '々' | '〆' | '〇' | 'ヶ' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
