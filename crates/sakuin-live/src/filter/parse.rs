//! Filters as text: comparisons joined by `AND`, a small part of AIP-160.
//!
//! ```text
//! filter     = [ condition *( "AND" condition ) ]
//! condition  = name ( "=" / "<" / "<=" / ">" / ">=" ) literal
//!            / name ":*"            ; it has a value
//!            / "NOT" name ":*"      ; it has none
//! name       = letter *( letter / digit / "_" / "-" ) / "`" anything but "`" "`"
//! literal    = number / true / false / text in double quotes
//! ```
//!
//! A literal is of the type of its attribute; a moment is a text as RFC 3339 writes it, bytes are a text in base64. In
//! a text `\"`, `\\`, `\n`, `\r` and `\t` stand for themselves.

use std::{fmt, ops::Bound, str::FromStr};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use jiff::Timestamp;
use thiserror::Error;

use super::{Condition, Filter};
use crate::{Attribute, Schema, Type, Value, ValueError};

/// Why a text is no filter of a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{cause}, at byte {position} of the filter")]
#[non_exhaustive]
pub struct FilterError {
    /// Where, in bytes from the beginning.
    pub position: usize,
    /// What is wrong.
    pub cause: String,
    /// What would be right.
    pub hint: String,
}

/// How long a filter may be, and how many conditions it may have.
const BYTES_MAX: usize = 16 << 10;
const CONDITIONS_MAX: usize = 64;

const CONDITION_HINT: &str =
    "write conditions such as `value >= 7 AND name = \"Kyoto\" AND NOT note:*`";
const OPERATOR_HINT: &str = "there are `=`, `<`, `<=`, `>`, `>=` and `:*`, joined by `AND`";

impl Filter {
    /// Reads a filter of the attributes of `schema`; an empty text wants every record.
    ///
    /// ```
    /// use sakuin_live::{Filter, Schema, Type};
    /// let schema = Schema::new().with("value", Type::Int, None).with("name", Type::Text, None);
    /// let filter = Filter::parse("value >= 7 AND value < 10 AND NOT name:*", &schema)?;
    /// assert_eq!(filter.to_string(), "value >= 7 AND value < 10 AND NOT name:*");
    /// assert_eq!(Filter::parse("vaule = 7", &schema).unwrap_err().position, 0);
    /// # Ok::<(), sakuin_live::FilterError>(())
    /// ```
    pub fn parse(text: &str, schema: &Schema) -> Result<Filter, FilterError> {
        let mut reader = Reader { text, at: 0, schema };
        if text.len() > BYTES_MAX {
            let cause = format!("it is longer than {BYTES_MAX} bytes");
            return Err(reader.error(BYTES_MAX, cause, CONDITION_HINT));
        }
        let mut filter = Filter::all();
        reader.skip_space();
        while !reader.is_at_end() {
            reader.condition(&mut filter)?;
            reader.skip_space();
            if reader.is_at_end() {
                break;
            }
            let begin = reader.at;
            match reader.word() {
                Some("AND") if filter.conditions.len() < CONDITIONS_MAX => {}
                Some("AND") => {
                    let cause = format!("there are more than {CONDITIONS_MAX} conditions");
                    return Err(reader.error(begin, cause, "search for less and sift the answer"));
                }
                _ => return Err(reader.unexpected(begin, OPERATOR_HINT)),
            }
            reader.skip_space();
            if reader.is_at_end() {
                let cause = "the condition after `AND` is missing";
                return Err(reader.error(reader.at, cause, CONDITION_HINT));
            }
        }
        Ok(filter)
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    schema: &'t Schema,
}

impl<'t> Reader<'t> {
    fn condition(&mut self, filter: &mut Filter) -> Result<(), FilterError> {
        let begin = self.at;
        let is_negated = self.word() == Some("NOT");
        if is_negated {
            self.skip_space();
        } else {
            self.at = begin;
        }
        let attribute = self.attribute()?;
        self.skip_space();
        let begin = self.at;
        let operator = self.operator();
        if operator == ":" {
            self.skip_space();
            if !self.rest().starts_with('*') {
                return Err(self.unexpected(self.at, "after `:` there is only `*`: any value"));
            }
            self.at += 1;
            let condition = match is_negated {
                true => Condition::Missing,
                false => Condition::Within(Bound::Unbounded, Bound::Unbounded),
            };
            filter.conditions.push((attribute.name.as_str().into(), condition));
            return Ok(());
        }
        if is_negated {
            return Err(self.unexpected(begin, "after `NOT` there is only `name:*`: no value"));
        }
        if !matches!(operator, "=" | "<" | "<=" | ">" | ">=") {
            return Err(self.unexpected(begin, OPERATOR_HINT));
        }
        self.skip_space();
        let value = self.literal(attribute)?;
        filter.add(&attribute.name, operator, value);
        Ok(())
    }

