//! The full answer to a scan: every match with its form and reasons, every entry whole.
//!
//! ```json
//! {"characters":7,
//!  "matches":[{"start":0,"end":4,"surface":"食べない","form":"食べる","reasons":["negative"],
//!              "kind":"word","entries":["w1"]},…],
//!  "entries":[{"id":"w1","kind":"word","headwords":["食べる"],"readings":["たべる"],"senses":[…]},…],
//!  "dictionaries":[{"name":"EDICT","date":"2021-02-03"}],"licence":"…"}
//! ```
//!
//! Offsets count characters of the input. Matches stand in the order of the text, the best first at each
//! start; a span in hiragana alone yields no names.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::automaton::{ChainId, automaton};
use crate::dictionary::{Dictionary, Error};
use crate::postings::Posting;
use crate::rank::{self, Candidate, Wanted};
use crate::rules::rules;
use crate::scan::{Found, Matches, scan};
use crate::sections::Sections;
use crate::text::{Offsets, Text};

/// Entries of one span that share form, reasons and kind.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Match<'d, 't> {
    /// Where it begins, in characters of the input.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// What stands there.
    pub surface: &'t str,
    /// The form that the entries have.
    pub form: Cow<'d, str>,
    /// How the form became the surface.
    pub reasons: Vec<&'static str>,
    /// `word` or `name`.
    pub kind: &'static str,
    /// The ids of the entries.
    pub entries: Vec<Cow<'d, str>>,
}

/// An entry of a dictionary.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry<'d> {
    /// Its name in the packed file.
    pub id: Cow<'d, str>,
    /// All of it.
    pub json: &'d [u8],
}

impl Dictionary {
    /// Hands on every match of a text, in the order of the text, the best first at each start; returns the entries they
    /// name, in the order they are first named. Costs a scan, and a look at the head of every entry.
    ///
    /// # Errors
    /// Those of a damaged file, and of `each`.
    pub fn matches<'d, 't>(
        &'d self,
        text: &'t Text,
        mut each: impl FnMut(Match<'d, 't>) -> Result<(), Error>,
    ) -> Result<Vec<Entry<'d>>, Error> {
        let sections = self.sections()?;
        let found = scan(&sections, automaton(), text);
        let mut heads = Heads { sections: &sections, numbers: HashMap::new(), entries: Vec::new() };
        for at_one_place in found.by_start() {
            for group in groups(&mut heads, text, &found, at_one_place)? {
                each(group.named(text, &found, &heads))?;
            }
        }
        let entries = heads.entries.into_iter();
        Ok(entries.map(|(json, head)| Entry { id: head.id, json }).collect())
    }

    /// The answer to `POST /v1/scan` and `sakuin japanese scan`, written as it is made. See the module for
    /// its form.
    ///
    /// # Errors
    /// [`Error::Write`] when `to` refuses; then part of the answer may be written.
    pub fn answer(&self, text: &Text, to: &mut impl Write) -> Result<(), Error> {
        let characters = text.offset(text.length() as u32, Offsets::Characters);
        write!(to, "{{\"characters\":{characters},\"matches\":[")?;
        let mut comma = "";
        let entries = self.matches(text, |one| {
            to.write_all(comma.as_bytes())?;
            comma = ",\n";
            Ok(serde_json::to_writer(&mut *to, &one).map_err(io::Error::from)?)
        })?;
        to.write_all(b"],\"entries\":[")?;
        comma = "";
        for entry in entries {
            to.write_all(comma.as_bytes())?;
            comma = ",\n";
            to.write_all(entry.json)?;
        }
        to.write_all(b"],\"dictionaries\":")?;
        serde_json::to_writer(&mut *to, self.sources()).map_err(io::Error::from)?;
        to.write_all(b",\"licence\":")?;
        serde_json::to_writer(&mut *to, self.licence()).map_err(io::Error::from)?;
        to.write_all(b"}\n")?;
        Ok(())
    }
}

