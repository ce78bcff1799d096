//! Values of attributes, and how a table keeps them: numbers, truth and time as words, text and bytes as blobs,
//! both in an order that is the order of the values. So columns and indexes know two forms instead of six types.

use std::{fmt, sync::Arc};

use crate::Type;

/// A value of one attribute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A number; neither infinite nor "not a number".
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Microseconds since 1970, UTC.
    Time(i64),
    /// Text.
    Text(Arc<str>),
    /// Any bytes.
    Bytes(Arc<[u8]>),
    /// A vector, of finite numbers.
    Vector(Arc<[f32]>),
}

/// A value as it is kept. Words and blobs compare as their values do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cell {
    Word(u64),
    Blob(Arc<[u8]>),
}

const SIGN: u64 = 1 << 63;

impl Value {
    /// What it is a value of.
    pub fn type_of(&self) -> Type {
        match self {
            Value::Int(_) => Type::Int,
            Value::Float(_) => Type::Float,
            Value::Bool(_) => Type::Bool,
            Value::Time(_) => Type::Time,
            Value::Text(_) => Type::Text,
            Value::Bytes(_) => Type::Bytes,
            Value::Vector(_) => Type::Vector,
        }
    }

    /// None for what is no number, be it in a vector.
    pub(crate) fn cell(&self) -> Option<Cell> {
        Some(match self {
            Value::Int(number) | Value::Time(number) => Cell::Word(number.cast_unsigned() ^ SIGN),
            Value::Float(number) if !number.is_finite() => return None,
            Value::Float(number) => Cell::Word(ordered(*number)),
            Value::Bool(truth) => Cell::Word(u64::from(*truth)),
            Value::Text(text) => Cell::Blob(text.clone().into()),
            Value::Bytes(bytes) => Cell::Blob(bytes.clone()),
            Value::Vector(numbers) if !numbers.iter().all(|one| one.is_finite()) => return None,
            Value::Vector(numbers) => {
                Cell::Blob(numbers.iter().flat_map(|one| one.to_le_bytes()).collect())
            }
        })
    }
}

impl Cell {
    pub(crate) fn value(&self, of: Type) -> Value {
        match (self, of) {
            (Cell::Word(word), Type::Int) => Value::Int((word ^ SIGN).cast_signed()),
            (Cell::Word(word), Type::Time) => Value::Time((word ^ SIGN).cast_signed()),
            (Cell::Word(word), Type::Float) => Value::Float(unordered(*word)),
            (Cell::Word(word), _) => Value::Bool(*word != 0),
            (Cell::Blob(bytes), Type::Text) => {
                Value::Text(str::from_utf8(bytes).expect("it was text when it came").into())
            }
            (Cell::Blob(bytes), Type::Vector) => {
                let (numbers, _) = bytes.as_chunks();
                Value::Vector(numbers.iter().map(|one| f32::from_le_bytes(*one)).collect())
            }
            (Cell::Blob(bytes), _) => Value::Bytes(bytes.clone()),
        }
    }
}

/// The bits of a float so that they compare as it does; both zeros are one.
fn ordered(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn unordered(word: u64) -> f64 {
    f64::from_bits(if word & SIGN == 0 { !word } else { word & !SIGN })
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(number) => write!(formatter, "{number}"),
            Value::Float(number) => write!(formatter, "{number}"),
            Value::Bool(truth) => write!(formatter, "{truth}"),
            Value::Time(microseconds) => write!(formatter, "{microseconds} µs"),
            Value::Text(text) => write!(formatter, "{text:?}"),
            Value::Bytes(bytes) => write!(formatter, "{} bytes", bytes.len()),
            Value::Vector(numbers) => write!(formatter, "a vector of {}", numbers.len()),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Float(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.into())
    }
}

impl From<&[f32]> for Value {
    fn from(numbers: &[f32]) -> Value {
        Value::Vector(numbers.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_in_the_order_of_their_values() {
        let check = |values: &[Value]| {
            let cells: Vec<_> = values.iter().map(|value| value.cell().unwrap()).collect();
            assert!(cells.is_sorted_by(|a, b| a < b), "{values:?}");
            for (cell, value) in cells.iter().zip(values) {
                assert_eq!(cell.value(value.type_of()), *value);
            }
        };
        check(&[i64::MIN, -1, 0, 1, i64::MAX].map(Value::Int));
        check(&[i64::MIN, -1, 0, 1, i64::MAX].map(Value::Time));
        check(&[f64::MIN, -1.5, -f64::MIN_POSITIVE, 0.0, 5e-324, 1.5, f64::MAX].map(Value::Float));
        check(&[false, true].map(Value::Bool));
        check(&["", "a", "ab", "b", "索"].map(Value::from));
        check(&[&b""[..], b"\0", b"\0\0", b"\xff"].map(Value::from));
    }

    #[test]
    fn zeros_are_equal_and_what_is_no_number_is_none() {
        assert_eq!(Value::Float(-0.0).cell(), Value::Float(0.0).cell());
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Value::Float(number).cell(), None);
        }
    }
}
