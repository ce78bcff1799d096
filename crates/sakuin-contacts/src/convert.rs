//! A card in the other version, for who asks for that, and cards of other times and programs made storable. This is the
//! one place where a card is printed anew, and `calcard` does it; what is stored never comes through here.

use bytes::Bytes;
use calcard::vcard::{VCard, VCardVersion};

use crate::{
    card::{Card, CardError, Version, is_vcard, is_xml_character},
    edit::{Edit, edit},
    lines::{escaped, lines},
};

/// A card in a version; as it is stored if that is its own. Some of a card may have no words in the other version, and
/// a card of which nothing is understood stays as it is.
pub fn converted(card: &Card, version: Version) -> Bytes {
    if card.version() == version {
        return card.bytes().clone();
    }
    match printed(card.text(), version) {
        Some(text) => text.into(),
        None => card.bytes().clone(),
    }
}

fn printed(text: &str, version: Version) -> Option<String> {
    let card = VCard::parse(text).ok()?;
    let version = match version {
        Version::V3 => VCardVersion::V3_0,
        Version::V4 => VCardVersion::V4_0,
    };
    let mut printed = String::with_capacity(text.len());
    card.write_to(&mut printed, version).ok()?;
    Some(with_groups(&printed, version))
}

/// What says that a card is a group and who is in it: since version 4.0, and what Apple's programs say in 3.0.
const GROUPS: [(&str, &str); 2] =
    [("X-ADDRESSBOOKSERVER-KIND", "KIND"), ("X-ADDRESSBOOKSERVER-MEMBER", "MEMBER")];

fn with_groups(card: &str, version: VCardVersion) -> String {
    let renamed = lines(card).enumerate().filter_map(|(number, line)| {
        let (from, to) = GROUPS.into_iter().find_map(|(old, new)| match version {
            VCardVersion::V4_0 => line.is(old).then_some((old, new)),
            _ => line.is(new).then_some((new, old)),
        })?;
        let rest = &line.head()[line.head().to_uppercase().find(from)? + from.len()..];
        // Apple's programs know it in lower case only.
        let value = match to.ends_with("KIND") {
            true => line.value().to_lowercase(),
            false => line.value().to_owned(),
        };
        Some(Edit::Replace(number, format!("{to}{rest}{value}")))
    });
    let renamed: Vec<_> = renamed.collect();
    if renamed.is_empty() { card.to_owned() } else { edit(card, &renamed) }
}

/// Makes a card of whatever some program exported: text that is no UTF-8 is taken as Latin-1, control characters go,
/// version 2.1 becomes 3.0, and a card without a UID gets `uid`. Anything else stays as it is.
///
/// # Errors
///
/// What is wrong with it all the same.
pub fn rescued(bytes: &[u8], uid: &str) -> Result<Card, CardError> {
    if let Ok(card) = Card::parse(Bytes::copy_from_slice(bytes)) {
        return Ok(card);
    }
    let mut text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    };
    text.retain(|one| {
        let is_space = matches!(one, '\t' | '\r' | '\n');
        is_space || is_xml_character(one) && !one.is_control()
    });
    if !lines(&text).any(|line| is_vcard(&line, "END")) {
        return Err(CardError::Frame { wanted: "end with END:VCARD" });
    }
    let is_stored = |line: &crate::lines::Line<'_>| line.value().trim().parse::<Version>().is_ok();
    if !lines(&text).any(|line| line.is("VERSION") && is_stored(&line)) {
        text = printed(&text, Version::V3).unwrap_or(text);
    }
    let has_uid = |line: crate::lines::Line<'_>| line.is("UID") && !line.value().trim().is_empty();
    if !lines(&text).any(has_uid) {
        let empty = lines(&text).position(|line| line.is("UID"));
        let new = format!("UID:{}", escaped(uid));
        text = edit(&text, &[empty.map_or(Edit::Add(new.clone()), |at| Edit::Replace(at, new))]);
    }
    Card::parse(text.into())
}

/// The cards in a file that holds several, one after another.
///
/// ```
/// use sakuin_contacts::split;
/// let file = b"BEGIN:VCARD\nA:1\nEND:VCARD\n\nBEGIN:VCARD\nB:2\nEND:VCARD\n";
/// assert_eq!(split(file).count(), 2);
/// ```
pub fn split(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = file;
    std::iter::from_fn(move || {
        let start = line_start(rest, b"BEGIN:VCARD")?;
        rest = &rest[start..];
        let end = line_start(rest, b"END:VCARD");
        let end = end.map_or(rest.len(), |end| {
            let after = memchr::memchr(b'\n', &rest[end..]);
            after.map_or(rest.len(), |after| end + after + 1)
        });
        let (card, after) = rest.split_at(end);
        rest = after;
        Some(card)
    })
}

