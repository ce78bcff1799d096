//! The scan: every dictionary word of a text, inflected or not.
//!
//! From each place of the text the trie is walked once. Where a key ends that is a whole word, that is a
//! match; where a key ends that is a stem, the automaton reads on and each place at which it accepts is a
//! match. Alternatives of the text (long vowels, repetition marks, old kanji) are branches of the walk. No
//! string is made and nothing is hashed; the cost from one place is bounded by the longest key, the two
//! alternatives a walk may take and the automaton's live trails, so a scan is linear in the text.

use crate::automaton::{Automaton, ChainId, Chains, Symbol, Trails};
use crate::postings::{GroupId, List};
use crate::sections::Sections;
use crate::text::Text;
use crate::trie::Cursor;

/// How many alternatives one walk may take.
const REWRITES: u8 = 2;

/// What a scan found, in the order of the text.
#[derive(Default)]
pub struct Matches {
    pub(crate) found: Vec<Found>,
    pub(crate) chains: Chains,
}

/// One key at one span, read in one way. The entries it stands for are the postings of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// Places in the text.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) group: GroupId,
    pub(crate) chain: ChainId,
    /// How many alternatives were taken.
    pub(crate) cost: u8,
    /// Where the key ended and inflection began; `end` for whole words.
    pub(crate) stem_end: u32,
}

impl Matches {
    /// The number of different readings of spans found.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// What begins at each place, place by place.
    pub(crate) fn by_start(&self) -> impl Iterator<Item = &[Found]> {
        self.found.chunk_by(|a, b| a.start == b.start)
    }
}

/// Scans a text.
pub(crate) fn scan(sections: &Sections<'_>, automaton: &Automaton, text: &Text) -> Matches {
    let mut scanner = Scanner {
        sections,
        automaton,
        text,
        codes: text.folded.iter().map(|&c| sections.alphabet.code(c)).collect(),
        symbols: text.folded.iter().map(|&c| automaton.symbol(c)).collect(),
        live: Trails::default(),
        next: Trails::default(),
        matches: Matches::default(),
    };
    for start in 0..text.length() {
        if text.is_start(start) {
            scanner.from(start);
        }
    }
    scanner.matches
}

struct Scanner<'a> {
    sections: &'a Sections<'a>,
    automaton: &'a Automaton,
    text: &'a Text,
    /// The text in the trie's codes and in the automaton's symbols.
    codes: Vec<u16>,
    symbols: Vec<Symbol>,
    live: Trails,
    next: Trails,
    matches: Matches,
}

/// How a walk came to where it is.
#[derive(Clone, Copy)]
struct Walk {
    start: usize,
    cost: u8,
    /// The last step passed over emphasis: no inflection follows that.
    passed_over: bool,
}

impl Scanner<'_> {
    fn from(&mut self, start: usize) {
        let first = self.matches.found.len();
        let walk = Walk { start, cost: 0, passed_over: false };
        self.walk(self.sections.trie.root(), start, walk);
        let found = &mut self.matches.found;
        if found[first..].iter().any(|found| found.cost > 0) {
            found[first..].sort_unstable();
            let mut kept = first;
            for at in first..found.len() {
                let same =
                    |a: &Found, b: &Found| (a.end, a.group, a.chain) == (b.end, b.group, b.chain);
                if kept == first || !same(&found[kept - 1], &found[at]) {
                    found[kept] = found[at];
                    kept += 1;
                }
            }
            found.truncate(kept);
        }
    }

    fn walk(&mut self, mut cursor: Cursor, mut at: usize, mut walk: Walk) {
        let trie = self.sections.trie;
        loop {
            if let Some(list) = List::new(trie.value(cursor))
                && at > walk.start
                && self.text.is_boundary(at)
            {
                self.emit(list, at, walk);
            }
            if at == self.codes.len() {
                return;
            }
            if walk.cost < REWRITES {
                for &alternative in self.text.alternatives(at) {
                    let (next, passed_over) = match alternative.reads {
                        Some(c) => (trie.step(cursor, self.sections.alphabet.code(c)), false),
                        None => (Some(cursor), true),
                    };
                    if let Some(next) = next {
                        let walk = Walk { cost: walk.cost + 1, passed_over, ..walk };
                        self.walk(next, alternative.to as usize, walk);
                    }
                }
            }
            let Some(next) = trie.step(cursor, self.codes[at]) else { return };
            cursor = next;
            at += 1;
            walk.passed_over = false;
        }
    }

    fn emit(&mut self, list: List, at: usize, walk: Walk) {
        let found = Found {
            start: walk.start as u32,
            end: at as u32,
            group: list.first(),
            chain: ChainId(0),
            cost: walk.cost,
            stem_end: at as u32,
        };
        if list.has_whole() {
            self.matches.found.push(found);
        }
        if list.has_stems() && !walk.passed_over {
            self.inflect(list, at, found);
        }
    }

    fn inflect(&mut self, list: List, stem_end: usize, stem: Found) {
        self.live.clear();
        let next = self.symbols.get(stem_end).copied().unwrap_or(Symbol(0));
        for (id, group) in self.sections.postings.groups(list) {
            if let Some(stem) = self.sections.stems.get(usize::from(group.kind)).copied().flatten()
            {
                self.automaton.begin_before(next, stem, id.0, &mut self.live);
            }
        }
        let mut at = stem_end;
        while !self.live.is_empty() {
            if self.text.is_boundary(at) {
                let end = at as u32;
                let accepted = self.automaton.accepted(&self.live);
                self.matches.found.extend(accepted.map(|(group, chain)| Found {
                    end,
                    group: GroupId(group),
                    chain,
                    ..stem
                }));
            }
            let Some(&symbol) = self.symbols.get(at) else { return };
            if symbol == Symbol(0) {
                return;
            }
            let (live, next) = (&self.live, &mut self.next);
            self.automaton.step(symbol, live, next, &mut self.matches.chains);
            std::mem::swap(&mut self.live, &mut self.next);
            at += 1;
        }
    }
}
