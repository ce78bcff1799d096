//! Lines of EDICT, EDICT2 and ENAMDICT: `headword [reading] /(tags) gloss/gloss/`.
//!
//! The three share one shape. EDICT2 packs all forms of an entry into one line and marks each
//! (`いく(行く,往く)(P)`); ENAMDICT has letters for kinds of names where the others have parts of speech.
//! Which parenthesis is a mark and which belongs to the gloss, [`super::tags`] decides.

use std::collections::HashMap;

use super::{
    SENSES_MAX, headword_places, restriction,
    tags::{Sort, name_type, tag},
};
use crate::entry::{Entry, Headword, Reading, Sense};

/// A line cut into its three parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'l> {
    /// What stands before the brackets: headwords, or readings where there are no brackets.
    pub(super) forms: &'l str,
    /// What stands in the brackets.
    pub(super) readings: Option<&'l str>,
    /// What stands between the first slash and the last.
    pub(super) body: &'l str,
}

impl<'l> Line<'l> {
    pub(super) fn parse(line: &'l str) -> Result<Line<'l>, &'static str> {
        let (forms, body) = line.split_once(" /").ok_or("no ` /` after the word")?;
        // A line that ends at its first slash has no gloss. EDICT has one; it is still a word.
        let body = if body.is_empty() {
            body
        } else {
            body.strip_suffix('/').ok_or("no `/` at the end")?
        };
        let (forms, readings) = match forms.split_once(" [") {
            Some((forms, rest)) => {
                (forms, Some(rest.strip_suffix(']').ok_or("no `]` after the reading")?))
            }
            None => (forms, None),
        };
        let is_missing = |form: &str| form.trim().is_empty();
        if is_missing(forms) || forms.starts_with('[') || readings.is_some_and(is_missing) {
            return Err("no word before the gloss");
        }
        Ok(Line { forms, readings, body })
    }

    /// The header of a dictionary, which stands where an entry would.
    pub(super) fn is_header(&self) -> bool {
        self.forms.trim_start_matches('　') == "？？？"
    }

    /// Whether the line carries an entry number, which only EDICT2 does.
    pub(super) fn is_edict2(&self) -> bool {
        self.body.rsplit('/').next().is_some_and(|last| last.starts_with("EntL"))
    }

    /// Whether the gloss opens with a kind of name.
    pub(super) fn is_name(&self) -> bool {
        parenthesis(self.body).is_some_and(|(inner, _)| name_types(inner).is_some())
    }

    /// An entry of EDICT2.
    pub(super) fn entry(&self) -> Result<Entry, &'static str> {
        let Body { senses, common, .. } = Body::parse(self.body);
        let forms = |text: &'l str| text.split(';').filter(|form| !form.trim().is_empty());
        let headwords: Vec<Headword> = match self.readings {
            Some(_) => forms(self.forms).map(headword).collect(),
            None => Vec::new(),
        };
        let places = headword_places(&headwords);
        let readings: Vec<Reading> =
            forms(self.readings.unwrap_or(self.forms)).map(|form| reading(form, &places)).collect();
        if readings.is_empty() {
            return Err("no word before the gloss");
        }
        let common = common
            || headwords.iter().any(|headword| headword.common)
            || readings.iter().any(|reading| reading.common);
        Ok(Entry { headwords, readings, senses, common })
    }

    /// An entry of ENAMDICT.
    pub(super) fn name(&self) -> Entry {
        let headword = |text: &str| Headword { text: text.to_owned(), ..Headword::default() };
        let reading = |text: &str| Reading { text: text.to_owned(), ..Reading::default() };
        Entry {
            headwords: self.readings.iter().map(|_| headword(self.forms)).collect(),
            readings: vec![reading(self.readings.unwrap_or(self.forms))],
            senses: name_senses(self.body),
            common: false,
        }
    }
}

/// The glosses of a line, read.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) senses: Vec<Sense>,
    /// Tags of the headword and of the reading, which classic EDICT writes before the first gloss.
    pub(super) headword_tags: Vec<&'static str>,
    pub(super) reading_tags: Vec<&'static str>,
    pub(super) common: bool,
}

impl Body {
    pub(super) fn parse(body: &str) -> Body {
        let mut parsed = Body::default();
        for gloss in body.split('/').map(str::trim).filter(|gloss| !gloss.is_empty()) {
            if gloss == "(P)" {
                parsed.common = true;
            } else if !gloss.starts_with("EntL") {
                parsed.gloss(gloss);
            }
        }
        parsed
    }

    /// Takes a gloss: the first opens a sense, and so does each that is numbered in turn.
    fn gloss(&mut self, gloss: &str) {
        let marks = Marks::parse(gloss, self.senses.len() + 1);
        match self.senses.last_mut() {
            Some(sense) if !marks.numbered => sense.glosses.push(gloss.to_owned()),
            previous => {
                let inherited = match previous {
                    Some(sense) if marks.classes.is_empty() => classes(sense),
                    _ => Vec::new(),
                };
                let own = marks.classes.iter().chain(&marks.tags).map(|&tag| tag.to_owned());
                let glosses = marks.gloss().into_iter().collect();
                self.senses
                    .push(Sense { tags: inherited.into_iter().chain(own).collect(), glosses });
                self.headword_tags.extend(marks.headword_tags);
                self.reading_tags.extend(marks.reading_tags);
            }
        }
    }
}

/// The part-of-speech tags of a sense.
fn classes(sense: &Sense) -> Vec<String> {
    let is_class = |written: &&String| matches!(tag(written), Some((Sort::Class, _)));
    sense.tags.iter().filter(is_class).cloned().collect()
}