/// A match before its reasons are looked up.
struct Group<'d> {
    span: (u32, u32),
    form: Cow<'d, str>,
    chain: ChainId,
    is_name: bool,
    entries: Vec<u32>,
}

impl<'d> Group<'d> {
    fn named<'t>(self, text: &'t Text, matches: &Matches, heads: &Heads<'_, 'd>) -> Match<'d, 't> {
        let (start, end) = self.span;
        let reasons = matches.chains.reasons(self.chain);
        Match {
            start: text.offset(start, Offsets::Characters),
            end: text.offset(end, Offsets::Characters),
            surface: text.surface(start, end),
            form: self.form,
            reasons: reasons.into_iter().map(|reason| rules().label(reason)).collect(),
            kind: if self.is_name { "name" } else { "word" },
            entries: self.entries.iter().map(|&number| heads.id(number)).collect(),
        }
    }
}

/// The groups that begin at one place, the longest span first, the best within a span first.
fn groups<'d>(
    heads: &mut Heads<'_, 'd>,
    text: &Text,
    matches: &Matches,
    found: &[Found],
) -> Result<Vec<Group<'d>>, Error> {
    let mut candidates: Vec<(Reverse<u32>, Candidate)> = Vec::new();
    let mut of_one = Vec::new();
    for found in found {
        of_one.clear();
        rank::candidates(heads.sections, text, matches, found, Wanted::Both, &mut of_one);
        candidates.extend(of_one.iter().map(|&candidate| (Reverse(found.end), candidate)));
    }
    candidates.sort_unstable();
    let Some(start) = found.first().map(|found| found.start) else { return Ok(Vec::new()) };
    let mut groups: Vec<Group<'d>> = Vec::new();
    let mut group_of: HashMap<(u32, Cow<'d, str>, ChainId, bool), usize> = HashMap::new();
    for (Reverse(end), candidate) in candidates {
        let number = heads.number(candidate.entry)?;
        let is_name = candidate.entry >= heads.sections.words;
        let form = heads.form(number, candidate.posting());
        let at =
            *group_of.entry((end, form.clone(), candidate.chain, is_name)).or_insert_with(|| {
                let (span, chain) = ((start, end), candidate.chain);
                groups.push(Group { span, form, chain, is_name, entries: Vec::new() });
                groups.len() - 1
            });
        if groups[at].entries.last() != Some(&number) {
            groups[at].entries.push(number);
        }
    }
    Ok(groups)
}

/// The entries met so far, numbered in the order they are met, with their heads.
struct Heads<'s, 'd> {
    sections: &'s Sections<'d>,
    numbers: HashMap<u32, u32>,
    entries: Vec<(&'d [u8], Head<'d>)>,
}

#[derive(Deserialize)]
struct Head<'d> {
    #[serde(borrow)]
    id: Cow<'d, str>,
    #[serde(borrow)]
    headwords: Vec<Cow<'d, str>>,
    #[serde(borrow)]
    readings: Vec<Cow<'d, str>>,
}

impl<'d> Heads<'_, 'd> {
    fn number(&mut self, entry: u32) -> Result<u32, Error> {
        if let Some(&number) = self.numbers.get(&entry) {
            return Ok(number);
        }
        let json = self.sections.entry(entry)?;
        let head =
            serde_json::from_slice(json).map_err(|_| Error::Malformed { section: "values" })?;
        let number = self.entries.len() as u32;
        self.entries.push((json, head));
        self.numbers.insert(entry, number);
        Ok(number)
    }

    fn id(&self, number: u32) -> Cow<'d, str> {
        self.entries[number as usize].1.id.clone()
    }

    fn form(&self, number: u32, posting: Posting) -> Cow<'d, str> {
        let head = &self.entries[number as usize].1;
        let heads = if posting.is(Posting::READING) { &head.readings } else { &head.headwords };
        heads.get(posting.head()).cloned().unwrap_or_default()
    }
}
