//! Classic EDICT spreads one entry over a line for each pair of headword and reading; this gathers it.
//!
//! Lines belong together if their glosses are the same, marks of the form aside, and a headword or a
//! reading connects them. The entry stands where its first line stood. The order of forms is the order
//! of lines, so the result depends on nothing but the file.

use std::collections::HashMap;

use super::{
    edict::{Body, Line},
    restriction,
    tags::{Sort, tag},
};
use crate::entry::{Entry, Headword, Reading};

/// Hands on one entry for each group of lines that belong together.
pub(super) fn merge(lines: &[Line<'_>], each: &mut dyn FnMut(Entry)) {
    let mut group_of: HashMap<&str, usize> = HashMap::with_capacity(lines.len());
    let mut groups: Vec<Vec<usize>> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let group = *group_of.entry(meaning(line.body)).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(at);
    }
    // A group may hold unrelated words, so the parts are put back into the order of their first lines.
    let mut parts: Vec<Vec<usize>> =
        groups.into_iter().flat_map(|group| connected(lines, group)).collect();
    parts.sort_unstable_by_key(|part| part[0]);
    for part in parts {
        each(entry(part.iter().map(|&at| &lines[at])));
    }
}

/// The body without what speaks of the form alone: `(oK)`, `(ateji)` in front, `(P)` behind.
fn meaning(mut body: &str) -> &str {
    body = body.strip_suffix("/(P)").unwrap_or(body);
    while let Some((inner, rest)) = body.strip_prefix('(').and_then(|open| open.split_once(") ")) {
        if !is_of_form(inner) {
            break;
        }
        body = rest;
    }
    body
}

fn is_of_form(inner: &str) -> bool {
    inner.split(',').all(|word| matches!(tag(word), Some((Sort::Headword | Sort::Reading, _))))
}

/// Splits lines of one meaning into those that a headword or a reading connects.
fn connected(lines: &[Line<'_>], group: Vec<usize>) -> Vec<Vec<usize>> {
    if group.len() == 1 {
        return vec![group];
    }
    let mut roots: Vec<usize> = (0..group.len()).collect();
    let mut holder: HashMap<(bool, &str), usize> = HashMap::new();
    for (member, &at) in group.iter().enumerate() {
        let line = &lines[at];
        let headword = line.readings.map(|_| (true, line.forms));
        let reading = (false, line.readings.unwrap_or(line.forms));
        for form in headword.into_iter().chain([reading]) {
            let other = *holder.entry(form).or_insert(member);
            let (one, other) = (root(&mut roots, member), root(&mut roots, other));
            roots[one.max(other)] = one.min(other);
        }
    }
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); group.len()];
    for (member, &at) in group.iter().enumerate() {
        parts[root(&mut roots, member)].push(at);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The first member of the part that `member` is in; shortens the way there for the next time.
fn root(roots: &mut [usize], mut member: usize) -> usize {
    while roots[member] != member {
        roots[member] = roots[roots[member]];
        member = roots[member];
    }
    member
}

/// One entry of lines that belong together.
fn entry<'l>(lines: impl Iterator<Item = &'l Line<'l>>) -> Entry {
    let mut entry = Entry::default();
    let mut headword_at: HashMap<&str, usize> = HashMap::new();
    let mut reading_at: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let body = Body::parse(line.body);
        let headword = line.readings.map(|_| {
            *headword_at.entry(line.forms).or_insert_with(|| {
                entry
                    .headwords
                    .push(Headword { text: line.forms.to_owned(), ..Headword::default() });
                entry.headwords.len() - 1
            })
        });
        let text = line.readings.unwrap_or(line.forms);
        let reading = *reading_at.entry(text).or_insert_with(|| {
            entry.readings.push(Reading { text: text.to_owned(), ..Reading::default() });
            entry.readings.len() - 1
        });
        if let Some(headword) = headword {
            entry.headwords[headword].common |= body.common;
            add_tags(&mut entry.headwords[headword].tags, &body.headword_tags);
            entry.readings[reading].only.push(headword);
        }
        entry.readings[reading].common |= body.common;
        add_tags(&mut entry.readings[reading].tags, &body.reading_tags);
        entry.common |= body.common;
        if entry.senses.is_empty() {
            entry.senses = body.senses;
        }
    }
    for reading in &mut entry.readings {
        reading.only = restriction(std::mem::take(&mut reading.only), entry.headwords.len());
    }
    entry
}

fn add_tags(tags: &mut Vec<String>, more: &[&str]) {
    for &tag in more {
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
}
