//! `sakuin.japanese`: the words of a text, and how they are inflected.

use std::{collections::HashMap, mem, path::PathBuf, sync::OnceLock};

use pyo3::{
    exceptions::{PyIndexError, PyKeyError},
    prelude::*,
    types::{PyBytes, PyDict, PyIterator, PyList, PyString},
};
use sakuin_japanese::{
    answer::{Entry, Match},
    dictionary::{Dictionary, Error},
    text::Text,
};

use crate::{error::IntoPython, json, text};

/// A packed dictionary that finds the words of texts. One is shared by threads, which do not wait for each other.
#[pyclass(frozen, module = "sakuin.japanese")]
pub(crate) struct Scanner {
    dictionary: Dictionary,
    path: PathBuf,
}

#[pymethods]
impl Scanner {
    /// Opens a file that `sakuin japanese pack` wrote.
    #[new]
    fn new(path: PathBuf) -> PyResult<Scanner> {
        let dictionary = Dictionary::open(&path).map_err(IntoPython::into_python)?;
        Ok(Scanner { dictionary, path })
    }

    /// Every word and name at every place of a text, inflected or not. Other threads run meanwhile.
    fn scan(slf: &Bound<'_, Self>, text: &str) -> PyResult<Scan> {
        let scanner = slf.clone().unbind();
        let dictionary = &slf.get().dictionary;
        let found = slf.py().detach(|| Found::of(dictionary, text));
        Ok(Scan { found: found.map_err(IntoPython::into_python)?, scanner, by_id: OnceLock::new() })
    }

    /// The same as the JSON that a server answers with, for passing it on.
    fn scan_json<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
        let answer = py.detach(|| {
            let mut answer = Vec::new();
            self.dictionary.answer(&Text::plain(text), &mut answer).map(|()| answer)
        });
        Ok(PyBytes::new(py, &answer.map_err(IntoPython::into_python)?))
    }

    /// The credit that must stand wherever entries are shown.
    #[getter]
    fn licence(&self) -> &str {
        self.dictionary.licence()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (PathBuf,)) {
        (slf.get_type().into_any(), (slf.get().path.clone(),))
    }

    fn __repr__(&self) -> String {
        format!("<sakuin.japanese.Scanner '{}'>", self.path.display())
    }
}

/// What was found in a text, with the text.
struct Found {
    /// Of the text and of the dictionary, which live longer: fields are dropped in their order.
    matches: Vec<Match<'static, 'static>>,
    entries: Vec<Entry<'static>>,
    _text: Box<Text>,
}

impl Found {
    /// What lies in the dictionary is taken out of the lifetime: whoever keeps this keeps the dictionary.
    fn of(dictionary: &Dictionary, text: &str) -> Result<Found, Error> {
        let text = Box::new(Text::plain(text));
        let mut matches = Vec::new();
        let entries = dictionary.matches(&text, |one| {
            // Safety: the text is boxed, unchanged and dropped after this; the dictionary is kept as said above.
            matches.push(unsafe { mem::transmute::<Match<'_, '_>, Match<'static, 'static>>(one) });
            Ok(())
        })?;
        // Safety: as before.
        let entries = unsafe { mem::transmute::<Vec<Entry<'_>>, Vec<Entry<'static>>>(entries) };
        Ok(Found { matches, entries, _text: text })
    }
}

/// What a scan found: a sequence of matches in the order of the text, the best first at each place, and the `entries` that
/// they name. Each becomes a dict when it is asked for. Offsets count characters.
#[pyclass(frozen, sequence, module = "sakuin.japanese")]
pub(crate) struct Scan {
    found: Found,
    /// Has the dictionary that the matches are of.
    scanner: Py<Scanner>,
    /// Places of entries, once one is asked for.
    by_id: OnceLock<HashMap<&'static str, usize>>,
}

#[pymethods]
impl Scan {
    fn __len__(&self) -> usize {
        self.found.matches.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: isize) -> PyResult<Bound<'py, PyDict>> {
        let from_start = if at < 0 { at.checked_add_unsigned(self.__len__()) } else { Some(at) };
        let found = from_start.and_then(|at| self.found.matches.get(usize::try_from(at).ok()?));
        shown(py, found.ok_or_else(|| PyIndexError::new_err("there is no match at this place"))?)
    }

    fn __iter__(slf: &Bound<'_, Self>) -> Matches {
        Matches { scan: slf.clone().unbind(), next: 0 }
    }

    /// The entries that matches name, by their ids, in the order in which they are first named.
    #[getter]
    fn entries(slf: &Bound<'_, Self>) -> Entries {
        Entries(slf.clone().unbind())
    }

    /// The credit that must stand wherever entries are shown.
    #[getter]
    fn licence(&self) -> &str {
        self.scanner.get().dictionary.licence()
    }

    fn __repr__(&self) -> String {
        let Found { matches, entries, .. } = &self.found;
        format!("<sakuin.japanese.Scan {} matches, {} entries>", matches.len(), entries.len())
    }
}