    fn attribute(&mut self) -> Result<&'t Attribute, FilterError> {
        let begin = self.at;
        let name = match self.rest().strip_prefix('`') {
            Some(quoted) => {
                let Some(end) = quoted.find('`') else {
                    return Err(self.error(begin, "the name never ends", "close it with a `"));
                };
                self.at += end + 2;
                &quoted[..end]
            }
            None => match self.word() {
                Some(name) => name,
                None => return Err(self.unexpected(begin, CONDITION_HINT)),
            },
        };
        let known = self.schema.attributes();
        known.iter().find(|attribute| attribute.name == name).ok_or_else(|| {
            let unknown = self.schema.place(name).expect_err("it is not among them");
            let ValueError::Unknown { known, .. } = unknown else { unreachable!("it is unknown") };
            let hint = format!("the attributes are {}", known.join(", "));
            self.error(begin, format!("there is no attribute `{name}`"), hint)
        })
    }

    fn operator(&mut self) -> &'t str {
        let is_sign = |sign: char| "=<>!:~".contains(sign);
        let rest = self.rest();
        let end = rest.find(|sign| !is_sign(sign)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn literal(&mut self, attribute: &Attribute) -> Result<Value, FilterError> {
        let begin = self.at;
        let wanted = match attribute.values {
            Type::Int => "a whole number of 64 bits, such as `7`",
            Type::Float => "a number, such as `0.5`",
            Type::Bool => "`true` or `false`",
            Type::Time => "a moment, such as `\"2026-11-20T08:00:00Z\"`",
            Type::Text => "a text in double quotes, such as `\"Kyoto\"`",
            Type::Bytes => "bytes in base64 in double quotes, such as `\"AAE=\"`",
            Type::Vector => "found by nearness: no filter looks into a vector",
        };
        let quoted = match self.rest().starts_with('"') {
            true => Some(self.quoted()?),
            false => None,
        };
        let bare = if quoted.is_some() { "" } else { self.bare() };
        let value = match (attribute.values, quoted) {
            (Type::Int, None) => bare.parse().ok().map(Value::Int),
            (Type::Float, None) => number(bare).map(Value::Float),
            (Type::Bool, None) => bare.parse().ok().map(Value::Bool),
            (Type::Time, Some(text)) => moment(&text).map(Value::Time),
            (Type::Text, Some(text)) => Some(Value::from(text.as_str())),
            (Type::Bytes, Some(text)) => {
                BASE64.decode(text).ok().map(|bytes| Value::from(bytes.as_slice()))
            }
            _ => None,
        };
        value.ok_or_else(|| self.unexpected(begin, format!("`{}` is {wanted}", attribute.name)))
    }

    fn quoted(&mut self) -> Result<String, FilterError> {
        let begin = self.at;
        let mut text = String::new();
        let mut signs = self.rest().char_indices().skip(1);
        while let Some((at, sign)) = signs.next() {
            match sign {
                '"' => {
                    self.at = begin + at + 1;
                    return Ok(text);
                }
                '\\' => match signs.next().map(|(_, sign)| sign) {
                    Some(sign @ ('"' | '\\')) => text.push(sign),
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    _ => {
                        let hint = "there are `\\\"`, `\\\\`, `\\n`, `\\r` and `\\t`";
                        return Err(self.error(begin + at, "`\\` before another sign", hint));
                    }
                },
                sign => text.push(sign),
            }
        }
        Err(self.error(begin, "the text never ends", "close it with a double quote"))
    }

    /// Signs up to a space.
    fn bare(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|sign: char| sign.is_whitespace() || sign == '"').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn word(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        if !rest.starts_with(is_first) {
            return None;
        }
        let end = rest.find(|sign| !is_further(sign)).unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end])
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    fn unexpected(&self, position: usize, hint: impl Into<String>) -> FilterError {
        let found: String = self.text[position..].chars().take(20).collect();
        let cause = match found.is_empty() {
            true => "the filter ends too early".to_owned(),
            false => format!("`{found}` does not fit"),
        };
        self.error(position, cause, hint)
    }

    fn error(
        &self,
        position: usize,
        cause: impl Into<String>,
        hint: impl Into<String>,
    ) -> FilterError {
        FilterError { position, cause: cause.into(), hint: hint.into() }
    }
}

