//! Any bytes as a card: its lines are all of it, parts and edits leave lines whole, and what is rescued is a card.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_contacts::{
    Card, Collation, Edit, Filter, LineConditions, MatchKind, PartialProperty, PropertyFilter, Test, TextMatch, Version,
    Wanted, converted, edit, lines, partial, rescued, split,
};

fuzz_target!(|bytes: &[u8]| {
    for part in split(bytes) {
        let _ = rescued(part, "new");
    }
    let Ok(card) = Card::parse(bytes.to_vec().into()) else { return };
    let text = card.text();
    let end = lines(text).fold(0, |end, line| {
        assert_eq!(line.range.start, end);
        let _ = (line.group(), line.text(), line.parameters().map(|one| one.values().count()).sum::<usize>());
        line.range.end
    });
    assert_eq!(end, text.len());
    let same = edit(text, &[Edit::Add("NOTE:x".to_owned()), Edit::Remove(usize::MAX)]);
    assert!(Card::parse(same.into()).is_ok_and(|other| other.uid() == card.uid()));
    let _ = partial(text, &[PartialProperty { name: "x.note".to_owned(), with_value: false }]);
    for version in [Version::V3, Version::V4] {
        let _ = converted(&card, version);
    }
    let texts = Collation::ALL.map(|collation| TextMatch::new("a", collation, MatchKind::Contains, false));
    let wanted = Wanted::Present(LineConditions { test: Test::AnyOf, texts: texts.into(), parameters: Vec::new() });
    let properties = vec![PropertyFilter { name: "FN".to_owned(), wanted }];
    let _ = Filter { test: Test::AllOf, properties }.matches(text);
});
