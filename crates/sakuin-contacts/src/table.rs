//! Contacts in a table: a row each, and columns as Google, Outlook and people name them. What a column says that is
//! known becomes a property; what any other says is kept in the note.

use csv::{ReaderBuilder, StringRecord};

use crate::{
    import::{Import, uid_of},
    lines::escaped,
};

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Column {
    /// The whole name.
    Name,
    /// A part of the name, by its place in `N`.
    NamePart(usize),
    /// A value of a property of its own.
    Value(&'static str),
    /// A part of what a person does, by its place in `ORG`.
    Organisation(usize),
    /// A property with many, and of which sort this one is: `TEL`, `home`.
    Sorted(&'static str, String),
    /// The sort of the column after it that is called so: `e-mail 1`.
    SortOf(String),
    /// A part of an address, by which address and its place in `ADR`.
    Address(String, usize),
    /// Labels, each between ` ::: ` or `;`.
    Labels,
    /// Text for the note.
    Note,
    /// Anything else: its name stands before it in the note.
    Other(String),
}

/// Reads a table of commas, semicolons or tabs, in UTF-8, UTF-16 or Windows' Latin.
pub(crate) fn cards_of_table(file: &[u8], import: &mut Import) {
    let (text, ..) = match std::str::from_utf8(file) {
        Ok(_) => encoding_rs::UTF_8.decode(file),
        Err(_) => encoding_rs::WINDOWS_1252.decode(file),
    };
    let text = text.replace('\0', "");
    let first = text.lines().next().unwrap_or_default();
    let count = |between: &u8| first.bytes().filter(|byte| byte == between).count();
    let between = [b',', b';', b'\t'].into_iter().max_by_key(count).unwrap_or(b',');
    let mut reader =
        ReaderBuilder::new().delimiter(between).flexible(true).from_reader(text.as_bytes());
    let Ok(names) = reader.headers().cloned() else { return };
    let columns: Vec<_> = names.iter().map(column).collect();
    let is_known = |column: &Column| !matches!(column, Column::Other(_) | Column::Note);
    if !columns.iter().any(is_known) {
        let cause = "it has neither cards nor columns such as `Name`, `E-mail` and `Phone`";
        return import.leave_out("line 1".to_owned(), cause.to_owned());
    }
    for (at, row) in reader.records().enumerate() {
        let place = format!("row {}", at + 2);
        match row {
            Ok(row) if row.iter().all(|value| value.trim().is_empty()) => {}
            Ok(row) => import.add(place, &lines_of(&columns, &row)),
            Err(error) => import.leave_out(place, error.to_string()),
        }
    }
}

fn column(name: &str) -> Column {
    let plain = name.trim().trim_start_matches('\u{feff}').to_lowercase();
    let name_part =
        |at: usize, names: &[&str]| names.contains(&&*plain).then_some(Column::NamePart(at));
    let part = name_part(0, &["last name", "family name", "surname", "nachname", "nom"])
        .or_else(|| name_part(1, &["first name", "given name", "vorname", "prénom"]))
        .or_else(|| name_part(2, &["middle name", "additional name"]))
        .or_else(|| name_part(3, &["name prefix", "prefix", "title"]))
        .or_else(|| name_part(4, &["name suffix", "suffix"]));
    if let Some(part) = part {
        return part;
    }
    match &*plain {
        "name" | "full name" | "display name" | "fn" | "file as" => return Column::Name,
        "nickname" => return Column::Value("NICKNAME"),
        "birthday" | "bday" => return Column::Value("BDAY"),
        "anniversary" => return Column::Value("ANNIVERSARY"),
        "job title" | "organization title" | "organization 1 - title" | "position" | "role" => {
            return Column::Value("TITLE");
        }
        "company"
        | "organization"
        | "organisation"
        | "organization name"
        | "organization 1 - name"
        | "firma" => return Column::Organisation(0),
        "department" | "organization department" | "organization 1 - department" => {
            return Column::Organisation(1);
        }
        "notes" | "note" | "comments" => return Column::Note,
        "labels" | "categories" | "group membership" => return Column::Labels,
        _ => {}
    }
    numbered(&plain)
        .or_else(|| sorted(&plain))
        .unwrap_or_else(|| Column::Other(name.trim().to_owned()))
}

/// A column as Google names it: `phone 1 - value`.
fn numbered(name: &str) -> Option<Column> {
    let (group, part) = name.split_once(" - ")?;
    let kind = group.trim_end_matches(|one: char| one == ' ' || one.is_ascii_digit());
    let property = match kind {
        "e-mail" | "email" => "EMAIL",
        "phone" => "TEL",
        "website" => "URL",
        "im" => "IMPP",
        "address" => "ADR",
        _ => return None,
    };
    match (part, property) {
        ("label" | "type", _) => Some(Column::SortOf(group.to_owned())),
        ("value", property) if property != "ADR" => {
            Some(Column::Sorted(property, group.to_owned()))
        }
        (part, "ADR") => Some(Column::Address(group.to_owned(), address_part(part)?)),
        _ => None,
    }
}

fn address_part(part: &str) -> Option<usize> {
    Some(match part {
        "po box" => 0,
        "extended address" => 1,
        "street" => 2,
        "city" => 3,
        "region" | "state" => 4,
        "postal code" | "zip" => 5,
        "country" | "country/region" => 6,
        _ => return None,
    })
}

/// A column as Outlook and people name it: `home phone 2`, `business street`, `e-mail address`.
fn sorted(name: &str) -> Option<Column> {
    let name = name.replace("e-mail", "email");
    let words: Vec<_> =
        name.split_whitespace().filter(|word| word.parse::<u8>().is_err()).collect();
    let (sort, rest) = match words.split_first()? {
        (&"home" | &"private", rest) if !rest.is_empty() => ("home", rest),
        (&"business" | &"work" | &"company", rest) if !rest.is_empty() => ("work", rest),
        (&"other" | &"primary", rest) if !rest.is_empty() => ("", rest),
        _ => ("", &words[..]),
    };
    let of = |property, more: &str| {
        let sorts = [sort, more].into_iter().filter(|one| !one.is_empty());
        Some(Column::Sorted(property, sorts.collect::<Vec<_>>().join(",")))
    };
    match rest {
        ["email"] | ["email", "address"] | ["mail"] => of("EMAIL", ""),
        ["phone"] | ["telephone"] | ["tel"] | ["phone", "number"] | ["main", "phone"] => {
            of("TEL", "")
        }
        ["mobile"] | ["cell"] | ["mobile", "phone"] | ["cell", "phone"] => of("TEL", "cell"),
        ["fax"] => of("TEL", "fax"),
        ["pager"] => of("TEL", "pager"),
        ["web", "page"] | ["website"] | ["url"] | ["homepage"] => of("URL", ""),
        ["address"] => Some(Column::Address(sort.to_owned(), 2)),
        part => Some(Column::Address(sort.to_owned(), address_part(&part.join(" "))?)),
    }
}

fn lines_of(columns: &[Column], row: &StringRecord) -> Vec<String> {
    let mut names: [&str; 5] = [""; 5];
    let mut organisation: [&str; 2] = [""; 2];
    let mut addresses: Vec<(&str, [&str; 7])> = Vec::new();
    let (mut whole, mut first_mail, mut lines, mut notes) = ("", "", Vec::new(), Vec::new());
    let mut sorts: Vec<(&str, &str)> = Vec::new();
    let full = columns.iter().zip(row).map(|(column, value)| (column, value.trim()));
    for (column, value) in full.filter(|(_, value)| !value.is_empty()) {
        match column {
            Column::Name => whole = value,
            Column::NamePart(at) => names[*at] = value,
            Column::Value(property) => lines.push(format!("{property}:{}", escaped(value))),
            Column::Organisation(at) => organisation[*at] = value,
            Column::SortOf(group) => sorts.push((group, value)),
            Column::Sorted(property, sort) => {
                let sort = sorts.iter().find(|(group, _)| group == sort).map_or(&**sort, |it| it.1);
                // Several values of one column stand between ` ::: `.
                for value in value.split(" ::: ") {
                    let written =
                        if *property == "URL" { value.to_owned() } else { escaped(value) };
                    lines.push(format!("{property}{}:{written}", types(sort)));
                }
                if *property == "EMAIL" && first_mail.is_empty() {
                    first_mail = value;
                }
            }
            Column::Address(group, at) => {
                let sort = sorts.iter().find(|(of, _)| of == group).map_or(&**group, |it| it.1);
                match addresses.iter_mut().find(|(of, _)| *of == sort) {
                    Some((_, parts)) => parts[*at] = value,
                    None => {
                        let mut parts = [""; 7];
                        parts[*at] = value;
                        addresses.push((sort, parts));
                    }
                }
            }
            Column::Labels => {
                let labels = value.split(" ::: ").flat_map(|one| one.split(';')).map(str::trim);
                let labels = labels.filter(|one| !one.is_empty() && !one.starts_with('*'));
                let labels: Vec<_> = labels.map(escaped).collect();
                if !labels.is_empty() {
                    lines.push(format!("CATEGORIES:{}", labels.join(",")));
                }
            }
            Column::Note => notes.push(value.to_owned()),
            Column::Other(name) => notes.push(format!("{name}: {value}")),
        }
    }
    let joined = |order: &[usize]| {
        let parts = order.iter().map(|&at| names[at]).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    };
    let shown = [whole.to_owned(), joined(&[3, 1, 2, 0, 4])];
    let others = [organisation[0], first_mail, "Without a name"].map(str::to_owned);
    let shown = shown.into_iter().chain(others).find(|name| !name.is_empty()).unwrap_or_default();
    if names.iter().all(|part| part.is_empty()) {
        (names[1], names[0]) = shown.rsplit_once(' ').unwrap_or((&shown, ""));
    }
    let uid = uid_of(row.iter().collect::<Vec<_>>().join("\0").as_bytes());
    let mut all = vec![format!("UID:{uid}"), format!("FN:{}", escaped(&shown))];
    all.push(format!("N:{}", names.map(escaped).join(";")));
    if organisation != ["", ""] {
        let parts = organisation.map(escaped).join(";");
        all.push(format!("ORG:{}", parts.trim_end_matches(';')));
    }
    all.append(&mut lines);
    let written = |parts: [&str; 7]| parts.map(escaped).join(";");
    all.extend(
        addresses.into_iter().map(|(sort, parts)| format!("ADR{}:{}", types(sort), written(parts))),
    );
    if !notes.is_empty() {
        all.push(format!("NOTE:{}", escaped(&notes.join("\n"))));
    }
    all
}

/// The parameter of a sort as a table names it: `* Home`, `mobile`, `work,fax`.
fn types(sort: &str) -> String {
    let words = sort.split([',', ' ']).map(str::to_lowercase);
    let known = words.filter_map(|word| match &*word {
        "home" | "work" | "cell" | "fax" | "pager" => Some(word),
        "mobile" => Some("cell".to_owned()),
        "business" | "office" => Some("work".to_owned()),
        _ => None,
    });
    let known: Vec<_> = known.collect();
    if known.is_empty() { String::new() } else { format!(";TYPE={}", known.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &[u8]) -> (Vec<String>, Vec<String>) {
        let import = Import::of(table);
        let text = |card: &crate::Card| card.text().replace("\r\n ", "").replace("\r\n", "\n");
        let unread = import.unread.iter().map(|one| format!("{}: {}", one.place, one.cause));
        (import.cards.iter().map(text).collect(), unread.collect())
    }

    #[test]
    fn a_table_of_google_is_read() {
        let table = "First Name,Middle Name,Last Name,Nickname,Organization Name,Organization Title,Birthday,Notes,Labels,\
            E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Label,Phone 1 - Value,Address 1 - Label,Address 1 - Formatted,\
            Address 1 - Street,Address 1 - City,Address 1 - Country,Website 1 - Value,Custom Field 1 - Label\n\
            Ada,King,Lovelace,,Analytical Engines,Poet,1815-12-10,\"first, and\nsecond\",friends ::: * myContacts,\
            * Work,ada@example.org ::: ada@example.com,Mobile,+44 1;2,Home,,\"12, St James's Sq\",London,UK,https://a.example/x;y,\
            Cipher\n";
        let (cards, unread) = read(table.as_bytes());
        assert!(unread.is_empty(), "{unread:?}");
        for line in [
            "FN:Ada King Lovelace",
            "N:Lovelace;Ada;King;;",
            "ORG:Analytical Engines",
            "TITLE:Poet",
            "BDAY:1815-12-10",
            "EMAIL;TYPE=work:ada@example.org",
            "EMAIL;TYPE=work:ada@example.com",
            "TEL;TYPE=cell:+44 1\\;2",
            "ADR;TYPE=home:;;12\\, St James's Sq;London;;;UK",
            "URL:https://a.example/x;y",
            "CATEGORIES:friends",
            "NOTE:first\\, and\\nsecond\\nCustom Field 1 - Label: Cipher",
        ] {
            assert!(cards[0].contains(&format!("\n{line}\n")), "{line} is not in {}", cards[0]);
        }
        assert_eq!(read(table.as_bytes()).0, cards, "read again, it is the same");
    }

    #[test]
    fn tables_of_outlook_and_of_people_are_read() {
        let outlook = "\u{feff}First Name;Last Name;Company;Business Street;Business City;Home Phone;Mobile Phone;\
            Business Fax;E-mail Address;E-mail 2 Address\r\nGrace;Hopper;Navy;1 Yard;New York;1;2;3;g@x;h@x\r\n;;;;;;;;;\r\n";
        let (cards, unread) = read(outlook.as_bytes());
        assert_eq!((cards.len(), unread.len()), (1, 0), "{unread:?}");
        for line in [
            "FN:Grace Hopper",
            "ADR;TYPE=work:;;1 Yard;New York;;;",
            "TEL;TYPE=home:1",
            "TEL;TYPE=cell:2",
            "TEL;TYPE=work,fax:3",
            "EMAIL:g@x",
            "EMAIL:h@x",
        ] {
            assert!(cards[0].contains(&format!("\n{line}\n")), "{line} is not in {}", cards[0]);
        }
        let (cards, _) = read(b"name\tphone\nZo\xeb Q\t12\n\t34\n");
        assert!(cards[0].contains("FN:Zoë Q\nN:Q;Zoë;;;\nTEL:12\n"), "{}", cards[0]);
        assert!(cards[1].contains("FN:Without a name\n"), "{}", cards[1]);
        let utf16: Vec<u8> =
            "\u{feff}name,email\nZoë,z@x\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(read(&utf16).0[0].contains("FN:Zoë\n"));
    }

    #[test]
    fn what_is_no_table_says_so() {
        for bad in [&b""[..], b"hello\nworld\n", b"a,b,c\n1,2,3\n", b"\xff\xfe\0\0"] {
            let (cards, unread) = read(bad);
            assert_eq!((cards.len(), unread.len()), (0, 1), "{bad:?}");
        }
        let (cards, unread) = read(b"name\nAda \x01 x\nGrace\n");
        assert_eq!(
            (cards.len(), unread),
            (1, vec!["row 2: line 4 has the control character U+0001".to_owned()])
        );
    }
}