impl Filter {
    /// One comparison more. Two bounds of one attribute become one range, which an index can answer.
    fn add(&mut self, attribute: &str, operator: &str, value: Value) {
        let is_lower = operator.starts_with('>');
        let bound = match operator {
            "=" => {
                self.conditions.push((attribute.into(), Condition::Equal(value)));
                return;
            }
            "<" | ">" => Bound::Excluded(value),
            _ => Bound::Included(value),
        };
        let half = self.conditions.iter_mut().find_map(|(name, condition)| match condition {
            Condition::Within(from, to) if name == attribute && *from != *to => {
                let side = if is_lower { from } else { to };
                matches!(side, Bound::Unbounded).then_some(side)
            }
            _ => None,
        });
        if let Some(side) = half {
            *side = bound;
            return;
        }
        let range = match is_lower {
            true => Condition::Within(bound, Bound::Unbounded),
            false => Condition::Within(Bound::Unbounded, bound),
        };
        self.conditions.push((attribute.into(), range));
    }
}

fn is_first(sign: char) -> bool {
    sign.is_alphabetic() || sign == '_'
}

fn is_further(sign: char) -> bool {
    is_first(sign) || sign.is_numeric() || sign == '-'
}

/// Not "infinity" and its like, which Rust reads as numbers.
fn number(text: &str) -> Option<f64> {
    let is_number =
        text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    text.parse().ok().filter(|number: &f64| is_number && number.is_finite())
}

