//! The plain deinflector: strips one auxiliary at a time. The oracle that the automaton is held against.
//!
//! It needs no dictionary: it gives every dictionary form from which the rules reach the word, and the
//! class that form would have to have. A form is a guess until a dictionary confirms it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::fold::fold_char;
use crate::rules::{CHAIN_LINKS_MAX, Class, Reason, Rules, SuffixRule, rules};

/// One way to read a word as an inflected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inflection {
    /// The dictionary form. What inflection left alone is as it was written, the rest is hiragana.
    pub form: String,
    /// JMdict tags a dictionary entry of that form must have one of.
    pub classes: Vec<&'static str>,
    /// Labels of the steps from the dictionary form to the word.
    pub reasons: Vec<&'static str>,
}

/// Every way to read `word` as an inflected form, the word itself among them.
///
/// The word itself comes first, without reasons; its classes are the inflecting classes that words of
/// its ending may have, and `n`, because any word may be a noun. The others follow, short chains
/// first. Time and the number of results are bounded, because chains are: only the end of a long word
/// is looked at.
///
/// ```
/// let found = sakuin_japanese::deinflect::deinflect("書いた");
/// assert!(found.iter().any(|i| i.form == "書く" && i.classes == ["v5k"] && i.reasons == ["past"]));
/// ```
pub fn deinflect(word: &str) -> Vec<Inflection> {
    static DEINFLECTOR: LazyLock<Deinflector<'static>> =
        LazyLock::new(|| Deinflector::new(rules()));
    let rules = rules();
    let mut found = vec![Inflection { form: word.to_owned(), classes: own(word), reasons: vec![] }];
    let mut places: HashMap<(String, Vec<Reason>), usize> = HashMap::new();
    let mut readings = DEINFLECTOR.readings(word);
    readings.sort_by_key(|reading| reading.reasons.len());
    for Reading { form, class, reasons } in readings {
        let Some(tag) = rules.tag(class) else { continue };
        let labels = reasons.iter().map(|reason| rules.label(*reason)).collect();
        let place = *places.entry((form, reasons)).or_insert_with_key(|(form, _)| {
            found.push(Inflection { form: form.clone(), classes: vec![], reasons: labels });
            found.len() - 1
        });
        found[place].classes.push(tag);
    }
    found
}

/// The classes a dictionary form of this ending may have.
fn own(word: &str) -> Vec<&'static str> {
    let rules = rules();
    let word: String = word.chars().map(fold_char).collect();
    let fits = |class: &Class| {
        let mut paradigms = rules.paradigms().iter().enumerate();
        paradigms.any(|(at, paradigm)| {
            paradigm.class == *class && !paradigm.cut.is_empty() && rules.fits(at, &word)
        })
    };
    let tags = rules.classes().filter(fits).filter_map(|class| rules.tag(class));
    tags.chain(["n"]).collect()
}

/// A dictionary form, the class it must have, and the steps from it to the word.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reading {
    /// The dictionary form.
    pub form: String,
    /// The class it must have.
    pub class: Class,
    /// The steps, the one nearest to the dictionary form first; never none.
    pub reasons: Vec<Reason>,
}

/// Rules by the ending they strip.
pub struct Deinflector<'r> {
    rules: &'r Rules,
    by_ending: HashMap<&'r str, Vec<&'r SuffixRule>>,
    ending_characters_max: usize,
}

impl<'r> Deinflector<'r> {
    /// A deinflector of these rules.
    pub fn new(rules: &'r Rules) -> Deinflector<'r> {
        let mut by_ending: HashMap<&str, Vec<&SuffixRule>> = HashMap::new();
        for rule in rules.suffixes() {
            by_ending.entry(&rule.ending).or_default().push(rule);
        }
        let lengths = by_ending.keys().map(|ending| ending.chars().count());
        let ending_characters_max = lengths.max().unwrap_or(0);
        Deinflector { rules, by_ending, ending_characters_max }
    }

    /// Every dictionary form that these rules inflect to `word`, each once, in no particular order.
    pub fn readings(&self, word: &str) -> Vec<Reading> {
        // No chain reaches further back than this, and so the rest of a long word is left alone.
        let reach = CHAIN_LINKS_MAX * self.ending_characters_max + 1;
        let head = word.char_indices().rev().nth(reach).map_or("", |(at, _)| &word[..at]);
        let tail: Vec<char> = word[head.len()..].chars().collect();
        let folded: Vec<char> = tail.iter().copied().map(fold_char).collect();

        let mut steps = Vec::new();
        let mut chain = Vec::new();
        self.strip(&folded, folded.len(), None, &mut chain, &mut steps);
        let written = |(kept, form, class, reasons): Step| {
            let (kept, changed) = (&tail[..kept], &form[kept..]);
            let form = head.chars().chain(kept.iter().copied()).chain(changed.iter().copied());
            Reading { form: form.collect(), class, reasons }
        };
        // Two ways to one reading may differ in what they touch: the one that touches less is kept.
        let reading = |step: &Step| (step.1.clone(), step.2, step.3.clone());
        steps.sort_by_cached_key(|step| (reading(step), Reverse(step.0)));
        steps.dedup_by_key(|step| reading(step));
        steps.into_iter().map(written).collect()
    }

    /// Undoes every last step of `text`, which is inflected by paradigm `by` unless it is the word
    /// itself; `chain` holds the steps undone so far, in the order of a chain, and `kept` how many
    /// characters none of them touched.
    fn strip(
        &self,
        text: &[char],
        kept: usize,
        by: Option<usize>,
        chain: &mut Vec<Reason>,
        found: &mut Vec<Step>,
    ) {
        for characters in 0..=text.len().min(self.ending_characters_max) {
            let (before, ending) = text.split_at(text.len() - characters);
            let Some(rules) = self.by_ending.get(ending.iter().collect::<String>().as_str()) else {
                continue;
            };
            let fitting = |rule: &&&SuffixRule| by.is_none_or(|by| rule.then.contains(&by));
            for rule in rules.iter().filter(fitting) {
                let paradigm = &self.rules.paradigms()[rule.paradigm];
                let form: Vec<char> = before.iter().copied().chain(paradigm.cut.chars()).collect();
                let kept = kept.min(before.len());
                chain.insert(0, rule.reason);
                if self.rules.admits(chain) {
                    if self.is_dictionary_form(rule.paradigm, &form) {
                        found.push((kept, form.clone(), paradigm.class, chain.clone()));
                    }
                    self.strip(&form, kept, Some(rule.paradigm), chain, found);
                }
                chain.remove(0);
            }
        }
    }

    fn is_dictionary_form(&self, paradigm: usize, form: &[char]) -> bool {
        let class = self.rules.paradigms()[paradigm].class;
        let form: String = form.iter().collect();
        !form.is_empty() && self.rules.tag(class).is_some() && self.rules.fits(paradigm, &form)
    }
}

/// Characters kept as written, folded form, class, and chain.
type Step = (usize, Vec<char>, Class, Vec<Reason>);
