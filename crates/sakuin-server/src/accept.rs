//! What a request's headers ask of the form of its answer: content codings (RFC 9110 12.5.3) and whether the
//! client has it already (13.1.2).

use axum::http::{HeaderMap, HeaderValue, header};
use sakuin::Coding;

/// The content codings a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    codings: u8,
}

impl Accepted {
    const CODINGS: [Coding; 4] = [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd];

    /// Reads `Accept-Encoding`. Without one, a client may take anything, and gets what every client can read.
    pub(crate) fn of(headers: &HeaderMap) -> Accepted {
        let mut accepted = Accepted { codings: bit(Coding::Identity) };
        // What is named beats `*`, wherever it stands.
        let (mut named, mut rest) = (0, None);
        for value in headers.get_all(header::ACCEPT_ENCODING) {
            for item in value.as_bytes().split(|&byte| byte == b',') {
                let (name, takes) = weighed(item);
                if name == b"*" {
                    rest = Some(takes);
                } else if let Some(coding) = coding(name) {
                    named |= bit(coding);
                    accepted.set(coding, takes);
                }
            }
        }
        if let Some(takes) = rest {
            let unnamed = |coding: &Coding| named & bit(*coding) == 0;
            Accepted::CODINGS.into_iter().filter(unnamed).for_each(|c| accepted.set(c, takes));
        }
        accepted
    }

    /// Whether the client takes this coding.
    pub(crate) fn takes(self, coding: Coding) -> bool {
        self.codings & bit(coding) != 0
    }

    fn set(&mut self, coding: Coding, takes: bool) {
        self.codings = if takes { self.codings | bit(coding) } else { self.codings & !bit(coding) };
    }
}

const fn bit(coding: Coding) -> u8 {
    1 << coding as u8
}

fn coding(name: &[u8]) -> Option<Coding> {
    let named = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    match () {
        () if named("gzip") || named("x-gzip") => Some(Coding::Gzip),
        () if named("br") => Some(Coding::Brotli),
        () if named("zstd") => Some(Coding::Zstd),
        () if named("identity") => Some(Coding::Identity),
        () => None,
    }
}

/// The name of an item, and whether its weight is more than nothing. A weight that is none counts as nothing.
fn weighed(item: &[u8]) -> (&[u8], bool) {
    let mut parts = item.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| {
        part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q=")).map(<[u8]>::trim_ascii)
    });
    let takes = match weight {
        None => true,
        Some(digits) => str::from_utf8(digits).is_ok_and(|digits| {
            digits.parse::<f32>().is_ok_and(|weight| weight > 0.0 && weight <= 1.0)
        }),
    };
    (name, takes)
}

/// Whether the values of an `If-None-Match` name `tag`, which is written with its quotes. Tags are compared
/// weakly, as a client asks that only reads.
pub(crate) fn has_already<'a>(
    known: impl IntoIterator<Item = &'a HeaderValue>,
    tag: &[u8],
) -> bool {
    known.into_iter().any(|known| names(known.as_bytes(), tag))
}

fn names(mut known: &[u8], tag: &[u8]) -> bool {
    let tag = tag.strip_prefix(b"W/").unwrap_or(tag);
    loop {
        known = known.trim_ascii_start();
        known = known.strip_prefix(b",").unwrap_or(known).trim_ascii_start();
        if known == b"*" {
            return true;
        }
        known = known.strip_prefix(b"W/").unwrap_or(known);
        // A tag may hold a comma, so it ends where its quotes do.
        let Some(inner) = known.strip_prefix(b"\"") else { return false };
        let Some(end) = inner.iter().position(|&byte| byte == b'"') else { return false };
        if &known[..end + 2] == tag {
            return true;
        }
        known = &known[end + 2..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &str, wanted: &[Coding]) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, accept.parse().unwrap());
        let accepted = Accepted::of(&headers);
        let taken: Vec<_> =
            Accepted::CODINGS.into_iter().filter(|coding| accepted.takes(*coding)).collect();
        assert_eq!(taken, wanted, "{accept:?}");
    }

    #[test]
    fn codings_are_taken_by_weight_and_name() {
        use Coding::{Brotli, Gzip, Identity, Zstd};
        check("", &[Identity]);
        check("gzip, deflate, br;q=0.5", &[Identity, Gzip, Brotli]);
        check("gzip;q=1.0, br; q=0", &[Identity, Gzip]);
        check("GZIP", &[Identity, Gzip]);
        check("x-gzip ; q=0.001", &[Identity, Gzip]);
        check("identity, zstd", &[Identity, Zstd]);
        check("*", &[Identity, Gzip, Brotli, Zstd]);
        check("*;q=0", &[]);
        check("*;q=0, gzip", &[Gzip]);
        check("identity;q=0, *", &[Gzip, Brotli, Zstd]);
        check("br;q=0, *;q=0.1", &[Identity, Gzip, Zstd]);
        check("gzip;q=2, br;q=x, zstd;q=", &[Identity]);
        check("gzipp, , ;q=1, brr", &[Identity]);
        assert!(!Accepted::of(&HeaderMap::new()).takes(Coding::Gzip));
    }

    #[test]
    fn tags_are_found_in_lists() {
        let has = |known: &str| has_already(&[known.parse().unwrap()], b"\"a-br\"");
        for known in ["\"a-br\"", "W/\"a-br\"", "\"x,y\" , W/\"a-br\"", "*", " \"\",\"a-br\",\"b\""]
        {
            assert!(has(known), "{known}");
        }
        for known in ["\"a\"", "a-br", "", "\"a-br", "\"a-br-\"", "\"b\" \"c\"", "W/", "\"*\"", ","]
        {
            assert!(!has(known), "{known}");
        }
        assert!(!has_already(&None, b"\"a\""));
    }
}
