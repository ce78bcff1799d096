//! `sakuin.pack`: a table out of whatever gives pairs.

use std::{
    ops::ControlFlow,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyByteArray, PyBytes, PyDict, PyMapping, PyString},
};
use sakuin_pack::{BuildError, Builder, Content, Duplicates, Keys, Options};

use crate::{arrow::Stream, error::IntoPython, json, table::key_bytes};

/// Pairs between two looks at whether somebody has pressed Ctrl-C.
const PAIRS_OF_A_LOOK: usize = 4096;

/// Packs pairs of keys and values, a mapping, or columns of Arrow into a file, which is replaced in one step. Tells what
/// it packed.
///
/// Keys are str or bytes. `content` is `"text"`, `"bytes"` or `"json"`; without it, the first value says which.
/// `duplicates` says what a key that comes again does: `"error"`, `"first"`, `"last"`, or `"keep"` for several values a
/// key. Of more columns than two, `key` and `value` say which are meant; without `value`, values are records of all.
/// `fingerprint_bits` keeps so many bits of each key in its place. `progress` is called with how many entries are
/// done and how many there are.
#[pyfunction]
#[pyo3(signature = (items, path, *, content=None, duplicates="error", key=None, value=None, fingerprint_bits=None,
                    memory=None, threads=0, meta=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn pack<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyAny>,
    path: PathBuf,
    content: Option<&str>,
    duplicates: &str,
    key: Option<&str>,
    value: Option<&str>,
    fingerprint_bits: Option<u8>,
    memory: Option<usize>,
    threads: usize,
    meta: Option<Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let mut options = Options::new()
        .duplicates(duplicates_of(duplicates)?)
        .threads(threads)
        .progress(told(progress, raised.clone()));
    if let Some(bits) = fingerprint_bits {
        options = options.keys(Keys::Approximate { bits });
    }
    if let Some(memory) = memory {
        options = options.memory(memory);
    }
    let content = content.map(content_of).transpose()?;
    let mut builder = match Stream::of(items)? {
        Some(stream) => of_columns(py, stream, key, value, content, options)?,
        None if key.is_none() && value.is_none() => of_pairs(items, content, options)?,
        None => {
            return Err(PyTypeError::new_err(
                "only columns of Arrow have names: leave `key` and `value` away",
            ));
        }
    };
    if let Some(meta) = meta {
        let mut written = Vec::new();
        json::write(&meta, &mut written)?;
        let text = String::from_utf8(written).expect("JSON is UTF-8");
        builder.meta(&text).map_err(IntoPython::into_python)?;
    }
    let report = py.detach(|| builder.write(&path));
    let report = match report {
        Err(BuildError::BrokenOff) => {
            let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
            return Err(raised.unwrap_or_else(|| BuildError::BrokenOff.into_python()));
        }
        report => report.map_err(IntoPython::into_python)?,
    };
    let told = PyDict::new(py);
    told.set_item("keys", report.keys)?;
    told.set_item("values", report.values)?;
    told.set_item("bytes", report.file_bytes)?;
    told.set_item("content_id", report.content_id)?;
    Ok(told)
}

fn of_columns(
    py: Python<'_>,
    mut stream: Stream,
    key: Option<&str>,
    value: Option<&str>,
    content: Option<Content>,
    options: Options,
) -> PyResult<Builder> {
    let columns = stream.columns(key, value)?;
    let content = content.unwrap_or_else(|| stream.content(&columns));
    let mut builder = Builder::new(content, options);
    let mut row = 0;
    while let Some(rows) = py.detach(|| stream.add_next(&columns, content, row, &mut builder)) {
        row += rows.map_err(IntoPython::into_python)?;
        py.check_signals()?;
    }
    Ok(builder)
}

fn of_pairs(
    items: &Bound<'_, PyAny>,
    mut content: Option<Content>,
    options: Options,
) -> PyResult<Builder> {
    let mut builder = None;
    let pairs = match items.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => items.clone(),
    };
    let mut written = Vec::new();
    for (at, pair) in pairs.try_iter()?.enumerate() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
        let content = *content.get_or_insert_with(|| guessed(&value));
        let builder = builder.get_or_insert_with(|| Builder::new(content, options.clone()));
        let bytes = bytes_of(content, &key, &value, &mut written)?;
        builder.add(key_bytes(&key)?, bytes).map_err(IntoPython::into_python)?;
        if at % PAIRS_OF_A_LOOK == 0 {
            items.py().check_signals()?;
        }
    }
    Ok(builder.unwrap_or_else(|| Builder::new(content.unwrap_or(Content::Text), options)))
}

/// Tells Python how far it is, and breaks off if that raises or somebody has pressed Ctrl-C.
fn told(
    progress: Option<Py<PyAny>>,
    raised: Arc<Mutex<Option<PyErr>>>,
) -> impl Fn(sakuin_pack::Progress) -> ControlFlow<()> + Send + Sync {
    move |at| {
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            match &progress {
                Some(progress) => progress.call1(py, (at.done, at.total)).map(drop),
                None => Ok(()),
            }
        });
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

fn duplicates_of(name: &str) -> PyResult<Duplicates> {
    match name {
        "error" => Ok(Duplicates::Error),
        "first" => Ok(Duplicates::First),
        "last" => Ok(Duplicates::Last),
        "keep" => Ok(Duplicates::Keep),
        _ => Err(PyValueError::new_err("duplicates is \"error\", \"first\", \"last\" or \"keep\"")),
    }
}

fn content_of(name: &str) -> PyResult<Content> {
    match name {
        "json" => Ok(Content::Json),
        "text" => Ok(Content::Text),
        "bytes" => Ok(Content::Bytes),
        _ => Err(PyValueError::new_err("content is \"json\", \"text\" or \"bytes\"")),
    }
}

fn guessed(value: &Bound<'_, PyAny>) -> Content {
    if value.is_instance_of::<PyString>() {
        Content::Text
    } else if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        Content::Bytes
    } else {
        Content::Json
    }
}

/// A value as it is packed; JSON is written into `written`.
fn bytes_of<'v>(
    content: Content,
    key: &Bound<'_, PyAny>,
    value: &'v Bound<'_, PyAny>,
    written: &'v mut Vec<u8>,
) -> PyResult<&'v [u8]> {
    let other = |wanted: &str| -> PyResult<&'v [u8]> {
        let (kind, key) = (value.get_type().name()?, key.repr()?);
        Err(PyTypeError::new_err(format!(
            "the value of {key} is {kind}, and those of this table are {wanted}"
        )))
    };
    written.clear();
    match content {
        Content::Text => match value.cast::<PyString>() {
            Ok(text) => Ok(text.to_str()?.as_bytes()),
            Err(_) => other("str"),
        },
        Content::Bytes => {
            if let Ok(bytes) = value.cast::<PyBytes>() {
                return Ok(bytes.as_bytes());
            }
            match value.cast::<PyByteArray>() {
                Ok(bytes) => {
                    written.extend_from_slice(&bytes.to_vec());
                    Ok(written)
                }
                Err(_) => other("bytes"),
            }
        }
        Content::Json => {
            json::write(value, written)?;
            Ok(written)
        }
    }
}
