//! Any filter over any card: what all conditions hold of, one holds of; and nothing is both there and not there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_contacts::{
    Collation, Filter, LineConditions, MatchKind, ParameterFilter, PropertyFilter, Test, TextMatch, Wanted,
};

/// A text, how it is compared, and whether it is wanted of a parameter.
type Text = (String, u8, bool);

fuzz_target!(|input: (Vec<(String, Vec<Text>)>, String)| {
    let (properties, card) = input;
    let of_test = |test: Test| Filter {
        test,
        properties: properties
            .iter()
            .map(|(name, texts)| property(name, Wanted::Present(conditions(test, texts))))
            .collect(),
    };
    let (all, any) = (of_test(Test::AllOf).matches(&card), of_test(Test::AnyOf).matches(&card));
    assert!(any || !all);
    for (name, _) in &properties {
        let is_there = matches(property(name, Wanted::Present(LineConditions::default())), &card);
        assert_ne!(is_there, matches(property(name, Wanted::Absent), &card));
    }
});

fn matches(property: PropertyFilter, card: &str) -> bool {
    Filter { test: Test::AllOf, properties: vec![property] }.matches(card)
}

fn property(name: &str, wanted: Wanted<LineConditions>) -> PropertyFilter {
    PropertyFilter { name: name.to_owned(), wanted }
}

fn conditions(test: Test, texts: &[Text]) -> LineConditions {
    let matched = |(text, kind, _): &Text| {
        let kinds = [MatchKind::Equals, MatchKind::Contains, MatchKind::StartsWith, MatchKind::EndsWith];
        let collation = Collation::ALL[usize::from(kind >> 2) % Collation::ALL.len()];
        TextMatch::new(text, collation, kinds[usize::from(kind & 3)], kind & 64 != 0)
    };
    let of = |is_parameter: bool| texts.iter().filter(move |(_, _, it)| *it == is_parameter);
    LineConditions {
        test,
        texts: of(false).map(matched).collect(),
        parameters: of(true)
            .map(|text| ParameterFilter { name: "TYPE".to_owned(), wanted: Wanted::Present(Some(matched(text))) })
            .collect(),
    }
}