/// The marks before a gloss.
#[derive(Debug, Default)]
struct Marks<'g> {
    classes: Vec<&'static str>,
    tags: Vec<&'static str>,
    headword_tags: Vec<&'static str>,
    reading_tags: Vec<&'static str>,
    numbered: bool,
    /// `ばか only`: the forms that have this sense. It stays in sight.
    restriction: Option<&'g str>,
    rest: &'g str,
}

impl<'g> Marks<'g> {
    /// Takes marks from the front of `gloss` until something is none; `number` is the sense's own.
    fn parse(gloss: &'g str, number: usize) -> Marks<'g> {
        let mut marks = Marks { rest: gloss, ..Marks::default() };
        loop {
            let taken = if let Some((inner, rest)) = parenthesis(marks.rest) {
                marks.take(inner, number).then_some(rest)
            } else if let Some((inner, rest)) = braces(marks.rest) {
                marks.take_tags(inner, true).then_some(rest)
            } else {
                None
            };
            match taken {
                Some(rest) => marks.rest = rest.trim_start(),
                None => return marks,
            }
        }
    }

    /// The gloss that is left, if there is one.
    fn gloss(&self) -> Option<String> {
        match self.restriction {
            _ if self.rest.is_empty() => None,
            Some(forms) => Some(format!("({forms}) {}", self.rest)),
            None => Some(self.rest.to_owned()),
        }
    }

    fn take(&mut self, inner: &'g str, number: usize) -> bool {
        if inner.ends_with(" only") && !inner.starts_with(|c: char| c.is_ascii()) {
            self.restriction = Some(inner);
            return true;
        }
        if inner.parse() == Ok(number) && number <= SENSES_MAX && !self.numbered {
            self.numbered = true;
            return true;
        }
        // Cross references lead nowhere in a popup.
        inner.starts_with("See ") || inner.starts_with("ant: ") || self.take_tags(inner, false)
    }

    /// Takes a list of tags, all of them or none.
    fn take_tags(&mut self, inner: &str, in_braces: bool) -> bool {
        let known =
            |word: &str| tag(word.trim()).filter(|&(sort, _)| in_braces || sort != Sort::Braces);
        let words = || inner.split([',', ';']);
        if !words().all(|word| known(word).is_some()) {
            return false;
        }
        for (sort, word) in words().filter_map(known) {
            let tags = match sort {
                Sort::Class => &mut self.classes,
                Sort::Sense | Sort::Braces => &mut self.tags,
                Sort::Headword => &mut self.headword_tags,
                Sort::Reading => &mut self.reading_tags,
            };
            if !tags.contains(&word) {
                tags.push(word);
            }
        }
        true
    }
}

/// A form of EDICT2 with its marks: `明白(ateji)(P)`.
struct Form<'f> {
    text: &'f str,
    marks: Vec<&'f str>,
}

impl<'f> Form<'f> {
    fn parse(form: &'f str) -> Form<'f> {
        let mut text = form.trim();
        let mut marks = Vec::new();
        while let Some((before, mark)) =
            text.strip_suffix(')').and_then(|open| open.rsplit_once('('))
        {
            if before.trim_end().is_empty() {
                break;
            }
            marks.push(mark);
            text = before.trim_end();
        }
        marks.reverse();
        Form { text, marks }
    }

    fn is_common(&self) -> bool {
        self.marks.contains(&"P")
    }

    fn tags(&self, wanted: Sort) -> Vec<String> {
        let words = self.marks.iter().flat_map(|mark| mark.split(','));
        let of_sort = words.filter_map(tag).filter(|&(sort, _)| sort == wanted);
        of_sort.map(|(_, word)| word.to_owned()).collect()
    }
}

fn headword(written: &str) -> Headword {
    let form = Form::parse(written);
    Headword {
        text: form.text.to_owned(),
        common: form.is_common(),
        tags: form.tags(Sort::Headword),
    }
}

fn reading(written: &str, places: &HashMap<&str, usize>) -> Reading {
    let form = Form::parse(written);
    let marks = form.marks.iter().flat_map(|mark| mark.split([',', ';']));
    let only = marks.filter_map(|word| places.get(word).copied()).collect();
    Reading {
        text: form.text.to_owned(),
        common: form.is_common(),
        only: restriction(only, places.len()),
        alone: form.marks.contains(&"nokanji"),
        tags: form.tags(Sort::Reading),
    }
}

/// Senses of a name: each gloss that opens with kinds of names opens a sense.
fn name_senses(body: &str) -> Vec<Sense> {
    let mut senses: Vec<Sense> = Vec::new();
    for gloss in body.split('/').map(str::trim).filter(|gloss| !gloss.is_empty()) {
        let kinds = parenthesis(gloss).and_then(|(inner, rest)| Some((name_types(inner)?, rest)));
        match (kinds, senses.last_mut()) {
            (Some((tags, rest)), _) => senses.push(Sense { tags, glosses: vec![rest.to_owned()] }),
            (None, Some(sense)) => sense.glosses.push(gloss.to_owned()),
            (None, None) => {
                senses.push(Sense { tags: Vec::new(), glosses: vec![gloss.to_owned()] });
            }
        }
    }
    senses
}

fn name_types(inner: &str) -> Option<Vec<String>> {
    inner.split(',').map(|letter| name_type(letter).map(str::to_owned)).collect()
}

/// A parenthesis at the front: what is in it and what follows.
fn parenthesis(text: &str) -> Option<(&str, &str)> {
    let (inner, rest) = text.strip_prefix('(')?.split_once(')')?;
    Some((inner, rest.trim_start()))
}

fn braces(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('{')?.split_once('}')
}
