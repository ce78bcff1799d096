//! `sakuin.Table`: a packed table as an immutable mapping.

use std::{ffi::c_int, path::PathBuf};

use pyo3::{
    exceptions::{PyBufferError, PyKeyError, PyTypeError},
    ffi,
    prelude::*,
    types::{PyBytes, PyList, PyMemoryView, PyString, PyTuple},
};
use sakuin_pack::{Content, Iter, TableOptions, Values};

use crate::{error::IntoPython, json, text::text};

/// Keys that are looked for together: what they touch fits into the nearest cache until their values are made.
const PART: usize = 64;
/// Keys of a batch from which on other threads run meanwhile. Fewer take a tenth of the time after which Python hands its
/// lock on anyway.
const DETACHED_MIN: usize = 4096;

/// A packed table: keys lead to values, and nothing of it changes. One is shared by threads and by forked processes.
#[pyclass(frozen, mapping, module = "sakuin")]
pub(crate) struct Table {
    table: sakuin_pack::Table,
    path: PathBuf,
}

/// Opens a packed table. What it costs does not depend on its size; the file is mapped, and shared by all that open it.
#[pyfunction]
#[pyo3(signature = (path, *, verify=false))]
pub(crate) fn open(py: Python<'_>, path: PathBuf, verify: bool) -> PyResult<Table> {
    match verify {
        true => py.detach(|| Table::open(path, verify)),
        false => Table::open(path, verify),
    }
}

/// A key as the bytes it is packed as.
pub(crate) fn key_bytes<'k>(key: &'k Bound<'_, PyAny>) -> PyResult<&'k [u8]> {
    // Nearly all are, and no type is quicker to know than one that is no subclass.
    if let Ok(text) = key.cast_exact::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    let kind = key.get_type().name()?;
    Err(PyTypeError::new_err(format!("keys are str or bytes, not {kind}")))
}

#[pymethods]
impl Table {
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match slf.get().found(key)? {
            Some(values) => value(slf, values.first().bytes()),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// The first value of a key, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match slf.get().found(key)? {
            Some(values) => value(slf, values.first().bytes()).map(Some),
            None => Ok(default),
        }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.found(key)?.is_some())
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.table.len()).unwrap_or(usize::MAX)
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Pairs> {
        Pairs::new(slf, Yields::Keys)
    }

    /// A view of the keys.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("collections.abc")?.getattr("KeysView")?.call1((slf,))
    }

    /// A view of the keys with their first values.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("sakuin._views")?.getattr("Items")?.call1((slf,))
    }

    /// A view of the first values.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("sakuin._views")?.getattr("Values")?.call1((slf,))
    }

    /// Every key and its first value, in the order of the file, which is no order of the keys.
    fn _pairs(slf: &Bound<'_, Self>) -> PyResult<Pairs> {
        Pairs::new(slf, Yields::Pairs)
    }

    /// All values of a key, in the order they were packed; none if the table has no such key.
    fn all<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(slf.py());
        for one in slf.get().found(key)?.iter().flat_map(Values::iter) {
            list.append(value(slf, one.bytes())?)?;
        }
        Ok(list)
    }

    /// The first values of many keys, in their order, `default` for those that are absent. Quicker than one after
    /// another: what they wait for in memory is waited for together. While thousands are looked for, other threads run.
    #[pyo3(signature = (keys, default=None))]
    fn get_many<'py>(
        slf: &Bound<'py, Self>,
        keys: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let table = &slf.get().table;
        let count = keys.len().unwrap_or(0);
        let part = if count < DETACHED_MIN { PART } else { DETACHED_MIN };
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        let mut values = Vec::with_capacity(count);
        let mut keys = keys.try_iter()?;
        // Held, because what their texts lie in must outlive a change of the list they came from.
        let mut held = Vec::with_capacity(part);
        loop {
            held.clear();
            for key in keys.by_ref().take(part) {
                held.push(key?);
            }
            let mut bytes: Vec<&[u8]> = Vec::with_capacity(held.len());
            for key in &held {
                bytes.push(key_bytes(key)?);
            }
            let found = match bytes.len() {
                0 => return PyList::new(py, values),
                DETACHED_MIN.. => py.detach(|| table.get_many(&bytes)),
                _ => table.get_many(&bytes),
            };
            for found in found.map_err(IntoPython::into_python)? {
                values.push(match found {
                    Some(found) => value(slf, found.first().bytes())?,
                    None => default.clone(),
                });
            }
        }
    }

    /// The first value of a key as it lies in the file, without a copy; `None` if the table has no such key.
    fn raw<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = slf.get().found(key)?;
        found.map(|values| view(slf, values.first().bytes())).transpose()
    }

    /// What the values are: `"json"`, `"text"` or `"bytes"`.
    #[getter]
    fn content(&self) -> String {
        self.table.content().to_string()
    }

    /// Equal tables have equal ids: 32 hexadecimal digits.
    #[getter]
    fn content_id(&self) -> String {
        self.table.content_id()
    }

    /// The file.
    #[getter]
    fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// What whoever packed the table said of it, if anything.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let meta = self.table.meta().map_err(IntoPython::into_python)?;
        meta.map(|meta| json::read(py, meta.as_bytes())).transpose()
    }

    /// Checks every block of the file.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.table.verify()).map_err(IntoPython::into_python)
    }

    /// The table that stands at the path now; `None` if it is the same. This one stays what it is.
    fn refresh(&self) -> PyResult<Option<Table>> {
        let newer = self.table.refresh().map_err(IntoPython::into_python)?;
        Ok(newer.map(|table| Table { table, path: self.path.clone() }))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        Ok((py.import("sakuin")?.getattr("open")?, (self.path.clone(),)))
    }

    fn __repr__(&self) -> String {
        let (path, keys) = (self.path.display(), self.table.len());
        format!("<sakuin.Table '{path}', {keys} keys, {}>", self.table.content())
    }
}

