//! Transactions of live tables in this process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::{
    exceptions::{PyKeyError, PyRuntimeError},
    prelude::*,
    types::{PyDict, PyList},
};
use sakuin_live::{Committed, Schema};

use crate::{
    error::IntoPython,
    live::{
        Owned, assignments, checked_id, fitting_all, fitting_assignments, given, neighbors, patch,
        record, records, sought, wanted,
    },
    value::{self, Fields},
};

/// Reads from one moment, and writes that happen all together or not at all.
#[pyclass(frozen, module = "sakuin.live")]
pub(crate) struct Transaction {
    owned: Arc<Owned>,
    under_way: Mutex<Option<sakuin_live::Transaction>>,
    done: Mutex<Option<Committed>>,
}

impl Transaction {
    pub(crate) fn begin(owned: &Arc<Owned>) -> PyResult<Transaction> {
        let under_way = Mutex::new(Some(owned.store()?.begin()));
        Ok(Transaction { owned: owned.clone(), under_way, done: Mutex::new(None) })
    }

    fn under_way(&self) -> MutexGuard<'_, Option<sakuin_live::Transaction>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut sakuin_live::Transaction) -> PyResult<T>,
    ) -> PyResult<T> {
        self.owned.store()?;
        work(self.under_way().as_mut().ok_or_else(over)?)
    }

    fn committed<T>(&self, read: impl FnOnce(&Committed) -> T) -> PyResult<T> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.as_ref()
            .map(read)
            .ok_or_else(|| PyRuntimeError::new_err("the transaction is not committed"))
    }
}

pub(crate) fn over() -> PyErr {
    PyRuntimeError::new_err("the transaction is over\nhint: use it within its block")
}

#[pymethods]
impl Transaction {
    fn __getitem__(slf: &Bound<'_, Self>, table: &str) -> PyResult<Part> {
        let schema = slf.get().with(|it| match it.snapshot().schema(table) {
            Ok(schema) => Ok(schema.clone()),
            Err(_) => Err(PyKeyError::new_err(table.to_owned())),
        })?;
        Ok(Part { transaction: slf.clone().unbind(), schema, name: table.to_owned() })
    }

    /// The records that it added, once it is committed, in their order.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value::ids(py, self.committed(|committed| committed.ids.clone())?)
    }

    /// Its place among all commits, once it is committed.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        self.committed(|committed| committed.sequence)
    }

    fn _commit(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.owned.store()?;
        let transaction = self.under_way().take().ok_or_else(over)?;
        let committed = py.detach(|| store.commit(transaction)).map_err(IntoPython::into_python)?;
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(committed);
        Ok(())
    }

    fn _end(&self) {
        drop(self.under_way().take());
    }
}

/// A table as a transaction sees it, with what the transaction itself has changed.
#[pyclass(frozen, module = "sakuin.live")]
pub(crate) struct Part {
    transaction: Py<Transaction>,
    schema: Schema,
    name: String,
}

impl Part {
    fn with<T>(
        &self,
        work: impl FnOnce(&mut sakuin_live::Transaction) -> PyResult<T>,
    ) -> PyResult<T> {
        self.transaction.get().with(work)
    }

    fn fields(&self, values: &Bound<'_, PyAny>) -> PyResult<Fields> {
        Ok(fitting_all(&self.schema, value::fields(values)?))
    }
}

#[pymethods]
impl Part {
    fn __getitem__<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyDict>> {
        match self.with(|it| it.get(&self.name, id).map_err(IntoPython::into_python))? {
            Some(found) => record(py, &found),
            None => Err(PyKeyError::new_err(id)),
        }
    }

    #[pyo3(signature = (id, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: u64,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.with(|it| it.get(&self.name, id).map_err(IntoPython::into_python))? {
            Some(found) => Ok(Some(record(py, &found)?.into_any())),
            None => Ok(default),
        }
    }

    fn __contains__(&self, id: u64) -> PyResult<bool> {
        Ok(self.with(|it| it.get(&self.name, id).map_err(IntoPython::into_python))?.is_some())
    }

    #[pyo3(signature = (filter="", **equal))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        filter: &str,
        equal: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let filter = wanted(&self.schema, filter, equal)?;
        let found =
            self.with(|it| it.search(&self.name, &filter).map_err(IntoPython::into_python))?;
        records(py, &found)
    }

    #[pyo3(signature = (vector, count=10, *, filter="", metric=None))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        vector: &Bound<'py, PyAny>,
        count: usize,
        filter: &str,
        metric: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let sought = sought(&self.schema, vector, count, filter, metric)?;
        let found =
            self.with(|it| it.nearest(&self.name, &sought).map_err(IntoPython::into_python))?;
        neighbors(py, &found.found)
    }

    /// Adds a record; its id is among the transaction's `ids` when that is committed.
    fn add(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let fields = self.fields(values)?;
        self.with(|it| it.insert(&self.name, given(&fields)).map_err(IntoPython::into_python))
    }

    fn put(&self, id: u64, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let (id, fields) = (checked_id(id)?, self.fields(values)?);
        self.with(|it| it.put(&self.name, id, given(&fields)).map_err(IntoPython::into_python))
    }

    fn patch(&self, id: u64, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let fields = self.fields(values)?;
        self.with(|it| patch(it, &self.name, id, &fields).map_err(IntoPython::into_python))
    }

    fn delete(&self, id: u64) -> PyResult<()> {
        self.with(|it| it.delete(&self.name, id).map_err(IntoPython::into_python))
    }

    /// Changes every record that a filter wants at the moment of the commit, before all else that the transaction writes;
    /// its own reads do not show it.
    #[pyo3(signature = (filter, *, set=None, add=None, clear=None))]
    fn update_where(
        &self,
        filter: &str,
        set: Option<&Bound<'_, PyAny>>,
        add: Option<&Bound<'_, PyAny>>,
        clear: Option<Vec<String>>,
    ) -> PyResult<()> {
        let filter = wanted(&self.schema, filter, None)?;
        let all = fitting_assignments(&self.schema, assignments(set, add, clear)?);
        let all: Vec<_> = all.iter().map(|(name, one)| (name.as_str(), one.clone())).collect();
        self.with(|it| it.update_where(&self.name, &filter, &all).map_err(IntoPython::into_python))
    }
}
