//! What a form sends, as changes of a card: a line for each field that was changed, and not a byte of any other.

use std::collections::HashMap;

use axum::extract::Multipart;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use jiff::Timestamp;
use sakuin_contacts::{Edit, Line, escaped, lines};

use super::{
    person::{ADDRESS, Field, Form, split},
    photo::{is_photo, type_of},
};
use crate::reply::Fault;

/// Lines that a form offers to add.
pub(super) const NEW_LINES: usize = 2;
/// The properties of such a line, and of which sorts it can be.
pub(super) const NEW_PROPERTIES: [(&str, &str); 9] = [
    ("TEL", "Phone"),
    ("EMAIL", "E-mail"),
    ("URL", "Web page"),
    ("NICKNAME", "Nickname"),
    ("ORG", "Organisation"),
    ("TITLE", "Job"),
    ("BDAY", "Birthday"),
    ("CATEGORIES", "Labels"),
    ("NOTE", "Note"),
];
pub(super) const SORTS: [(&str, &str); 4] =
    [("", "–"), ("home", "home"), ("work", "work"), ("cell", "mobile")];

/// What a contact that is new is asked first, as a card.
pub(super) fn blank() -> String {
    let lines = ["FN:", "N:;;;;", "ORG:", "TEL;TYPE=CELL:", "EMAIL;TYPE=HOME:"];
    sakuin_contacts::card_of(&lines.map(str::to_owned))
}

/// What a form sent.
#[derive(Default)]
pub(super) struct Sent {
    values: HashMap<String, String>,
    pub(super) photo: Option<Bytes>,
    pub(super) file: Option<Bytes>,
}

impl Sent {
    pub(super) async fn read(mut parts: Multipart) -> Result<Sent, Fault> {
        let mut sent = Sent::default();
        while let Some(part) = parts.next_field().await.map_err(|it| unread(&it))? {
            let name = part.name().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(|it| unread(&it))?;
            match &*name {
                "photo" => sent.photo = Some(bytes).filter(|it| !it.is_empty()),
                "file" => sent.file = Some(bytes).filter(|it| !it.is_empty()),
                _ => {
                    let value = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
                    sent.values.insert(name, value);
                }
            }
        }
        Ok(sent)
    }

    pub(super) fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", |value| value.trim_end())
    }
}

fn unread(error: &axum::extract::multipart::MultipartError) -> Fault {
    Fault::new(error.status(), "what was sent cannot be read", "send it again, or a smaller file")
}

/// How a form's fields are called.
pub(super) fn name_of(number: usize, part: usize) -> String {
    format!("line-{number}-{part}")
}

/// What a form changes of a card. Of one that `is_new`, what was left empty goes.
pub(super) fn edits(card: &str, sent: &Sent, is_new: bool) -> Result<Vec<Edit>, Fault> {
    let all: Vec<_> = lines(card).collect();
    let mut edits = Vec::new();
    let mut whole = None;
    let mut parts = None;
    for (number, line) in all.iter().enumerate() {
        let Some(field) = Field::of(number, line, &all).filter(|field| !field.is_fixed) else {
            continue;
        };
        let old: Vec<_> = field.parts.iter().map(|part| part.value.as_str()).collect();
        let new: Vec<_> = (0..old.len())
            .map(|part| match sent.values.get(&name_of(number, part)) {
                Some(value) => value.trim_end(),
                None => old[part],
            })
            .collect();
        let is_same = old.iter().zip(&new).all(|(old, new)| old.trim_end() == *new);
        let is_empty = new.iter().all(|part| part.is_empty());
        match field.property.name {
            "FN" if whole.is_none() => {
                whole = Some((number, old[0].to_owned(), new[0].to_owned()));
                continue;
            }
            "N" if parts.is_none() => parts = Some((joined(&old), joined(&new))),
            _ if is_empty && (is_new || !is_same) => {
                edits.push(Edit::Remove(number));
                edits.extend(labels_of(line, &all).map(Edit::Remove));
                continue;
            }
            _ => {}
        }
        if !is_same {
            edits.push(Edit::Replace(
                number,
                format!("{}{}", line.head(), value(field.property.form, line, &old, &new)),
            ));
        }
    }
    edits.extend(name_edit(&all, whole, parts)?);
    edits.extend(added(sent));
    edits.extend(photo_edit(card, &all, sent)?);
    let is_changed = !edits.is_empty();
    let stamp = all.iter().position(|line| line.is("REV"));
    if let Some(number) = stamp.filter(|_| is_changed) {
        let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        edits.push(Edit::Replace(number, format!("{}{now}", all[number].head())));
    }
    Ok(edits)
}

