//! How texts are compared that a client searches for: `i;ascii-casemap` (RFC 4790), `i;unicode-casemap` (RFC 5051) and
//! `i;octet`.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use unicode_normalization::char::decompose_compatible;

/// A way to compare texts: they are alike if their folded forms are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Collation {
    /// Letters of ASCII without their case.
    AsciiCasemap,
    /// All letters without their case, and compatible characters as those they are compatible with.
    #[default]
    UnicodeCasemap,
    /// As they are.
    Octet,
}

impl Collation {
    /// Every collation.
    pub const ALL: [Collation; 3] =
        [Collation::AsciiCasemap, Collation::UnicodeCasemap, Collation::Octet];

    /// Its name in the registry.
    pub fn name(self) -> &'static str {
        match self {
            Collation::AsciiCasemap => "i;ascii-casemap",
            Collation::UnicodeCasemap => "i;unicode-casemap",
            Collation::Octet => "i;octet",
        }
    }

    /// The collation of a name; `default` names the default.
    pub fn named(name: &str) -> Option<Collation> {
        match name {
            "default" => Some(Collation::default()),
            name => Collation::ALL.into_iter().find(|one| one.name() == name),
        }
    }

    /// The form in which texts are compared.
    ///
    /// ```
    /// use sakuin_contacts::Collation;
    /// let fold = |text| Collation::UnicodeCasemap.fold(text).into_owned();
    /// assert_eq!(fold("Ångström"), fold("a\u{30a}NGSTRÖM"));
    /// // Not a full case mapping: the titlecase of ß is itself.
    /// assert_ne!(fold("straße"), fold("STRASSE"));
    /// ```
    pub fn fold(self, text: &str) -> Cow<'_, str> {
        match self {
            Collation::Octet => Cow::Borrowed(text),
            Collation::AsciiCasemap => Cow::Owned(text.to_ascii_uppercase()),
            Collation::UnicodeCasemap if text.is_ascii() => Cow::Owned(text.to_ascii_uppercase()),
            Collation::UnicodeCasemap => {
                let cases = CaseMapper::new();
                let mut folded = String::with_capacity(text.len() + 8);
                for one in text.chars() {
                    decompose_compatible(cases.simple_titlecase(one), |one| folded.push(one));
                }
                Cow::Owned(folded)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_folded_as_far_as_the_collation_says() {
        let alike = |collation: Collation, one, other| collation.fold(one) == collation.fold(other);
        assert!(alike(Collation::AsciiCasemap, "Ada", "aDA"));
        assert!(!alike(Collation::AsciiCasemap, "É", "é"));
        assert!(alike(Collation::UnicodeCasemap, "Éλ", "e\u{301}Λ"));
        assert!(alike(Collation::UnicodeCasemap, "ﬁ①", "ﬁ1"));
        assert!(alike(Collation::UnicodeCasemap, "ǆ", "ǅ"));
        assert!(!alike(Collation::Octet, "a", "A"));
    }

    #[test]
    fn names_are_those_of_the_registry() {
        for collation in Collation::ALL {
            assert_eq!(Collation::named(collation.name()), Some(collation));
        }
        assert_eq!(Collation::named("default"), Some(Collation::UnicodeCasemap));
        assert_eq!(Collation::named("i;basic"), None);
    }
}
