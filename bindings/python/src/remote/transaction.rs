//! A transaction over the live tables of a server: what it read is remembered here, and sent with what it writes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pyo3::{
    exceptions::{PyKeyError, PyRuntimeError},
    prelude::*,
    types::{PyDict, PyList},
};
use sakuin_grpc::live::{
    Precondition, RecordPrecondition, SearchPrecondition, Write, precondition::Precondition as Kind,
};

use super::{Failure, Link, Record, grpc, wanted};
use crate::{
    error::IntoPython,
    live::{assignments, checked_id},
    transaction::over,
    value::{self, Fields},
};

/// Reads, and writes that happen all together or not at all.
#[pyclass(frozen, module = "sakuin")]
pub(crate) struct RemoteTransaction {
    link: Arc<Link>,
    under_way: Mutex<Option<UnderWay>>,
    done: Mutex<Option<(Vec<u64>, u64)>>,
}

#[derive(Default)]
struct UnderWay {
    /// By table and id, what was read.
    reads: BTreeMap<(String, u64), Option<Record>>,
    searches: Vec<SearchPrecondition>,
    writes: Vec<Write>,
    /// By table and id, what records became; none if they are deleted.
    written: BTreeMap<(String, u64), Option<Record>>,
}

impl RemoteTransaction {
    pub(super) fn begin(link: Arc<Link>) -> RemoteTransaction {
        RemoteTransaction {
            link,
            under_way: Mutex::new(Some(UnderWay::default())),
            done: Mutex::default(),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, Option<UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&mut UnderWay) -> PyResult<T>) -> PyResult<T> {
        work(self.under_way().as_mut().ok_or_else(over)?)
    }

    /// A record as this transaction sees it.
    fn get(&self, py: Python<'_>, table: &str, id: u64) -> PyResult<Option<Record>> {
        let at = (table.to_owned(), id);
        let known =
            self.with(|it| Ok(it.written.get(&at).or_else(|| it.reads.get(&at)).cloned()))?;
        if let Some(known) = known {
            return Ok(known);
        }
        let found = self.link.wait(py, self.link.grpc()?.record(table, id))?;
        self.with(|it| {
            it.reads.insert(at, found.clone());
            Ok(found)
        })
    }

    /// A record that must be there.
    fn find(&self, py: Python<'_>, table: &str, id: u64) -> PyResult<Record> {
        let missing =
            || Failure::new("NotFound", format!("table `{table}` has no record {id}"), None);
        self.get(py, table, id)?.ok_or_else(|| missing().into_python())
    }

    fn write(&self, table: &str, id: u64, write: Write, becomes: Option<Record>) -> PyResult<()> {
        self.with(|it| {
            it.writes.push(write);
            it.written.insert((table.to_owned(), id), becomes);
            Ok(())
        })
    }

    fn committed<T>(&self, read: impl FnOnce(&(Vec<u64>, u64)) -> T) -> PyResult<T> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.as_ref()
            .map(read)
            .ok_or_else(|| PyRuntimeError::new_err("the transaction is not committed"))
    }
}

#[pymethods]
impl RemoteTransaction {
    fn __getitem__(slf: &Bound<'_, Self>, table: String) -> Part {
        Part { transaction: slf.clone().unbind(), name: table }
    }

    /// The records that it added, once it is committed, in their order.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value::ids(py, self.committed(|(ids, _)| ids.clone())?)
    }

    /// Its place among all commits, once it is committed.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        self.committed(|(_, sequence)| *sequence)
    }

    fn _commit(&self, py: Python<'_>) -> PyResult<()> {
        let UnderWay { reads, searches, writes, .. } = self.under_way().take().ok_or_else(over)?;
        let reads = reads.into_iter().map(|((table, id), record)| {
            let version = record.map_or(0, |record| record.version);
            Kind::Record(RecordPrecondition { name: grpc::record_name(&table, id), version })
        });
        let conditions = reads.chain(searches.into_iter().map(Kind::Search));
        let conditions = conditions.map(|one| Precondition { precondition: Some(one) }).collect();
        let committed = self.link.wait(py, self.link.grpc()?.commit(writes, conditions))?;
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((committed.ids, committed.snapshot));
        Ok(())
    }

    fn _end(&self) {
        drop(self.under_way().take());
    }
}