/// The whole name, which every card has: if it was made of the parts, it is made of them again.
fn name_edit(
    all: &[Line<'_>],
    whole: Option<(usize, String, String)>,
    parts: Option<(String, String)>,
) -> Result<Option<Edit>, Fault> {
    let (number, old, new) = match whole {
        Some((number, old, new)) => (Some(number), old, new),
        None => (None, String::new(), String::new()),
    };
    let wanted = match parts {
        Some((before, after)) if new == old && (old.trim() == before || old.is_empty()) => after,
        _ => new,
    };
    if wanted.trim().is_empty() {
        return Err(Fault::bad_request("the contact has no name", "go back and give it one"));
    }
    if wanted == old {
        return Ok(None);
    }
    let head = number.map_or("FN:", |number| all[number].head());
    let line = format!("{head}{}", escaped(&wanted));
    Ok(Some(number.map_or(Edit::Add(line.clone()), |number| Edit::Replace(number, line))))
}

fn joined(parts: &[&str]) -> String {
    let order = [3, 1, 2, 0, 4].into_iter().filter_map(|at| parts.get(at));
    order.map(|part| part.trim()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The lines that say how a line is called, when it is alone in its group.
fn labels_of<'l>(line: &'l Line<'_>, all: &'l [Line<'_>]) -> impl Iterator<Item = usize> + 'l {
    let group = line.group();
    let of_group = move |it: &Line<'_>| group.is_some() && it.group() == group;
    let is_alone = all.iter().filter(|it| of_group(it) && !it.is("X-ABLABEL")).count() == 1;
    let labels = all
        .iter()
        .enumerate()
        .filter(move |(_, it)| is_alone && of_group(it) && it.is("X-ABLABEL"));
    labels.map(|(number, _)| number)
}

/// A value as it is written; components that are as they were stay as they were written.
fn value(form: Form, line: &Line<'_>, old: &[&str], new: &[&str]) -> String {
    match form {
        Form::Text | Form::Lines => escaped(new[0]),
        Form::Uri => new[0].to_owned(),
        Form::List => {
            let each = new[0].split(',').map(str::trim).filter(|one| !one.is_empty());
            each.map(escaped).collect::<Vec<_>>().join(",")
        }
        Form::Parts(_) => {
            let written = split(line.value(), ';');
            let last = new.iter().rposition(|part| !part.is_empty()).map_or(0, |at| at + 1);
            let part = |at: usize| match written.get(at) {
                Some(written) if old[at] == new[at] => (*written).to_owned(),
                _ => escaped(new[at]),
            };
            (0..last.max(written.len())).map(part).collect::<Vec<_>>().join(";")
        }
    }
}

/// Lines that are new.
fn added(sent: &Sent) -> Vec<Edit> {
    let typed = |sort: &str| match SORTS.iter().any(|(known, _)| *known == sort && !sort.is_empty())
    {
        true => format!(";TYPE={}", sort.to_uppercase()),
        false => String::new(),
    };
    let mut edits = Vec::new();
    for at in 0..NEW_LINES {
        let (property, text) =
            (sent.value(&format!("new-{at}-property")), sent.value(&format!("new-{at}-value")));
        let known = NEW_PROPERTIES.iter().find(|(name, _)| *name == property);
        let Some((name, _)) = known.filter(|_| !text.trim().is_empty()) else { continue };
        let sort = match *name {
            "TEL" | "EMAIL" | "URL" => typed(sent.value(&format!("new-{at}-sort"))),
            _ => String::new(),
        };
        let value = if *name == "URL" { text.trim().to_owned() } else { escaped(text.trim()) };
        edits.push(Edit::Add(format!("{name}{sort}:{value}")));
    }
    let address: Vec<_> =
        (0..ADDRESS.len()).map(|at| escaped(sent.value(&format!("new-address-{at}")))).collect();
    if address.iter().any(|part| !part.is_empty()) {
        let sort = typed(sent.value("new-address-sort"));
        edits.push(Edit::Add(format!("ADR{sort}:{}", address.join(";"))));
    }
    edits
}

fn photo_edit(card: &str, all: &[Line<'_>], sent: &Sent) -> Result<Option<Edit>, Fault> {
    let known = all.iter().position(|line| is_photo(line));
    let Some(photo) = &sent.photo else {
        return Ok(known.filter(|_| !sent.value("no-photo").is_empty()).map(Edit::Remove));
    };
    let cure = "choose a JPEG, PNG, GIF or WebP";
    let content_type = type_of(photo)
        .ok_or_else(|| Fault::bad_request("the photo is no picture that is known here", cure))?;
    let written = STANDARD.encode(photo);
    let is_old = lines(card).any(|line| line.is("VERSION") && line.value().trim() == "3.0");
    let line = match (is_old, content_type.split_once('/')) {
        (true, Some((_, kind))) => {
            format!("PHOTO;ENCODING=b;TYPE={}:{written}", kind.to_uppercase())
        }
        _ => format!("PHOTO:data:{content_type};base64,{written}"),
    };
    Ok(Some(known.map_or(Edit::Add(line.clone()), |number| Edit::Replace(number, line))))
}

#[cfg(test)]
mod tests {
    use sakuin_contacts::edit;

    use super::*;

    fn sent(values: &[(&str, &str)]) -> Sent {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Sent { values: values.collect(), ..Sent::default() }
    }

    fn changed(card: &str, values: &[(&str, &str)]) -> String {
        edit(card, &edits(card, &sent(values), false).unwrap())
    }

    const CARD: &str = "BEGIN:VCARD\nVERSION:3.0\nUID:1\nfn:Ada Lovelace\nN:Lovelace;Ada;a,b;;\n\
        item1.EMAIL;TYPE=x:a@x\nitem1.X-ABLabel:Mine\nORG:One\nREV:old\nX-ODD;;=:kept\nNOTE:a\\nb\nEND:VCARD\n";

    #[test]
    fn a_form_that_is_sent_as_it_was_changes_nothing() {
        let same = [("line-3-0", "Ada Lovelace"), ("line-4-2", "a,b"), ("line-10-0", "a\nb")];
        assert_eq!(changed(CARD, &same), CARD);
        assert_eq!(changed(CARD, &[]), CARD);
    }

    #[test]
    fn what_is_changed_is_changed_alone() {
        let note = changed(CARD, &[("line-10-0", "c; d")]);
        let stamp = note.lines().find(|line| line.starts_with("REV:")).unwrap().to_owned();
        assert!(stamp.len() == 20 && stamp.ends_with('Z'), "{stamp}");
        assert_eq!(note.replace(&stamp, "REV:old"), CARD.replace("a\\nb", "c\\; d"));
        let name = changed(CARD, &[("line-4-0", "King")]);
        assert!(name.contains("\nfn:Ada Lovelace\nN:King;Ada;a,b;;\n"), "{name}");
        let gone = changed(CARD, &[("line-5-0", "")]);
        assert!(!gone.contains("item1"), "{gone}");
        let added = changed(
            CARD,
            &[
                ("new-0-property", "TEL"),
                ("new-0-sort", "home"),
                ("new-0-value", "1;2"),
                ("new-1-property", "EVIL:x"),
                ("new-1-value", "y"),
                ("new-address-3", "London"),
                ("new-address-sort", "no\r\nsort"),
            ],
        );
        assert!(added.contains("TEL;TYPE=HOME:1\\;2\nADR:;;;London;;;\nEND"), "{added}");
        assert!(!added.contains("EVIL"), "{added}");
    }

    #[test]
    fn a_name_follows_its_parts_unless_it_is_another() {
        let plain = CARD.replace(";a,b;;", ";;;");
        assert!(
            changed(&plain, &[("line-4-0", "King")]).contains("\nfn:Ada King\nN:King;Ada;;;\n")
        );
        let own = plain.replace("fn:Ada Lovelace", "FN:The Countess");
        assert!(
            changed(&own, &[("line-4-0", "King")]).contains("\nFN:The Countess\nN:King;Ada;;;\n")
        );
        assert!(
            edits(&plain, &sent(&[("line-3-0", ""), ("line-4-0", ""), ("line-4-1", "")]), false)
                .is_err()
        );
    }

    #[test]
    fn a_new_contact_has_what_was_given() {
        let values = sent(&[
            ("line-3-0", "King"),
            ("line-3-1", "Ada"),
            ("line-5-0", "12"),
            ("line-2-0", ""),
        ]);
        let card = edit(&blank(), &edits(&blank(), &values, true).unwrap());
        assert_eq!(
            card,
            "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada King\r\nN:King;Ada;;;\r\nTEL;TYPE=CELL:12\r\nEND:VCARD\r\n"
        );
        assert!(edits(&blank(), &sent(&[]), true).is_err());
    }
}
