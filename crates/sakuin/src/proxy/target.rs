//! From the path of a request to a URL of the origin and the key it is kept under.
//!
//! Paths that differ only in how they are written have one key, and no way of writing leads out of what lies
//! below the origin's base.

use http::{HeaderMap, HeaderName, Uri};
use url::{Position, Url};

use super::Kept;

/// Where a proxy stands, and where it leads.
pub(super) struct Base {
    /// Begins and ends with a slash.
    pub(super) route: String,
    /// Scheme, host and port.
    authority: String,
    /// Begins and ends with a slash.
    path: String,
}

/// What a request asks the origin for.
pub(super) struct Target {
    /// Path and query at the origin.
    pub(super) key: String,
    pub(super) url: Url,
}

/// A path that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A path with a segment `.` or `..`.
    #[error("the path leads upwards")]
    Dots,
    /// A path that is not below the proxy's route.
    #[error("the path is not below `{route}`")]
    Elsewhere {
        /// The route.
        route: String,
    },
    /// A URL that cannot be asked for.
    #[error("`{url}` is no URL of a web server")]
    Url {
        /// The URL.
        url: String,
    },
}

impl Base {
    pub(super) fn new(route: &str, url: &str) -> Result<Base, TargetError> {
        let refused = || TargetError::Url { url: url.to_owned() };
        let parsed = Url::parse(url).map_err(|_| refused())?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.query().is_some() {
            return Err(refused());
        }
        let slash = |path: &str| format!("{}/", path.trim_end_matches('/'));
        Ok(Base {
            route: slash(route),
            authority: parsed[..Position::BeforePath].to_owned(),
            path: slash(parsed.path()),
        })
    }

    pub(super) fn covers(&self, path: &str) -> bool {
        path.starts_with(&self.route)
    }

    /// The URL for the path and query of a request.
    pub(super) fn target(&self, uri: &Uri) -> Result<Target, TargetError> {
        let elsewhere = || TargetError::Elsewhere { route: self.route.clone() };
        let rest = uri.path().strip_prefix(&self.route).ok_or_else(elsewhere)?;
        let mut key = self.path.clone();
        normalise(rest, b"!$&'()*+,;=:@/", &mut key);
        if key.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Err(TargetError::Dots);
        }
        if let Some(query) = uri.query() {
            key.push('?');
            normalise(query, b"!$&()*+,;=:@/?", &mut key);
        }
        self.of_key(&key).map(|url| Target { key, url })
    }

    /// The URL for the part of a key that every variant has.
    pub(super) fn of_key(&self, key: &str) -> Result<Url, TargetError> {
        let path = key.split('\n').next().unwrap_or_default();
        let url = format!("{}{path}", self.authority);
        Url::parse(&url).map_err(|_| TargetError::Url { url })
    }
}

impl Target {
    /// The key for requests that differ from the one `response` was made for. The names in `varying` grow by
    /// those of `response`.
    pub(super) fn variant(
        &self,
        response: &Kept,
        varying: &mut Vec<HeaderName>,
        request: &HeaderMap,
    ) -> String {
        for (name, _) in response.selecting.fields() {
            if !varying.contains(name) {
                varying.push(name.clone());
            }
        }
        let mut hash = blake3::Hasher::new();
        for name in varying.iter() {
            let values = sakuin_cache::rfc9111::selecting_value(request, name);
            hash.update(name.as_str().as_bytes());
            hash.update(if values.is_some() { b":" } else { b"-" });
            let value = values.unwrap_or_default();
            hash.update(&value.len().to_le_bytes());
            hash.update(&value);
        }
        format!("{}\n{:x}\n{}", self.key, response.number, hash.finalize().to_hex())
    }
}

/// The key of a URL of the origin.
pub(super) fn key(url: &Url) -> String {
    let mut key = String::new();
    normalise(url.path(), b"!$&'()*+,;=:@/", &mut key);
    if let Some(query) = url.query() {
        key.push('?');
        normalise(query, b"!$&()*+,;=:@/?", &mut key);
    }
    key
}

/// Writes `text` so that one meaning has one form (RFC 3986 6.2.2): what need not be encoded is not, what must
/// be is, in upper case. `delimiters` stand for themselves, and are another thing when encoded.
fn normalise(text: &str, delimiters: &[u8], normal: &mut String) {
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let encoded = match rest {
            [b'%', high, low, ..] => hexadecimal(*high).zip(hexadecimal(*low)),
            _ => None,
        };
        let (byte, was_encoded) = match encoded {
            Some((high, low)) => (high << 4 | low, true),
            None => (*first, false),
        };
        rest = if was_encoded { &rest[3..] } else { after };
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if unreserved || (delimiters.contains(&byte) && !was_encoded) {
            normal.push(char::from(byte));
        } else {
            normal.push('%');
            for digit in [byte >> 4, byte & 15] {
                normal.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
            }
        }
    }
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(route: &str, base: &str, path: &str) -> Result<(String, String), TargetError> {
        let base = Base::new(route, base)?;
        let target = base.target(&path.parse().expect("a URI"))?;
        assert_eq!(key(&target.url), target.key);
        Ok((target.key, target.url.into()))
    }

    #[test]
    fn the_rest_of_the_path_and_the_query_follow_the_base() {
        let check = |base: &str, path: &str, url: &str| {
            assert_eq!(target("/mirror/", base, path).map(|(_, url)| url), Ok(url.to_owned()));
        };
        check("http://h:9100", "/mirror/a/b?c=d&e", "http://h:9100/a/b?c=d&e");
        check("http://h:9100/", "/mirror/", "http://h:9100/");
        check("http://h/base", "/mirror/a/", "http://h/base/a/");
        check("http://h/base/", "/mirror//a", "http://h/base//a");
        check("http://h", "/mirror/a?", "http://h/a?");
        assert!(target("/mirror/", "http://h", "/mirrors/a").is_err());
        assert!(Base::new("/", "ftp://h").is_err());
    }

    #[test]
    fn one_meaning_has_one_key() {
        let key = |path: &str| target("/", "http://h", path).map(|(key, _)| key);
        assert_eq!(key("/%41%7e%2d").as_deref(), Ok("/A~-"));
        assert_eq!(key("/%c3%a4").as_deref(), Ok("/%C3%A4"));
        assert_eq!(key("/a%2Fb").as_deref(), Ok("/a%2Fb"));
        assert_eq!(key("/a/b?x=%26&y='").as_deref(), Ok("/a/b?x=%26&y=%27"));
        assert_eq!(key("/100%").as_deref(), Ok("/100%25"));
        assert_eq!(key("/a\\b|c\"d").as_deref(), Ok("/a%5Cb%7Cc%22d"));
    }

    #[test]
    fn nothing_leads_upwards() {
        for path in ["/../a", "/a/..", "/%2e%2E/a", "/.%2e/", "/a/./b", "/.."] {
            assert_eq!(target("/", "http://h/base", path), Err(TargetError::Dots), "{path}");
        }
        let (_, url) = target("/", "http://h/base", "/..%5C..%2Fsecret").expect("a target");
        assert_eq!(url, "http://h/base/..%5C..%2Fsecret");
        assert!(target("/", "http://h", "/...").is_ok());
    }
}
