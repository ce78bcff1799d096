//! Values and records between the messages and the store.

use std::sync::Arc;

use bytes::Bytes;
use sakuin_grpc::live::{self as wire, value::Kind};
use sakuin_live::{Assignment, Durability, Metric, Record, Value};

use super::{name, refusal::Refusal};

/// The value that `field` carries; none if it carries no kind.
pub(crate) fn read(field: &str, value: wire::Value) -> Result<Option<Value>, Refusal> {
    let Some(kind) = value.kind else { return Ok(None) };
    Ok(Some(match kind {
        Kind::Int(number) => Value::Int(number),
        Kind::Float(number) => Value::Float(number),
        Kind::Bool(truth) => Value::Bool(truth),
        Kind::Time(moment) => Value::Time(microseconds(field, &moment)?),
        Kind::Text(text) => Value::Text(text.into()),
        Kind::Bytes(bytes) => Value::Bytes(Arc::from(&bytes[..])),
        Kind::Vector(vector) => Value::Vector(vector.elements.into()),
        Kind::PackedVector(bytes) => Value::Vector(unpacked(field, &bytes)?.into()),
    }))
}

/// The value that `field` must carry.
pub(crate) fn required(field: &str, value: Option<wire::Value>) -> Result<Value, Refusal> {
    let value = value.map(|value| read(field, value)).transpose()?.flatten();
    value.ok_or_else(|| Refusal::field(field, "there is no value", "send one"))
}

/// The vector that `field` must carry.
pub(crate) fn vector(field: &str, value: Option<wire::Value>) -> Result<Vec<f32>, Refusal> {
    match value.and_then(|value| value.kind) {
        Some(Kind::Vector(vector)) => Ok(vector.elements),
        Some(Kind::PackedVector(bytes)) => unpacked(field, &bytes),
        _ => Err(Refusal::field(field, "there is no vector", "send `vector` or `packed_vector`")),
    }
}

fn unpacked(field: &str, bytes: &[u8]) -> Result<Vec<f32>, Refusal> {
    let (numbers, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        let cause = format!("{} bytes are no numbers of 4 bytes each", bytes.len());
        return Err(Refusal::field(field, cause, "send little-endian numbers of 32 bits"));
    }
    Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

fn microseconds(field: &str, moment: &prost_types::Timestamp) -> Result<i64, Refusal> {
    let nanos = i64::from(moment.nanos);
    let is_whole = (0..1_000_000_000).contains(&nanos) && nanos % 1000 == 0;
    let seconds = moment.seconds.checked_mul(1_000_000).filter(|_| is_whole);
    seconds.and_then(|seconds| seconds.checked_add(nanos / 1000)).ok_or_else(|| {
        let cause = "the moment is not one of whole microseconds";
        Refusal::field(field, cause, "round `nanos` to thousands, from 0 to 999999000")
    })
}

/// A value as a message has it.
pub(crate) fn write(value: Value) -> wire::Value {
    let kind = match value {
        Value::Int(number) => Kind::Int(number),
        Value::Float(number) => Kind::Float(number),
        Value::Bool(truth) => Kind::Bool(truth),
        Value::Time(microseconds) => Kind::Time(prost_types::Timestamp {
            seconds: microseconds.div_euclid(1_000_000),
            nanos: microseconds.rem_euclid(1_000_000) as i32 * 1000,
        }),
        Value::Text(text) => Kind::Text(text.as_ref().to_owned()),
        Value::Bytes(bytes) => Kind::Bytes(Bytes::copy_from_slice(&bytes)),
        Value::Vector(numbers) => Kind::Vector(wire::Vector { elements: numbers.to_vec() }),
        _ => return wire::Value { kind: None },
    };
    wire::Value { kind: Some(kind) }
}

/// A record as a message has it.
pub(crate) fn record(table: &str, record: &Record) -> wire::Record {
    let values = record.values().map(|(name, value)| (name.to_owned(), write(value)));
    wire::Record { values: values.collect(), ..written(table, record.id(), record.version()) }
}

/// The name and version of a record, without its values.
pub(crate) fn written(table: &str, id: u64, version: u64) -> wire::Record {
    wire::Record {
        name: name::record(table, id),
        etag: name::etag(version),
        id,
        version,
        ..wire::Record::default()
    }
}

/// What becomes of attributes.
pub(crate) fn assignments(
    assignments: Vec<wire::Assignment>,
) -> Result<Vec<(String, Assignment)>, Refusal> {
    if assignments.is_empty() {
        let cause = "there is none";
        return Err(Refusal::field("assignments", cause, "say what the records become"));
    }
    let read = assignments.into_iter().map(|wire::Assignment { attribute, to }| {
        use wire::assignment::To;
        let field = || format!("assignments.{attribute}");
        let value = |value| required(&field(), Some(value));
        let assignment = match to {
            Some(To::Set(set)) => Assignment::Set(value(set)?),
            Some(To::Add(add)) => Assignment::Add(value(add)?),
            Some(To::Clear(true)) => Assignment::Clear,
            Some(To::Clear(false)) | None => {
                return Err(Refusal::field(
                    field(),
                    "it says nothing",
                    "send `set`, `add` or `clear`",
                ));
            }
        };
        Ok((attribute, assignment))
    });
    read.collect()
}

pub(crate) fn durability(durability: Durability) -> i32 {
    let durability = match durability {
        Durability::Sync => wire::Durability::Sync,
        Durability::Interval => wire::Durability::Interval,
        Durability::None => wire::Durability::None,
        _ => wire::Durability::Unspecified,
    };
    durability as i32
}

pub(crate) fn metric(field: &str, metric: i32) -> Result<Option<Metric>, Refusal> {
    use wire::Metric as Wire;
    Ok(match Wire::try_from(metric) {
        Ok(Wire::Unspecified) => None,
        Ok(Wire::Cosine) => Some(Metric::Cosine),
        Ok(Wire::Dot) => Some(Metric::Dot),
        Ok(Wire::L2) => Some(Metric::L2),
        Err(_) => {
            let cause = format!("there is no metric {metric}");
            return Err(Refusal::field(field, cause, "there are cosine, dot and l2"));
        }
    })
}
