//! Multiplying the tables out: every auxiliary on every base of every class, as a change of endings.

use std::collections::{BTreeMap, BTreeSet};

use super::table::{AuxiliaryRow, ClassRow};
use super::{Class, Paradigm, Place, Reason, Rules, RulesError, Stem, StemKind, Step, SuffixRule};

pub(super) fn expand(
    classes: &[ClassRow<'_>],
    auxiliaries: &[AuxiliaryRow<'_>],
) -> Result<Rules, RulesError> {
    let mut rules = Rules {
        classes: Vec::new(),
        paradigms: Vec::new(),
        suffixes: Vec::new(),
        reasons: Vec::new(),
        stems: Vec::new(),
        stems_of_class: Vec::new(),
    };
    let bases = paradigms(&mut rules, classes);
    for auxiliary in auxiliaries {
        let reason = reason(&mut rules, auxiliary)?;
        attach(&mut rules, &bases, auxiliary, reason)?;
    }
    refuse_empty_steps(&rules)?;
    stems(&mut rules);
    count("classes", rules.classes.len(), 255)?;
    count("reasons", rules.reasons.len(), 254)?;
    count("stems", rules.stems.len(), 255)?;
    rules.stems_of_class.resize(rules.classes.len(), Vec::new());
    for (number, stem) in (0..).zip(&rules.stems) {
        let Class(class) = rules.paradigms[stem.paradigm].class;
        rules.stems_of_class[usize::from(class)].push(Stem(number));
    }
    Ok(rules)
}

fn count(what: &'static str, found: usize, most: usize) -> Result<(), RulesError> {
    if found <= most { Ok(()) } else { Err(RulesError::TooMany { what, found, most }) }
}

/// Refuses chains that could grow without text: する adds nothing to 勉強, so nothing empty may follow it.
fn refuse_empty_steps(rules: &Rules) -> Result<(), RulesError> {
    let adds_nothing = |rule: &SuffixRule, then: &usize| rule.ending == rules.paradigms[*then].cut;
    let empty_after = |paradigm: usize| {
        let mut of_paradigm = rules.suffixes.iter().filter(move |r| r.paradigm == paradigm);
        of_paradigm.find(|rule| rule.then.iter().any(|then| adds_nothing(rule, then)))
    };
    for rule in &rules.suffixes {
        for then in rule.then.iter().filter(|then| adds_nothing(rule, then)) {
            if let Some(next) = empty_after(*then) {
                let (first, second) = (rules.label(rule.reason), rules.label(next.reason));
                return Err(RulesError::Empty {
                    first: first.to_owned(),
                    second: second.to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// For each base, the paradigms that have it and what replaces their cut part.
type Bases<'t> = BTreeMap<&'t str, Vec<(usize, &'t str)>>;

/// Lines of one class that cut alike are one paradigm.
fn paradigms<'t>(rules: &mut Rules, rows: &[ClassRow<'t>]) -> Bases<'t> {
    let mut bases = Bases::new();
    for row in rows {
        let (place, cut) = match row.cut.chars().next() {
            Some(mark @ '〜') => (Place::After, &row.cut[mark.len_utf8()..]),
            Some('^') => (Place::Whole, &row.cut[1..]),
            _ => (Place::Anywhere, row.cut),
        };
        for name in &row.names {
            let class = number(&mut rules.classes, |class| class == name, || (*name).to_owned());
            let paradigm = Paradigm { class: Class(class as u8), cut: cut.to_owned(), place };
            let known = |other: &Paradigm| *other == paradigm;
            let paradigm = number(&mut rules.paradigms, known, || paradigm.clone());
            for (base, text) in &row.bases {
                bases.entry(base).or_default().push((paradigm, text));
            }
        }
    }
    bases
}

/// The place of what is sought, which is put at the end if it is new.
fn number<T>(all: &mut Vec<T>, sought: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    all.iter().position(sought).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    })
}

fn reason(rules: &mut Rules, auxiliary: &AuxiliaryRow<'_>) -> Result<Reason, RulesError> {
    let AuxiliaryRow { reason, label, kind, line, .. } = *auxiliary;
    let step = || Step { label: reason.to_owned(), label_ja: label.to_owned(), kind };
    let at = number(&mut rules.reasons, |step| step.label == reason, step);
    if rules.reasons[at].label_ja == label && rules.reasons[at].kind == kind {
        Ok(Reason(at as u8))
    } else {
        Err(RulesError::Reason { line, reason: reason.to_owned() })
    }
}

fn attach(
    rules: &mut Rules,
    bases: &Bases<'_>,
    auxiliary: &AuxiliaryRow<'_>,
    reason: Reason,
) -> Result<(), RulesError> {
    let AuxiliaryRow { line, surface, .. } = *auxiliary;
    let then = auxiliary.class.map_or(vec![], |class| continuations(rules, class, surface));
    if let (Some(class), []) = (auxiliary.class, then.as_slice()) {
        let (surface, class) = (surface.to_owned(), class.to_owned());
        return Err(RulesError::Then { line, surface, class });
    }
    let voiced = voiced(surface);
    for base in &auxiliary.bases {
        let unknown = || RulesError::Base { line, base: (*base).to_owned() };
        for (paradigm, text) in bases.get(base).ok_or_else(unknown)? {
            let ending = match text.strip_suffix('゛') {
                Some(text) => [text, &voiced].concat(),
                None => [text, surface].concat(),
            };
            let mut then = then.clone();
            // A word that the cut takes whole leaves nothing before ない, and so `〜ない` does not apply.
            if rules.paradigms[*paradigm].place != Place::After {
                then.retain(|then| ending != rules.paradigms[*then].cut);
            }
            rules.suffixes.push(SuffixRule { paradigm: *paradigm, ending, reason, then });
        }
    }
    Ok(())
}

/// The paradigms that inflect an auxiliary of a class; it never stands alone.
fn continuations(rules: &Rules, class: &str, surface: &str) -> Vec<usize> {
    let fits = |paradigm: &Paradigm| {
        rules.classes[usize::from(paradigm.class.0)] == class
            && paradigm.place != Place::Whole
            && surface.ends_with(&paradigm.cut)
    };
    (0..rules.paradigms.len()).filter(|at| fits(&rules.paradigms[*at])).collect()
}

/// The auxiliary with its first kana voiced, as after 読む and 泳ぐ.
fn voiced(surface: &str) -> String {
    let mut kana = surface.chars();
    let first = match kana.next() {
        Some('て') => 'で',
        Some('た') => 'だ',
        Some('と') => 'ど',
        Some('ち') => 'じ',
        Some(other) => other,
        None => return String::new(),
    };
    std::iter::once(first).chain(kana).collect()
}

/// Every paradigm has a stem where its endings begin; if a word may vanish with its cut, also one behind
/// each first kana; and if all endings begin alike (来), the stem stands behind what they share.
///
/// Files know stems by name. The first paradigm of a class lends its stem the name of the class, the others
/// add what they cut: lines added to the table after it change no name.
fn stems(rules: &mut Rules) {
    let mut named: BTreeSet<Class> = BTreeSet::new();
    for (paradigm, Paradigm { class, cut, place }) in rules.paradigms.iter().enumerate() {
        let first = named.insert(*class);
        let class = rules.classes[usize::from(class.0)].as_str();
        let mut push = |consumed: &str, alone| {
            let name = match (first, consumed) {
                (true, "") => class.to_owned(),
                (_, "") => format!("{class}/{cut}"),
                _ => format!("{class}/{cut}/{consumed}"),
            };
            rules.stems.push(StemKind { name, paradigm, consumed: consumed.to_owned(), alone });
        };
        if *place == Place::After {
            push("", false);
            continue;
        }
        let mut endings: BTreeSet<&str> = BTreeSet::new();
        for rule in rules.suffixes.iter().filter(|rule| rule.paradigm == paradigm) {
            let cuts = rule.then.iter().map(|then| rules.paradigms[*then].cut.as_str());
            endings.extend(cuts.chain([""]).filter_map(|cut| rule.ending.strip_suffix(cut)));
        }
        let shared = shared_beginning(&endings);
        if !shared.is_empty() {
            push(shared, *place == Place::Whole);
            continue;
        }
        if *place == Place::Anywhere {
            push("", false);
        }
        let kana: BTreeSet<char> = endings.iter().filter_map(|e| e.chars().next()).collect();
        for kana in kana {
            push(kana.encode_utf8(&mut [0; 4]), true);
        }
    }
}

fn shared_beginning<'t>(endings: &BTreeSet<&'t str>) -> &'t str {
    // In sorted order the first and the last differ the earliest.
    let (Some(first), Some(last)) = (endings.first(), endings.last()) else { return "" };
    let shared = first.char_indices().zip(last.chars());
    let end = shared.take_while(|((_, a), b)| a == b).last();
    end.map_or("", |((at, kana), _)| &first[..at + kana.len_utf8()])
}
