//! Input of `sakuin pack`: JSON, JSON Lines, CSV and TSV, each read as keys and values in a stream.
//!
//! JSON values keep their bytes: `1.10` stays `1.10`, a 20-digit integer keeps its digits. Where a value is
//! wanted as text or bytes, a JSON string gives what it says; `{"base64":"…"}` gives any bytes, as key
//! or as value, and is what `sakuin dump` prints for bytes that are no UTF-8.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// How an input is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// An object or a pair a line.
    Jsonl,
    /// `{"k":v}`, `[[k,v],…]`, or an array of objects with `--key`.
    Json,
    /// Commas, quotes, a header line.
    Csv,
    /// Tabs, a header line.
    Tsv,
}

/// What a value is wanted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ContentType {
    /// JSON, checked.
    Json,
    /// UTF-8 text.
    Text,
    /// Any bytes.
    Bytes,
}

/// Which part of a record is what.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// The field that holds the key.
    pub(crate) key: Option<String>,
    /// The field that holds the value; without it, the whole record is.
    pub(crate) value: Option<String>,
    /// What values are wanted as.
    pub(crate) content: ContentType,
}

/// Why an input was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A record is not of a form that has a key and a value.
    #[error("line {line}: {reason}")]
    Record { line: u64, reason: Reason },
    /// The input is not JSON.
    #[error("line {}: not JSON", .0.line())]
    Json(#[source] serde_json::Error),
    /// The input is not CSV.
    #[error("not CSV")]
    Csv(#[source] csv::Error),
    /// A column named on the command line is not in the header.
    #[error("there is no column `{name}`; the columns are {columns}")]
    NoColumn { name: String, columns: String },
    /// The input could not be read.
    #[error("not readable")]
    Read(#[from] std::io::Error),
    /// The table's builder refused the record.
    #[error(transparent)]
    Build(#[from] sakuin_pack::BuildError),
}

/// What is wrong with a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    NoKeyNamed,
    NoField(String),
    KeyIsNoScalar,
    ValueIsNoString,
    NotJson,
    NotUtf8,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoKeyNamed => {
                write!(f, "an object, and no `--key` says which field is the key")
            }
            Reason::NoField(name) => write!(f, "no field `{name}`"),
            Reason::KeyIsNoScalar => write!(f, "the key is neither a string nor a number"),
            Reason::ValueIsNoString => write!(f, "the value is no string"),
            Reason::NotJson => write!(f, "the value is not JSON"),
            Reason::NotUtf8 => write!(f, "the value is not UTF-8"),
        }
    }
}

impl Error {
    /// What helps.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Error::Record { reason: Reason::NoKeyNamed, .. } => Some("name it with `--key FIELD`"),
            Error::Record { reason: Reason::ValueIsNoString, .. } => {
                Some("pack it with `--content-type json`")
            }
            Error::Build(error) => error.hint(),
            _ => None,
        }
    }
}

/// A guess from the name, then from the first bytes.
pub(crate) fn guess(name: &str, first: &[u8]) -> Format {
    match name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref() {
        Some("jsonl" | "ndjson") => return Format::Jsonl,
        Some("json") => return Format::Json,
        Some("csv") => return Format::Csv,
        Some("tsv" | "tab") => return Format::Tsv,
        _ => {}
    }
    let line = first.split(|&b| b == b'\n').next().unwrap_or_default();
    let is_json = |bytes: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    match first.trim_ascii_start().first() {
        Some(b'{' | b'[') if is_json(line) && first.len() > line.len() + 1 => Format::Jsonl,
        Some(b'{' | b'[') => Format::Json,
        _ if line.contains(&b'\t') => Format::Tsv,
        _ => Format::Csv,
    }
}

/// What takes each key and value.
type Each<'e> = &'e mut dyn FnMut(&[u8], &[u8]) -> Result<(), sakuin_pack::BuildError>;

