//! Which cards a query wants (RFC 6352, section 10.5), and whether a card is one of them.

use std::borrow::Cow;

use memchr::memmem;

use crate::{
    Collation,
    lines::{Line, lines},
};

/// What a query wants of a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Whether one property is enough.
    pub test: Test,
    /// What is wanted of properties; a filter of none wants every card.
    pub properties: Vec<PropertyFilter>,
}

/// How conditions are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Test {
    /// One of them is enough.
    #[default]
    AnyOf,
    /// All must hold.
    AllOf,
}

/// What is wanted of the properties of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyFilter {
    /// The name, perhaps after a group: `EMAIL`, `item1.EMAIL`.
    pub name: String,
    /// What must be so.
    pub wanted: Wanted<LineConditions>,
}

/// Whether something must be there, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted<C> {
    /// It must not.
    Absent,
    /// It must, and be so.
    Present(C),
}

/// What is wanted of one line; of none it is wanted that the line is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineConditions {
    /// Whether one condition is enough. They are joined on one and the same line.
    pub test: Test,
    /// Of its value.
    pub texts: Vec<TextMatch>,
    /// Of its parameters.
    pub parameters: Vec<ParameterFilter>,
}

/// What is wanted of the parameters of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterFilter {
    /// The name: `TYPE`.
    pub name: String,
    /// What must be so; one of its values is enough.
    pub wanted: Wanted<Option<TextMatch>>,
}

/// A text that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMatch {
    /// As it is compared.
    folded: String,
    collation: Collation,
    kind: MatchKind,
    is_negated: bool,
}

/// Where a text must lie in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchKind {
    /// It is the whole.
    Equals,
    /// Anywhere.
    #[default]
    Contains,
    /// At the beginning.
    StartsWith,
    /// At the end.
    EndsWith,
}

impl Test {
    fn holds(self, mut conditions: impl Iterator<Item = bool>) -> bool {
        match self {
            Test::AnyOf => conditions.any(|it| it),
            Test::AllOf => conditions.all(|it| it),
        }
    }
}

impl Filter {
    /// Whether it wants this card, which is valid. Costs a look at every line.
    pub fn matches(&self, card: &str) -> bool {
        if self.properties.is_empty() {
            return true;
        }
        let lines: Vec<_> = lines(card).collect();
        self.test.holds(self.properties.iter().map(|property| property.matches(&lines)))
    }
}

impl PropertyFilter {
    fn matches(&self, lines: &[Line<'_>]) -> bool {
        let mut named = lines.iter().filter(|line| is_named(line, &self.name));
        match &self.wanted {
            Wanted::Absent => named.next().is_none(),
            Wanted::Present(conditions) => named.any(|line| conditions.hold(line)),
        }
    }
}

/// Whether a line has a name; one with a group must have that group too.
pub(crate) fn is_named(line: &Line<'_>, name: &str) -> bool {
    match name.rsplit_once('.') {
        None => line.is(name),
        Some((group, name)) => {
            line.is(name) && line.group().is_some_and(|own| own.eq_ignore_ascii_case(group))
        }
    }
}

impl LineConditions {
    fn hold(&self, line: &Line<'_>) -> bool {
        if self.texts.is_empty() && self.parameters.is_empty() {
            return true;
        }
        let value = line.text();
        let texts = self.texts.iter().map(|text| text.matches(&value));
        self.test.holds(texts.chain(self.parameters.iter().map(|one| one.matches(line))))
    }
}

impl ParameterFilter {
    fn matches(&self, line: &Line<'_>) -> bool {
        let named = |name: &str| name.eq_ignore_ascii_case(&self.name);
        let mut parameters = line.parameters().filter(|one| named(one.name)).peekable();
        match &self.wanted {
            Wanted::Absent => parameters.peek().is_none(),
            Wanted::Present(None) => parameters.peek().is_some(),
            Wanted::Present(Some(text)) => {
                let mut values = parameters.flat_map(|one| one.values().collect::<Vec<_>>());
                match text.is_negated {
                    false => values.any(|value| text.matches(value)),
                    // That none of them is it, of one that is there.
                    true => {
                        line.parameters().any(|one| named(one.name))
                            && values.all(|value| text.matches(value))
                    }
                }
            }
        }
    }
}

impl TextMatch {
    /// Looks for a text.
    pub fn new(text: &str, collation: Collation, kind: MatchKind, is_negated: bool) -> TextMatch {
        TextMatch { folded: collation.fold(text).into_owned(), collation, kind, is_negated }
    }

    /// How it compares.
    pub(crate) fn collation(&self) -> Collation {
        self.collation
    }

    /// Whether it wants this value.
    pub fn matches(&self, value: &str) -> bool {
        let folded: Cow<'_, str> = self.collation.fold(value);
        self.matches_folded(&folded)
    }

