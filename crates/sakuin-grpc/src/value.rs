//! Values of live tables: as messages have them, and as the engine does.

use prost::bytes::Bytes;
use sakuin_live::Value;

use crate::live::{self as wire, value::Kind};

/// What is wrong with a message that should be a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The moment is not one of whole microseconds.
    Moment,
    /// So many bytes are no numbers of four bytes each.
    Vector(usize),
}

/// The value that a message carries; none if it carries no kind.
pub fn read(value: wire::Value) -> Result<Option<Value>, Flaw> {
    let Some(kind) = value.kind else { return Ok(None) };
    Ok(Some(match kind {
        Kind::Int(number) => Value::Int(number),
        Kind::Float(number) => Value::Float(number),
        Kind::Bool(truth) => Value::Bool(truth),
        Kind::Time(moment) => Value::Time(microseconds(&moment).ok_or(Flaw::Moment)?),
        Kind::Text(text) => Value::Text(text.into()),
        Kind::Bytes(bytes) => Value::Bytes(bytes[..].into()),
        Kind::Vector(vector) => Value::Vector(vector.elements.into()),
        Kind::PackedVector(bytes) => Value::Vector(unpacked(&bytes)?.into()),
    }))
}

/// The little-endian numbers of a packed vector.
pub fn unpacked(bytes: &[u8]) -> Result<Vec<f32>, Flaw> {
    match bytes.as_chunks() {
        (numbers, []) => Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()),
        _ => Err(Flaw::Vector(bytes.len())),
    }
}

fn microseconds(moment: &prost_types::Timestamp) -> Option<i64> {
    let nanos = i64::from(moment.nanos);
    let is_whole = (0..1_000_000_000).contains(&nanos) && nanos % 1000 == 0;
    let seconds = moment.seconds.checked_mul(1_000_000).filter(|_| is_whole)?;
    seconds.checked_add(nanos / 1000)
}

impl From<&Value> for wire::Value {
    fn from(value: &Value) -> wire::Value {
        let kind = match value {
            Value::Int(number) => Kind::Int(*number),
            Value::Float(number) => Kind::Float(*number),
            Value::Bool(truth) => Kind::Bool(*truth),
            Value::Time(microseconds) => Kind::Time(prost_types::Timestamp {
                seconds: microseconds.div_euclid(1_000_000),
                nanos: microseconds.rem_euclid(1_000_000) as i32 * 1000,
            }),
            Value::Text(text) => Kind::Text(text.as_ref().to_owned()),
            Value::Bytes(bytes) => Kind::Bytes(Bytes::copy_from_slice(bytes)),
            Value::Vector(numbers) => Kind::Vector(wire::Vector { elements: numbers.to_vec() }),
            _ => return wire::Value { kind: None },
        };
        wire::Value { kind: Some(kind) }
    }
}