/// A table as a transaction sees it.
#[pyclass(frozen, module = "sakuin")]
pub(crate) struct Part {
    transaction: Py<RemoteTransaction>,
    name: String,
}

impl Part {
    fn transaction(&self) -> &RemoteTransaction {
        self.transaction.get()
    }
}

#[pymethods]
impl Part {
    fn __getitem__<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyDict>> {
        match self.transaction().get(py, &self.name, id)? {
            Some(found) => found.to_python(py),
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
        match self.transaction().get(py, &self.name, id)? {
            Some(found) => Ok(Some(found.to_python(py)?.into_any())),
            None => Ok(default),
        }
    }

    fn __contains__(&self, py: Python<'_>, id: u64) -> PyResult<bool> {
        Ok(self.transaction().get(py, &self.name, id)?.is_some())
    }

    /// What a filter wants. It is the server that searches, which knows nothing of what is not committed: so search a
    /// table before changing it.
    #[pyo3(signature = (filter="", **equal))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        filter: &str,
        equal: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let filter = wanted(filter, equal)?;
        let transaction = self.transaction();
        transaction.with(|it| match it.written.keys().any(|(table, _)| *table == self.name) {
            false => Ok(()),
            true => {
                let cause = "a server does not search what this transaction has changed";
                Err(Failure::new("Unsupported", cause, Some("search the table before changing it"))
                    .into_python())
            }
        })?;
        let link = &transaction.link;
        let (found, snapshot) = link.wait(py, link.grpc()?.search(&self.name, &filter))?;
        let list = PyList::empty(py);
        for record in &found {
            list.append(record.to_python(py)?)?;
        }
        transaction.with(|it| {
            it.searches.push(SearchPrecondition {
                parent: format!("tables/{}", self.name),
                filter,
                snapshot,
            });
            Ok(list)
        })
    }

    /// Adds a record; its id is among the transaction's `ids` when that is committed.
    fn add(&self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let write = grpc::create(&self.name, &value::fields(values)?);
        self.transaction().with(|it| {
            it.writes.push(write);
            Ok(())
        })
    }

    /// Gives a record that is there these values and no others.
    fn put(&self, py: Python<'_>, id: u64, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let (id, fields) = (checked_id(id)?, value::fields(values)?);
        let record = self.transaction().find(py, &self.name, id)?;
        let record = Record { values: Vec::new(), ..record };
        let write = grpc::replace(&self.name, id, &fields);
        self.transaction().write(&self.name, id, write, Some(record.with(fields)))
    }

    fn patch(&self, py: Python<'_>, id: u64, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let fields = value::fields(values)?;
        let record = self.transaction().find(py, &self.name, id)?;
        let write = grpc::patch(&self.name, id, &fields);
        self.transaction().write(&self.name, id, write, Some(record.with(fields)))
    }

    fn delete(&self, py: Python<'_>, id: u64) -> PyResult<()> {
        self.transaction().find(py, &self.name, id)?;
        self.transaction().write(&self.name, id, grpc::delete(&self.name, id), None)
    }

    /// Changes every record that a filter wants at the moment of the commit, before all else that the transaction writes.
    #[pyo3(signature = (filter, *, set=None, add=None, clear=None))]
    fn update_where(
        &self,
        filter: &str,
        set: Option<&Bound<'_, PyAny>>,
        add: Option<&Bound<'_, PyAny>>,
        clear: Option<Vec<String>>,
    ) -> PyResult<()> {
        let write = grpc::update_where(&self.name, filter, &assignments(set, add, clear)?);
        self.transaction().with(|it| {
            it.writes.push(write);
            Ok(())
        })
    }
}

impl Record {
    /// The record with these values besides those it has.
    fn with(mut self, fields: Fields) -> Record {
        for (name, value) in fields {
            self.values.retain(|(other, _)| *other != name);
            self.values.extend(value.map(|value| (name, value)));
        }
        self.values.sort_by(|(a, _), (b, _)| a.cmp(b));
        self
    }
}
