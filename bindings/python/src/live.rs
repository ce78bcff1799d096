//! `sakuin.live`: live tables in this process.

use std::{mem::ManuallyDrop, path::PathBuf, sync::Arc};

use pyo3::{
    exceptions::{PyKeyError, PyRuntimeError, PyValueError},
    prelude::*,
    types::{PyByteArray, PyDict, PyIterator, PyList, PyMapping, PyTuple},
};
use sakuin_live::{
    Assignment, Committed, Durability, Filter, Nearest, Neighbor, Record, Schema, Type, VECTOR,
    Value,
};

use crate::{
    error::IntoPython,
    fork::Process,
    schema,
    transaction::Transaction,
    value::{self, Fields},
};

/// Writes of one commit.
const WRITES_MAX: usize = 10_000;

/// A store, and the process that has its threads.
pub(crate) struct Owned {
    store: ManuallyDrop<sakuin_live::Store>,
    process: Process,
    path: Option<PathBuf>,
}

impl Owned {
    pub(crate) fn store(&self) -> PyResult<&sakuin_live::Store> {
        self.process.check(
            "this store",
            "open it after the fork, in one process; or connect all to a server",
        )?;
        Ok(&self.store)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // After a fork the threads that would end it are elsewhere, and so is the file.
        if self.process.is_current() {
            // Safety: nothing uses it after this.
            unsafe { ManuallyDrop::drop(&mut self.store) };
        }
    }
}

/// Tables by name: in memory, and in a file if there is a path. One process at a time has the file.
#[pyclass(frozen, mapping, module = "sakuin.live")]
pub(crate) struct Store(Arc<Owned>);

#[pymethods]
impl Store {
    /// Opens the tables of a file, or begins it; in memory alone if the path is `None`.
    ///
    /// A table is described by its attributes: `{"value": {"type": "int", "index": "equal"}, "label": "text"}`. The
    /// attribute `vector` is `{"dimensions": 128, "metric": "cosine"}`.
    #[new]
    #[pyo3(signature = (path, tables, *, durability="sync"))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        tables: &Bound<'_, PyMapping>,
        durability: &str,
    ) -> PyResult<Store> {
        let durability: Durability = durability.parse().map_err(|()| {
            PyValueError::new_err("durability is \"sync\", \"interval\" or \"none\"")
        })?;
        let mut described = Vec::new();
        for pair in tables.items()?.iter() {
            let (name, attributes): (String, Bound<'_, PyMapping>) = pair.extract()?;
            described.push((name, schema::schema(&attributes)?));
        }
        let tables = described.iter().map(|(name, schema)| (name.as_str(), schema.clone()));
        let opened = match &path {
            None => Ok(sakuin_live::Store::in_memory(tables)),
            Some(path) => {
                let tables: Vec<_> = tables.collect();
                py.detach(|| sakuin_live::Store::open(path, durability, tables))
            }
        };
        let store = ManuallyDrop::new(opened.map_err(IntoPython::into_python)?);
        Ok(Store(Arc::new(Owned { store, process: Process::current(), path })))
    }

    fn __getitem__(slf: &Bound<'_, Self>, name: &str) -> PyResult<Table> {
        let owned = &slf.get().0;
        if owned.store()?.snapshot().schema(name).is_err() {
            return Err(PyKeyError::new_err(name.to_owned()));
        }
        Ok(Table { owned: owned.clone(), store: slf.clone().unbind(), name: name.to_owned() })
    }

    /// How many commits readers see.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        Ok(self.0.store()?.snapshot().sequence())
    }

    /// What a commit survives: `"sync"`, `"interval"` or `"none"`.
    #[getter]
    fn durability(&self) -> PyResult<&'static str> {
        Ok(self.0.store()?.status().durability.name())
    }

    /// A transaction: `with store.transaction() as t` commits once; `for t in store.transaction()` begins again while
    /// others are faster.
    fn transaction<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("sakuin.live")?.getattr("Attempts")?.call1((slf,))
    }

    fn _begin(slf: &Bound<'_, Self>) -> PyResult<Transaction> {
        Transaction::begin(&slf.get().0)
    }

    /// Waits until readers see what a transaction lost to.
    fn _wait(&self, py: Python<'_>, error: &Bound<'_, PyAny>) -> PyResult<()> {
        let sequence: u64 = error.getattr("retry_at")?.extract()?;
        let store = self.0.store()?;
        py.detach(|| store.wait_for(sequence));
        Ok(())
    }

    /// Takes no more commits, and waits until those there were are on the disk. Reading goes on.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.0.store()?;
        py.detach(|| store.close()).map_err(IntoPython::into_python)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        match &self.0.path {
            Some(path) => format!("<sakuin.live.Store '{}'>", path.display()),
            None => "<sakuin.live.Store in memory>".to_owned(),
        }
    }
}

