//! The grammar: classes of inflecting words and the auxiliaries that follow them, read from two tables.

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

/// The two tables, checked and expanded.
pub struct Rules {}

/// The rules of this version.
pub fn rules() -> &'static Rules {
    unimplemented!()
}

impl Rules {
    /// The inflecting class of a JMdict tag.
    pub fn class(&self, _tag: &str) -> Option<Class> {
        unimplemented!()
    }
    /// The stems that a word of `class` puts into the trie: text (never empty) and what may follow it.
    /// `word` is folded ([`crate::fold`]).
    pub fn stems(&self, _class: Class, _word: &str) -> Vec<(String, Stem)> {
        unimplemented!()
    }
    /// The name of a stem in files.
    pub fn stem_name(&self, _stem: Stem) -> &str {
        unimplemented!()
    }
    /// The stem of that name.
    pub fn stem(&self, _name: &str) -> Option<Stem> {
        unimplemented!()
    }
    /// The English label of a reason.
    pub fn label(&self, _reason: Reason) -> &str {
        unimplemented!()
    }
    /// The Japanese label of a reason.
    pub fn label_ja(&self, _reason: Reason) -> &str {
        unimplemented!()
    }
}
