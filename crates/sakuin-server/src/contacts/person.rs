//! A contact as people see it: what its lines say, under the names people have for them. Lines that have no place here
//! stay in the card as they are.

use std::borrow::Cow;

use sakuin_contacts::{Line, lines, unescaped};

use super::photo::is_photo;

/// A property that pages show and forms change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) form: Form,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    /// Text of several lines.
    Lines,
    /// A URI: nothing in it is escaped.
    Uri,
    /// Texts between commas.
    List,
    /// Components between semicolons, which are called so.
    Parts(&'static [&'static str]),
}

pub(super) const NAME: &[&str] =
    &["Family name", "Given name", "Middle names", "Before the name", "After the name"];
pub(super) const ADDRESS: &[&str] =
    &["PO box", "Addition", "Street", "City", "Region", "Postal code", "Country"];
const ORGANISATION: &[&str] = &["Organisation", "Department"];

/// In the order of a page.
pub(super) const PROPERTIES: [Property; 15] = [
    property("FN", "Name", Form::Text),
    property("N", "Parts of the name", Form::Parts(NAME)),
    property("NICKNAME", "Nickname", Form::List),
    property("ORG", "Organisation", Form::Parts(ORGANISATION)),
    property("TITLE", "Job", Form::Text),
    property("ROLE", "Role", Form::Text),
    property("TEL", "Phone", Form::Text),
    property("EMAIL", "E-mail", Form::Text),
    property("IMPP", "Chat", Form::Uri),
    property("ADR", "Address", Form::Parts(ADDRESS)),
    property("URL", "Web page", Form::Uri),
    property("BDAY", "Birthday", Form::Text),
    property("ANNIVERSARY", "Anniversary", Form::Text),
    property("CATEGORIES", "Labels", Form::List),
    property("NOTE", "Note", Form::Lines),
];

const fn property(name: &'static str, label: &'static str, form: Form) -> Property {
    Property { name, label, form }
}

/// What a person has no use for.
const TECHNICAL: [&str; 7] = ["BEGIN", "END", "VERSION", "UID", "REV", "PRODID", "X-ABLABEL"];

/// A contact.
pub(super) struct Person {
    pub(super) name: String,
    pub(super) initials: String,
    /// One of eight colours, the same for the same name.
    pub(super) hue: u8,
    /// What stands below the name in a list: the organisation, or the first address.
    pub(super) line: String,
    pub(super) has_photo: bool,
    /// In the order of [`PROPERTIES`].
    pub(super) fields: Vec<Field>,
    /// Lines of the card that no page shows.
    pub(super) kept: usize,
}

/// A line that pages show.
pub(super) struct Field {
    /// Its number in the card.
    pub(super) number: usize,
    pub(super) property: &'static Property,
    /// `home`, `work, mobile`, or what its owner calls it.
    pub(super) sort: String,
    pub(super) parts: Vec<Part>,
    /// Whether it is written so that a form could not write it again.
    pub(super) is_fixed: bool,
}

/// A component of a value, or all of it.
pub(super) struct Part {
    pub(super) label: &'static str,
    pub(super) value: String,
}

impl Person {
    /// Reads a card.
    pub(super) fn of(card: &str) -> Person {
        let all: Vec<_> = lines(card).collect();
        let mut fields: Vec<_> =
            all.iter().enumerate().filter_map(|(at, line)| Field::of(at, line, &all)).collect();
        fields.sort_by_key(|field| PROPERTIES.iter().position(|it| it == field.property));
        let first = |name: &str| {
            let found = fields.iter().find(|field| field.property.name == name);
            found.map(Field::text).filter(|text| !text.trim().is_empty())
        };
        let named = first("FN").or_else(|| first("N")).or_else(|| first("ORG"));
        let name = named.or_else(|| first("EMAIL")).unwrap_or_else(|| "Without a name".to_owned());
        let line = ["ORG", "EMAIL", "TEL"].into_iter().filter_map(first).find(|line| *line != name);
        let is_unknown = |line: &&Line<'_>| {
            let known = TECHNICAL.iter().any(|name| line.is(name)) || is_photo(line);
            !known && !line.name().is_empty() && property_of(line).is_none()
        };
        Person {
            initials: initials(&name),
            hue: name.bytes().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte)) % 8,
            line: line.unwrap_or_default(),
            has_photo: all.iter().any(is_photo),
            kept: all.iter().filter(is_unknown).count(),
            name,
            fields,
        }
    }

    /// What a page lists below the name.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Field> {
        let fields = self.fields.iter();
        fields.filter(|it| !matches!(it.property.name, "FN" | "N") && !it.text().trim().is_empty())
    }

    /// What a form changes.
    pub(super) fn editable(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| !field.is_fixed)
    }
}

