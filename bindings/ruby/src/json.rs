//! JSON as Ruby's values, without a tree between them.

use std::fmt;

use magnus::{Error, RArray, RHash, Ruby, Value, prelude::*};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// Reads JSON into Ruby's values.
pub(crate) fn read(ruby: &Ruby, json: &[u8]) -> Result<Value, Error> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let class = || ruby.exception_runtime_error();
    Reader(ruby).deserialize(&mut reader).map_err(|error| Error::new(class(), error.to_string()))
}

#[derive(Clone, Copy)]
struct Reader<'r>(&'r Ruby);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(self.0.qnil().as_value())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(if value { self.0.qtrue().as_value() } else { self.0.qfalse().as_value() })
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(self.0.integer_from_i64(value).as_value())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(self.0.integer_from_u64(value).as_value())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(self.0.float_from_f64(value).as_value())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(self.0.str_new(value).as_value())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let array: RArray = self.0.ary_new();
        while let Some(value) = values.next_element_seed(self)? {
            array.push(value).map_err(A::Error::custom)?;
        }
        Ok(array.as_value())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let hash: RHash = self.0.hash_new();
        while let Some(key) = values.next_key::<String>()? {
            let value = values.next_value_seed(self)?;
            hash.aset(self.0.str_new(&key), value).map_err(A::Error::custom)?;
        }
        Ok(hash.as_value())
    }
}
