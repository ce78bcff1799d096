//! Postings: which entries a key stands for.
//!
//! The trie gives a key a *list*; a list is one or more *groups*. The first group of a list may be that of
//! whole words; every other group is a stem: its key is what stays of a word when it inflects, and the
//! group's kind says what may follow. A group is a header word and two words a posting, sorted by entry.
//!
//! ```text
//! header   bits 0–22 number of postings · bit 23 last group of the list · bits 24–31 kind (0 whole word)
//! posting  entry u32 · bits 0–15 head · bit 16 is a reading · bits 17–20 see the constants of `Posting`
//! ```

use std::ops::Range;

use zerocopy::little_endian::U32;

/// What a trie node says: where the list is and whether it has whole words and stems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List(u32);

const HAS_WHOLE: u32 = 1 << 30;
const HAS_STEMS: u32 = 1 << 31;

impl List {
    /// The list a trie's value means; 0 means none.
    pub(crate) fn new(value: u32) -> Option<List> {
        (value != 0).then_some(List(value))
    }

    pub(crate) fn has_whole(self) -> bool {
        self.0 & HAS_WHOLE != 0
    }

    pub(crate) fn has_stems(self) -> bool {
        self.0 & HAS_STEMS != 0
    }

    /// The first group, which is that of whole words if there are any.
    pub(crate) fn first(self) -> GroupId {
        GroupId(self.0 & !(HAS_WHOLE | HAS_STEMS))
    }
}

/// Where a group stands in the section, counted in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GroupId(pub(crate) u32);

/// One group of a list.
#[derive(Clone, Copy)]
pub(crate) struct Group<'s> {
    /// 0 for whole words, else one more than the stem's number in the file.
    pub(crate) kind: u8,
    /// The group after this one in the same list.
    pub(crate) next: Option<GroupId>,
    words: &'s [[U32; 2]],
}

/// One entry that a key stands for, and by which of its heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) entry: u32,
    pub(crate) info: u32,
}

impl Posting {
    /// The head is a reading; otherwise a headword.
    pub(crate) const READING: u32 = 1 << 16;
    /// The entry, or this head of it, is marked common.
    pub(crate) const COMMON: u32 = 1 << 17;
    /// The head is how the word is usually written: it is no mere reading.
    pub(crate) const WRITTEN: u32 = 1 << 18;
    /// The head has katakana, hiragana in it.
    pub(crate) const KATAKANA: u32 = 1 << 19;
    pub(crate) const HIRAGANA: u32 = 1 << 20;

    pub(crate) fn is(self, flag: u32) -> bool {
        self.info & flag != 0
    }

    /// The head's number among the entry's headwords or readings.
    pub(crate) fn head(self) -> usize {
        (self.info & 0xFFFF) as usize
    }
}

/// The section of postings.
#[derive(Clone, Copy)]
pub(crate) struct Postings<'s> {
    words: &'s [U32],
}

impl<'s> Postings<'s> {
    pub(crate) fn new(words: &'s [U32]) -> Postings<'s> {
        Postings { words }
    }

    /// The group at `id`; an empty one if the file lies.
    pub(crate) fn group(&self, id: GroupId) -> Group<'s> {
        let empty = Group { kind: 0, next: None, words: &[] };
        let Some((header, rest)) =
            self.words.get(id.0 as usize..).and_then(|words| words.split_first())
        else {
            return empty;
        };
        let header = header.get();
        let count = (header & 0x7F_FFFF) as usize;
        let (pairs, _) = rest.as_chunks::<2>();
        let Some(words) = pairs.get(..count) else { return empty };
        let next = (header & (1 << 23) == 0).then(|| GroupId(id.0 + 1 + 2 * count as u32));
        Group { kind: (header >> 24) as u8, next, words }
    }

    /// Every group of a list.
    pub(crate) fn groups(self, list: List) -> impl Iterator<Item = (GroupId, Group<'s>)> {
        let mut next = Some(list.first());
        std::iter::from_fn(move || {
            let id = next?;
            let group = self.group(id);
            next = group.next;
            Some((id, group))
        })
    }
}

impl<'s> Group<'s> {
    pub(crate) fn len(self) -> usize {
        self.words.len()
    }

    /// The postings of a range inside the group.
    pub(crate) fn postings(self, range: Range<usize>) -> impl Iterator<Item = Posting> + 's {
        self.words[range]
            .iter()
            .map(|[entry, info]| Posting { entry: entry.get(), info: info.get() })
    }

    /// How many postings are of entries below `entry`.
    pub(crate) fn before(self, entry: u32) -> usize {
        self.words.partition_point(|[other, _]| other.get() < entry)
    }

    pub(crate) fn contains(self, entry: u32) -> bool {
        self.words.binary_search_by_key(&entry, |[entry, _]| entry.get()).is_ok()
    }
}

/// Appends one list of groups, each a kind and its postings sorted by entry, kinds ascending.
#[cfg(feature = "pack")]
pub(crate) fn append<'a>(
    words: &mut Vec<U32>,
    groups: impl IntoIterator<Item = (u8, &'a [Posting])>,
) -> u32 {
    if words.is_empty() {
        words.push(U32::new(0));
    }
    let start = words.len() as u32;
    let (mut value, mut header_at) = (start, 0);
    for (kind, postings) in groups {
        header_at = words.len();
        value |= if kind == 0 { HAS_WHOLE } else { HAS_STEMS };
        words.push(U32::new((u32::from(kind) << 24) | postings.len() as u32));
        for posting in postings {
            words.push(U32::new(posting.entry));
            words.push(U32::new(posting.info));
        }
    }
    let last = words[header_at].get() | (1 << 23);
    words[header_at] = U32::new(last);
    value
}
