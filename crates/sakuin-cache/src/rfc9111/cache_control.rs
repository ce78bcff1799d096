//! `Cache-Control`, read once into what it means.
//!
//! A directive that nobody knows is skipped. One that cannot be understood, or stands twice with different
//! arguments, means the most careful thing it could mean: a lifetime is over, a permission is not given. A
//! qualified `no-cache="…"` or `private="…"` counts as an unqualified one, as RFC 9111 allows.

use std::{borrow::Cow, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use sfv::{BareItem, Dictionary, ListEntry, Parser};

/// What a request asks of a cache (RFC 9111 5.2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// Nothing stored without asking the origin; also by `Pragma`, where there is no `Cache-Control`.
    pub no_cache: bool,
    /// Nothing of this request or its response may be kept.
    pub no_store: bool,
    /// Only what is stored.
    pub only_if_cached: bool,
    /// No older than this.
    pub max_age: Option<Duration>,
    /// Fresh for at least this much longer.
    pub min_fresh: Option<Duration>,
    /// No longer stale than this.
    pub max_stale: Option<Duration>,
}

/// What a response allows a shared cache (RFC 9111 5.2.2, RFC 5861, RFC 9213).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseDirectives {
    /// It must not be kept.
    pub no_store: bool,
    /// It must not be used without asking the origin; also by `Pragma`, where there is no `Cache-Control`.
    pub no_cache: bool,
    /// It is for one user.
    pub private: bool,
    /// It is for everybody.
    pub public: bool,
    /// It must not be used stale.
    pub must_revalidate: bool,
    /// It must not be used stale by a shared cache.
    pub proxy_revalidate: bool,
    /// It may be kept only by who knows its status.
    pub must_understand: bool,
    /// How long it is fresh.
    pub max_age: Option<Duration>,
    /// How long it is fresh in a shared cache, which must not use it stale.
    pub s_maxage: Option<Duration>,
    /// How long it may be used stale while a new one is fetched.
    pub stale_while_revalidate: Duration,
    /// How long it may be used stale if fetching a new one fails.
    pub stale_if_error: Duration,
    /// Whether this was said to shared caches apart, so that `Expires` does not count.
    pub targeted: bool,
}

const CDN_CACHE_CONTROL: HeaderName = HeaderName::from_static("cdn-cache-control");

impl RequestDirectives {
    /// Reads the headers of a request.
    pub fn of(headers: &HeaderMap) -> RequestDirectives {
        let mut read = RequestDirectives::default();
        let mut seconds = Repeated::default();
        for directive in directives(headers, &header::CACHE_CONTROL) {
            let argument = directive.argument.as_deref();
            match &*directive.name {
                "no-cache" => read.no_cache = true,
                "no-store" => read.no_store = true,
                "only-if-cached" => read.only_if_cached = true,
                "max-age" => read.max_age = Some(seconds.once("max-age", argument, Duration::ZERO)),
                "min-fresh" => {
                    read.min_fresh = Some(seconds.once("min-fresh", argument, Duration::MAX));
                }
                // Without an argument any staleness will do.
                "max-stale" if directive.argument.is_none() => read.max_stale = Some(Duration::MAX),
                "max-stale" => {
                    read.max_stale = Some(seconds.once("max-stale", argument, Duration::ZERO));
                }
                _ => {}
            }
        }
        read.no_cache |= pragma(headers);
        read
    }
}

impl ResponseDirectives {
    /// Reads the headers of a response.
    pub fn of(headers: &HeaderMap) -> ResponseDirectives {
        targeted(headers).unwrap_or_else(|| ResponseDirectives::untargeted(headers))
    }

    fn untargeted(headers: &HeaderMap) -> ResponseDirectives {
        let mut read = ResponseDirectives::default();
        let mut seconds = Repeated::default();
        let mut damaged = false;
        for directive in directives(headers, &header::CACHE_CONTROL) {
            damaged |= directive.damaged;
            let argument = directive.argument.as_deref();
            read.set(&directive.name, |name| seconds.once(name, argument, Duration::ZERO));
        }
        if damaged {
            read.expire();
        }
        read.no_cache |= pragma(headers);
        read
    }