/// Records by id. Reading waits for nobody; each write is a commit by itself.
#[pyclass(frozen, mapping, module = "sakuin.live")]
pub(crate) struct Table {
    owned: Arc<Owned>,
    #[pyo3(get)]
    store: Py<Store>,
    #[pyo3(get)]
    name: String,
}

/// How a filter and values make one.
pub(crate) fn wanted(
    schema: &Schema,
    text: &str,
    equal: Option<&Bound<'_, PyDict>>,
) -> PyResult<Filter> {
    let filter = match text.trim() {
        "" => Filter::all(),
        text => Filter::parse(text, schema).map_err(IntoPython::into_python)?,
    };
    Ok(filter.and(equal_to(equal, |name, value| fitting(schema, name, value))?))
}

/// What keyword arguments want: these values, or none where Python says `None`.
pub(crate) fn equal_to(
    equal: Option<&Bound<'_, PyDict>>,
    fit: impl Fn(&str, Value) -> Value,
) -> PyResult<Filter> {
    let mut filter = Filter::all();
    for (name, value) in equal.into_iter().flatten() {
        let name: String = name.extract()?;
        filter = match value.is_none() {
            true => filter.and(Filter::missing(&name)),
            false => filter.and_equal(&name, fit(&name, value::of_python(&value)?)),
        };
    }
    Ok(filter)
}

/// What is looked for near a vector.
pub(crate) fn sought(
    schema: &Schema,
    vector: &Bound<'_, PyAny>,
    count: usize,
    filter: &str,
    metric: Option<&str>,
) -> PyResult<Nearest> {
    let (vector, filter) = (value::vector(vector)?, wanted(schema, filter, None)?);
    Ok(Nearest { vector, count, metric: schema::metric(metric)?, filter })
}

/// Rows of an iterable of values, or of a mapping of columns.
pub(crate) fn rows(rows: &Bound<'_, PyAny>) -> PyResult<Vec<Fields>> {
    match rows.cast::<PyMapping>() {
        Ok(columns) => of_columns(columns),
        Err(_) => rows.try_iter()?.map(|row| value::fields(&row?)).collect(),
    }
}

/// A whole number where the attribute wants any.
fn fitting(schema: &Schema, name: &str, value: Value) -> Value {
    let wanted = schema.attributes().iter().find(|attribute| attribute.name == name);
    match (value, wanted.map(|attribute| attribute.values)) {
        (Value::Int(number), Some(Type::Float)) => Value::Float(number as f64),
        (value, _) => value,
    }
}

pub(crate) fn fitting_all(schema: &Schema, fields: Fields) -> Fields {
    let fit = |(name, value): (String, Option<Value>)| {
        let value = value.map(|value| fitting(schema, &name, value));
        (name, value)
    };
    fields.into_iter().map(fit).collect()
}

/// Those attributes that have values.
pub(crate) fn given(fields: &Fields) -> impl Iterator<Item = (&str, Value)> {
    fields.iter().filter_map(|(name, value)| Some((name.as_str(), value.clone()?)))
}

/// Those that are to have none.
fn cleared(fields: &Fields) -> impl Iterator<Item = &str> {
    fields.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name.as_str())
}

pub(crate) fn record<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyDict>> {
    value::record(py, record.id(), record.values())
}

pub(crate) fn records<'py>(py: Python<'py>, found: &[Record]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for one in found {
        list.append(record(py, one)?)?;
    }
    Ok(list)
}

pub(crate) fn neighbors<'py>(py: Python<'py>, found: &[Neighbor]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for one in found {
        list.append(neighbor(py, record(py, &one.record)?, one.score)?)?;
    }
    Ok(list)
}

pub(crate) fn neighbor<'py>(
    py: Python<'py>,
    record: Bound<'py, PyDict>,
    score: f64,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("sakuin.live")?.getattr("Neighbor")?.call1((record, score))
}