/// Reads an input to its end and hands on each key with its value.
pub(crate) fn read(
    input: impl BufRead,
    format: Format,
    fields: &Fields,
    each: Each<'_>,
) -> Result<(), Error> {
    match format {
        Format::Jsonl => read_lines(input, fields, each),
        Format::Json => read_json(input, fields, each),
        Format::Csv => read_columns(input, b',', fields, each),
        Format::Tsv => read_columns(input, b'\t', fields, each),
    }
}

fn read_lines(mut input: impl BufRead, fields: &Fields, each: Each<'_>) -> Result<(), Error> {
    let mut line = Vec::new();
    let mut number = 0;
    while {
        line.clear();
        input.read_until(b'\n', &mut line)? > 0
    } {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let value: &RawValue = serde_json::from_slice(&line).map_err(|error| Error::Record {
            line: number,
            reason: if error.is_data() { Reason::NotUtf8 } else { Reason::NotJson },
        })?;
        record(value, number, fields, each)?;
    }
    Ok(())
}

/// One record: a pair, or an object with the key in a field.
fn record(value: &RawValue, line: u64, fields: &Fields, each: Each<'_>) -> Result<(), Error> {
    let refuse = |reason| Error::Record { line, reason };
    if let Ok((key, value)) = serde_json::from_str::<(&RawValue, &RawValue)>(value.get()) {
        return pair(key, value, fields, each).map_err(|failure| failure.at(line));
    }
    let object: Object<'_> =
        serde_json::from_str(value.get()).map_err(|_| refuse(Reason::NoKeyNamed))?;
    let field = |name: &str| {
        let found = object.0.iter().rev().find(|(field, _)| field == name);
        found.map(|&(_, value)| value).ok_or_else(|| refuse(Reason::NoField(name.to_owned())))
    };
    let Some(key) = &fields.key else {
        // The form that `sakuin dump` prints, and its form for a single value.
        let key = field("key").map_err(|_| refuse(Reason::NoKeyNamed))?;
        let values = match field("values") {
            Ok(values) => serde_json::from_str(values.get()).unwrap_or_else(|_| vec![values]),
            Err(_) => vec![field("value")?],
        };
        for value in values {
            pair(key, value, fields, &mut *each).map_err(|failure| failure.at(line))?;
        }
        return Ok(());
    };
    let value = match &fields.value {
        Some(name) => field(name)?,
        None => value,
    };
    pair(field(key)?, value, fields, each).map_err(|failure| failure.at(line))
}

enum Failure {
    Reason(Reason),
    Build(sakuin_pack::BuildError),
}

impl Failure {
    fn at(self, line: u64) -> Error {
        match self {
            Failure::Reason(reason) => Error::Record { line, reason },
            Failure::Build(error) => Error::Build(error),
        }
    }
}

fn pair(key: &RawValue, value: &RawValue, fields: &Fields, each: Each<'_>) -> Result<(), Failure> {
    let key = scalar(key.get()).ok_or(Failure::Reason(Reason::KeyIsNoScalar))?;
    let value = match fields.content {
        ContentType::Json => Cow::Borrowed(value.get().as_bytes()),
        ContentType::Text | ContentType::Bytes => {
            if !value.get().starts_with(['"', '{']) {
                return Err(Failure::Reason(Reason::ValueIsNoString));
            }
            scalar(value.get()).ok_or(Failure::Reason(Reason::ValueIsNoString))?
        }
    };
    each(&key, &value).map_err(Failure::Build)
}

