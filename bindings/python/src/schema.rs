//! What tables are said to be, as Python says it.

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyMapping, PyString},
};
use sakuin_live::{IndexKind, Metric, Schema, Type, VECTOR};

const TYPES: &str = "a type is \"int\", \"float\", \"bool\", \"time\", \"text\" or \"bytes\"";
const METRICS: &str = "a metric is \"cosine\", \"dot\" or \"l2\"";
const INDEXES: &str = "an index is \"equal\" or \"ordered\"";
const NAMES: &str = "a name has 1 to 64 letters, digits and _, and is not \"id\"";
const DIMENSIONS_MAX: usize = 4096;

/// The schema of a mapping from attributes to a type, or to more about them.
pub(crate) fn schema(attributes: &Bound<'_, PyMapping>) -> PyResult<Schema> {
    let mut schema = Schema::new();
    for pair in attributes.items()?.iter() {
        let (name, about): (String, Bound<'_, PyAny>) = pair.extract()?;
        let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name == "id" || !(1..=64).contains(&name.len()) || !name.bytes().all(good) {
            return Err(refused(&name, NAMES));
        }
        schema = match (about.cast::<PyString>(), about.cast::<PyMapping>()) {
            (Ok(kind), _) if name != VECTOR => {
                schema.with(&name, one_of(&name, kind.to_str()?, TYPES)?, None)
            }
            (_, Ok(about)) if name == VECTOR => vectors(schema, about)?,
            (_, Ok(about)) => attribute(schema, &name, about)?,
            _ => {
                return Err(refused(
                    &name,
                    "it is described by the name of a type, or by a mapping",
                ));
            }
        };
    }
    match schema.attributes().is_empty() {
        true => Err(PyValueError::new_err("a table has at least one attribute")),
        false => Ok(schema),
    }
}

/// The metric of a name.
pub(crate) fn metric(name: Option<&str>) -> PyResult<Option<Metric>> {
    name.map(|name| name.parse().map_err(|()| PyValueError::new_err(METRICS))).transpose()
}

fn attribute(schema: Schema, name: &str, about: &Bound<'_, PyMapping>) -> PyResult<Schema> {
    only_known(name, about, &["type", "index"])?;
    let kind = text(about, "type")?.ok_or_else(|| refused(name, TYPES))?;
    let index = match text(about, "index")?.as_deref() {
        None => None,
        Some("equal") => Some(IndexKind::Equal),
        Some("ordered") => Some(IndexKind::Ordered),
        Some(_) => return Err(refused(name, INDEXES)),
    };
    Ok(schema.with(name, one_of::<Type>(name, &kind, TYPES)?, index))
}

fn vectors(schema: Schema, about: &Bound<'_, PyMapping>) -> PyResult<Schema> {
    only_known(VECTOR, about, &["dimensions", "metric"])?;
    let dimensions = match about.contains("dimensions")? {
        true => about.get_item("dimensions")?.extract().ok(),
        false => None,
    };
    let dimensions = dimensions.filter(|dimensions| (1..=DIMENSIONS_MAX).contains(dimensions));
    let dimensions = dimensions.ok_or_else(|| {
        refused(VECTOR, &format!("\"dimensions\" is a number from 1 to {DIMENSIONS_MAX}"))
    })?;
    let metric = text(about, "metric")?;
    Ok(schema.with_vectors(dimensions, self::metric(metric.as_deref())?.unwrap_or(Metric::Cosine)))
}

fn only_known(name: &str, about: &Bound<'_, PyMapping>, known: &[&str]) -> PyResult<()> {
    for key in about.keys()?.iter() {
        let key: String = key.extract()?;
        if !known.contains(&&*key) {
            return Err(refused(name, &format!("{key:?} is not known; there are {known:?}")));
        }
    }
    Ok(())
}

fn text(about: &Bound<'_, PyMapping>, key: &str) -> PyResult<Option<String>> {
    match about.contains(key)? {
        true => about.get_item(key)?.extract().map(Some),
        false => Ok(None),
    }
}

fn one_of<T: std::str::FromStr>(name: &str, word: &str, words: &str) -> PyResult<T> {
    word.parse().map_err(|_| refused(name, words))
}

fn refused(name: &str, cause: &str) -> PyErr {
    PyValueError::new_err(format!("attribute {name:?}: {cause}"))
}
