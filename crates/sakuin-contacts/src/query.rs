//! Which cards of a book a filter wants, without a look at every card where a text is looked for.
//!
//! For each property that was ever searched, the folded texts of all cards lie one after another; a text is sought in
//! them as a whole, and where it is found its card is looked at. A column is made at the first search, all versions of
//! a collection share it, and what changed since it was last used is appended.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Collation,
    collection::{Collection, Entry},
    filter::{Filter, PropertyFilter, Test, TextMatch, Wanted, is_named},
    lines::lines,
};

/// The columns of a collection, by property and collation.
#[derive(Debug, Default)]
pub(crate) struct Columns(Mutex<HashMap<(String, Collation), Arc<Column>>>);

/// The folded values of one property.
#[derive(Clone, Debug, Default)]
struct Column {
    /// The history it is of, and up to which change it knows everything.
    epoch: u64,
    seq: u64,
    /// Values, each with a NUL after it, which none has.
    text: String,
    /// Where the values of the entry that a change made begin, in their order.
    rows: Vec<(usize, u64)>,
}

/// Of what a column holds, the part that may be of entries that are no more before it is made anew.
const DEAD_MAX: usize = 2;

impl Collection {
    /// The entries whose cards a filter wants, at most so many, in the order of names. Costs a look at the texts of the
    /// properties it names, or at every card if it looks for no text.
    pub fn query(&self, filter: &Filter, limit: usize) -> Vec<Arc<Entry>> {
        let wants = |entry: &&Arc<Entry>| filter.matches(entry.lean());
        match self.candidates(filter) {
            Some(candidates) => {
                let found: BTreeMap<_, _> = candidates
                    .into_iter()
                    .filter_map(|seq| {
                        let entry = self.entries.get(self.log.get(&seq)?)?;
                        (entry.seq == seq).then(|| (entry.name.clone(), entry))
                    })
                    .collect();
                found.into_values().filter(wants).take(limit).cloned().collect()
            }
            None => self.entries.values().filter(wants).take(limit).cloned().collect(),
        }
    }

    /// The changes that made the entries among which are all that a filter wants; none if no text says so.
    fn candidates(&self, filter: &Filter) -> Option<Vec<u64>> {
        let mut each = filter.properties.iter().map(|property| self.of_property(property));
        match filter.test {
            Test::AnyOf if filter.properties.is_empty() => None,
            Test::AnyOf => Some(each.collect::<Option<Vec<_>>>()?.concat()),
            Test::AllOf => each.find_map(|of| of),
        }
    }

    fn of_property(&self, property: &PropertyFilter) -> Option<Vec<u64>> {
        let Wanted::Present(conditions) = &property.wanted else { return None };
        let mut each = conditions.texts.iter().map(|text| self.of_text(&property.name, text));
        match conditions.test {
            Test::AnyOf if conditions.texts.is_empty() || !conditions.parameters.is_empty() => None,
            Test::AnyOf => Some(each.collect::<Option<Vec<_>>>()?.concat()),
            Test::AllOf => each.find_map(|of| of),
        }
    }

    fn of_text(&self, name: &str, text: &TextMatch) -> Option<Vec<u64>> {
        let needle = text.needle()?;
        // A group narrows what is found, and no more.
        let name = name.rsplit_once('.').map_or(name, |(_, name)| name).to_ascii_uppercase();
        let column = self.column(&name, text.collation())?;
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(at) = needle.find(&column.text.as_bytes()[from..]) {
            let row = column.rows.partition_point(|(start, _)| *start <= from + at) - 1;
            found.push(column.rows[row].1);
            from = column.rows.get(row + 1).map_or(column.text.len(), |(start, _)| *start);
        }
        Some(found)
    }

    /// The column as it is for this version; none if it is of a later one.
    fn column(&self, name: &str, collation: Collation) -> Option<Arc<Column>> {
        let mut columns = self.columns.0.lock().unwrap_or_else(PoisonError::into_inner);
        let column = columns.entry((name.to_owned(), collation)).or_default();
        let is_other = column.epoch != self.epoch;
        if !is_other && column.seq > self.seq {
            return None;
        }
        if is_other || column.rows.len() > DEAD_MAX * self.len() + 64 {
            *column = Arc::new(Column { epoch: self.epoch, ..Column::default() });
        }
        if column.seq < self.seq {
            let column = Arc::make_mut(column);
            for (seq, of) in self.log.range(column.seq + 1..) {
                if let Some(entry) = self.entries.get(of) {
                    column.push(*seq, entry, name, collation);
                }
            }
            column.seq = self.seq;
        }
        Some(column.clone())
    }
}

