//! `sakuin.connect`: the tables of a server, with the methods that tables in this process have.
//!
//! [`http::Door`] and [`grpc::Door`] ask; here is what Python sees of both. A thread of this module's own drives the
//! connection; whoever asks waits without Python's lock, and looks now and then whether Ctrl-C was pressed.

mod grpc;
mod http;
mod transaction;

use std::{collections::HashMap, mem::ManuallyDrop, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use pyo3::{
    exceptions::{PyKeyError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple},
};
use sakuin_live::{Assignment, Metric, Value};
use tokio::{runtime::Runtime, time::timeout};

use crate::{
    error::{IntoPython, named},
    fork::Process,
    json,
    live::{assignments, checked_id, equal_to, nearest_arrays, neighbor, rows as rows_of},
    schema, value,
};
pub(crate) use transaction::RemoteTransaction;

/// How often a waiting thread looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Why a server did not do as it was asked: a class of `sakuin.errors`, and what it says.
#[derive(Debug)]
pub(crate) struct Failure {
    class: &'static str,
    message: String,
    hint: Option<String>,
    retry_at: u64,
}

impl Failure {
    fn new(class: &'static str, message: impl Into<String>, hint: Option<&str>) -> Failure {
        Failure { class, message: message.into(), hint: hint.map(str::to_owned), retry_at: 0 }
    }

    fn unavailable(cause: impl Into<String>) -> Failure {
        Failure::new(
            "Unavailable",
            cause,
            Some("see that the server runs, and that the address is its"),
        )
    }

    /// What only the other door does.
    fn only_grpc() -> Failure {
        let cause = "this is not done over HTTP";
        Failure::new("Unsupported", cause, Some("connect to the same server by grpc://"))
    }
}

impl IntoPython for Failure {
    fn into_python(self) -> PyErr {
        let error = named(self.class, self.message, self.hint.as_deref());
        if self.class == "Conflict" {
            Python::attach(|py| drop(error.value(py).setattr("retry_at", self.retry_at)));
        }
        error
    }
}

/// A key of a table: text, or the id of a record of a live one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Text(String),
    Id(u64),
}

impl Key {
    fn of(key: &Bound<'_, PyAny>) -> PyResult<Key> {
        if let Ok(text) = key.cast::<PyString>() {
            return Ok(Key::Text(text.to_str()?.to_owned()));
        }
        if key.is_instance_of::<PyInt>() {
            return Ok(Key::Id(key.extract()?));
        }
        let kind = key.get_type().name()?;
        Err(pyo3::exceptions::PyTypeError::new_err(format!(
            "keys of a server are str, or int for records, not {kind}"
        )))
    }
}

/// What a key leads to.
#[derive(Clone)]
pub(crate) enum Found {
    Json(Bytes),
    Text(Bytes),
    Bytes(Bytes),
    Record(Record),
}

/// A record of a live table.
#[derive(Clone)]
pub(crate) struct Record {
    id: u64,
    version: u64,
    values: Vec<(String, Value)>,
}

impl Record {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::record(py, self.id, self.values.iter().map(|(name, value)| (&**name, value.clone())))
    }
}

impl Found {
    /// A body of this type.
    fn of(content_type: &str, body: Bytes) -> Found {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json" => Found::Json(body),
            kind if kind.starts_with("text/") => Found::Text(body),
            _ => Found::Bytes(body),
        }
    }

    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Found::Json(body) => json::read(py, body),
            Found::Text(body) => Ok(PyString::from_bytes(py, body)?.into_any()),
            Found::Bytes(body) => Ok(PyBytes::new(py, body).into_any()),
            Found::Record(record) => Ok(record.to_python(py)?.into_any()),
        }
    }
}

/// How a server is asked.
enum Door {
    Http(http::Door),
    Grpc(Box<grpc::Door>),
}

/// What is asked of either door, with what only one of them does.
macro_rules! ask {
    ($link:expr, $py:expr, $door:ident => $call:expr) => {{
        let link = &*$link;
        match &link.door {
            Door::Http($door) => link.wait($py, $call),
            Door::Grpc($door) => link.wait($py, $call),
        }
    }};
}

/// A server, and the process that has the connection to it.
pub(crate) struct Link {
    runtime: ManuallyDrop<Runtime>,
    door: Door,
    timeout: Duration,
    process: Process,
    url: String,
}

