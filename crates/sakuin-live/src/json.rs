//! Records as JSON, as HTTP and files have them: a flat object of the id and the values, `{"id": 7, "value": 3}`.
//!
//! Times are strings in RFC 3339, bytes strings in base64, vectors arrays. Values are read by what the schema says
//! they are, from the digits as they stand, so that none passes through a number that holds less.
//!
//! ```
//! use sakuin_live::{Schema, Type, Value, json};
//! let schema = Schema::new().with("value", Type::Int, None).with("label", Type::Text, None);
//! let fields = json::read(&schema, br#"{"value": 3, "label": null}"#)?;
//! assert_eq!(fields.id, None);
//! assert_eq!(fields.values, [("value", Some(Value::Int(3))), ("label", None)]);
//!
//! let error = json::read(&schema, br#"{"value": 3.5}"#).unwrap_err();
//! assert_eq!(error.to_string(), "attribute `value` takes int, not `3.5`");
//! # Ok::<(), json::Error>(())
//! ```

use std::{fmt, str::FromStr};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::{Attribute, ID_MAX, Record, Schema, Type, Value, ValueError, text};

/// What an object says of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields<'s> {
    /// Its `id`, if it has one.
    pub id: Option<u64>,
    /// The attributes it names, in its order, with their values; none where it says `null`.
    pub values: Vec<(&'s str, Option<Value>)>,
}

/// Why JSON is no record of a table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no JSON, or no object.
    #[error("{message} at line {line}, column {column}")]
    Syntax {
        /// What was expected.
        message: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The `id` is none.
    #[error("`id` is {found}")]
    Id {
        /// What stands there.
        found: String,
    },
    /// A name stands twice.
    #[error("`{name}` stands twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A value does not fit.
    #[error(transparent)]
    Value(#[from] ValueError),
}

impl Error {
    /// What would do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Syntax { .. } => {
                Some("a record is one object: `{\"name\": value, …}`".to_owned())
            }
            Error::Id { .. } => Some(format!("an id is a whole number from 1 to {ID_MAX}")),
            Error::Twice { .. } => Some("say it once".to_owned()),
            Error::Value(error) => error.hint(),
        }
    }
}

impl ValueError {
    /// What would do.
    pub fn hint(&self) -> Option<String> {
        match self {
            ValueError::Type { wanted, .. } => Some(format!("write {}", in_json(*wanted))),
            ValueError::Dimensions { wanted, .. } => Some(format!("give it {wanted} numbers")),
            ValueError::NoVectors => {
                Some("declare them: `vector = { dimensions = 128 }`".to_owned())
            }
            ValueError::NoDirection => {
                Some("leave it away, or declare the metric `dot` or `l2`".to_owned())
            }
            _ => None,
        }
    }
}

fn in_json(of: Type) -> String {
    let quoted = if is_quoted(of) { ", in quotes" } else { "" };
    format!("{}{quoted}", of.form())
}

fn is_quoted(of: Type) -> bool {
    matches!(of, Type::Time | Type::Text | Type::Bytes)
}

impl Record {
    /// The record as an object: its id and its values, those it has.
    pub fn to_json(&self) -> String {
        write(self.id(), self.values())
    }
}

/// The object of an id and values.
pub fn write<'v>(id: u64, values: impl IntoIterator<Item = (&'v str, Value)>) -> String {
    let mut out = format!("{{\"id\":{id}");
    let mut quoted = String::new();
    for (name, value) in values {
        // Attributes' names are letters that need no escape.
        out.extend([",\"", name, "\":"]);
        if is_quoted(value.type_of()) {
            quoted.clear();
            text::write(&value, &mut quoted);
            out.push_str(&serde_json::Value::from(&*quoted).to_string());
        } else {
            text::write(&value, &mut out);
        }
    }
    out.push('}');
    out
}

/// Reads the object of a record of a table.
pub fn read<'s>(schema: &'s Schema, json: &[u8]) -> Result<Fields<'s>, Error> {
    let Members(members) = serde_json::from_slice(json).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        Error::Syntax { message, line: error.line(), column: error.column() }
    })?;
    let mut fields = Fields::default();
    for (at, (name, value)) in members.iter().enumerate() {
        if members[..at].iter().any(|(before, _)| before == name) {
            return Err(Error::Twice { name: name.clone() });
        }
        let value = value.get();
        if name == "id" {
            fields.id = id(value)?;
            continue;
        }
        let attribute = &schema.attributes()[schema.place(name)?];
        fields.values.push((&attribute.name, self::value(attribute, value)?));
    }
    Ok(fields)
}

fn id(json: &str) -> Result<Option<u64>, Error> {
    if json == "null" {
        return Ok(None);
    }
    let id = u64::from_str(json).ok().filter(|id| (1..=ID_MAX).contains(id));
    match id {
        Some(id) => Ok(Some(id)),
        None => {
            Err(Error::Id { found: format!("`{}`", json.chars().take(64).collect::<String>()) })
        }
    }
}

