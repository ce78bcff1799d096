//! The sub-dictionary: what a page carries so that every word of its texts explains itself.
//!
//! Entries are stored as finished JSON, so a sub-dictionary is mostly copying. Its form, with positions in
//! UTF-16 code units and the best match first at each start:
//!
//! ```json
//! {"texts":[[[start,length,[[entry,chain],…]],…],…],
//!  "chains":[[],["causative","past"],…],
//!  "entries":[{"id":"w1","kind":"word","headwords":["食べる"],"readings":["たべる"],"common":true,
//!              "furigana":[[["食","た"],"べる"]],"senses":[{"tags":["v1","vt"],"glosses":["to eat"]}]},…]}
//! ```

use std::collections::HashMap;

use crate::automaton::{ChainId, Chains, automaton};
use crate::dictionary::{Dictionary, Error};
use crate::rank::{self, Candidate, Wanted};
use crate::rules::{Reason, rules};
use crate::scan::{Found, Matches, scan};
use crate::sections::{ENTRY_END, Sections};
use crate::text::{Offsets, Text};

/// How much of a scan a page carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// At each place the three best entries of the longest span, three senses each.
    Page,
    /// Every word, in full.
    Words,
    /// Every name, in full. A span in hiragana alone is no name.
    Names,
}

/// How many entries of a span [`Tier::Page`] has.
const BEST: usize = 3;
/// About how long a page's sub-dictionary is, for each character of its texts.
const BYTES_A_CHARACTER: usize = 200;

impl Dictionary {
    /// The compact JSON for a page of several texts with one set of entries, `<` escaped so that it can
    /// stand in a page as it is. See the module for its form.
    pub fn sub_dictionary(&self, texts: &[Text], tier: Tier) -> Result<Vec<u8>, Error> {
        let sections = self.sections()?;
        let characters: usize = texts.iter().map(Text::length).sum();
        let mut writer = Writer::new(&sections, tier, characters);
        for text in texts {
            writer.text(text, &scan(&sections, automaton(), text));
        }
        writer.finish()
    }
}

struct Writer<'s> {
    sections: &'s Sections<'s>,
    tier: Tier,
    json: Vec<u8>,
    entries: Vec<u32>,
    entry_numbers: HashMap<u32, u32, Hasher>,
    /// For each entry, the last span it was written for, so that it is written once for a span.
    last_spans: Vec<u32>,
    spans_written: u32,
    chains: Vec<Vec<Reason>>,
    chain_numbers: HashMap<Vec<Reason>, u32, Hasher>,
    candidates: Vec<Candidate>,
    spans: Vec<Found>,
}

type Hasher = std::hash::BuildHasherDefault<rustc_hash::FxHasher>;

