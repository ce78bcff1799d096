//! Values as text, one form for JSON, CSV and whatever else is read by people: numbers as they are written, times
//! in RFC 3339, bytes in base64, vectors as an array of numbers. What is written is read as the same value.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use jiff::Timestamp;

use crate::{Attribute, Type, Value, ValueError};

/// How much of a value that is refused is quoted.
const FOUND_CHARS_MAX: usize = 64;

impl Type {
    /// What its values look like in JSON and in files.
    pub const fn form(self) -> &'static str {
        match self {
            Type::Int => "a whole number from -9223372036854775808 to 9223372036854775807",
            Type::Float => "a number such as `0.5` or `1e-3`",
            Type::Bool => "`true` or `false`",
            Type::Time => "a time as RFC 3339 writes it: `2026-11-20T12:00:00Z`",
            Type::Text => "text",
            Type::Bytes => "bytes in base64, with padding",
            Type::Vector => "an array of numbers: `[0.5, -1, 2e-3]`",
        }
    }
}

/// A value as text, without the quotes that JSON has.
pub(crate) fn write(value: &Value, out: &mut String) {
    let written = match value {
        Value::Int(number) => write!(out, "{number}"),
        Value::Float(number) => write!(out, "{number:?}"),
        Value::Bool(truth) => write!(out, "{truth}"),
        Value::Time(microseconds) => match Timestamp::from_microsecond(*microseconds) {
            Ok(time) => write!(out, "{time:.6}"),
            // Beyond the years that are written with four digits.
            Err(_) => write!(out, "{microseconds}"),
        },
        Value::Text(text) => out.write_str(text),
        Value::Bytes(bytes) => {
            BASE64.encode_string(bytes, out);
            Ok(())
        }
        Value::Vector(numbers) => {
            let mut before = '[';
            for number in &**numbers {
                // A `Debug` float is the shortest text that is read as the same one.
                write!(out, "{before}{number:?}").expect("a string takes every write");
                before = ',';
            }
            out.write_str(if numbers.is_empty() { "[]" } else { "]" })
        }
    };
    written.expect("a string takes every write");
}

/// What an attribute's text stands for.
pub(crate) fn read(attribute: &Attribute, text: &str) -> Result<Value, ValueError> {
    let value = match attribute.values {
        Type::Int => text.parse().ok().map(Value::Int),
        Type::Float => finite(text).map(Value::Float),
        Type::Bool => text.parse().ok().map(Value::Bool),
        Type::Time => time(text).map(Value::Time),
        Type::Text => Some(Value::from(text)),
        Type::Bytes => BASE64.decode(text).ok().map(|bytes| Value::Bytes(bytes.into())),
        Type::Vector => vector(text),
    };
    value.ok_or_else(|| refused(attribute, text))
}

/// The refusal of a text, cut to what can be shown.
pub(crate) fn refused(attribute: &Attribute, text: &str) -> ValueError {
    let shown: String = text.chars().take(FOUND_CHARS_MAX).flat_map(char::escape_debug).collect();
    let cut = if text.chars().nth(FOUND_CHARS_MAX).is_some() { "…" } else { "" };
    ValueError::Type {
        attribute: attribute.name.clone(),
        wanted: attribute.values,
        found: format!("`{shown}{cut}`"),
    }
}

/// A number in digits: Rust's own words for what is no number are none here.
fn finite(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse().ok().filter(|number: &f64| is_number && number.is_finite())
}

fn time(text: &str) -> Option<i64> {
    match text.parse::<Timestamp>() {
        Ok(time) => Some(time.as_microsecond()),
        // What no calendar reaches is written as its microseconds, and nothing else is.
        Err(_) => text.parse().ok().filter(|time| Timestamp::from_microsecond(*time).is_err()),
    }
}

fn vector(text: &str) -> Option<Value> {
    let numbers = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    if numbers.trim().is_empty() {
        return Some(Value::Vector([].into()));
    }
    let numbers = numbers.split(',').map(|number| {
        let number = number.trim();
        finite(number)?;
        // Read at once as what it is kept as: by way of 64 bits it could be rounded twice.
        number.parse().ok().filter(|number: &f32| number.is_finite())
    });
    numbers.collect::<Option<_>>().map(Value::Vector)
}