/// The value of an attribute, from JSON that was found to be sound.
fn value(attribute: &Attribute, json: &str) -> Result<Option<Value>, ValueError> {
    if json == "null" {
        return Ok(None);
    }
    let is_time_as_number = attribute.values == Type::Time && !json.starts_with('"');
    match (is_quoted(attribute.values) && !is_time_as_number, json.starts_with('"')) {
        (false, false) => text::read(attribute, json).map(Some),
        (true, true) => {
            let string: String =
                serde_json::from_str(json).map_err(|_| text::refused(attribute, json))?;
            let read = text::read(attribute, &string);
            read.map(Some).map_err(|_| text::refused(attribute, json))
        }
        _ => Err(text::refused(attribute, json)),
    }
}

/// The members of an object, their values as they are written.
struct Members<'j>(Vec<(String, &'j RawValue)>);

impl<'j> Deserialize<'j> for Members<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Members<'j>, D::Error> {
        struct Object;

        impl<'j> Visitor<'j> for Object {
            type Value = Members<'j>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Members<'j>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Type::ALL.iter().fold(Schema::new(), |schema, of| schema.with(of.name(), *of, None))
    }

    #[track_caller]
    fn check(name: &str, json: &str, value: Value) {
        let schema = schema().with_vectors(2, crate::Metric::L2);
        let object = format!("{{\"{name}\": {json}}}");
        let fields = read(&schema, object.as_bytes()).unwrap();
        assert_eq!(fields.values, [(name, Some(value.clone()))], "{object}");
        let again = write(7, [(name, value)]);
        let fields_again = read(&schema, again.as_bytes()).unwrap();
        assert_eq!((fields_again.id, fields_again.values), (Some(7), fields.values), "{again}");
    }

    #[test]
    fn every_value_is_read_and_written_as_what_it_is() {
        check("int", "-9223372036854775808", Value::Int(i64::MIN));
        check("int", "9007199254740993", Value::Int(9_007_199_254_740_993));
        check("float", "1", Value::Float(1.0));
        check("float", "5e-324", Value::Float(5e-324));
        check("float", "1.7976931348623157e308", Value::Float(f64::MAX));
        check("float", "9.334205788342693e61", Value::Float(9.334205788342693e61));
        check("float", "2.2250738585072011e-308", Value::Float(2.225073858507201e-308));
        check("bool", "true", Value::Bool(true));
        check("time", "\"2026-11-20T12:00:00.000001Z\"", Value::Time(1_795_176_000_000_001));
        check("time", "\"2026-11-20T13:00:00+01:00\"", Value::Time(1_795_176_000_000_000));
        check("time", "\"1969-12-31T23:59:59.999999Z\"", Value::Time(-1));
        check("time", "9223372036854775807", Value::Time(i64::MAX));
        check("text", r#""a\"\n索\u7d22""#, Value::from("a\"\n索索"));
        check("text", "\"\"", Value::from(""));
        check("bytes", "\"/wA=\"", Value::from(&b"\xff\0"[..]));
        check("vector", "[ 0.1 , -1 ]", Value::from(&[0.1f32, -1.0][..]));
        // Half-way between two floats of 32 bits once it is one of 64.
        check("vector", "[1.00000017881393432617187499,0]", Value::from(&[1.0000001f32, 0.0][..]));
    }

    #[track_caller]
    fn refuse(json: &str, error: &str, hint: &str) {
        let schema = schema().with_vectors(2, crate::Metric::L2);
        let refused = read(&schema, json.as_bytes()).expect_err(json);
        assert!(refused.to_string().contains(error), "{json}: {refused}");
        let hints = refused.hint().unwrap_or_default();
        assert!(hints.contains(hint), "{json}: {hints}");
    }

    #[test]
    fn what_is_no_value_is_refused_with_what_would_do() {
        refuse("{\"int\": 9223372036854775808}", "`int` takes int, not `922", "a whole number");
        refuse("{\"int\": 1.0}", "not `1.0`", "a whole number");
        refuse("{\"int\": \"1\"}", "not `\\\"1\\\"`", "a whole number");
        refuse("{\"float\": 1e999}", "not `1e999`", "a number");
        refuse("{\"bool\": 1}", "not `1`", "`true`");
        refuse("{\"time\": \"2026-11-20T12:00:00\"}", "2026", "RFC 3339");
        refuse("{\"time\": 1795176000}", "not `1795176000`", "in quotes");
        refuse("{\"text\": 1}", "not `1`", "text, in quotes");
        refuse("{\"bytes\": \"/wA\"}", "/wA", "base64");
        refuse("{\"vector\": [1, \"2\"]}", "takes a vector", "an array");
        refuse("{\"vector\": [1, 1e39]}", "takes a vector", "an array");
        refuse("{\"vector\": [[1], 2]}", "takes a vector", "an array");
        refuse("{\"vektor\": [1, 2]}", "no attribute `vektor`", "");
        refuse("{\"int\": 1, \"int\": 2}", "`int` stands twice", "once");
        for id in ["0", "-1", "1.5", "\"1\"", "9223372036854775808"] {
            refuse(&format!("{{\"id\": {id}}}"), "`id` is `", "from 1 to");
        }
    }

    #[test]
    fn what_is_no_object_is_refused_by_place() {
        refuse("[1]", "expected an object at line 1, column", "one object");
        refuse("{\"int\": 1,\n \"bool\": tru}", "at line 2, column 13", "one object");
        refuse("{\"int\": 1} x", "trailing characters at line 1, column 12", "one object");
        refuse("", "EOF", "one object");
    }
}