impl Column {
    fn push(&mut self, seq: u64, entry: &Entry, name: &str, collation: Collation) {
        let start = self.text.len();
        for line in lines(entry.lean()).filter(|line| is_named(line, name)) {
            self.text.push_str(&collation.fold(&line.text()));
            self.text.push('\0');
        }
        if self.text.len() > start {
            self.rows.push((start, seq));
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        card::Card,
        collection::{Content, Kind},
        filter::{LineConditions, MatchKind, ParameterFilter},
    };

    fn entry(name: &str, seq: u64, email: &str, note: &str) -> Arc<Entry> {
        let card = format!(
            "BEGIN:VCARD\nVERSION:4.0\nUID:{name}\nx.EMAIL;TYPE=home:{email}\nEMAIL:{note}@x\nNOTE:{note}\nEND:VCARD\n"
        );
        let card = Card::parse(Bytes::from(card)).unwrap();
        Arc::new(Entry::of(name.into(), seq, 0, card.bytes(), Content::of_card(&card)))
    }

    fn text() -> impl Strategy<Value = TextMatch> {
        let kind = prop_oneof![
            Just(MatchKind::Equals),
            Just(MatchKind::Contains),
            Just(MatchKind::StartsWith),
            Just(MatchKind::EndsWith)
        ];
        ("[abA@x]{0,3}", any::<bool>(), kind, prop::bool::weighted(0.2)).prop_map(
            |(text, is_ascii, kind, is_negated)| {
                let collation =
                    if is_ascii { Collation::AsciiCasemap } else { Collation::UnicodeCasemap };
                TextMatch::new(&text, collation, kind, is_negated)
            },
        )
    }

    fn test() -> impl Strategy<Value = Test> {
        prop_oneof![Just(Test::AnyOf), Just(Test::AllOf)]
    }

    fn property() -> impl Strategy<Value = PropertyFilter> {
        let name = prop_oneof![Just("EMAIL"), Just("note"), Just("X.email"), Just("TEL")];
        let parameter = ParameterFilter { name: "TYPE".to_owned(), wanted: Wanted::Present(None) };
        let parameters = prop_oneof![4 => Just(Vec::new()), 1 => Just(vec![parameter])];
        let present = (test(), prop::collection::vec(text(), 0..3), parameters).prop_map(
            |(test, texts, parameters)| Wanted::Present(LineConditions { test, texts, parameters }),
        );
        let wanted = prop_oneof![1 => Just(Wanted::Absent), 5 => present];
        (name, wanted).prop_map(|(name, wanted)| PropertyFilter { name: name.to_owned(), wanted })
    }

    proptest! {
        /// Columns find what a look at every card finds, while cards come, change and go.
        #[test]
        fn columns_find_what_a_look_at_every_card_finds(
            steps in prop::collection::vec((0..8u8, "[abé]{0,4}", "[abé]{0,3}", any::<bool>()), 1..60),
            filters in prop::collection::vec((test(), prop::collection::vec(property(), 0..3)), 1..8),
        ) {
            let mut collection = Collection::new(1, Kind::Book, 1);
            let mut older = collection.clone();
            for (at, (name, email, note, is_put)) in steps.into_iter().enumerate() {
                let name: Arc<str> = format!("n{name}").into();
                let seq = collection.seq() + 1;
                match is_put || collection.entry(&name).is_none() {
                    true => collection.insert(entry(&name, seq, &email, &note)),
                    false => collection.remove(&name, seq),
                }
                if at % 7 == 3 {
                    older = collection.clone();
                }
                let (test, properties) = filters[at % filters.len()].clone();
                let filter = Filter { test, properties };
                for version in [&collection, &older] {
                    let found = version.query(&filter, usize::MAX);
                    let wanted: Vec<_> = version.entries().filter(|entry| filter.matches(entry.lean())).collect();
                    let found: Vec<_> = found.iter().map(|entry| &entry.name).collect();
                    prop_assert_eq!(found, wanted.iter().map(|entry| &entry.name).collect::<Vec<_>>());
                    prop_assert!(version.query(&filter, 1).len() <= 1);
                }
            }
        }
    }
}
