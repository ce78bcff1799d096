//! `sakuin.Repository`: the tables of a version that `sakuin pull` or a server keeps in a folder.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use pyo3::{
    exceptions::PyKeyError,
    prelude::*,
    types::{PyIterator, PyList},
};
use sakuin_publish::Folder;

use crate::{error::IntoPython, table::Table};

/// The tables of one version, by their names: an immutable mapping. Followers replace what is in the folder; what is open
/// stays, and `refresh` gives what is there now.
#[pyclass(frozen, mapping, module = "sakuin")]
pub(crate) struct Repository {
    folder: Folder,
    tables: BTreeMap<String, Py<Table>>,
}

#[pymethods]
impl Repository {
    /// Opens the version that is in a folder.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Repository> {
        let open = |_: &str, file: &Path| Py::new(py, Table::open(file.to_owned(), false)?);
        let (folder, tables) = Folder::open_tables(&path, IntoPython::into_python, open)?;
        Ok(Repository { folder, tables })
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        let table = self.tables.get(name).map(|table| table.clone_ref(py));
        table.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<&str>().is_ok_and(|name| self.tables.contains_key(name))
    }

    fn __len__(&self) -> usize {
        self.tables.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.tables.keys())?.try_iter()
    }

    /// The version's number.
    #[getter]
    fn version(&self) -> u64 {
        self.folder.state().version
    }

    /// The folder.
    #[getter]
    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The version that is in the folder now; `None` if it is the same. This one stays what it is.
    fn refresh(&self, py: Python<'_>) -> PyResult<Option<Repository>> {
        match self.folder.refresh().map_err(IntoPython::into_python)? {
            Some(_) => Repository::open(py, self.folder.path().to_owned()).map(Some),
            None => Ok(None),
        }
    }

    fn __repr__(&self) -> String {
        let (path, version) = (self.folder.path().display(), self.version());
        format!("<sakuin.Repository '{path}', version {version}>")
    }
}
