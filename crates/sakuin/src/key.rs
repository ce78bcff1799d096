//! Keys: what a table may be asked for. A key is checked against the table's rule before anything else sees
//! it, so neither a URL nor a query ever meets a byte the rule does not allow.
//!
//! ```
//! use sakuin::{KeyRule, Part, Pattern};
//! let rule = KeyRule { parts: vec![Part { name: "stop".into(), pattern: Pattern::text("[0-9]{5}")? }] };
//! assert_eq!(rule.check("01012")?.as_str(), "01012");
//! assert_eq!(rule.check("1012").unwrap_err().to_string(), "`1012` is no `stop`: [0-9]{5}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod expression;

pub use expression::{Expression, PatternError};

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 1024;

/// A checked key in its one canonical form. Parts are joined by `/`, which no part of several may hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(Box<str>);

impl Key {
    /// The canonical form, as a cached table knows it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What the keys of a table look like: its named parts in the order of the route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRule {
    /// The parts; none if the table has one answer, whose key is empty.
    pub parts: Vec<Part>,
}

/// One named part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name, as in `{stop}`.
    pub name: String,
    /// What it may be.
    pub pattern: Pattern,
}

/// What a part of a key may be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Pattern {
    /// Any text, as in a packed table.
    Any,
    /// A whole text that a regular expression matches, kept as it is: leading zeros count. It is never `.` or
    /// `..`, which would climb in a URL.
    Text(Expression),
    /// A whole number in a range, without leading zeros or sign of plus.
    Range {
        /// The smallest.
        first: i64,
        /// The greatest.
        last: i64,
    },
}

/// A key that its table does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no `{part}`: {wanted}")]
pub struct KeyError {
    /// The part's name.
    pub part: String,
    /// What was given, cut to 64 characters.
    pub found: String,
    /// What would do: `[0-9]{5}`, or `1..2147483647`.
    pub wanted: String,
}

impl KeyRule {
    /// The rule of a packed table: any text, in one part named `key`.
    pub fn any() -> KeyRule {
        KeyRule { parts: vec![Part { name: "key".to_owned(), pattern: Pattern::Any }] }
    }

    /// Checks a key in canonical form, as at `/v1/tables/{table}/{key}`.
    pub fn check(&self, key: &str) -> Result<Key, KeyError> {
        let wanted = self.parts.len();
        let given = if wanted == 1 { 1 } else { key.split('/').count() };
        if wanted == 0 && !key.is_empty() || wanted > 1 && given != wanted {
            return Err(KeyError::new("key", key, &self.to_string()));
        }
        for (part, text) in self.parts.iter().zip(self.split(key)) {
            part.check(text)?;
        }
        Key::new(key)
    }

    /// Checks parts by name, as a route binds them. `part` gives the percent-decoded text of a name.
    pub fn bind<'a>(&self, part: impl Fn(&str) -> Option<&'a str>) -> Result<Key, KeyError> {
        if let [rule] = &self.parts[..] {
            let text = part(&rule.name).ok_or_else(|| rule.refused(""))?;
            rule.check(text)?;
            return Key::new(text);
        }
        let mut key = String::new();
        for (at, rule) in self.parts.iter().enumerate() {
            let text = part(&rule.name).ok_or_else(|| rule.refused(""))?;
            rule.check(text)?;
            if text.contains('/') {
                return Err(rule.refused(text));
            }
            key.push_str(if at > 0 { "/" } else { "" });
            key.push_str(text);
        }
        Key::new(&key)
    }

    /// The parts of a key in canonical form, in their order.
    pub fn split<'k>(&self, key: &'k str) -> impl Iterator<Item = &'k str> + use<'k> {
        let several = self.parts.len() > 1;
        let parts = key.splitn(if several { usize::MAX } else { 1 }, '/');
        parts.take(self.parts.len())
    }
}

/// The form of its keys: `{line}/{stop}`.
impl std::fmt::Display for KeyRule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.parts.is_empty() {
            return formatter.write_str("the empty key");
        }
        for (at, part) in self.parts.iter().enumerate() {
            write!(formatter, "{}{{{}}}", if at > 0 { "/" } else { "" }, part.name)?;
        }
        Ok(())
    }
}

impl Key {
    fn new(key: &str) -> Result<Key, KeyError> {
        if key.len() > KEY_BYTES_MAX {
            let wanted = format!("at most {KEY_BYTES_MAX} bytes");
            return Err(KeyError::new("key", key, &wanted));
        }
        if key.chars().any(char::is_control) {
            return Err(KeyError::new("key", key, "no control characters"));
        }
        Ok(Key(key.into()))
    }
}

impl Part {
    fn check(&self, text: &str) -> Result<(), KeyError> {
        // Checked first, so that no expression is run over a text of any length.
        if text.len() <= KEY_BYTES_MAX && self.pattern.matches(text) {
            return Ok(());
        }
        Err(self.refused(text))
    }

    fn refused(&self, text: &str) -> KeyError {
        KeyError::new(&self.name, text, &self.pattern.to_string())
    }
}

impl KeyError {
    fn new(part: &str, found: &str, wanted: &str) -> KeyError {
        let found = found.chars().take(64).flat_map(char::escape_debug).collect();
        KeyError { part: part.to_owned(), found, wanted: wanted.to_owned() }
    }
}

