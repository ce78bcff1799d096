//! Texts with places for the parts of a key: an origin's URL and its headers.
//!
//! ```
//! use sakuin::{KeyRule, Template};
//! let template = Template::new("http://127.0.0.1/words/{key}?lang=ja", &KeyRule::any())?;
//! assert_eq!(template.url("a b/ä"), "http://127.0.0.1/words/a%20b%2F%C3%A4?lang=ja");
//! # Ok::<(), sakuin::TemplateError>(())
//! ```

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::KeyRule;

/// A text with places, as in `http://127.0.0.1/v3/BusArrival?BusStopCode={stop}`. A brace that is meant is
/// written twice.
#[derive(Clone, Debug)]
pub struct Template {
    pieces: Vec<Piece>,
    rule: KeyRule,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    /// The number of a part of the key.
    Part(usize),
}

/// A template that cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A brace without its other.
    #[error("the brace at byte {at} has no other")]
    Brace {
        /// Its place in bytes.
        at: usize,
    },
    /// A place whose name no part of the key has.
    #[error("`{{{name}}}` is no part of the key")]
    Unknown {
        /// The name.
        name: String,
    },
}

/// All but the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Template {
    /// Reads a template; its names must be parts of keys that `rule` allows.
    pub fn new(text: &str, rule: &KeyRule) -> Result<Template, TemplateError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            let place = text.len() - from.len();
            plain.push_str(before);
            if from.starts_with("{{") || from.starts_with("}}") {
                plain.push_str(&from[..1]);
                rest = &from[2..];
                continue;
            }
            let name = from.strip_prefix('{').and_then(|from| from.split_once('}'));
            let Some((name, after)) = name else { return Err(TemplateError::Brace { at: place }) };
            let part = rule.parts.iter().position(|part| part.name == name);
            let part = part.ok_or_else(|| TemplateError::Unknown { name: name.to_owned() })?;
            pieces.extend([Piece::Text(std::mem::take(&mut plain)), Piece::Part(part)]);
            rest = after;
        }
        pieces.push(Piece::Text(plain + rest));
        Ok(Template { pieces, rule: rule.clone() })
    }

    /// The URL for a key: every byte of a part that is not unreserved (RFC 3986 2.3) is percent-encoded.
    pub fn url(&self, key: &str) -> String {
        self.fill(key, |part, url| url.extend(utf8_percent_encode(part, RESERVED)))
    }

    /// The text for a key, the parts as they are: for a header.
    pub fn plain(&self, key: &str) -> String {
        self.fill(key, |part, text| text.push_str(part))
    }

    /// The numbers of the parts it names.
    pub fn parts(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Part(part) => Some(*part),
            Piece::Text(_) => None,
        })
    }

    fn fill(&self, key: &str, push: impl Fn(&str, &mut String)) -> String {
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Part(index) => {
                    push(self.rule.split(key).nth(*index).unwrap_or_default(), &mut filled);
                }
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Part, Pattern};

    fn rule(names: &[&str]) -> KeyRule {
        let part = |name: &&str| Part { name: (*name).to_owned(), pattern: Pattern::Any };
        KeyRule { parts: names.iter().map(part).collect() }
    }

    #[track_caller]
    fn check(template: &str, key: &str, url: &str) {
        let template = Template::new(template, &rule(&["line", "stop"])).unwrap();
        assert_eq!(template.url(key), url);
    }

    #[test]
    fn parts_stand_where_they_are_named() {
        check("http://a/{stop}/{line}?x={stop}", "1/02", "http://a/02/1?x=02");
        check("http://a/", "1/02", "http://a/");
        check("{{{line}}}", "1/02", "{1}");
    }

    #[test]
    fn no_byte_of_a_key_has_a_meaning_in_a_url() {
        check("?{line}", "a&b=c#d?e%f+g /", "?a%26b%3Dc%23d%3Fe%25f%2Bg%20");
        check(
            "{line}",
            "é\"<>\\^`{|}@:;,!$'()*[]/",
            "%C3%A9%22%3C%3E%5C%5E%60%7B%7C%7D%40%3A%3B%2C%21%24%27%28%29%2A%5B%5D",
        );
        check("{line}", "A-z.0_9~/", "A-z.0_9~");
    }

    #[test]
    fn what_cannot_be_filled_in_is_refused() {
        let refused = |text| Template::new(text, &rule(&["stop"])).unwrap_err();
        assert_eq!(refused("a{stop"), TemplateError::Brace { at: 1 });
        assert_eq!(refused("{stop}}x"), TemplateError::Brace { at: 6 });
        assert_eq!(refused("a{shop}"), TemplateError::Unknown { name: "shop".to_owned() });
        assert_eq!(refused("{}"), TemplateError::Unknown { name: String::new() });
    }

    #[test]
    fn a_header_gets_the_parts_as_they_are() {
        let template = Template::new("stop {stop}", &rule(&["stop"])).unwrap();
        assert_eq!(template.plain("a b/c"), "stop a b/c");
        assert!(template.parts().eq([0]));
    }
}
