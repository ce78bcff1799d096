//! Changes of a card that leave every other line as it is: lines are taken out and put in, never printed anew.

use crate::{card::is_vcard, lines::lines, partial::ending};

/// A change of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The line of this number, from 0, becomes another.
    Replace(usize, String),
    /// The line of this number, from 0, goes.
    Remove(usize),
    /// A line comes before the last.
    Add(String),
}

/// The longest line that is written, in bytes without its end.
const LINE_BYTES_MAX: usize = 75;

/// Applies changes to a card. New lines are given without folds or ends, escaped; they are folded, and end as the
/// card's first line does. Numbers are those of [`lines`]; what names no line changes nothing.
///
/// ```
/// use sakuin_contacts::{Edit, edit};
/// let card = "BEGIN:VCARD\nVERSION:4.0\nUID:1\nfn:Ada\nEND:VCARD\n";
/// let edits = [Edit::Replace(3, "FN:Ada Lovelace".to_owned()), Edit::Add("NOTE:first".to_owned())];
/// let wanted = "BEGIN:VCARD\nVERSION:4.0\nUID:1\nFN:Ada Lovelace\nNOTE:first\nEND:VCARD\n";
/// assert_eq!(edit(card, &edits), wanted);
/// ```
pub fn edit(card: &str, edits: &[Edit]) -> String {
    let end = match lines(card).next().map(|line| ending(&card[line.range])) {
        Some("") | None => "\r\n",
        Some(end) => end,
    };
    let mut edited = String::with_capacity(card.len() + 256);
    for (number, line) in lines(card).enumerate() {
        if is_vcard(&line, "END") {
            for edit in edits {
                if let Edit::Add(new) = edit {
                    push_folded(&mut edited, new, end);
                }
            }
        }
        let change = edits.iter().rev().find(|edit| match edit {
            Edit::Replace(at, _) | Edit::Remove(at) => *at == number,
            Edit::Add(_) => false,
        });
        match change {
            Some(Edit::Replace(_, new)) => push_folded(&mut edited, new, end),
            Some(_) => {}
            None => edited.push_str(&card[line.range.clone()]),
        }
    }
    edited
}

/// A card of version 3.0, which every program knows, of lines that are given as [`edit`] takes them.
pub fn card_of(lines: &[String]) -> String {
    let added: Vec<_> = lines.iter().cloned().map(Edit::Add).collect();
    edit("BEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n", &added)
}

fn push_folded(card: &mut String, line: &str, end: &str) {
    let mut length = 0;
    for one in line.chars().filter(|one| !matches!(one, '\r' | '\n')) {
        if length + one.len_utf8() > LINE_BYTES_MAX {
            card.push_str(end);
            card.push(' ');
            length = 1;
        }
        card.push(one);
        length += one.len_utf8();
    }
    card.push_str(end);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn new_lines_are_folded_between_characters() {
        let card = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nEND:VCARD\r\n";
        let note = format!("NOTE:{}", "é".repeat(60));
        let edited = edit(card, &[Edit::Add(note.clone())]);
        assert!(edited.split("\r\n").all(|line| line.len() <= LINE_BYTES_MAX), "{edited}");
        let line = lines(&edited).nth(3).unwrap();
        assert_eq!(format!("{}:{}", line.name(), line.value()), note);
    }

    proptest! {
        /// Every line that no change names is there afterwards, byte for byte and in its order.
        #[test]
        fn other_lines_stay(
            inner in prop::collection::vec("[a-z]{1,9}:([a-z]|\r\n |;){0,90}(\r\n|\n)", 0..8),
            at in 0..12usize,
            value in "[a-zé]{0,200}",
            is_removed in any::<bool>(),
        ) {
            let card = format!("BEGIN:VCARD\r\n{}END:VCARD\r\n", inner.concat());
            let before: Vec<_> = lines(&card).map(|line| card[line.range].to_owned()).collect();
            let change = match is_removed {
                true => Edit::Remove(at),
                false => Edit::Replace(at, format!("NOTE:{value}")),
            };
            let edited = edit(&card, &[change]);
            let after: Vec<_> = lines(&edited).map(|line| edited[line.range].to_owned()).collect();
            let is_there = at < before.len();
            let gap = usize::from(is_there && !is_removed);
            let at = at.min(before.len());
            prop_assert_eq!(&after[..at], &before[..at]);
            prop_assert_eq!(&after[at + gap..], &before[at + usize::from(is_there)..]);
        }
    }
}
