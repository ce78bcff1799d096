//! Values and records of live tables, as Python has them: numbers, bool, str, bytes, datetime, and arrays of floats for
//! vectors. Whatever has a buffer of numbers goes in, a row of numpy too; an `array.array` comes out, which numpy takes
//! without a copy.

use pyo3::{
    buffer::PyBuffer,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    sync::PyOnceLock,
    types::{
        PyBool, PyByteArray, PyBytes, PyDateTime, PyDict, PyFloat, PyInt, PyMapping, PyString,
        PyType,
    },
};
use sakuin_live::Value;

/// Attributes with their values; none where Python says `None`.
pub(crate) type Fields = Vec<(String, Option<Value>)>;

/// What Python calls a value.
pub(crate) fn of_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Value::Int(value.extract()?));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Value::Float(number.value()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::Text(text.to_str()?.into()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Value::Bytes(bytes.as_bytes().into()));
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(Value::Bytes(bytes.to_vec().into()));
    }
    if value.is_instance_of::<PyDateTime>() {
        if value.getattr("tzinfo")?.is_none() {
            let message =
                "a moment without a time zone\nhint: say which: datetime.now(timezone.utc)";
            return Err(PyValueError::new_err(message));
        }
        let moment: jiff::Timestamp = value.extract()?;
        return Ok(Value::Time(moment.as_microsecond()));
    }
    if let Some(numbers) = numbers(value) {
        return Ok(Value::Vector(numbers?.into()));
    }
    // Single numbers of numpy.
    if let Ok(truth) = value.extract::<bool>() {
        return Ok(Value::Bool(truth));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Value::Int(number));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Value::Float(number));
    }
    if let Ok(bytes) = PyBuffer::<u8>::get(value) {
        return Ok(Value::Bytes(bytes.to_vec(value.py())?.into()));
    }
    Ok(Value::Vector(vector(value)?.into()))
}

/// A vector: a buffer of floats, or a sequence of numbers.
pub(crate) fn vector(value: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    if let Some(numbers) = numbers(value) {
        return numbers;
    }
    let numbers: PyResult<Vec<f64>> =
        value.try_iter().and_then(|all| all.map(|one| one?.extract()).collect());
    let kind = value.get_type().name()?;
    let numbers = numbers
        .map_err(|_| PyTypeError::new_err(format!("no live table has a value of type {kind}")))?;
    Ok(numbers.into_iter().map(|one| one as f32).collect())
}

/// The numbers of a row of floats; none if it is something else.
fn numbers(value: &Bound<'_, PyAny>) -> Option<PyResult<Vec<f32>>> {
    let py = value.py();
    if let Ok(buffer) = PyBuffer::<f32>::get(value) {
        return (buffer.dimensions() == 1).then(|| buffer.to_vec(py));
    }
    let buffer = PyBuffer::<f64>::get(value).ok().filter(|buffer| buffer.dimensions() == 1)?;
    Some(buffer.to_vec(py).map(|all| all.into_iter().map(|one| one as f32).collect()))
}

/// Vectors of equal length, a row each: an array of two dimensions, or a sequence of vectors.
pub(crate) fn vectors(value: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<f32>>> {
    if let Ok(buffer) = PyBuffer::<f32>::get(value)
        && let [_, columns] = *buffer.shape()
        && columns > 0
    {
        let all = buffer.to_vec(value.py())?;
        return Ok(all.chunks(columns).map(<[f32]>::to_vec).collect());
    }
    value.try_iter()?.map(|one| vector(&one?)).collect()
}

/// The values of a record.
pub(crate) fn fields(values: &Bound<'_, PyAny>) -> PyResult<Fields> {
    let Ok(values) = values.cast::<PyMapping>() else {
        let kind = values.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "values are a mapping from attributes, not {kind}"
        )));
    };
    let mut fields = Vec::with_capacity(values.len()?);
    for pair in values.items()?.iter() {
        let (name, value): (String, Bound<'_, PyAny>) = pair.extract()?;
        let value = if value.is_none() { None } else { Some(of_python(&value)?) };
        fields.push((name, value));
    }
    Ok(fields)
}

/// A value as Python has it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Bool(truth) => PyBool::new(py, truth).to_owned().into_any(),
        Value::Text(text) => PyString::new(py, &text).into_any(),
        Value::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
        Value::Time(microseconds) => {
            let moment = jiff::Timestamp::from_microsecond(microseconds);
            moment
                .map_err(|error| PyValueError::new_err(error.to_string()))?
                .into_pyobject(py)?
                .into_any()
        }
        Value::Vector(numbers) => array(py, "f", numbers.iter().flat_map(|one| one.to_ne_bytes()))?,
        other => {
            return Err(PyValueError::new_err(format!("this release knows no value like {other}")));
        }
    })
}

/// A record as Python has it: its id and its values.
pub(crate) fn record<'py, 'v>(
    py: Python<'py>,
    id: u64,
    values: impl IntoIterator<Item = (&'v str, Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let record = PyDict::new(py);
    record.set_item(pyo3::intern!(py, "id"), id)?;
    for (name, value) in values {
        record.set_item(name, to_python(py, value)?)?;
    }
    Ok(record)
}

/// Ids as an `array.array` of them.
pub(crate) fn ids(
    py: Python<'_>,
    ids: impl IntoIterator<Item = u64>,
) -> PyResult<Bound<'_, PyAny>> {
    array(py, "Q", ids.into_iter().flat_map(u64::to_ne_bytes))
}

fn array<'py>(
    py: Python<'py>,
    kind: &str,
    bytes: impl Iterator<Item = u8>,
) -> PyResult<Bound<'py, PyAny>> {
    static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let bytes: Vec<u8> = bytes.collect();
    ARRAY.import(py, "array", "array")?.call1((kind, PyBytes::new(py, &bytes)))
}
