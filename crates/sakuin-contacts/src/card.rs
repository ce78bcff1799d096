//! A card: the bytes that a client stored, looked at and never changed.
//!
//! What is accepted is accepted as it is: bare line feeds, odd folds, names in lower case, unknown properties. What
//! could not be given back through XML, or found again, is refused.

use std::{fmt, str::FromStr, sync::Arc};

use bytes::Bytes;

use crate::lines::{Line, lines};

/// The bytes of one contact, and what books know it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    bytes: Bytes,
    uid: Arc<str>,
    version: Version,
}

/// The versions that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// RFC 2426
    V3,
    /// RFC 6350
    V4,
}

/// Why bytes are no card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// Some bytes are no text.
    #[error("byte {byte} is not UTF-8")]
    NotUtf8 {
        /// The first that is none.
        byte: usize,
    },
    /// A character that no answer in XML can hold.
    #[error("line {line} has the control character U+{character:04X}")]
    Character {
        /// From 1.
        line: usize,
        /// What it is.
        character: u32,
    },
    /// It begins or ends otherwise than a card.
    #[error("it does not {wanted}")]
    Frame {
        /// `begin with BEGIN:VCARD`, or `end with END:VCARD`.
        wanted: &'static str,
    },
    /// Another card begins in it.
    #[error("another card begins at line {line}")]
    Several {
        /// From 1.
        line: usize,
    },
    /// It says no version, or one that is not stored.
    #[error("its version is `{found}`")]
    Version {
        /// What it says.
        found: String,
    },
    /// It does not say whose contact it is.
    #[error("it has no UID")]
    NoUid,
    /// It says so more than once.
    #[error("it has several UIDs")]
    SeveralUids,
}

impl CardError {
    /// What would do.
    pub fn hint(&self) -> &'static str {
        match self {
            CardError::NotUtf8 { .. } => "write the card as UTF-8",
            CardError::Character { .. } => "leave control characters out, or encode them in base64",
            CardError::Frame { .. } => "send one card, from BEGIN:VCARD to END:VCARD",
            CardError::Several { .. } => "send each card to an address of its own",
            CardError::Version { .. } => {
                "send VERSION:3.0 or VERSION:4.0; `sakuin contacts import` converts older cards"
            }
            CardError::NoUid => "give the card a UID of its own, such as `UID:urn:uuid:…`",
            CardError::SeveralUids => "leave one UID",
        }
    }
}

impl Card {
    /// Looks at the bytes of a card. Costs about a microsecond for each kilobyte.
    ///
    /// ```
    /// use sakuin_contacts::Card;
    /// let bytes = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nFN:Ada\r\nEND:VCARD\r\n";
    /// let card = Card::parse(bytes.into())?;
    /// assert_eq!((card.uid(), card.text()), ("1", bytes));
    /// # Ok::<(), sakuin_contacts::CardError>(())
    /// ```
    pub fn parse(bytes: Bytes) -> Result<Card, CardError> {
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| CardError::NotUtf8 { byte: error.valid_up_to() })?;
        check_characters(text)?;
        let (mut uid, mut version, mut is_ended) = (None, None, false);
        let mut number = 1;
        let mut is_begun = false;
        for line in lines(text) {
            let at = number;
            number += text[line.range.clone()].matches('\n').count().max(1);
            let is_blank = line.name().is_empty() && line.value().trim().is_empty();
            if is_blank {
                continue;
            }
            match (is_begun, is_ended) {
                (false, _) if !is_vcard(&line, "BEGIN") => {
                    return Err(CardError::Frame { wanted: "begin with BEGIN:VCARD" });
                }
                (false, _) => is_begun = true,
                (true, _) if is_vcard(&line, "BEGIN") => {
                    return Err(CardError::Several { line: at });
                }
                (true, true) => return Err(CardError::Frame { wanted: "end with END:VCARD" }),
                (true, false) if is_vcard(&line, "END") => is_ended = true,
                (true, false) if line.is("UID") && uid.is_some() => {
                    return Err(CardError::SeveralUids);
                }
                (true, false) if line.is("UID") => uid = Some(line.text().trim().to_owned()),
                (true, false) if line.is("VERSION") && version.is_none() => {
                    version = Some(line.value().trim().to_owned());
                }
                _ => {}
            }
        }
        match (is_begun, is_ended) {
            (false, _) => return Err(CardError::Frame { wanted: "begin with BEGIN:VCARD" }),
            (true, false) => return Err(CardError::Frame { wanted: "end with END:VCARD" }),
            _ => {}
        }
        let version = version.unwrap_or_default();
        let version = version.parse().map_err(|()| CardError::Version { found: version })?;
        let uid = uid.filter(|uid| !uid.is_empty()).ok_or(CardError::NoUid)?;
        Ok(Card { uid: uid.into(), version, bytes })
    }

    /// The bytes, as they came.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The bytes as the text they are.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("it was looked at")
    }

    /// What no other card of its book is called: unfolded, unescaped, without space around it.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    pub(crate) fn shared_uid(&self) -> &Arc<str> {
        &self.uid
    }

    /// A name for a card that comes without one: no other card of its book has it, since it follows from the UID.
    pub fn name(&self) -> String {
        format!("{}.vcf", &blake3::hash(self.uid.as_bytes()).to_hex()[..32])
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.version
    }
}