fn property_of(line: &Line<'_>) -> Option<&'static Property> {
    PROPERTIES.iter().find(|property| line.is(property.name))
}

fn initials(name: &str) -> String {
    let words: Vec<_> =
        name.split_whitespace().filter(|it| it.starts_with(char::is_alphanumeric)).collect();
    let ends = match words[..] {
        [] => return "?".to_owned(),
        [one] => vec![one],
        [first, .., last] => vec![first, last],
    };
    ends.into_iter().filter_map(|word| word.chars().next()).flat_map(char::to_uppercase).collect()
}

impl Field {
    /// What a line says, if pages show it.
    pub(super) fn of(number: usize, line: &Line<'_>, all: &[Line<'_>]) -> Option<Field> {
        let property = property_of(line)?;
        let is_fixed = line.parameters().any(|it| it.name.eq_ignore_ascii_case("ENCODING"));
        let part = |label, value: Cow<'_, str>| Part { label, value: value.into_owned() };
        let parts = match property.form {
            Form::Text | Form::Lines | Form::Uri => vec![part(property.label, line.text())],
            Form::List => {
                let each: Vec<_> = split(line.value(), ',').into_iter().map(unescaped).collect();
                vec![part(property.label, each.join(", ").into())]
            }
            Form::Parts(labels) => {
                let written = split(line.value(), ';');
                let count = labels.len().max(written.len());
                let label = |at: usize| labels.get(at).copied().unwrap_or("More");
                let value = |at: usize| written.get(at).map_or("".into(), |it| unescaped(it));
                (0..count).map(|at| part(label(at), value(at))).collect()
            }
        };
        Some(Field { number, property, sort: sort(line, all), parts, is_fixed })
    }

    /// All of it in a line, or a few.
    pub(super) fn text(&self) -> String {
        let value = |at: usize| self.parts.get(at).map_or("", |part| part.value.trim());
        let joined = |order: &[usize], between: &str| {
            let parts = order.iter().map(|&at| value(at)).filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(between)
        };
        match self.property.name {
            "N" => joined(&[3, 1, 2, 0, 4], " "),
            "ADR" => {
                let lines =
                    [value(0), value(1), value(2), &joined(&[5, 3], " "), value(4), value(6)];
                let lines = lines.into_iter().filter(|line| !line.is_empty());
                lines.collect::<Vec<_>>().join("\n")
            }
            _ => joined(&(0..self.parts.len()).collect::<Vec<_>>(), ", "),
        }
    }

    /// Where it leads: a call, a letter, a page of the web.
    pub(super) fn href(&self) -> Option<String> {
        let text = self.text();
        match self.property.name {
            "TEL" => {
                let number = text.strip_prefix("tel:").unwrap_or(&text);
                let number = number.chars().filter(|it| it.is_ascii_digit() || "+*#".contains(*it));
                Some(format!("tel:{}", number.collect::<String>()))
            }
            "EMAIL" => Some(format!("mailto:{text}")),
            "URL" if text.starts_with("https://") || text.starts_with("http://") => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_long(&self) -> bool {
        self.property.form == Form::Lines
    }
}

/// What lies between separators that are not escaped, as it is written.
pub(super) fn split(value: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut is_escaped) = (Vec::new(), 0, false);
    for (at, one) in value.char_indices() {
        if one == separator && !is_escaped {
            parts.push(&value[start..at]);
            start = at + 1;
        }
        is_escaped = one == '\\' && !is_escaped;
    }
    parts.push(&value[start..]);
    parts
}

/// Of which sort a line is: what its group's label says, or its types.
fn sort(line: &Line<'_>, all: &[Line<'_>]) -> String {
    if let Some(group) = line.group() {
        let is_label = |it: &&Line<'_>| it.is("X-ABLABEL") && it.group() == Some(group);
        if let Some(label) = all.iter().find(is_label) {
            let text = label.text();
            let own = text.strip_prefix("_$!<").and_then(|it| it.strip_suffix(">!$_"));
            return own.map_or_else(|| text.to_string(), str::to_lowercase);
        }
    }
    let types = line.parameters().filter(|it| it.name.eq_ignore_ascii_case("TYPE"));
    let types = types.flat_map(|it| it.values().map(str::to_lowercase).collect::<Vec<_>>());
    let types = types.filter_map(|one| match &*one {
        "" | "pref" | "internet" | "voice" | "x-internet" => None,
        "cell" => Some("mobile".to_owned()),
        _ => Some(one),
    });
    types.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_people_read_it() {
        let card = sakuin_contacts::card_of(
            &[
                "X-SOCIAL:odd",
                "EMAIL;TYPE=INTERNET,HOME;PREF=1:ada@example.org",
                "N:Lovelace;Ada;King\\, Byron;Dr.;",
                "FN:Ada  Lovelace",
                "item1.TEL:+44 (0)20 1",
                "item1.X-ABLabel:_$!<Other>!$_",
                "ORG:Analytical\\; Engines;Poetry;Deep",
                "ADR;TYPE=work:;;12\\, St James's;London;;SW1;UK",
                "NICKNAME:Enchantress,Lady\\, L",
                "URL:javascript:alert(1)",
                "NOTE:one\\ntwo",
                "UID:1",
            ]
            .map(str::to_owned),
        );
        let ada = Person::of(&card);
        assert_eq!((&*ada.name, &*ada.initials, ada.kept), ("Ada  Lovelace", "AL", 1));
        assert_eq!(ada.line, "Analytical; Engines, Poetry, Deep");
        let shown: Vec<_> = ada
            .shown()
            .map(|it| {
                format!(
                    "{}|{}|{}|{}",
                    it.property.label,
                    it.sort,
                    it.text(),
                    it.href().unwrap_or_default()
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "Nickname||Enchantress, Lady, L|",
                "Organisation||Analytical; Engines, Poetry, Deep|",
                "Phone|other|+44 (0)20 1|tel:+440201",
                "E-mail|home|ada@example.org|mailto:ada@example.org",
                "Address|work|12, St James's\nSW1 London\nUK|",
                "Web page||javascript:alert(1)|",
                "Note||one\ntwo|",
            ]
        );
        assert_eq!(Person::of("BEGIN:VCARD\nEND:VCARD").name, "Without a name");
        assert_eq!(initials("山田 太郎"), "山太");
    }

    #[test]
    fn components_end_at_what_is_not_escaped() {
        assert_eq!(split("a\\;b;c\\\\;d;", ';'), ["a\\;b", "c\\\\", "d", ""]);
    }
}