impl<'s> Writer<'s> {
    fn new(sections: &'s Sections<'s>, tier: Tier, characters: usize) -> Writer<'s> {
        let mut json = Vec::with_capacity(BYTES_A_CHARACTER * characters);
        json.extend_from_slice(b"{\"texts\":[");
        Writer {
            sections,
            tier,
            json,
            entries: Vec::new(),
            last_spans: Vec::new(),
            spans_written: 0,
            entry_numbers: HashMap::with_capacity_and_hasher(characters, Hasher::default()),
            chains: vec![Vec::new()],
            chain_numbers: HashMap::default(),
            candidates: Vec::new(),
            spans: Vec::new(),
        }
    }

    fn text(&mut self, text: &Text, matches: &Matches) {
        // Chains are numbered anew by each scan; these are the page's numbers for this scan's.
        let mut chain_numbers = HashMap::default();
        separate(&mut self.json, b'[');
        self.json.push(b'[');
        for found in matches.by_start() {
            self.place(text, matches, found, &mut chain_numbers);
        }
        self.json.push(b']');
    }

    /// Writes the spans that begin at one place, the longest first.
    fn place(
        &mut self,
        text: &Text,
        matches: &Matches,
        found: &[Found],
        chain_numbers: &mut HashMap<ChainId, u32, Hasher>,
    ) {
        let wanted = match self.tier {
            Tier::Page => Wanted::Both,
            Tier::Words => Wanted::Words,
            Tier::Names => Wanted::Names,
        };
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        spans.extend(found.iter().filter(|found| rank::is_clean_cut(text, found)));
        spans.sort_by_key(|span| std::cmp::Reverse(span.end));
        for span in spans.chunk_by(|a, b| a.end == b.end) {
            let mut candidates = std::mem::take(&mut self.candidates);
            candidates.clear();
            for found in span {
                rank::candidates(self.sections, text, matches, found, wanted, &mut candidates);
            }
            candidates.retain(|candidate| !candidate.changes_script());
            candidates.sort_unstable();
            let limit = if self.tier == Tier::Page { BEST } else { usize::MAX };
            let wrote =
                self.span(text, &span[0], &matches.chains, &candidates, limit, chain_numbers);
            self.candidates = candidates;
            if wrote && self.tier == Tier::Page {
                break;
            }
        }
        self.spans = spans;
    }

    /// Writes one span with its best entries, each once; nothing if there are none.
    fn span(
        &mut self,
        text: &Text,
        span: &Found,
        chains: &Chains,
        candidates: &[Candidate],
        limit: usize,
        chain_numbers: &mut HashMap<ChainId, u32, Hasher>,
    ) -> bool {
        if candidates.is_empty() {
            return false;
        }
        let start = text.offset(span.start, Offsets::Utf16);
        let end = text.offset(span.end, Offsets::Utf16);
        separate(&mut self.json, b'[');
        self.json.push(b'[');
        number(&mut self.json, start);
        self.json.push(b',');
        number(&mut self.json, end - start);
        self.json.extend_from_slice(b",[");
        self.spans_written += 1;
        let mut left = limit;
        for candidate in candidates {
            if left == 0 {
                break;
            }
            let entry = self.entry_number(candidate.entry);
            let last_span = &mut self.last_spans[entry as usize];
            if *last_span == self.spans_written {
                continue;
            }
            *last_span = self.spans_written;
            left -= 1;
            let chain = *chain_numbers
                .entry(candidate.chain)
                .or_insert_with(|| self.chain_number(chains.reasons(candidate.chain)));
            separate(&mut self.json, b'[');
            self.json.push(b'[');
            number(&mut self.json, entry);
            self.json.push(b',');
            number(&mut self.json, chain);
            self.json.push(b']');
        }
        self.json.extend_from_slice(b"]]");
        true
    }

    fn entry_number(&mut self, entry: u32) -> u32 {
        *self.entry_numbers.entry(entry).or_insert_with(|| {
            self.entries.push(entry);
            self.last_spans.push(0);
            self.entries.len() as u32 - 1
        })
    }

    fn chain_number(&mut self, reasons: Vec<Reason>) -> u32 {
        if reasons.is_empty() {
            return 0;
        }
        let next = self.chains.len() as u32;
        let number = *self.chain_numbers.entry(reasons.clone()).or_insert(next);
        if number == next {
            self.chains.push(reasons);
        }
        number
    }

    fn finish(mut self) -> Result<Vec<u8>, Error> {
        self.json.extend_from_slice(b"],\"chains\":[");
        for reasons in &self.chains {
            separate(&mut self.json, b'[');
            self.json.push(b'[');
            for &reason in reasons {
                separate(&mut self.json, b'[');
                self.json.push(b'"');
                self.json.extend_from_slice(rules().label(reason).as_bytes());
                self.json.push(b'"');
            }
            self.json.push(b']');
        }
        self.json.extend_from_slice(b"],\"entries\":[");
        // All are looked up before any is copied, so that their cache misses overlap.
        let places = self.entries.iter().map(|&entry| self.sections.entry_place(entry));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        for (json, short) in places {
            separate(&mut self.json, b'[');
            if self.tier == Tier::Page && short < json.len() {
                self.json.extend_from_slice(&json[..short]);
                self.json.extend_from_slice(ENTRY_END);
            } else {
                self.json.extend_from_slice(json);
            }
        }
        self.json.extend_from_slice(b"]}");
        Ok(self.json)
    }
}

/// A comma, unless this is the first after `open`.
fn separate(json: &mut Vec<u8>, open: u8) {
    if json.last() != Some(&open) {
        json.push(b',');
    }
}

fn number(json: &mut Vec<u8>, number: u32) {
    json.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}
