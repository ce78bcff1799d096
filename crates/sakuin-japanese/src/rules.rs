//! The grammar: classes of inflecting words and the auxiliaries that follow them, read from two tables.
//!
//! `rules/classes.tsv` says how a word of each class changes in front of an auxiliary, and
//! `rules/auxiliaries.tsv` what each auxiliary adds and how the result inflects in turn; both explain
//! their columns themselves. Multiplied out they give [`SuffixRule`]s, from which both engines are
//! made: the oracle ([`crate::deinflect`]) strips them off the end of a word, the automaton
//! ([`crate::automaton`]) reads them forward.

mod expand;
mod table;

use std::sync::LazyLock;

pub use table::RulesError;

/// A class of inflecting words, named by its JMdict tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(pub u8);

/// What a stem may be followed by. Files name it by string ([`Rules::stem_name`]), so that an old
/// file works with new rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stem(pub u8);

/// A step of inflection: polite, past, causative …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason(pub u8);

/// The most steps in one chain.
pub const CHAIN_LINKS_MAX: usize = 8;
/// The most て-auxiliaries in one chain.
pub const CHAIN_TE_MAX: usize = 3;

/// The two tables, checked and expanded.
pub struct Rules {
    classes: Vec<String>,
    paradigms: Vec<Paradigm>,
    suffixes: Vec<SuffixRule>,
    reasons: Vec<Step>,
    stems: Vec<StemKind>,
    stems_of_class: Vec<Vec<Stem>>,
}

/// The part a step plays in the control of chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Stands once in a chain.
    Plain,
    /// A て-auxiliary: at most [`CHAIN_TE_MAX`] in a chain, each once; opens voice again.
    Te,
    /// Passive, potential, causative: again only after a step that opens voice.
    Voice,
    /// Stands once and opens voice again.
    Open,
}

/// How the words of one class that end alike inflect: one cut and everything that may replace it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paradigm {
    /// The class these words have.
    pub class: Class,
    /// The end of the dictionary form that is taken away.
    pub cut: String,
    /// What must stand before the cut part.
    pub place: Place,
}

/// What stands before the part that a paradigm cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Something: `〜る`.
    After,
    /// Anything or nothing: `する`.
    Anywhere,
    /// Nothing, and no other paradigm of the class applies to that word: `^ない`.
    Whole,
}

/// One auxiliary on one base of one paradigm, written as a change of endings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuffixRule {
    /// Index of the paradigm of the word that the rule inflects; its cut is what `ending` replaces.
    pub paradigm: usize,
    /// The inflected ending, base and auxiliary together.
    pub ending: String,
    /// The step taken.
    pub reason: Reason,
    /// Indices of the paradigms by which the result inflects in turn.
    pub then: Vec<usize>,
}

struct Step {
    label: String,
    label_ja: String,
    kind: Kind,
}

/// A place where a word stops and inflection begins: a paradigm, and the part of its endings that
/// the trie has already consumed.
struct StemKind {
    name: String,
    paradigm: usize,
    consumed: String,
    /// Only for words of which the cut leaves nothing.
    alone: bool,
}

/// The rules of this version.
pub fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| {
        Rules::parse(CLASSES, AUXILIARIES).expect("the tables of this version are tested")
    });
    &RULES
}

/// The text of the built-in table of classes.
pub const CLASSES: &str = include_str!("../rules/classes.tsv");
/// The text of the built-in table of auxiliaries.
pub const AUXILIARIES: &str = include_str!("../rules/auxiliaries.tsv");

impl Rules {
    /// Reads and expands two tables in the form of [`CLASSES`] and [`AUXILIARIES`].
    ///
    /// # Errors
    /// A table that is malformed, or names a base or class that does not exist, with its line.
    pub fn parse(classes: &str, auxiliaries: &str) -> Result<Rules, RulesError> {
        expand::expand(&table::classes(classes)?, &table::auxiliaries(auxiliaries)?)
    }

    /// The inflecting class of a JMdict tag.
    pub fn class(&self, tag: &str) -> Option<Class> {
        if tag.starts_with('(') {
            return None;
        }
        self.classes.iter().position(|name| name == tag).map(|at| Class(at as u8))
    }

    /// The JMdict tag of a class, or nothing for a class that only auxiliaries have.
    pub fn tag(&self, class: Class) -> Option<&str> {
        let name = self.classes.get(usize::from(class.0))?;
        (!name.starts_with('(')).then_some(name)
    }