impl Link {
    /// Waits for an answer.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        answer: impl Future<Output = Result<T, Failure>> + Send,
    ) -> PyResult<T> {
        self.process.check("this connection", "connect after the fork")?;
        let mut answer = pin!(async { timeout(self.timeout, answer).await });
        loop {
            let step = py.detach(|| {
                let answer = answer.as_mut();
                self.runtime.block_on(async { timeout(LOOK, answer).await })
            });
            match step {
                Ok(Ok(answer)) => return answer.map_err(IntoPython::into_python),
                Ok(Err(_)) => {
                    let cause = format!("{} did not answer in {:?}", self.url, self.timeout);
                    return Err(Failure::unavailable(cause).into_python());
                }
                Err(_) => py.check_signals()?,
            }
        }
    }

    fn grpc(&self) -> PyResult<&grpc::Door> {
        match &self.door {
            Door::Grpc(door) => Ok(door),
            Door::Http(_) => Err(Failure::only_grpc().into_python()),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.process.is_current() {
            // Safety: nothing uses it after this. Its thread is not waited for.
            unsafe { ManuallyDrop::take(&mut self.runtime) }.shutdown_background();
        }
    }
}

/// Connects to a server: `http://`, `https://`, `grpc://` or `grpcs://` with a host and a port. Nothing is sent before the
/// first question. `timeout` is in seconds, and `headers` go with every question.
#[pyfunction]
#[pyo3(signature = (url, *, timeout=30.0, headers=None))]
pub(crate) fn connect(
    url: &str,
    timeout: f64,
    headers: Option<HashMap<String, String>>,
) -> PyResult<Connection> {
    let wrong = |cause: String| {
        let hint = "write http://host:port or grpc://host:port, with an s where it is encrypted";
        PyValueError::new_err(format!("{cause}\nhint: {hint}"))
    };
    let time_limit = Duration::try_from_secs_f64(timeout).ok().filter(|limit| !limit.is_zero());
    let time_limit =
        time_limit.ok_or_else(|| PyValueError::new_err("a timeout is a number of seconds"))?;
    let headers = headers.unwrap_or_default();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).thread_name("sakuin-remote").enable_all().build()?;
    let door = {
        let _within = runtime.enter();
        match url.split_once("://") {
            Some(("http" | "https", _)) => http::Door::new(url, headers).map(Door::Http),
            Some(("grpc", rest)) => grpc::Door::new(&format!("http://{rest}"), headers)
                .map(|door| Door::Grpc(Box::new(door))),
            Some(("grpcs", rest)) => grpc::Door::new(&format!("https://{rest}"), headers)
                .map(|door| Door::Grpc(Box::new(door))),
            _ => Err(format!("{url:?} is no address of a server")),
        }
    };
    let door = door.map_err(wrong)?;
    let link = Link {
        runtime: ManuallyDrop::new(runtime),
        door,
        timeout: time_limit,
        process: Process::current(),
        url: url.to_owned(),
    };
    Ok(Connection(Arc::new(link)))
}

/// A server whose tables are asked by name. Shared by threads; a forked process makes its own.
#[pyclass(frozen, module = "sakuin")]
pub(crate) struct Connection(Arc<Link>);

#[pymethods]
impl Connection {
    /// The table of a name, which is not asked for before it is.
    fn __getitem__(&self, name: String) -> RemoteTable {
        RemoteTable { link: self.0.clone(), name }
    }

    /// A transaction over live tables: see `sakuin.live.Store.transaction`. Over gRPC alone.
    fn transaction<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().0.grpc()?;
        slf.py().import("sakuin.live")?.getattr("Attempts")?.call1((slf,))
    }

    fn _begin(&self) -> PyResult<RemoteTransaction> {
        self.0.grpc()?;
        Ok(RemoteTransaction::begin(self.0.clone()))
    }

    /// Waits for what a transaction lost to, which the server shows within a moment.
    fn _wait(&self, py: Python<'_>, _error: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.wait(py, async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(())
        })
    }

    fn __repr__(&self) -> String {
        format!("<sakuin.Connection '{}'>", self.0.url)
    }
}

/// A table of a server. Of packed and cached tables keys are `str`; of live ones they are the ids of records.
#[pyclass(frozen, module = "sakuin")]
pub(crate) struct RemoteTable {
    link: Arc<Link>,
    #[pyo3(get)]
    name: String,
}

/// A filter's text with attributes that must have values.
fn wanted(text: &str, equal: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    let filter = equal_to(equal, |_, value| value)?;
    Ok(match (text.trim(), filter.is_all()) {
        (text, true) => text.to_owned(),
        ("", false) => filter.to_string(),
        (text, false) => format!("{text} AND {filter}"),
    })
}

/// What is looked for near a vector.
pub(crate) struct Near {
    vector: Vec<f32>,
    count: usize,
    filter: String,
    metric: Option<Metric>,
}

impl RemoteTable {
    fn found(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<Found>> {
        let key = Key::of(key)?;
        ask!(self.link, py, door => door.get(&self.name, &key))
    }
}

#[pymethods]
impl RemoteTable {
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.found(py, key)? {
            Some(found) => found.to_python(py),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// The value of a key, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.found(py, key)? {
            Some(found) => found.to_python(py).map(Some),
            None => Ok(default),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.found(py, key)?.is_some())
    }