/// Ids and scores as two arrays of numpy, a row for each of several searches.
pub(crate) fn nearest_arrays(
    py: Python<'_>,
    found: Vec<Vec<(u64, f64)>>,
    count: usize,
) -> PyResult<Bound<'_, PyTuple>> {
    let numpy = py.import("numpy")?;
    let rows = found.len();
    let (mut ids, mut scores) = (vec![0_u64; rows * count], vec![f64::NAN; rows * count]);
    for (row, found) in found.into_iter().enumerate() {
        for (at, (id, score)) in found.into_iter().enumerate() {
            (ids[row * count + at], scores[row * count + at]) = (id, score);
        }
    }
    let array = |bytes: Vec<u8>, kind: &str| {
        let bytes = PyByteArray::new(py, &bytes);
        numpy.call_method1("frombuffer", (bytes, kind))?.call_method1("reshape", (rows, count))
    };
    let ids = array(ids.into_iter().flat_map(u64::to_ne_bytes).collect(), "u8")?;
    let scores = array(scores.into_iter().flat_map(f64::to_ne_bytes).collect(), "f8")?;
    PyTuple::new(py, [ids, scores])
}

/// An id that a caller gives.
pub(crate) fn checked_id(id: u64) -> PyResult<u64> {
    match (1..=sakuin_live::ID_MAX).contains(&id) {
        true => Ok(id),
        false => Err(PyValueError::new_err(format!("an id is from 1 to {}", sakuin_live::ID_MAX))),
    }
}

/// What becomes of attributes: `set`, `add` and `clear` of Python.
pub(crate) fn assignments(
    set: Option<&Bound<'_, PyAny>>,
    add: Option<&Bound<'_, PyAny>>,
    clear: Option<Vec<String>>,
) -> PyResult<Vec<(String, Assignment)>> {
    let mut all = Vec::new();
    for (name, value) in set.map(value::fields).transpose()?.into_iter().flatten() {
        all.push((name, value.map_or(Assignment::Clear, Assignment::Set)));
    }
    for (name, value) in add.map(value::fields).transpose()?.into_iter().flatten() {
        let value =
            value.ok_or_else(|| PyValueError::new_err(format!("nothing is added to `{name}`")))?;
        all.push((name, Assignment::Add(value)));
    }
    all.extend(clear.into_iter().flatten().map(|name| (name, Assignment::Clear)));
    match all.is_empty() {
        true => Err(PyValueError::new_err(
            "nothing is changed\nhint: give set={…}, add={…} or clear=[…]",
        )),
        false => Ok(all),
    }
}

pub(crate) fn fitting_assignments(
    schema: &Schema,
    all: Vec<(String, Assignment)>,
) -> Vec<(String, Assignment)> {
    let fit = |(name, assignment): (String, Assignment)| {
        let assignment = match assignment {
            Assignment::Set(value) => Assignment::Set(fitting(schema, &name, value)),
            Assignment::Add(value) => Assignment::Add(fitting(schema, &name, value)),
            other => other,
        };
        (name, assignment)
    };
    all.into_iter().map(fit).collect()
}

impl Table {
    fn snapshot(&self) -> PyResult<sakuin_live::Snapshot> {
        Ok(self.owned.store()?.snapshot())
    }

    fn schema(&self) -> PyResult<Schema> {
        self.snapshot()?.schema(&self.name).cloned().map_err(IntoPython::into_python)
    }

    fn found(&self, id: u64) -> PyResult<Option<Record>> {
        self.snapshot()?.get(&self.name, id).map_err(IntoPython::into_python)
    }

    /// Commits one piece of work, again while others are faster.
    fn update<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnMut(&mut sakuin_live::Transaction) -> Result<T, sakuin_live::CommitError> + Send,
    ) -> PyResult<(T, Committed)> {
        let store = self.owned.store()?;
        py.detach(|| store.update(work)).map_err(IntoPython::into_python)
    }

    /// Inserts rows in commits of as many as one takes.
    fn insert<'py>(&self, py: Python<'py>, rows: &[Fields]) -> PyResult<Bound<'py, PyAny>> {
        let mut ids = Vec::with_capacity(rows.len());
        for part in rows.chunks(WRITES_MAX) {
            let ((), committed) = self.update(py, |transaction| {
                part.iter().try_for_each(|row| transaction.insert(&self.name, given(row)))
            })?;
            ids.extend(committed.ids);
        }
        value::ids(py, ids)
    }
}

#[pymethods]
impl Table {
    fn __getitem__<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyDict>> {
        match self.found(id)? {
            Some(found) => record(py, &found),
            None => Err(PyKeyError::new_err(id)),
        }
    }