/// Microseconds since 1970.
fn moment(text: &str) -> Option<i64> {
    let moment = Timestamp::from_str(text).ok()?;
    (moment.as_nanosecond() % 1000 == 0).then(|| moment.as_microsecond())
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, condition)) in self.conditions.iter().enumerate() {
            formatter.write_str(if at > 0 { " AND " } else { "" })?;
            match condition {
                Condition::Equal(value) => compare(formatter, name, "=", value)?,
                Condition::Missing => write!(formatter, "NOT {}:*", Name(name))?,
                Condition::Within(from, to) => {
                    let lower = match from {
                        Bound::Included(value) => Some((">=", value)),
                        Bound::Excluded(value) => Some((">", value)),
                        Bound::Unbounded => None,
                    };
                    let upper = match to {
                        Bound::Included(value) => Some(("<=", value)),
                        Bound::Excluded(value) => Some(("<", value)),
                        Bound::Unbounded => None,
                    };
                    if let Some((operator, value)) = lower {
                        compare(formatter, name, operator, value)?;
                    }
                    formatter.write_str(if lower.is_some() && upper.is_some() {
                        " AND "
                    } else {
                        ""
                    })?;
                    if let Some((operator, value)) = upper {
                        compare(formatter, name, operator, value)?;
                    }
                    if lower.is_none() && upper.is_none() {
                        write!(formatter, "{}:*", Name(name))?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn compare(
    formatter: &mut fmt::Formatter<'_>,
    name: &str,
    operator: &str,
    value: &Value,
) -> fmt::Result {
    write!(formatter, "{} {operator} ", Name(name))?;
    match value {
        Value::Time(microseconds) => match Timestamp::from_microsecond(*microseconds) {
            Ok(moment) => write!(formatter, "\"{moment}\""),
            Err(_) => write!(formatter, "{value}"),
        },
        Value::Bytes(bytes) => write!(formatter, "\"{}\"", BASE64.encode(bytes)),
        Value::Text(text) => {
            formatter.write_str("\"")?;
            for sign in text.chars() {
                match sign {
                    '"' => formatter.write_str("\\\"")?,
                    '\\' => formatter.write_str("\\\\")?,
                    '\n' => formatter.write_str("\\n")?,
                    '\r' => formatter.write_str("\\r")?,
                    '\t' => formatter.write_str("\\t")?,
                    sign => write!(formatter, "{sign}")?,
                }
            }
            formatter.write_str("\"")
        }
        value => write!(formatter, "{value}"),
    }
}

/// A name, in backquotes where it must be.
struct Name<'n>(&'n str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name(name) = self;
        let is_plain = name.starts_with(is_first) && name.chars().all(is_further);
        match is_plain && !matches!(*name, "AND" | "NOT") {
            true => formatter.write_str(name),
            false => write!(formatter, "`{name}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schema() -> Schema {
        [
            ("value", Type::Int),
            ("weight", Type::Float),
            ("seen", Type::Bool),
            ("at", Type::Time),
            ("name", Type::Text),
            ("raw", Type::Bytes),
            ("odd name", Type::Int),
            ("NOT", Type::Int),
        ]
        .into_iter()
        .fold(Schema::new(), |schema, (name, of)| schema.with(name, of, None))
        .with_vectors(2, crate::Metric::L2)
    }

    #[test]
    fn filters_are_read_and_written() {
        let check = |text: &str, written: &str| {
            let filter = Filter::parse(text, &schema()).unwrap();
            assert_eq!(filter.to_string(), written);
            assert_eq!(Filter::parse(written, &schema()), Ok(filter));
        };
        check("", "");
        check("  ", "");
        check("value=7", "value = 7");
        check(" value <= -3 ", "value <= -3");
        check("value>1 AND value<9", "value > 1 AND value < 9");
        check("value<9 AND seen = true AND value>1", "value > 1 AND value < 9 AND seen = true");
        check("value > 1 AND value > 2", "value > 1 AND value > 2");
        check("weight = 1e3 AND weight >= -0.5", "weight = 1000 AND weight >= -0.5");
        check("seen = false", "seen = false");
        check(r#"name = "a \"b\" \\ \n索""#, r#"name = "a \"b\" \\ \n索""#);
        check("raw = \"AAE=\"", "raw = \"AAE=\"");
        check("at > \"2026-11-20T09:00:00.5+01:00\"", "at > \"2026-11-20T08:00:00.5Z\"");
        check("NOT name:* AND raw : *", "NOT name:* AND raw:*");
        check("NOT raw:* AND value:* AND value < 3", "NOT raw:* AND value:* AND value < 3");
        check("`odd name` = 1 AND `NOT` = 2", "`odd name` = 1 AND `NOT` = 2");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_its_cure() {
        let check = |text: &str, position: usize, cause: &str, hint: &str| {
            let error = Filter::parse(text, &schema()).unwrap_err();
            assert_eq!(error.position, position, "{text}: {error}");
            assert!(error.cause.contains(cause), "{text}: {error}");
            assert!(error.hint.contains(hint), "{text}: {}", error.hint);
        };
        check("vaule = 7", 0, "no attribute `vaule`", "value, weight");
        check("value != 7", 6, "!= 7", "`=`");
        check("value = x", 8, "`x`", "whole number");
        check("value = 9223372036854775808", 8, "does not fit", "64 bits");
        check("value = 7 OR value = 8", 10, "OR", "`AND`");
        check("value = 7 AND ", 14, "missing", "conditions");
        check("value", 5, "too early", "`:*`");
        check("(value = 7)", 0, "(value", "conditions");
        check("weight = inf", 9, "inf", "number");
        check("weight = 1e999", 9, "1e999", "number");
        check("seen = 1", 7, "1", "true");
        check("at > \"yesterday\"", 5, "yesterday", "2026-11-20");
        check("at > \"2026-11-20T08:00:00.0000001Z\"", 5, "2026", "moment");
        check("name = Kyoto", 7, "Kyoto", "double quotes");
        check("name = \"Kyoto", 7, "never ends", "close");
        check(r#"name = "\x""#, 8, "another sign", "`\\n`");
        check("raw = \"?\"", 6, "?", "base64");
        check("vector = 1", 9, "1", "nearness");
        check("NOT value = 7", 10, "= 7", "`name:*`");
        check("value:7", 6, "7", "only `*`");
        check(&"value = 7 AND ".repeat(65), 64 * 14 - 4, "more than 64", "sift");
        check(&" ".repeat(16385), 16384, "longer", "conditions");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,40}") {
            if let Ok(filter) = Filter::parse(&text, &schema()) {
                prop_assert_eq!(Filter::parse(&filter.to_string(), &schema()), Ok(filter));
            }
        }

        #[test]
        fn what_is_written_is_read_again(
            conditions in prop::collection::vec((0..6usize, 0..7usize, any::<i64>(), ".{0,8}"), 0..8),
        ) {
            let schema = schema();
            let mut text = Vec::new();
            for (place, operator, number, characters) in conditions {
                let Attribute { name, values, .. } = &schema.attributes()[place];
                let value = match values {
                    Type::Int => Value::Int(number),
                    Type::Float => Value::Float(number as f64 / 8.0),
                    Type::Bool => Value::Bool(number % 2 == 0),
                    Type::Time => Value::Time(number >> 12),
                    Type::Text => Value::from(characters.as_str()),
                    _ => Value::from(characters.as_bytes()),
                };
                let mut filter = Filter::all();
                match operator {
                    5 => filter.conditions.push((name.as_str().into(), Condition::Missing)),
                    6 => filter = Filter::within(name, ..),
                    at => filter.add(name, ["=", "<", "<=", ">", ">="][at], value),
                }
                text.push(filter.to_string());
            }
            let filter = Filter::parse(&text.join(" AND "), &schema).unwrap();
            prop_assert_eq!(Filter::parse(&filter.to_string(), &schema), Ok(filter));
        }
    }
}