/// A card whose last line is ended, so that another may follow it in a file.
///
/// ```
/// use sakuin_contacts::ended;
/// assert_eq!(ended("END:VCARD".into()), "END:VCARD\r\n");
/// assert_eq!(ended("END:VCARD\n".into()), "END:VCARD\n");
/// ```
pub fn ended(card: Bytes) -> Bytes {
    match card.ends_with(b"\n") {
        true => card,
        false => [&card[..], b"\r\n"].concat().into(),
    }
}

/// Where the first line is that begins so, in whatever case.
fn line_start(text: &[u8], begin: &[u8]) -> Option<usize> {
    let starts =
        std::iter::once(0).chain(memchr::memchr2_iter(b'\n', b'\r', text).map(|at| at + 1));
    let starts = starts.map(|at| match text[at..].starts_with("\u{feff}".as_bytes()) {
        true => at + 3,
        false => at,
    });
    starts.into_iter().find(|&at| {
        text.get(at..at + begin.len()).is_some_and(|line| line.eq_ignore_ascii_case(begin))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_told_in_the_other_version() {
        let text = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:1\r\nFN:Ada\r\n\
            N:Lovelace;Ada;;;\r\nTEL;TYPE=HOME,PREF:1\r\nEND:VCARD\r\n";
        let card = Card::parse(text.into()).unwrap();
        assert_eq!(converted(&card, Version::V3), text);
        let newer = Card::parse(converted(&card, Version::V4)).unwrap();
        assert_eq!((newer.version(), newer.uid()), (Version::V4, "1"));
        assert!(newer.text().contains("FN:Ada\r\n"), "{}", newer.text());
    }

    #[test]
    fn groups_are_told_as_each_version_says_them() {
        let text = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:g\r\nFN:Club\r\nN:Club;;;;\r\n\
            X-ADDRESSBOOKSERVER-KIND:group\r\nX-ADDRESSBOOKSERVER-MEMBER:urn:uuid:1\r\nEND:VCARD\r\n";
        let old = Card::parse(text.into()).unwrap();
        let new = Card::parse(converted(&old, Version::V4)).unwrap();
        assert!(new.text().contains("\r\nKIND:group\r\n"), "{}", new.text());
        assert!(new.text().contains("\r\nMEMBER:urn:uuid:1\r\n"), "{}", new.text());
        assert!(!new.text().contains("X-ADDRESSBOOKSERVER"), "{}", new.text());
        let again = Card::parse(converted(&new, Version::V3)).unwrap();
        assert!(
            again.text().contains("\r\nX-ADDRESSBOOKSERVER-KIND:group\r\n"),
            "{}",
            again.text()
        );
        assert!(
            again.text().contains("X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:1\r\n"),
            "{}",
            again.text()
        );
    }

    #[test]
    fn what_others_exported_is_made_storable() {
        let rescue = |text: &[u8]| rescued(text, "new").map(|card| card.text().to_owned());
        let old = b"BEGIN:VCARD\r\nVERSION:2.1\r\n\
            N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Caf=C3=A9;;;;\r\nEND:VCARD\r\n";
        let old = rescue(old).unwrap();
        assert!(
            old.contains("VERSION:3.0") && old.contains("Café") && old.contains("UID:new"),
            "{old}"
        );
        let latin = rescue(b"BEGIN:VCARD\nVERSION:3.0\nFN:Caf\xe9\x01\nUID:\nEND:VCARD\n").unwrap();
        assert_eq!(latin, "BEGIN:VCARD\nVERSION:3.0\nFN:Café\nUID:new\nEND:VCARD\n");
        assert_eq!(rescue(b"BEGIN:VCARD"), Err(CardError::Frame { wanted: "end with END:VCARD" }));
    }

    #[test]
    fn a_file_is_split_between_cards() {
        let file =
            b"\xef\xbb\xbfbegin:vcard\r\nEND:VCARD\r\nnoise\r\nBEGIN:VCARD\r\nx:BEGIN:VCARD\r\n";
        let cards: Vec<_> = split(file).collect();
        assert_eq!(
            cards,
            [&b"begin:vcard\r\nEND:VCARD\r\n"[..], b"BEGIN:VCARD\r\nx:BEGIN:VCARD\r\n"]
        );
    }
}