    /// The record with an id, or `default`.
    #[pyo3(signature = (id, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: u64,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.found(id)? {
            Some(found) => Ok(Some(record(py, &found)?.into_any())),
            None => Ok(default),
        }
    }

    /// Many records of one moment, in the order of the ids; `default` for those that are not there.
    #[pyo3(signature = (ids, default=None))]
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let snapshot = self.snapshot()?;
        let list = PyList::empty(py);
        for id in ids.try_iter()? {
            match snapshot.get(&self.name, id?.extract()?).map_err(IntoPython::into_python)? {
                Some(found) => list.append(record(py, &found)?)?,
                None => list.append(&default)?,
            }
        }
        Ok(list)
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        match id.extract::<u64>() {
            Ok(id) => Ok(self.found(id)?.is_some()),
            Err(_) => Ok(false),
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        let count = self.snapshot()?.count(&self.name).map_err(IntoPython::into_python)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// The ids of one moment.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.search_ids(py, "", None)?.try_iter()
    }

    /// A view of the ids.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("collections.abc")?.getattr("KeysView")?.call1((slf,))
    }

    /// A view of the ids with their records.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("sakuin._views")?.getattr("Items")?.call1((slf,))
    }

    /// A view of the records.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("sakuin._views")?.getattr("Values")?.call1((slf,))
    }

    /// Every id and its record, of one moment.
    fn _pairs(&self) -> PyResult<Pairs> {
        Ok(Pairs { snapshot: self.snapshot()?, table: self.name.clone(), next: 1 })
    }

    /// The records that a filter wants, `value >= 7 AND label = "a"`, and whose attributes have these values; `None` is
    /// no value. In the order of ids.
    #[pyo3(signature = (filter="", **equal))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        filter: &str,
        equal: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let snapshot = self.snapshot()?;
        let filter =
            wanted(snapshot.schema(&self.name).map_err(IntoPython::into_python)?, filter, equal)?;
        let found =
            py.detach(|| snapshot.search(&self.name, &filter)).map_err(IntoPython::into_python)?;
        records(py, &found)
    }

    /// The ids of those records, as an array.
    #[pyo3(signature = (filter="", **equal))]
    fn search_ids<'py>(
        &self,
        py: Python<'py>,
        filter: &str,
        equal: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let snapshot = self.snapshot()?;
        let filter =
            wanted(snapshot.schema(&self.name).map_err(IntoPython::into_python)?, filter, equal)?;
        let found = py
            .detach(|| snapshot.search_ids(&self.name, &filter))
            .map_err(IntoPython::into_python)?;
        value::ids(py, found)
    }

    /// The records whose vectors are nearest to one, exactly, the nearest first: pairs of `record` and `score`.
    #[pyo3(signature = (vector, count=10, *, filter="", metric=None))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        vector: &Bound<'py, PyAny>,
        count: usize,
        filter: &str,
        metric: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let sought = sought(&self.schema()?, vector, count, filter, metric)?;
        let store = self.owned.store()?;
        let found =
            py.detach(|| store.nearest(&self.name, &sought)).map_err(IntoPython::into_python)?;
        neighbors(py, &found.found)
    }

    /// The nearest to each of many vectors, a row each: arrays of numpy of the ids and of the scores, with a row for each
    /// vector. Where fewer are found than wanted, ids are 0 and scores "not a number". All share their looks at the table.
    #[pyo3(signature = (vectors, count=10, *, filter="", metric=None))]
    fn nearest_many<'py>(
        &self,
        py: Python<'py>,
        vectors: &Bound<'py, PyAny>,
        count: usize,
        filter: &str,
        metric: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (filter, metric) = (wanted(&self.schema()?, filter, None)?, schema::metric(metric)?);
        let vectors = value::vectors(vectors)?;
        let rows = vectors.len();
        let store = self.owned.store()?;
        let all = py.detach(|| {
            let (sender, found) = std::sync::mpsc::channel();
            for (row, vector) in vectors.into_iter().enumerate() {
                let (sender, filter) = (sender.clone(), filter.clone());
                let sought = Nearest { vector, count, metric, filter };
                store
                    .nearest_then(&self.name, sought, move |found| drop(sender.send((row, found))));
            }
            drop(sender);
            found.into_iter().collect::<Vec<_>>()
        });
        let mut found = vec![Vec::new(); rows];
        for (row, neighbors) in all {
            let neighbors = neighbors.map_err(IntoPython::into_python)?.found;
            found[row] = neighbors.iter().map(|near| (near.record.id(), near.score)).collect();
        }
        nearest_arrays(py, found, count)
    }

    /// Adds a record, and returns its id.
    fn add(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<u64> {
        let fields = fitting_all(&self.schema()?, value::fields(values)?);
        let ((), committed) =
            self.update(py, |transaction| transaction.insert(&self.name, given(&fields)))?;
        committed
            .ids
            .first()
            .copied()
            .ok_or_else(|| PyRuntimeError::new_err("the record has no id"))
    }

    /// Adds many records: an iterable of their values, or a mapping from attributes to columns, which may be of numpy.
    /// Returns their ids. Each ten thousand are one commit.
    fn add_many<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.schema()?;
        let rows: Vec<Fields> =
            self::rows(rows)?.into_iter().map(|row| fitting_all(&schema, row)).collect();
        self.insert(py, &rows)
    }

    /// Gives the record with this id these values and no others, whether it is there or not.
    fn put(&self, py: Python<'_>, id: u64, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let (id, fields) = (checked_id(id)?, fitting_all(&self.schema()?, value::fields(values)?));
        self.update(py, |transaction| transaction.put(&self.name, id, given(&fields))).map(drop)
    }

    /// Gives a record that is there some new values; `None` takes one away.
    fn patch(&self, py: Python<'_>, id: u64, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let fields = fitting_all(&self.schema()?, value::fields(values)?);
        self.update(py, |transaction| patch(transaction, &self.name, id, &fields)).map(drop)
    }

    /// Deletes a record that is there.
    fn delete(&self, py: Python<'_>, id: u64) -> PyResult<()> {
        self.update(py, |transaction| transaction.delete(&self.name, id)).map(drop)
    }

    /// Changes every record that a filter wants at the moment of the commit, and returns their ids. It reads nothing
    /// before, so it never conflicts: for counters.
    #[pyo3(signature = (filter, *, set=None, add=None, clear=None))]
    fn update_where<'py>(
        &self,
        py: Python<'py>,
        filter: &str,
        set: Option<&Bound<'py, PyAny>>,
        add: Option<&Bound<'py, PyAny>>,
        clear: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.schema()?;
        let filter = wanted(&schema, filter, None)?;
        let all = fitting_assignments(&schema, assignments(set, add, clear)?);
        let store = self.owned.store()?;
        let all: Vec<_> = all.iter().map(|(name, one)| (name.as_str(), one.clone())).collect();
        let committed = py.detach(|| store.update_where(&self.name, &filter, &all));
        value::ids(py, committed.map_err(IntoPython::into_python)?.matched)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<sakuin.live.Table '{}', {} records>", self.name, self.__len__()?))
    }
}