impl Pattern {
    /// A pattern of whole texts. The compiled expression is bounded in size, and matching is linear in the text.
    pub fn text(expression: &str) -> Result<Pattern, PatternError> {
        Expression::compile(expression).map(Pattern::Text)
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Text(expression) => !matches!(text, "." | "..") && expression.matches(text),
            Pattern::Range { first, last } => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                let canonical = match digits.as_bytes() {
                    [b'0'] => text == "0",
                    [first, ..] => first != &b'0' && digits.bytes().all(|b| b.is_ascii_digit()),
                    [] => false,
                };
                canonical && text.parse().is_ok_and(|number| (first..=last).contains(&&number))
            }
        }
    }
}

/// Expressions are equal if they are written alike.
impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        match (self, other) {
            (Pattern::Any, Pattern::Any) => true,
            (Pattern::Text(one), Pattern::Text(other)) => one.as_str() == other.as_str(),
            (
                Pattern::Range { first, last },
                Pattern::Range { first: other_first, last: other_last },
            ) => (first, last) == (other_first, other_last),
            _ => false,
        }
    }
}

impl Eq for Pattern {}

/// As it is written in a configuration.
impl std::fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pattern::Any => formatter.write_str("any text"),
            Pattern::Text(expression) => formatter.write_str(expression.as_str()),
            Pattern::Range { first, last } => write!(formatter, "{first}..{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(parts: &[(&str, Pattern)]) -> KeyRule {
        let part = |(name, pattern): &(&str, Pattern)| Part {
            name: (*name).to_owned(),
            pattern: pattern.clone(),
        };
        KeyRule { parts: parts.iter().map(part).collect() }
    }

    fn range(first: i64, last: i64) -> Pattern {
        Pattern::Range { first, last }
    }

    #[track_caller]
    fn check(pattern: Pattern, good: &[&str], bad: &[&str]) {
        let rule = rule(&[("x", pattern)]);
        for key in good {
            assert_eq!(rule.check(key).unwrap().as_str(), *key);
            assert_eq!(rule.bind(|_| Some(key)).unwrap().as_str(), *key);
        }
        for key in bad {
            rule.check(key).unwrap_err();
            rule.bind(|_| Some(key)).unwrap_err();
        }
    }

    #[test]
    fn texts_match_as_a_whole_and_stay_as_they_are() {
        let bad = ["1012", "010123", "0101a", "01012\n", " 01012", "", "٠١٠١٢", "1 OR 1=1"];
        check(Pattern::text("[0-9]{5}").unwrap(), &["01012", "99999"], &bad);
        check(Pattern::text("a|ab").unwrap(), &["a", "ab"], &["abc", "b"]);
        check(Pattern::text("(?x) a # b").unwrap(), &["a"], &["b"]);
        check(Pattern::text(".*").unwrap(), &["", "a/b", "駅"], &[".", "..", "a\0b", "a\nb"]);
    }

    #[test]
    fn numbers_have_one_form() {
        let bad = ["0", "01", "+1", "-1", "2147483648", "1.0", "1e3", "", "-", "abc", "１", " 1"];
        check(range(1, 2147483647), &["1", "2147483647"], &bad);
        check(range(-5, 5), &["-5", "0", "5"], &["-0", "-6", "--5", "00"]);
        check(range(i64::MIN, i64::MAX), &["-9223372036854775808"], &["9223372036854775808"]);
    }

    #[test]
    fn several_parts_are_joined_and_none_holds_the_joint() {
        let rule = rule(&[("line", Pattern::text(".*").unwrap()), ("id", range(1, 9))]);
        assert_eq!(rule.check("a b/3").unwrap().as_str(), "a b/3");
        let bind = |line, id| rule.bind(|name| if name == "line" { Some(line) } else { Some(id) });
        assert_eq!(bind("a b", "3"), rule.check("a b/3"));
        assert_eq!(bind("a/b", "3").unwrap_err().part, "line");
        assert_eq!(bind("a", "0").unwrap_err().to_string(), "`0` is no `id`: 1..9");
        assert_eq!(rule.check("a").unwrap_err().wanted, "{line}/{id}");
        rule.check("a/b/3").unwrap_err();
        rule.bind(|name| (name == "line").then_some("a")).unwrap_err();
        assert_eq!(rule.split("a b/3").collect::<Vec<_>>(), ["a b", "3"]);
    }

    #[test]
    fn without_parts_only_the_empty_key_is_one() {
        let rule = KeyRule::default();
        assert_eq!(rule.check("").unwrap(), rule.bind(|_| None).unwrap());
        rule.check("a").unwrap_err();
        assert_eq!(rule.split("").count(), 0);
    }

    #[test]
    fn any_text_has_a_length_and_no_control_characters() {
        let rule = KeyRule::any();
        for key in ["", "a/b", "..", "食べる", &"x".repeat(KEY_BYTES_MAX)] {
            assert_eq!(rule.check(key).unwrap().as_str(), key);
            assert_eq!(rule.split(key).collect::<Vec<_>>(), [key]);
        }
        for key in ["a\r\nb", "\u{85}", &"x".repeat(KEY_BYTES_MAX + 1)] {
            let error = rule.check(key).unwrap_err();
            assert!(error.found.len() <= 64 && !error.found.contains('\n'), "{error}");
        }
    }

    #[test]
    fn expressions_are_bounded() {
        Pattern::text(r"[\w-]{1,64}").unwrap();
        assert!(Pattern::text("(").unwrap_err().message.contains("unclosed group"));
        assert!(Pattern::text("a)(b").is_err());
        assert_eq!(Pattern::text(r"(\w{99}){99}").unwrap_err().message, "it is too large");
    }
}