fn shown<'py>(py: Python<'py>, one: &Match<'_, '_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let list = |texts: &mut dyn Iterator<Item = &str>| -> PyResult<Bound<'py, PyList>> {
        let texts: Vec<_> =
            texts.map(|one| text::text(py, one.as_bytes())).collect::<PyResult<_>>()?;
        PyList::new(py, texts)
    };
    dict.set_item(pyo3::intern!(py, "start"), one.start)?;
    dict.set_item(pyo3::intern!(py, "end"), one.end)?;
    dict.set_item(pyo3::intern!(py, "surface"), one.surface)?;
    dict.set_item(pyo3::intern!(py, "form"), &*one.form)?;
    dict.set_item(pyo3::intern!(py, "reasons"), list(&mut one.reasons.iter().copied())?)?;
    dict.set_item(pyo3::intern!(py, "kind"), text::name(py, one.kind)?)?;
    dict.set_item(pyo3::intern!(py, "entries"), list(&mut one.entries.iter().map(|id| &**id))?)?;
    Ok(dict)
}

/// The entries of a scan, by their ids: an immutable mapping.
#[pyclass(frozen, mapping, module = "sakuin.japanese")]
pub(crate) struct Entries(Py<Scan>);

impl Entries {
    fn find(&self, id: &str) -> Option<&Entry<'static>> {
        let scan = self.0.get();
        let entries = &scan.found.entries;
        let by_id = scan.by_id.get_or_init(|| {
            let ids = entries.iter().enumerate();
            // Safety: ids are of the entries, which are there as long as this map, and are not changed.
            ids.map(|(at, entry)| (unsafe { mem::transmute::<&str, &'static str>(&entry.id) }, at))
                .collect()
        });
        by_id.get(id).and_then(|&at| entries.get(at))
    }
}

#[pymethods]
impl Entries {
    fn __getitem__<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.find(id) {
            Some(entry) => json::read(py, entry.json),
            None => Err(PyKeyError::new_err(id.to_owned())),
        }
    }

    #[pyo3(signature = (id, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(id) {
            Some(entry) => json::read(py, entry.json).map(Some),
            None => Ok(default),
        }
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(id
            .cast::<PyString>()
            .is_ok_and(|id| id.to_str().is_ok_and(|id| self.find(id).is_some())))
    }

    fn __len__(&self) -> usize {
        self.0.get().found.entries.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.get().found.entries.iter().map(|entry| &*entry.id))?.try_iter()
    }

    /// A view of the ids.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("collections.abc")?.getattr("KeysView")?.call1((slf,))
    }

    /// A view of the ids with their entries.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("sakuin._views")?.getattr("Items")?.call1((slf,))
    }

    /// A view of the entries.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("sakuin._views")?.getattr("Values")?.call1((slf,))
    }

    fn _pairs(&self, py: Python<'_>) -> Pairs {
        Pairs { scan: self.0.clone_ref(py), next: 0 }
    }
}

/// An iterator over the matches of a scan.
#[pyclass]
struct Matches {
    scan: Py<Scan>,
    next: usize,
}

#[pymethods]
impl Matches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let found = self.scan.get().found.matches.get(self.next);
        self.next += 1;
        found.map(|one| shown(py, one)).transpose()
    }
}

/// An iterator over the entries of a scan, with their ids.
#[pyclass]
struct Pairs {
    scan: Py<Scan>,
    next: usize,
}

#[pymethods]
impl Pairs {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(&str, Bound<'py, PyAny>)>> {
        let Some(entry) = self.scan.get().found.entries.get(self.next) else { return Ok(None) };
        self.next += 1;
        Ok(Some((&entry.id, json::read(py, entry.json)?)))
    }
}

/// Every way to read a word as an inflected form: a dict each of `form`, `classes` and `reasons`; the word itself first.
/// A form is a guess until a dictionary has it.
#[pyfunction]
pub(crate) fn deinflect<'py>(py: Python<'py>, word: &str) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for found in sakuin_japanese::deinflect::deinflect(word) {
        let one = PyDict::new(py);
        one.set_item("form", found.form)?;
        one.set_item("classes", found.classes)?;
        one.set_item("reasons", found.reasons)?;
        list.append(one)?;
    }
    Ok(list)
}
