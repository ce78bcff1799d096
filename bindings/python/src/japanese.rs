//! `sakuin.japanese`: the words of a text, and how they are inflected.

use std::path::PathBuf;

use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use sakuin_japanese::{dictionary::Dictionary, text::Text};

use crate::{error::IntoPython, json};

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

    /// Every word and name at every place of a text, inflected or not: `matches` in the order of the text, the best
    /// first at each place, and the `entries` they name. Offsets count characters.
    fn scan<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let answer = py.detach(|| {
            let mut answer = Vec::new();
            self.dictionary.answer(&Text::plain(text), &mut answer).map(|()| answer)
        });
        json::read(py, &answer.map_err(IntoPython::into_python)?)
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