    /// Whether it wants a value that is folded already.
    pub(crate) fn matches_folded(&self, value: &str) -> bool {
        let found = match self.kind {
            MatchKind::Equals => value == self.folded,
            MatchKind::Contains => value.contains(&self.folded),
            MatchKind::StartsWith => value.starts_with(&self.folded),
            MatchKind::EndsWith => value.ends_with(&self.folded),
        };
        found != self.is_negated
    }

    /// What every folded value that it wants contains; none if there is no such text.
    pub(crate) fn needle(&self) -> Option<memmem::Finder<'_>> {
        (!self.is_negated && !self.folded.is_empty()).then(|| memmem::Finder::new(&self.folded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &str = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nFN:Ada Lovelace\r\n\
        item1.EMAIL;TYPE=home,pref:ada@Example.org\r\nEMAIL;TYPE=work:count\\,ess@example.com\r\n\
        NOTE:\r\nEND:VCARD\r\n";

    fn text(text: &str, kind: MatchKind) -> TextMatch {
        TextMatch::new(text, Collation::UnicodeCasemap, kind, false)
    }

    fn not(text: &str) -> TextMatch {
        TextMatch::new(text, Collation::UnicodeCasemap, MatchKind::Contains, true)
    }

    fn of(
        name: &str,
        test: Test,
        texts: &[TextMatch],
        parameters: &[(&str, Wanted<Option<TextMatch>>)],
    ) -> PropertyFilter {
        let parameters = parameters.iter().map(|(name, wanted)| ParameterFilter {
            name: (*name).to_owned(),
            wanted: wanted.clone(),
        });
        let conditions =
            LineConditions { test, texts: texts.to_vec(), parameters: parameters.collect() };
        PropertyFilter { name: name.to_owned(), wanted: Wanted::Present(conditions) }
    }

    fn check(test: Test, properties: &[PropertyFilter], wanted: bool) {
        let filter = Filter { test, properties: properties.to_vec() };
        assert_eq!(filter.matches(CARD), wanted, "{filter:#?}");
    }

    #[test]
    fn kinds_of_matches() {
        for (kind, good, bad) in [
            (MatchKind::Equals, "ADA lovelace", "ada"),
            (MatchKind::Contains, "a LOVE", "love ada"),
            (MatchKind::StartsWith, "ada", "lovelace"),
            (MatchKind::EndsWith, "LACE", "ada"),
        ] {
            check(Test::AnyOf, &[of("fn", Test::AnyOf, &[text(good, kind)], &[])], true);
            check(Test::AnyOf, &[of("fn", Test::AnyOf, &[text(bad, kind)], &[])], false);
        }
        check(
            Test::AnyOf,
            &[of("EMAIL", Test::AnyOf, &[text("count,ess", MatchKind::StartsWith)], &[])],
            true,
        );
    }

    #[test]
    fn presence_and_absence() {
        let absent = |name: &str| PropertyFilter { name: name.to_owned(), wanted: Wanted::Absent };
        check(Test::AnyOf, &[absent("TEL")], true);
        check(Test::AnyOf, &[absent("NOTE")], false);
        check(Test::AnyOf, &[of("NOTE", Test::AnyOf, &[], &[])], true);
        check(Test::AnyOf, &[of("item1.email", Test::AnyOf, &[], &[])], true);
        check(Test::AnyOf, &[of("item2.email", Test::AnyOf, &[], &[])], false);
        check(Test::AnyOf, &[], true);
        check(Test::AllOf, &[absent("TEL"), of("FN", Test::AnyOf, &[], &[])], true);
        check(Test::AllOf, &[absent("FN"), of("FN", Test::AnyOf, &[], &[])], false);
    }

    #[test]
    fn all_conditions_hold_on_one_line() {
        let work = ("type", Wanted::Present(Some(text("WORK", MatchKind::Equals))));
        let ada = text("ada", MatchKind::Contains);
        check(
            Test::AnyOf,
            &[of("EMAIL", Test::AllOf, std::slice::from_ref(&ada), std::slice::from_ref(&work))],
            false,
        );
        check(Test::AnyOf, &[of("EMAIL", Test::AnyOf, &[ada], &[work])], true);
    }

    #[test]
    fn parameters_and_negation() {
        let of_type = |wanted| of("item1.EMAIL", Test::AllOf, &[], &[("TYPE", wanted)]);
        check(Test::AnyOf, &[of_type(Wanted::Present(None))], true);
        check(Test::AnyOf, &[of_type(Wanted::Absent)], false);
        check(
            Test::AnyOf,
            &[of_type(Wanted::Present(Some(text("pref", MatchKind::Equals))))],
            true,
        );
        check(Test::AnyOf, &[of_type(Wanted::Present(Some(not("pref"))))], false);
        check(Test::AnyOf, &[of_type(Wanted::Present(Some(not("work"))))], true);
        check(Test::AnyOf, &[of("FN", Test::AnyOf, &[not("ada")], &[])], false);
        check(Test::AnyOf, &[of("EMAIL", Test::AnyOf, &[not("ada")], &[])], true);
        check(Test::AnyOf, &[of("TEL", Test::AnyOf, &[not("1")], &[])], false);
    }
}