    /// The values of many keys, in their order, `default` for those that are absent. A thousand a question.
    #[pyo3(signature = (keys, default=None))]
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let keys: Vec<Key> = keys.try_iter()?.map(|key| Key::of(&key?)).collect::<PyResult<_>>()?;
        let list = PyList::empty(py);
        for found in ask!(self.link, py, door => door.get_many(&self.name, &keys))? {
            match found {
                Some(found) => list.append(found.to_python(py)?)?,
                None => list.append(&default)?,
            }
        }
        Ok(list)
    }

    /// See `sakuin.live.Table.search`. Over gRPC alone.
    #[pyo3(signature = (filter="", **equal))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        filter: &str,
        equal: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let filter = wanted(filter, equal)?;
        let (found, _) = self.link.wait(py, self.link.grpc()?.search(&self.name, &filter))?;
        let list = PyList::empty(py);
        for record in found {
            list.append(record.to_python(py)?)?;
        }
        Ok(list)
    }

    /// See `sakuin.live.Table.search_ids`. Over gRPC alone.
    #[pyo3(signature = (filter="", **equal))]
    fn search_ids<'py>(
        &self,
        py: Python<'py>,
        filter: &str,
        equal: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let filter = wanted(filter, equal)?;
        let found = self.link.wait(py, self.link.grpc()?.search_ids(&self.name, &filter))?;
        value::ids(py, found)
    }

    /// See `sakuin.live.Table.nearest`. Over gRPC alone.
    #[pyo3(signature = (vector, count=10, *, filter="", metric=None))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        vector: &Bound<'py, PyAny>,
        count: usize,
        filter: &str,
        metric: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (vector, filter) = (value::vector(vector)?, filter.to_owned());
        let near = [Near { vector, count, filter, metric: schema::metric(metric)? }];
        let found = self.link.wait(py, self.link.grpc()?.nearest(&self.name, &near, false))?;
        let list = PyList::empty(py);
        for (record, score) in found.into_iter().flatten() {
            list.append(neighbor(py, record.to_python(py)?, score)?)?;
        }
        Ok(list)
    }

    /// See `sakuin.live.Table.nearest_many`. Over gRPC alone.
    #[pyo3(signature = (vectors, count=10, *, filter="", metric=None))]
    fn nearest_many<'py>(
        &self,
        py: Python<'py>,
        vectors: &Bound<'py, PyAny>,
        count: usize,
        filter: &str,
        metric: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let metric = schema::metric(metric)?;
        let near = |vector| Near { vector, count, filter: filter.to_owned(), metric };
        let near: Vec<_> = value::vectors(vectors)?.into_iter().map(near).collect();
        let found = self.link.wait(py, self.link.grpc()?.nearest(&self.name, &near, true))?;
        let rows = found.iter().map(|row| row.iter().map(|(record, score)| (record.id, *score)));
        nearest_arrays(py, rows.map(Iterator::collect).collect(), count)
    }

    /// Adds a record to a live table, and returns its id.
    fn add(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<u64> {
        let fields = value::fields(values)?;
        ask!(self.link, py, door => door.add(&self.name, &fields))
    }

    /// See `sakuin.live.Table.add_many`; each thousand is one commit. Over gRPC alone.
    fn add_many<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows_of(rows)?;
        let ids = self.link.wait(py, self.link.grpc()?.add_many(&self.name, &rows))?;
        value::ids(py, ids)
    }

    /// Gives a record these values and no others. Over HTTP it need not be there; over gRPC it must.
    fn put(&self, py: Python<'_>, id: u64, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let (id, fields) = (checked_id(id)?, value::fields(values)?);
        ask!(self.link, py, door => door.put(&self.name, id, &fields))
    }

    /// Gives a record that is there some new values; `None` takes one away.
    fn patch(&self, py: Python<'_>, id: u64, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let fields = value::fields(values)?;
        ask!(self.link, py, door => door.patch(&self.name, id, &fields))
    }

    /// Deletes a record that is there.
    fn delete(&self, py: Python<'_>, id: u64) -> PyResult<()> {
        ask!(self.link, py, door => door.delete(&self.name, id))
    }

    /// See `sakuin.live.Table.update_where`. Over gRPC alone.
    #[pyo3(signature = (filter, *, set=None, add=None, clear=None))]
    fn update_where<'py>(
        &self,
        py: Python<'py>,
        filter: &str,
        set: Option<&Bound<'py, PyAny>>,
        add: Option<&Bound<'py, PyAny>>,
        clear: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let all: Vec<(String, Assignment)> = assignments(set, add, clear)?;
        let changed =
            self.link.wait(py, self.link.grpc()?.update_where(&self.name, filter, &all))?;
        value::ids(py, changed)
    }

    fn __repr__(&self) -> String {
        format!("<sakuin.RemoteTable '{}' of {}>", self.name, self.link.url)
    }
}

/// A name for one request, so that it can be sent again.
fn request_id() -> String {
    uuid::Uuid::new_v4().to_string()
}