pub(crate) fn patch(
    transaction: &mut sakuin_live::Transaction,
    table: &str,
    id: u64,
    fields: &Fields,
) -> Result<(), sakuin_live::CommitError> {
    transaction.patch(table, id, given(fields))?;
    transaction.clear(table, id, cleared(fields))
}

/// Rows of columns of one length.
fn of_columns(columns: &Bound<'_, PyMapping>) -> PyResult<Vec<Fields>> {
    let mut rows: Option<Vec<Fields>> = None;
    for pair in columns.items()?.iter() {
        let (name, column): (String, Bound<'_, PyAny>) = pair.extract()?;
        let values: Vec<Option<Value>> = if name == VECTOR {
            value::vectors(&column)?
                .into_iter()
                .map(|one| Some(Value::Vector(one.into())))
                .collect()
        } else {
            let each = column.try_iter()?.map(|one| {
                let one = one?;
                if one.is_none() { Ok(None) } else { value::of_python(&one).map(Some) }
            });
            each.collect::<PyResult<_>>()?
        };
        let rows = rows.get_or_insert_with(|| vec![Vec::new(); values.len()]);
        if rows.len() != values.len() {
            let message = format!(
                "column `{name}` has {} values, and the one before it {}",
                values.len(),
                rows.len()
            );
            return Err(PyValueError::new_err(message));
        }
        for (row, value) in rows.iter_mut().zip(values) {
            row.push((name.clone(), value));
        }
    }
    Ok(rows.unwrap_or_default())
}

/// An iterator over the records of one moment.
#[pyclass]
struct Pairs {
    snapshot: sakuin_live::Snapshot,
    table: String,
    next: u64,
}

#[pymethods]
impl Pairs {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(u64, Bound<'py, PyDict>)>> {
        let mut records =
            self.snapshot.records_from(&self.table, self.next).map_err(IntoPython::into_python)?;
        let Some(found) = records.next() else { return Ok(None) };
        drop(records);
        self.next = found.id() + 1;
        Ok(Some((found.id(), record(py, &found)?)))
    }
}
