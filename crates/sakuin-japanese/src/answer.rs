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

impl Dictionary {
    /// The answer to `POST /v1/scan` and `sakuin japanese scan`, written as it is made. See the module for
    /// its form.
    ///
    /// # Errors
    /// [`Error::Write`] when `to` refuses; then part of the answer may be written.
    pub fn answer(&self, text: &Text, to: &mut impl Write) -> Result<(), Error> {
        let sections = self.sections()?;
        let matches = scan(&sections, automaton(), text);
        let mut heads = Heads { sections: &sections, numbers: HashMap::new(), entries: Vec::new() };
        let characters = text.offset(text.length() as u32, Offsets::Characters);
        write!(to, "{{\"characters\":{characters},\"matches\":[")?;
        let mut comma = "";
        for found in matches.by_start() {
            for group in groups(&mut heads, text, &matches, found)? {
                to.write_all(comma.as_bytes())?;
                comma = ",\n";
                serde_json::to_writer(&mut *to, &group.shown(text, &matches, &heads))
                    .map_err(io::Error::from)?;
            }
        }
        to.write_all(b"],\"entries\":[")?;
        comma = "";
        for (entry, _) in &heads.entries {
            to.write_all(comma.as_bytes())?;
            comma = ",\n";
            to.write_all(sections.entry(*entry)?)?;
        }
        to.write_all(b"],\"dictionaries\":")?;
        serde_json::to_writer(&mut *to, self.sources()).map_err(io::Error::from)?;
        to.write_all(b",\"licence\":")?;
        serde_json::to_writer(&mut *to, self.licence()).map_err(io::Error::from)?;
        to.write_all(b"}\n")?;
        Ok(())
    }
}

/// Entries of one span that share form, reasons and kind.
struct Group<'d> {
    span: (u32, u32),
    form: Cow<'d, str>,
    chain: ChainId,
    is_name: bool,
    entries: Vec<u32>,
}

#[derive(Serialize)]
struct Shown<'a> {
    start: u32,
    end: u32,
    surface: &'a str,
    form: &'a str,
    reasons: Vec<&'a str>,
    kind: &'static str,
    entries: Vec<&'a str>,
}

impl Group<'_> {
    fn shown<'a>(&'a self, text: &'a Text, matches: &Matches, heads: &'a Heads<'_>) -> Shown<'a> {
        let (start, end) = self.span;
        let reasons = matches.chains.reasons(self.chain);
        Shown {
            start: text.offset(start, Offsets::Characters),
            end: text.offset(end, Offsets::Characters),
            surface: text.surface(start, end),
            form: &self.form,
            reasons: reasons.into_iter().map(|reason| rules().label(reason)).collect(),
            kind: if self.is_name { "name" } else { "word" },
            entries: self.entries.iter().map(|&number| heads.id(number)).collect(),
        }
    }
}

/// The groups that begin at one place, the longest span first, the best within a span first.
fn groups<'d>(
    heads: &mut Heads<'d>,
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
struct Heads<'d> {
    sections: &'d Sections<'d>,
    numbers: HashMap<u32, u32>,
    entries: Vec<(u32, Head<'d>)>,
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

impl<'d> Heads<'d> {
    fn number(&mut self, entry: u32) -> Result<u32, Error> {
        if let Some(&number) = self.numbers.get(&entry) {
            return Ok(number);
        }
        let head = serde_json::from_slice(self.sections.entry(entry)?)
            .map_err(|_| Error::Malformed { section: "values" })?;
        let number = self.entries.len() as u32;
        self.entries.push((entry, head));
        self.numbers.insert(entry, number);
        Ok(number)
    }

    fn id(&self, number: u32) -> &str {
        &self.entries[number as usize].1.id
    }

    fn form(&self, number: u32, posting: Posting) -> Cow<'d, str> {
        let head = &self.entries[number as usize].1;
        let heads = if posting.is(Posting::READING) { &head.readings } else { &head.headwords };
        heads.get(posting.head()).cloned().unwrap_or_default()
    }
}
