//! What an address stands for.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// A place below the door's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// `/`
    Root,
    /// `/principals/`
    Principals,
    /// `/principals/NAME/`
    Principal(String),
    /// `/books/` and `/files/`: nobody's own.
    Homes(Area),
    /// `/books/NAME/`
    Home(String),
    /// A collection, or a resource of one.
    In(Within),
}

/// A collection if the path is empty, else a resource of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Within {
    pub(crate) area: Area,
    pub(crate) owner: String,
    /// The name of the book; empty for files.
    pub(crate) collection: String,
    pub(crate) path: String,
}

/// Where collections are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    Books,
    Files,
}

/// The longest segment, decoded, and how many there may be.
const SEGMENT_BYTES_MAX: usize = 255;
const SEGMENTS_MAX: usize = 64;

/// What stands in an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'@')
    .remove(b'=')
    .remove(b'+')
    .remove(b',');

impl Area {
    fn name(self) -> &'static str {
        match self {
            Area::Books => "books",
            Area::Files => "files",
        }
    }
}

impl Place {
    /// The place of an address below `prefix`, which ends with a slash; the last slash is left out or not. What it
    /// cannot be is said.
    pub(crate) fn parse(prefix: &str, address: &str) -> Result<Place, &'static str> {
        let rest = match address.strip_prefix(prefix) {
            Some(rest) => rest,
            None if address == prefix.trim_end_matches('/') => "",
            None => return Err("it lies elsewhere"),
        };
        if rest.is_empty() {
            return Ok(Place::Root);
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let segments = rest.split('/').map(segment).collect::<Result<Vec<_>, _>>()?;
        if segments.len() > SEGMENTS_MAX {
            return Err("it is too deep");
        }
        let within = |area, owner: &str, collection: &str, path: &[Cow<'_, str>]| {
            let (owner, collection) = (owner.to_owned(), collection.to_owned());
            Place::In(Within { area, owner, collection, path: path.join("/") })
        };
        let names: Vec<&str> = segments.iter().map(|segment| &**segment).collect();
        Ok(match names[..] {
            ["principals"] => Place::Principals,
            ["principals", name] => Place::Principal(name.to_owned()),
            ["books"] => Place::Homes(Area::Books),
            ["files"] => Place::Homes(Area::Files),
            ["books", owner] => Place::Home(owner.to_owned()),
            ["books", owner, book] => within(Area::Books, owner, book, &[]),
            ["books", owner, book, _] => within(Area::Books, owner, book, &segments[3..]),
            ["files", owner] => within(Area::Files, owner, "", &[]),
            ["files", owner, ..] => within(Area::Files, owner, "", &segments[2..]),
            _ => return Err("there is no such place"),
        })
    }

    /// The address, with a slash at its end if it is a collection's.
    pub(crate) fn href(&self, prefix: &str) -> String {
        let encoded = |name: &str| utf8_percent_encode(name, PLAIN).to_string();
        match self {
            Place::Root => prefix.to_owned(),
            Place::Principals => format!("{prefix}principals/"),
            Place::Principal(name) => format!("{prefix}principals/{}/", encoded(name)),
            Place::Homes(area) => format!("{prefix}{}/", area.name()),
            Place::Home(name) => format!("{prefix}books/{}/", encoded(name)),
            Place::In(within) => within.href(prefix, within.path.is_empty()),
        }
    }
}

/// Owner, book and name of a card's address in which nothing is encoded; what is not plain is parsed as a whole.
pub(crate) fn plain_card<'a>(
    prefix: &str,
    address: &'a str,
) -> Option<(&'a str, &'a str, &'a str)> {
    let rest = address.strip_prefix(prefix)?.strip_prefix("books/")?;
    let (owner, rest) = rest.split_once('/')?;
    let (book, card) = rest.split_once('/')?;
    // Plain files are in a collection without a name, which is no book.
    let is_plain = !book.is_empty() && !card.contains('/') && !address.contains('%');
    is_plain.then_some((owner, book, card))
}

impl Within {
    /// The address, with a slash at its end or not.
    pub(crate) fn href(&self, prefix: &str, is_collection: bool) -> String {
        let mut href = format!("{prefix}{}", self.area.name());
        let path = self.path.split('/');
        let names = [&*self.owner, &*self.collection].into_iter().chain(path);
        for name in names.filter(|name| !name.is_empty()) {
            href.push('/');
            href.extend(utf8_percent_encode(name, PLAIN));
        }
        if is_collection {
            href.push('/');
        }
        href
    }

    /// Another resource of the same collection.
    pub(crate) fn at(&self, path: &str) -> Within {
        Within { path: path.to_owned(), ..self.clone() }
    }
}

/// A part between slashes, decoded once.
fn segment(text: &str) -> Result<Cow<'_, str>, &'static str> {
    if text.is_empty() {
        return Err("a part of it is empty");
    }
    let bytes = text.as_bytes();
    let is_cut = |at: usize| {
        !bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if memchr_percent(bytes).any(is_cut) {
        return Err("a `%` in it stands alone");
    }
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| "it is not UTF-8")?;
    match &*decoded {
        "." | ".." => Err("it has a part that is dots"),
        name if name.len() > SEGMENT_BYTES_MAX => Err("a part of it is too long"),
        name if name.contains(['/', '\0']) => Err("a part of it has a slash or a NUL in it"),
        _ => Ok(decoded),
    }
}

fn memchr_percent(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%').map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back() {
        for (address, wanted) in [
            ("/dav", "/dav/"),
            ("/dav/", "/dav/"),
            ("/dav/principals", "/dav/principals/"),
            ("/dav/principals/ada/", "/dav/principals/ada/"),
            ("/dav/books/ada", "/dav/books/ada/"),
            ("/dav/books/ada/addressbook", "/dav/books/ada/addressbook/"),
            ("/dav/books/ada/a%20b/%c3%A9%25.vcf", "/dav/books/ada/a%20b/%C3%A9%25.vcf"),
            ("/dav/books/a@b.c/x/y%3F%23=+,", "/dav/books/a@b.c/x/y%3F%23=+,"),
            ("/dav/files/ada", "/dav/files/ada/"),
            ("/dav/files/ada/x/y/z/", "/dav/files/ada/x/y/z"),
            ("/dav/files/ada/a%0ab", "/dav/files/ada/a%0Ab"),
        ] {
            let place = Place::parse("/dav/", address).unwrap();
            assert_eq!(place.href("/dav/"), wanted);
            assert_eq!(Place::parse("/dav/", wanted), Ok(place));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("/dav/files/a/{}", "x".repeat(256));
        for address in [
            "/",
            "/davx",
            "/dav/x",
            "/dav//",
            "/dav/books//x",
            "/dav/books/a/b//",
            "/dav/books/a/b/c/d",
            "/dav/files/a/..",
            "/dav/files/a/%2e%2E/b",
            "/dav/files/a/.",
            "/dav/files/a/b%2fc",
            "/dav/files/a/b%00",
            "/dav/files/a/%ff",
            "/dav/files/a/%",
            "/dav/files/a/%4",
            "/dav/files/a/%zz",
            &long,
        ] {
            assert!(Place::parse("/dav/", address).is_err(), "{address}");
        }
        // Nothing is decoded twice.
        let place = Place::parse("/dav/", "/dav/files/a/%252e%252e").unwrap();
        assert_eq!(
            place,
            Place::In(Within {
                area: Area::Files,
                owner: "a".into(),
                collection: String::new(),
                path: "%2e%2e".into()
            })
        );
    }
}
