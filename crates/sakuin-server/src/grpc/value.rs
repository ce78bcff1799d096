//! Values and records between the messages and the store.

use sakuin_grpc::{
    live::{self as wire, value::Kind},
    value::{self, Flaw},
};
use sakuin_live::{Assignment, Durability, Metric, Record, Value};

use super::{name, refusal::Refusal};

/// The value that `field` carries; none if it carries no kind.
pub(crate) fn read(field: &str, value: wire::Value) -> Result<Option<Value>, Refusal> {
    value::read(value).map_err(|flaw| refusal(field, flaw))
}

fn refusal(field: &str, flaw: Flaw) -> Refusal {
    let (cause, hint) = match flaw {
        Flaw::Moment => (
            "the moment is not one of whole microseconds".to_owned(),
            "round `nanos` to thousands, from 0 to 999999000",
        ),
        Flaw::Vector(bytes) => (
            format!("{bytes} bytes are no numbers of 4 bytes each"),
            "send little-endian numbers of 32 bits",
        ),
    };
    Refusal::field(field, cause, hint)
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
        Some(Kind::PackedVector(bytes)) => {
            value::unpacked(&bytes).map_err(|flaw| refusal(field, flaw))
        }
        _ => Err(Refusal::field(field, "there is no vector", "send `vector` or `packed_vector`")),
    }
}

/// A record as a message has it.
pub(crate) fn record(table: &str, record: &Record) -> wire::Record {
    let values = record.values().map(|(name, value)| (name.to_owned(), (&value).into()));
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