    /// The stems that a word of `class` puts into the trie: text (never empty) and what may follow it.
    /// `word` is folded ([`crate::fold`]).
    ///
    /// A word that vanishes with its cut, as する does, gives one stem for each kana it may begin with.
    ///
    /// ```
    /// let rules = sakuin_japanese::rules::rules();
    /// let stems = rules.stems(rules.class("v5k").unwrap(), "書く");
    /// assert_eq!(stems, [("書".to_owned(), rules.stem("v5k").unwrap())]);
    /// ```
    pub fn stems(&self, class: Class, word: &str) -> Vec<(String, Stem)> {
        let text = |number: &Stem| {
            let stem = &self.stems[usize::from(number.0)];
            let before = word.strip_suffix(self.paradigms[stem.paradigm].cut.as_str())?;
            let here = (before.is_empty() || !stem.alone) && self.fits(stem.paradigm, word);
            here.then(|| ([before, &stem.consumed].concat(), *number))
        };
        let stems = self.stems_of_class[usize::from(class.0)].iter().filter_map(text);
        stems.filter(|(text, _)| !text.is_empty()).collect()
    }

    /// The name of a stem in files.
    pub fn stem_name(&self, stem: Stem) -> &str {
        &self.stems[usize::from(stem.0)].name
    }

    /// The names of all stems, that of [`Stem`] 0 first.
    pub fn stem_names(&self) -> impl Iterator<Item = &str> {
        self.stems.iter().map(|stem| stem.name.as_str())
    }

    /// The stem of that name.
    pub fn stem(&self, name: &str) -> Option<Stem> {
        self.stems.iter().position(|stem| stem.name == name).map(|at| Stem(at as u8))
    }

    /// The English label of a reason.
    pub fn label(&self, reason: Reason) -> &str {
        &self.reasons[usize::from(reason.0)].label
    }

    /// The Japanese label of a reason.
    pub fn label_ja(&self, reason: Reason) -> &str {
        &self.reasons[usize::from(reason.0)].label_ja
    }

    /// The part a reason plays in a chain.
    pub fn kind(&self, reason: Reason) -> Kind {
        self.reasons[usize::from(reason.0)].kind
    }

    /// Every reason, in the order of the table.
    pub fn reasons(&self) -> impl Iterator<Item = Reason> {
        (0..self.reasons.len() as u8).map(Reason)
    }

    /// Every class, those that only auxiliaries have among them.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        (0..self.classes.len() as u8).map(Class)
    }

    /// The paradigms, in the order of the table; [`SuffixRule`] counts from its start.
    pub fn paradigms(&self) -> &[Paradigm] {
        &self.paradigms
    }

    /// Both tables multiplied out.
    pub fn suffixes(&self) -> &[SuffixRule] {
        &self.suffixes
    }

    /// Every stem: its paradigm and the part of the endings that it has consumed.
    pub(crate) fn stem_places(&self) -> impl Iterator<Item = (usize, &str)> {
        self.stems.iter().map(|stem| (stem.paradigm, stem.consumed.as_str()))
    }

    /// Whether a dictionary form is inflected by a paradigm.
    pub(crate) fn fits(&self, paradigm: usize, word: &str) -> bool {
        let Paradigm { class, cut, place } = &self.paradigms[paradigm];
        let Some(before) = word.strip_suffix(cut.as_str()) else { return false };
        let taken_whole = || {
            let mut paradigms = self.paradigms.iter();
            paradigms.any(|p| p.class == *class && p.place == Place::Whole && p.cut == word)
        };
        match place {
            Place::Whole => before.is_empty(),
            Place::After => !before.is_empty() && !taken_whole(),
            Place::Anywhere => !taken_whole(),
        }
    }

    /// Whether the steps may stand in one chain, or in one part of a chain, in this order: at most
    /// [`CHAIN_LINKS_MAX`], at most [`CHAIN_TE_MAX`] て-auxiliaries, and no step twice, save voice
    /// that a step in between has opened again.
    pub fn admits(&self, chain: &[Reason]) -> bool {
        let opens = |reason: &Reason| matches!(self.kind(*reason), Kind::Te | Kind::Open);
        let repeats = |(at, reason): (usize, &Reason)| {
            let Some(first) = chain[..at].iter().rposition(|earlier| earlier == reason) else {
                return false;
            };
            self.kind(*reason) != Kind::Voice || !chain[first..at].iter().any(opens)
        };
        let te = chain.iter().filter(|reason| self.kind(**reason) == Kind::Te).count();
        chain.len() <= CHAIN_LINKS_MAX
            && te <= CHAIN_TE_MAX
            && !chain.iter().enumerate().any(repeats)
    }
}