    /// Takes in one directive; `seconds` reads its argument.
    fn set(&mut self, name: &str, mut seconds: impl FnMut(&'static str) -> Duration) {
        match name {
            "no-store" => self.no_store = true,
            "no-cache" => self.no_cache = true,
            "private" => self.private = true,
            "public" => self.public = true,
            "must-revalidate" => self.must_revalidate = true,
            "proxy-revalidate" => self.proxy_revalidate = true,
            "must-understand" => self.must_understand = true,
            "max-age" => self.max_age = Some(seconds("max-age")),
            "s-maxage" => self.s_maxage = Some(seconds("s-maxage")),
            "stale-while-revalidate" => {
                self.stale_while_revalidate = seconds("stale-while-revalidate");
            }
            "stale-if-error" => self.stale_if_error = seconds("stale-if-error"),
            _ => {}
        }
    }

    fn expire(&mut self) {
        self.max_age = Some(Duration::ZERO);
        self.s_maxage = self.s_maxage.map(|_| Duration::ZERO);
        self.stale_while_revalidate = Duration::ZERO;
        self.stale_if_error = Duration::ZERO;
    }
}

/// `CDN-Cache-Control`: a dictionary of structured fields. One that does not parse, or is empty, is as good
/// as absent; a member of the wrong type is skipped (RFC 9213 2.1, 2.2).
fn targeted(headers: &HeaderMap) -> Option<ResponseDirectives> {
    let lines = headers.get_all(CDN_CACHE_CONTROL).iter().map(HeaderValue::as_bytes);
    let field = lines.collect::<Vec<_>>().join(&b", "[..]);
    let members: Dictionary = Parser::new(&field).parse().ok()?;
    if members.is_empty() {
        return None;
    }
    let mut read = ResponseDirectives { targeted: true, ..ResponseDirectives::default() };
    for (name, member) in &members {
        let ListEntry::Item(item) = member else { continue };
        let timed = matches!(
            name.as_str(),
            "max-age" | "s-maxage" | "stale-while-revalidate" | "stale-if-error"
        );
        match (&item.bare_item, timed) {
            (BareItem::Integer(seconds), true) => {
                let seconds = u64::try_from(i64::from(*seconds)).unwrap_or(0).min(SECONDS_MAX);
                read.set(name.as_str(), |_| Duration::from_secs(seconds));
            }
            (BareItem::Boolean(true), false)
            // `private="set-cookie"` and the like count as unqualified here too.
            | (BareItem::String(_), false) => read.set(name.as_str(), |_| Duration::ZERO),
            _ => {}
        }
    }
    Some(read)
}

/// `Pragma: no-cache`, which counts where there is no `Cache-Control` (RFC 9111 5.4).
fn pragma(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::CACHE_CONTROL)
        && directives(headers, &header::PRAGMA).any(|directive| directive.name == "no-cache")
}

/// The arguments of directives that may stand only once, or several times alike.
#[derive(Default)]
struct Repeated(Vec<(&'static str, Duration)>);

impl Repeated {
    /// The argument in seconds; `careful` if it is none, or differs from an earlier one.
    fn once(&mut self, name: &'static str, argument: Option<&[u8]>, careful: Duration) -> Duration {
        let read = argument.and_then(delta_seconds).map_or(careful, Duration::from_secs);
        let earlier = self.0.iter().find(|(earlier, _)| *earlier == name);
        let agreed =
            if earlier.is_some_and(|(_, earlier)| *earlier != read) { careful } else { read };
        self.0.push((name, agreed));
        agreed
    }
}

/// Greater numbers of seconds count as this one (RFC 9111 1.2.2).
const SECONDS_MAX: u64 = 1 << 31;

/// A number of seconds; nothing if it is none.
pub(super) fn delta_seconds(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |seconds: u64, digit: &u8| (seconds * 10 + u64::from(digit - b'0')).min(SECONDS_MAX);
    Some(text.iter().fold(0, add))
}

/// One member of a list such as `Cache-Control`.
struct Directive<'a> {
    /// In lower case.
    name: Cow<'a, str>,
    /// Unquoted.
    argument: Option<Cow<'a, [u8]>>,
    /// Whether a quote was not closed, or something stood behind it.
    damaged: bool,
}

fn directives<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = Directive<'a>> + use<'a> {
    headers.get_all(name).iter().flat_map(|line| Directives { rest: line.as_bytes() })
}

struct Directives<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Directives<'a> {
    type Item = Directive<'a>;

    fn next(&mut self) -> Option<Directive<'a>> {
        loop {
            let start = self.rest.iter().position(|byte| !matches!(byte, b',' | b' ' | b'\t'))?;
            self.rest = &self.rest[start..];
            let name = self.until(|byte| matches!(byte, b'=' | b','));
            let argument = if self.rest.first() == Some(&b'=') {
                self.rest = self.rest[1..].trim_ascii_start();
                Some(self.argument())
            } else {
                None
            };
            // What is no text can be no directive we know.
            let Ok(name) = str::from_utf8(name) else { continue };
            let name = if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                Cow::Owned(name.to_ascii_lowercase())
            } else {
                Cow::Borrowed(name)
            };
            let (argument, damaged) = argument.unzip();
            return Some(Directive { name, argument, damaged: damaged.unwrap_or(false) });
        }
    }
}

impl<'a> Directives<'a> {
    /// Takes the bytes before the first that `ends`, without the spaces around them.
    fn until(&mut self, ends: impl Fn(&u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.trim_ascii()
    }

    /// Takes an argument up to the comma behind it, and says whether it was damaged. A quote that is never
    /// closed hides nothing: what follows its first comma is read as directives.
    fn argument(&mut self) -> (Cow<'a, [u8]>, bool) {
        let Some(quoted) = self.rest.strip_prefix(b"\"") else {
            return (Cow::Borrowed(self.until(|&byte| byte == b',')), false);
        };
        let mut escaped = false;
        let close = quoted.iter().position(|&byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        let Some(close) = close else {
            return (Cow::Borrowed(self.until(|&byte| byte == b',')), true);
        };
        self.rest = &quoted[close + 1..];
        let garbage = self.until(|&byte| byte == b',');
        (unescape(&quoted[..close]), !garbage.is_empty())
    }
}

fn unescape(quoted: &[u8]) -> Cow<'_, [u8]> {
    if !quoted.contains(&b'\\') {
        return Cow::Borrowed(quoted);
    }
    let mut bytes = quoted.iter();
    let unescaped = std::iter::from_fn(|| match bytes.next() {
        Some(b'\\') => bytes.next(),
        other => other,
    });
    Cow::Owned(unescaped.copied().collect())
}
