//! Parts of a card that a client asks for (RFC 6352, section 10.4): whole lines as they are stored, in their order.

use crate::{
    card::is_vcard,
    filter::is_named,
    lines::{Line, lines},
};

/// A property that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialProperty {
    /// The name, perhaps after a group, which must be the same then.
    pub name: String,
    /// Whether its values are wanted too, and not the name and the parameters alone.
    pub with_value: bool,
}

/// The lines of a card that are asked for, between its first and its last; `VERSION` always comes with them.
///
/// ```
/// use sakuin_contacts::{PartialProperty, partial};
/// let card = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nPHOTO;MEDIATYPE=image/png:data\r\nEND:VCARD\r\n";
/// let photo = PartialProperty { name: "photo".to_owned(), with_value: false };
/// let part = "BEGIN:VCARD\r\nVERSION:4.0\r\nPHOTO;MEDIATYPE=image/png:\r\nEND:VCARD\r\n";
/// assert_eq!(partial(card, &[photo]), part);
/// ```
pub fn partial(card: &str, wanted: &[PartialProperty]) -> String {
    let mut part = String::new();
    for line in lines(card) {
        let raw = &card[line.range.clone()];
        if is_vcard(&line, "BEGIN") || is_vcard(&line, "END") || line.is("VERSION") {
            part.push_str(raw);
            continue;
        }
        let found = wanted.iter().filter(|property| is_named(&line, &property.name));
        match found.map(|property| property.with_value).max() {
            Some(true) => part.push_str(raw),
            Some(false) => push_without_value(&mut part, &line, raw),
            None => {}
        }
    }
    part
}

fn push_without_value(part: &mut String, line: &Line<'_>, raw: &str) {
    part.push_str(line.head());
    part.push_str(ending(raw));
}

/// How a line ends.
pub(crate) fn ending(raw: &str) -> &str {
    &raw[raw.trim_end_matches(['\r', '\n']).len()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_in_their_order() {
        let card = "BEGIN:VCARD\nversion:3.0\nitem1.TEL:1\nFN:A\n B\nitem2.TEL:2\nUID:1\nEND:VCARD";
        let ask = |names: &[&str]| {
            let wanted: Vec<_> = names
                .iter()
                .map(|name| PartialProperty { name: (*name).to_owned(), with_value: true })
                .collect();
            partial(card, &wanted)
        };
        let marked = format!("\u{feff}{card}");
        assert!(partial(&marked, &[]).starts_with("\u{feff}BEGIN:VCARD\n"));
        let framed = |inner: &str| format!("BEGIN:VCARD\nversion:3.0\n{inner}END:VCARD");
        assert_eq!(ask(&["fn", "tel"]), framed("item1.TEL:1\nFN:A\n B\nitem2.TEL:2\n"));
        assert_eq!(ask(&["item2.tel"]), framed("item2.TEL:2\n"));
        assert_eq!(ask(&[]), framed(""));
    }
}