impl Table {
    pub(crate) fn open(path: PathBuf, verify: bool) -> PyResult<Table> {
        let opened = TableOptions::new().verify(verify).open(&path);
        Ok(Table { table: opened.map_err(IntoPython::into_python)?, path })
    }

    fn found(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<Values<'_>>> {
        self.table.get(key_bytes(key)?).map_err(IntoPython::into_python)
    }
}

/// A value as Python has it: text as str, JSON as what it says, bytes as a view of the file.
fn value<'py>(table: &Bound<'py, Table>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match table.get().table.content() {
        Content::Text => Ok(text(table.py(), bytes)?.into_any()),
        Content::Json => json::read(table.py(), bytes),
        Content::Bytes => view(table, bytes),
    }
}

fn view<'py>(table: &Bound<'py, Table>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let (start, length) = (bytes.as_ptr() as usize, bytes.len());
    let stretch =
        Bound::new(table.py(), Stretch { _table: table.clone().unbind(), start, length })?;
    Ok(PyMemoryView::from(&stretch.into_any())?.into_any())
}

/// Bytes of a table's file, for as long as anybody looks at them.
#[pyclass(frozen)]
struct Stretch {
    _table: Py<Table>,
    start: usize,
    length: usize,
}

#[pymethods]
impl Stretch {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        let (start, length) = (slf.get().start, slf.get().length);
        // Safety: the bytes are of a mapping that the table keeps for as long as it is, this holds the table, and the
        // view holds this. They are read-only, and the view says so. `view` is Python's, and not null.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start as *mut _, length as isize, 1, flags)
        };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// What an iterator gives.
#[derive(Clone, Copy)]
enum Yields {
    Keys,
    Pairs,
}

/// An iterator over a table.
#[pyclass]
struct Pairs {
    /// Of `table`, which lives longer: fields are dropped in their order.
    iter: Iter<'static>,
    table: Py<Table>,
    yields: Yields,
}

impl Pairs {
    fn new(table: &Bound<'_, Table>, yields: Yields) -> PyResult<Pairs> {
        let iter = table.get().table.iter().map_err(IntoPython::into_python)?;
        // Safety: what it borrows is behind an `Arc` of the table's, which this holds and nobody changes.
        let iter = unsafe { std::mem::transmute::<Iter<'_>, Iter<'static>>(iter) };
        Ok(Pairs { iter, table: table.clone().unbind(), yields })
    }
}

#[pymethods]
impl Pairs {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(entry) = self.iter.next() else { return Ok(None) };
        let (key, values) = entry.map_err(IntoPython::into_python)?;
        // Keys that are no text are what they were packed as.
        let key = match std::str::from_utf8(key) {
            Ok(text) => PyString::new(py, text).into_any(),
            Err(_) => PyBytes::new(py, key).into_any(),
        };
        match self.yields {
            Yields::Keys => Ok(Some(key)),
            Yields::Pairs => {
                let value = value(self.table.bind(py), values.first().bytes())?;
                Ok(Some(PyTuple::new(py, [key, value])?.into_any()))
            }
        }
    }
}