/// Whether a line begins or ends a card.
pub(crate) fn is_vcard(line: &Line<'_>, name: &str) -> bool {
    line.is(name) && line.value().trim().eq_ignore_ascii_case("VCARD")
}

/// Whether XML 1.0 can hold a character.
pub fn is_xml_character(one: char) -> bool {
    match one {
        '\t' | '\r' | '\n' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        one => one >= ' ',
    }
}

/// Refuses what no answer in XML could hold.
fn check_characters(text: &str) -> Result<(), CardError> {
    let Some(at) = text.find(|one| !is_xml_character(one)) else { return Ok(()) };
    let line = 1 + text[..at].matches('\n').count();
    let character = text[at..].chars().next().map_or(0, u32::from);
    Err(CardError::Character { line, character })
}

impl Version {
    /// As cards and requests write it.
    pub fn name(self) -> &'static str {
        match self {
            Version::V3 => "3.0",
            Version::V4 => "4.0",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(name: &str) -> Result<Version, ()> {
        [Version::V3, Version::V4].into_iter().find(|version| version.name() == name).ok_or(())
    }
}

/// What tells one content from every other: the first 128 bits of BLAKE3 of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ETag([u8; 16]);

impl ETag {
    /// Of some bytes.
    pub fn of(bytes: &[u8]) -> ETag {
        let hash = blake3::hash(bytes);
        ETag(*hash.as_bytes().first_chunk().expect("32 bytes begin with 16"))
    }

    /// The bytes a store keeps.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// From what a store kept.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<ETag> {
        Some(ETag(bytes.try_into().ok()?))
    }
}

impl ETag {
    /// With its quotes, as a header has it.
    pub fn header(&self) -> [u8; 34] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'"'; 34];
        for (pair, byte) in text[1..33].chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        text
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(std::str::from_utf8(&self.header()).unwrap_or_default())
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(card: &str) -> Result<Card, CardError> {
        Card::parse(Bytes::copy_from_slice(card.as_bytes()))
    }

    #[test]
    fn cards_are_taken_as_they_are() {
        for card in [
            "BEGIN:VCARD\nVERSION:3.0\nUID:a\nEND:VCARD",
            "\u{feff}begin:vcard\r\nversion:4.0\r\n item\r\nuid:a\r\nend:vcard\r\n\r\n",
            "\n\nBEGIN:VCARD\nVERSION:3.0\nbroken\nx.UID;X=1: a \nN:;;\nEND:VCARD\n\n",
        ] {
            let parsed = parse(card);
            let wanted = card.replace("4.0\r\n item", "4.0item");
            if wanted != card {
                assert!(matches!(parsed, Err(CardError::Version { .. })), "{parsed:?}");
                continue;
            }
            let parsed = parsed.unwrap();
            assert_eq!((parsed.uid(), parsed.text()), ("a", card));
        }
        let folded = "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:\r\n uuid\\:1\\,2\r\nEND:VCARD\r\n";
        assert_eq!(parse(folded).unwrap().uid(), "urn:uuid:1,2");
    }

    #[test]
    fn what_is_no_card_says_why() {
        let good = "BEGIN:VCARD\nVERSION:3.0\nUID:a\nEND:VCARD\n";
        let frame = |wanted| CardError::Frame { wanted };
        for (card, wanted) in [
            (String::new(), frame("begin with BEGIN:VCARD")),
            ("UID:a\n".to_owned(), frame("begin with BEGIN:VCARD")),
            ("BEGIN:VCARD\nUID:a\n".to_owned(), frame("end with END:VCARD")),
            (format!("{good}x"), frame("end with END:VCARD")),
            (format!("{good}{good}"), CardError::Several { line: 5 }),
            (good.replace("3.0", "2.1"), CardError::Version { found: "2.1".to_owned() }),
            (good.replace("VERSION:3.0\n", ""), CardError::Version { found: String::new() }),
            (good.replace("UID:a", "UID: "), CardError::NoUid),
            (good.replace("UID:a\n", ""), CardError::NoUid),
            (good.replace("UID:a", "UID:a\nuid:b"), CardError::SeveralUids),
            (
                good.replace("UID:a", "NOTE:\0\nUID:a"),
                CardError::Character { line: 3, character: 0 },
            ),
        ] {
            assert_eq!(parse(&card), Err(wanted), "{card:?}");
        }
        assert_eq!(
            Card::parse(Bytes::from_static(b"BEGIN\xff")),
            Err(CardError::NotUtf8 { byte: 5 })
        );
    }

    #[test]
    fn a_tag_is_quoted_and_comes_back() {
        let tag = ETag::of(b"x");
        assert_eq!(tag.to_string().len(), 34);
        assert_eq!(ETag::from_bytes(tag.as_bytes()), Some(tag));
        assert_ne!(tag, ETag::of(b"y"));
    }
}