/// The bytes of a JSON string, a number as it is written, or `{"base64":"…"}`.
fn scalar(json: &str) -> Option<Cow<'_, [u8]>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Encoded<'a> {
        #[serde(borrow)]
        base64: Cow<'a, str>,
    }
    match json.as_bytes().first()? {
        b'"' => serde_json::from_str::<Text<'_>>(json).ok().map(|text| match text.0 {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }),
        b'{' => {
            let encoded: Encoded<'_> = serde_json::from_str(json).ok()?;
            BASE64.decode(encoded.base64.as_bytes()).ok().map(Cow::Owned)
        }
        b'-' | b'0'..=b'9' => Some(Cow::Borrowed(json.as_bytes())),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// An object's fields in their order, values as they are written.
struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<Text<'de>, &RawValue>()? {
                    fields.push((name.0, value));
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A whole JSON document, read as a stream: no more than one record is in memory.
fn read_json(input: impl BufRead, fields: &Fields, each: Each<'_>) -> Result<(), Error> {
    let mut failure = None;
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    let records = Records { fields, each, failure: &mut failure };
    let outcome = records.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match failure {
        Some(failure) => Err(failure),
        None => outcome.map_err(Error::Json),
    }
}

struct Records<'r, 'e> {
    fields: &'r Fields,
    each: Each<'e>,
    /// Set when reading stops for a reason that is not the JSON's.
    failure: &'r mut Option<Error>,
}

impl Records<'_, '_> {
    fn stop<E: serde::de::Error>(&mut self, outcome: Result<(), Error>) -> Result<(), E> {
        outcome.map_err(|error| {
            *self.failure = Some(error);
            E::custom("stopped")
        })
    }
}

impl<'de> DeserializeSeed<'de> for Records<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Records<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of keys and values, or an array of pairs or objects")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
            number += 1;
            let key = serde_json::value::to_raw_value(&key).map_err(serde::de::Error::custom)?;
            let outcome = pair(&key, &value, self.fields, &mut *self.each);
            self.stop(outcome.map_err(|failure| failure.at(number)))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(value) = sequence.next_element::<Box<RawValue>>()? {
            number += 1;
            let outcome = record(&value, number, self.fields, &mut *self.each);
            self.stop(outcome)?;
        }
        Ok(())
    }
}

/// CSV and TSV: the key is the named column or the first; the value the named one, the other one of two,
/// or the whole row as a JSON object.
fn read_columns(
    input: impl Read,
    delimiter: u8,
    fields: &Fields,
    each: Each<'_>,
) -> Result<(), Error> {
    let mut rows = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(delimiter == b',')
        .from_reader(input);
    let header = rows.byte_headers().map_err(Error::Csv)?.clone();
    let column = |name: &str| {
        header.iter().position(|column| column == name.as_bytes()).ok_or_else(|| Error::NoColumn {
            name: name.to_owned(),
            columns: String::from_utf8_lossy(header.as_slice()).into_owned(),
        })
    };
    let key = fields.key.as_deref().map_or(Ok(0), column)?;
    let value = match &fields.value {
        Some(name) => Some(column(name)?),
        None if header.len() == 2 => Some(1 - key),
        None => None,
    };
    let mut row = csv::ByteRecord::new();
    while rows.read_byte_record(&mut row).map_err(Error::Csv)? {
        let line = row.position().map_or(0, csv::Position::line);
        let refuse = |reason| Error::Record { line, reason };
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| refuse(Reason::NotUtf8));
        let quoted = |bytes| -> Result<String, Error> {
            serde_json::to_string(text(bytes)?).map_err(Error::Json)
        };
        let value = match (value, fields.content) {
            (Some(at), ContentType::Json) => {
                let is_json = serde_json::from_slice::<&RawValue>(&row[at]).is_ok();
                if is_json { row[at].to_vec() } else { quoted(&row[at])?.into_bytes() }
            }
            (Some(at), _) => row[at].to_vec(),
            (None, _) => {
                let mut object = String::from("{");
                for (at, (name, value)) in header.iter().zip(&row).enumerate() {
                    object.push_str(if at > 0 { "," } else { "" });
                    object.push_str(&quoted(name)?);
                    object.push(':');
                    object.push_str(&quoted(value)?);
                }
                object.push('}');
                object.into_bytes()
            }
        };
        each(&row[key], &value)?;
    }
    Ok(())
}
