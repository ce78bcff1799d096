//! JSON and Python's values, one made of the other without a tree between them.

use std::{fmt, io::Write as _};

use pyo3::{
    exceptions::{PyRecursionError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple},
};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};

use crate::text::{name, text};

/// How deep values may lie within each other.
const DEPTH_MAX: usize = 100;

/// Reads JSON into Python's values.
pub(crate) fn read<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    Reader(py).deserialize(&mut reader).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[derive(Clone, Copy)]
struct Reader<'py>(Python<'py>);

impl<'py, 'de> DeserializeSeed<'de> for Reader<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'py, 'de> Visitor<'de> for Reader<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(PyNone::get(self.0).to_owned().into_any())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(PyBool::new(self.0, value).to_owned().into_any())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.0, value).into_any())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.0, value).into_any())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(PyFloat::new(self.0, value).into_any())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(text(self.0, value.as_bytes()).map_err(E::custom)?.into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let list = PyList::empty(self.0);
        while let Some(value) = values.next_element_seed(self)? {
            list.append(value).map_err(A::Error::custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.0);
        while let Some(key) = values.next_key::<Key<'de>>()? {
            let value = values.next_value_seed(self)?;
            let key = name(self.0, &key.0).map_err(A::Error::custom)?;
            dict.set_item(key, value).map_err(A::Error::custom)?;
        }
        Ok(dict.into_any())
    }
}

/// A name in an object, borrowed where it is written without escapes.
struct Key<'de>(std::borrow::Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Key<'de>, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Key<'de>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(name.into()))
            }

            fn visit_str<E>(self, name: &str) -> Result<Key<'de>, E> {
                Ok(Key(name.to_owned().into()))
            }
        }
        json.deserialize_str(Names)
    }
}

/// Writes a value of Python as JSON.
pub(crate) fn write(value: &Bound<'_, PyAny>, json: &mut Vec<u8>) -> PyResult<()> {
    written(value, json, 0)
}

fn written(value: &Bound<'_, PyAny>, json: &mut Vec<u8>, depth: usize) -> PyResult<()> {
    if depth > DEPTH_MAX {
        return Err(PyRecursionError::new_err(format!("values lie deeper than {DEPTH_MAX}")));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return text_of(text.to_str()?, json);
    }
    if value.is_none() {
        json.extend_from_slice(b"null");
    } else if let Ok(value) = value.cast::<PyBool>() {
        json.extend_from_slice(if value.is_true() { b"true" } else { b"false" });
    } else if let Ok(value) = value.cast::<PyInt>() {
        // Of any length; a subclass may print itself otherwise.
        match value.extract::<i64>() {
            Ok(number) => write!(json, "{number}").expect("memory takes every write"),
            Err(_) => {
                json.extend_from_slice(value.call_method0("__int__")?.str()?.to_str()?.as_bytes())
            }
        }
    } else if let Ok(value) = value.cast::<PyFloat>() {
        let number = value.value();
        if !number.is_finite() {
            return Err(PyValueError::new_err(format!("JSON has no number {number}")));
        }
        let written = serde_json::to_string(&number).expect("it is finite");
        json.extend_from_slice(written.as_bytes());
    } else if let Ok(dict) = value.cast::<PyDict>() {
        json.push(b'{');
        for (at, (key, value)) in dict.iter().enumerate() {
            if at > 0 {
                json.push(b',');
            }
            let key = key
                .cast::<PyString>()
                .map_err(|_| PyTypeError::new_err("names of JSON objects are str"))?;
            text_of(key.to_str()?, json)?;
            json.push(b':');
            written(&value, json, depth + 1)?;
        }
        json.push(b'}');
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        json.push(b'[');
        for (at, value) in value.try_iter()?.enumerate() {
            if at > 0 {
                json.push(b',');
            }
            written(&value?, json, depth + 1)?;
        }
        json.push(b']');
    } else {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("JSON has nothing for a value of type {kind}")));
    }
    Ok(())
}

fn text_of(text: &str, json: &mut Vec<u8>) -> PyResult<()> {
    serde_json::to_writer(json, text).map_err(|error| PyValueError::new_err(error.to_string()))
}
