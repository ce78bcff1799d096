//! Cards that may be of one person.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{
    Collation,
    collection::{Collection, Entry},
    lines::lines,
};

/// Digits of a telephone number that are compared: those after what says the country.
const DIGITS: usize = 9;
const DIGITS_MIN: usize = 6;

impl Collection {
    /// Groups of cards that share a name, an e-mail address or a telephone number with another of their group, the
    /// largest group first. Costs a look at every card.
    pub fn duplicates(&self) -> Vec<Vec<Arc<Entry>>> {
        let entries: Vec<_> = self.entries().collect();
        let mut groups = Groups((0..entries.len()).collect());
        let mut first: HashMap<(char, String), usize> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            for line in lines(entry.lean()) {
                let Some(key) = key(line.name(), &line.text()) else { continue };
                let other = *first.entry(key).or_insert(at);
                groups.join(at, other);
            }
        }
        let mut found: HashMap<usize, Vec<Arc<Entry>>> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            found.entry(groups.of(at)).or_default().push((*entry).clone());
        }
        let mut found: Vec<_> = found.into_values().filter(|group| group.len() > 1).collect();
        found.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a[0].name.cmp(&b[0].name)));
        found
    }
}

/// What two cards of one person have alike.
fn key(name: &str, text: &str) -> Option<(char, String)> {
    let folded = || Collation::UnicodeCasemap.fold(text.trim()).into_owned();
    let key = match () {
        () if name.eq_ignore_ascii_case("FN") => ('n', folded()),
        () if name.eq_ignore_ascii_case("EMAIL") => ('e', folded()),
        () if name.eq_ignore_ascii_case("TEL") => {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            let long = digits.len() >= DIGITS_MIN;
            ('t', long.then(|| digits[digits.len().saturating_sub(DIGITS)..].to_owned())?)
        }
        () => return None,
    };
    (!key.1.is_empty()).then_some(key)
}

/// Which group each is in: a forest, whose roots name the groups.
struct Groups(Vec<usize>);

impl Groups {
    fn of(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        card::Card,
        collection::{Content, Kind},
    };

    #[test]
    fn cards_that_share_something_are_one_group() {
        let mut book = Collection::new(1, Kind::Book, 1);
        for (seq, more) in [
            "FN:Ada Lovelace",
            "FN:ADA LOVELACE\nTEL:0151 234 56 78",
            "FN:A. King\nTEL:+49 151 2345678\nEMAIL:a@x",
            "FN:Bob\nEMAIL:A@X",
            "FN:Carl\nTEL:110\nEMAIL:",
            "FN:Dora\nTEL:110\nEMAIL:",
        ]
        .iter()
        .enumerate()
        {
            let text = format!("BEGIN:VCARD\nVERSION:4.0\nUID:{seq}\n{more}\nEND:VCARD\n");
            let card = Card::parse(text.into()).unwrap();
            let (name, seq) = (seq.to_string().into(), seq as u64 + 1);
            let content = Content::of_card(&card);
            book.insert(Arc::new(Entry::of(name, seq, 0, card.bytes(), content)));
        }
        let groups: Vec<Vec<_>> = book
            .duplicates()
            .iter()
            .map(|group| group.iter().map(|entry| entry.name.to_string()).collect())
            .collect();
        assert_eq!(groups, [["0", "1", "2", "3"]]);
    }
}
