//! Ranking: which of the entries found at a span a reader most likely wants.
//!
//! The order is: the reading agrees with the ruby · no script changes where the word has none (のカレ is not
//! the のかれ of the dictionary) · fewest alternatives · shortest chain of inflections ·
//! the head is how the word is written, not a mere reading · common · written in the same script · the
//! order of the dictionary. Names come after words.

use crate::automaton::ChainId;
use crate::postings::{Group, Posting};
use crate::scan::{Found, Matches};
use crate::sections::Sections;
use crate::text::Text;

/// An entry found at a span in one way, with its rank: lower is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    rank: u32,
    pub(crate) entry: u32,
    pub(crate) chain: ChainId,
    pub(crate) info: u32,
    pub(crate) stem_end: u32,
}

impl Candidate {
    /// Whether the text changes script in the middle of what the dictionary has in one: rarely a word.
    pub(crate) fn changes_script(&self) -> bool {
        self.rank & CHANGES_SCRIPT != 0
    }

    pub(crate) fn posting(&self) -> Posting {
        Posting { entry: self.entry, info: self.info }
    }
}

const IS_NAME: u32 = 1 << 31;
const OTHER_READING: u32 = 1 << 30;
const CHANGES_SCRIPT: u32 = 1 << 29;

/// Which entries are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Words,
    Names,
    Both,
}

/// Adds the entries of one find to `candidates`, unsorted.
pub(crate) fn candidates(
    sections: &Sections<'_>,
    text: &Text,
    matches: &Matches,
    found: &Found,
    wanted: Wanted,
    candidates: &mut Vec<Candidate>,
) {
    let group = sections.postings.group(found.group);
    let ruby = Ruby::of(sections, text, found, group);
    let script = scripts(text.surface(found.start, found.stem_end));
    let ending_changes = scripts(text.surface(found.stem_end, found.end)) == (true, true);
    let way = (u32::from(found.cost) << 16) | ((matches.chains.length(found.chain) as u32) << 8);
    // Postings are sorted by entry, and names are numbered after words.
    let first_name = group.before(sections.words);
    let has_names = first_name < group.len() && is_name_span(text, found);
    let shown = match wanted {
        Wanted::Words => 0..first_name,
        Wanted::Names if has_names => first_name..group.len(),
        Wanted::Both if has_names => 0..group.len(),
        Wanted::Names => 0..0,
        Wanted::Both => 0..first_name,
    };
    for posting in group.postings(shown) {
        let is_name = posting.entry >= sections.words;
        let of_head = (posting.is(Posting::KATAKANA), posting.is(Posting::HIRAGANA));
        let changes_script = ending_changes || script == (true, true) && of_head != script;
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        let rank = way
            | flag(is_name, IS_NAME)
            | flag(!ruby.agrees(posting), OTHER_READING)
            | flag(changes_script, CHANGES_SCRIPT)
            | flag(!posting.is(Posting::WRITTEN), 4)
            | flag(!posting.is(Posting::COMMON), 2)
            | flag(of_head != script, 1);
        candidates.push(Candidate {
            rank,
            entry: posting.entry,
            chain: found.chain,
            info: posting.info,
            stem_end: found.stem_end,
        });
    }
}

/// A span in hiragana alone would be the name of somebody at every other syllable: such names are left out.
pub(crate) fn is_name_span(text: &Text, found: &Found) -> bool {
    text.surface(found.start, found.end).contains(|c| !is_hiragana(c) && c != 'ー')
}

pub(crate) fn is_katakana(c: char) -> bool {
    matches!(c, 'ァ'..='ヺ' | 'ヽ' | 'ヾ' | '\u{FF66}'..='\u{FF9F}')
}

pub(crate) fn is_hiragana(c: char) -> bool {
    matches!(c, 'ぁ'..='ゖ' | 'ゝ' | 'ゞ')
}

/// What the ruby of a span says of the entries found there.
enum Ruby<'s> {
    /// Nothing: there is none, or it does not end where the key does.
    Silent,
    /// The key is read as no key of the same kind is.
    Unknown,
    /// The key is read as these entries are.
    Known(Group<'s>),
}

impl<'s> Ruby<'s> {
    /// The stem is looked up once more as its ruby reads it.
    fn of(sections: &Sections<'s>, text: &Text, found: &Found, group: Group<'s>) -> Ruby<'s> {
        let Some(reading) = text.reading(found.start, found.stem_end) else { return Ruby::Silent };
        let key = reading.iter().map(|&c| sections.alphabet.code(c));
        let Some(list) = crate::postings::List::new(sections.trie.get(key)) else {
            return Ruby::Unknown;
        };
        sections
            .postings
            .groups(list)
            .find(|(_, other)| other.kind == group.kind)
            .map_or(Ruby::Unknown, |(_, other)| Ruby::Known(other))
    }

    fn agrees(&self, posting: Posting) -> bool {
        match self {
            Ruby::Silent => true,
            Ruby::Unknown => false,
            Ruby::Known(group) => group.contains(posting.entry),
        }
    }
}

/// Whether a span may stand on a page: it does not end before a small kana, nor begin with one.
pub(crate) fn is_clean_cut(text: &Text, found: &Found) -> bool {
    !text.precedes_small_kana(found.start as usize) && !text.precedes_small_kana(found.end as usize)
}

/// Whether a text has katakana, and whether hiragana.
fn scripts(text: &str) -> (bool, bool) {
    text.chars().fold((false, false), |(katakana, hiragana), c| {
        (katakana || is_katakana(c), hiragana || is_hiragana(c))
    })
}

/// The flags of a head's scripts.
#[cfg(feature = "pack")]
pub(crate) fn script_flags(head: &str) -> u32 {
    let (katakana, hiragana) = scripts(head);
    (u32::from(katakana) * Posting::KATAKANA) | (u32::from(hiragana) * Posting::HIRAGANA)
}
