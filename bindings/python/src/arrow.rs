//! Columns of Arrow as pairs to be packed: through the C stream interface, so from pyarrow, polars, pandas, DuckDB and
//! whoever else speaks it, without a copy and without Python's lock.

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, RecordBatch, RecordBatchReader, StructArray,
    cast::AsArray,
    ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader},
};
use arrow_cast::cast;
use arrow_json::writer::{EncoderOptions, make_encoder};
use arrow_schema::{DataType, Field};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyCapsule};
use sakuin_pack::{Builder, Content};

use crate::error::IntoPython;

/// Batches of columns.
pub(crate) struct Stream(RecordBatchStreamReader);

/// Which columns are what.
pub(crate) struct Columns {
    key: usize,
    /// None if the values are records of all columns.
    value: Option<usize>,
}

impl Stream {
    /// The stream of an object that has one.
    pub(crate) fn of(items: &Bound<'_, PyAny>) -> PyResult<Option<Stream>> {
        if !items.hasattr("__arrow_c_stream__")? {
            return Ok(None);
        }
        let capsule = items.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // Safety: a capsule of this name holds such a stream, which is moved out of it, and is ours from now on.
        let reader = unsafe {
            RecordBatchStreamReader::from_raw(stream.cast::<FFI_ArrowArrayStream>().as_ptr())
        };
        reader
            .map(|reader| Some(Stream(reader)))
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The columns of two names; without them the first, and the second if there are but two.
    pub(crate) fn columns(&self, key: Option<&str>, value: Option<&str>) -> PyResult<Columns> {
        let schema = self.0.schema();
        let place = |name: &str| {
            let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
            schema.index_of(name).map_err(|_| {
                PyValueError::new_err(format!(
                    "there is no column `{name}`; the columns are {names:?}"
                ))
            })
        };
        let columns = match (key.map(place).transpose()?, value.map(place).transpose()?) {
            (Some(key), Some(value)) => Columns { key, value: Some(value) },
            (Some(key), None) if schema.fields().len() != 2 => Columns { key, value: None },
            (key, None) if schema.fields().len() == 2 => {
                let key = key.unwrap_or(0);
                Columns { key, value: Some(1 - key) }
            }
            _ => {
                let message = format!(
                    "which of {} columns is the key?\nhint: say key=\"…\", and value=\"…\" for one column of values",
                    schema.fields().len()
                );
                return Err(PyValueError::new_err(message));
            }
        };
        let keys = schema.field(columns.key).data_type();
        match is_text(kind(keys)) || is_binary(kind(keys)) || keys.is_integer() {
            true => Ok(columns),
            false => {
                let message = format!("keys are text, bytes or whole numbers, not {keys}");
                Err(PyValueError::new_err(message))
            }
        }
    }

    /// What the values of a column are packed as, if nobody says.
    pub(crate) fn content(&self, columns: &Columns) -> Content {
        let schema = self.0.schema();
        match columns.value.map(|value| kind(schema.field(value).data_type())) {
            Some(kind) if is_text(kind) => Content::Text,
            Some(kind) if is_binary(kind) => Content::Bytes,
            _ => Content::Json,
        }
    }

    /// Adds the pairs of the next batch; returns how many there were, none at the end.
    pub(crate) fn add_next(
        &mut self,
        columns: &Columns,
        content: Content,
        row: usize,
        builder: &mut Builder,
    ) -> Option<Result<usize, Error>> {
        let batch = self.0.next()?;
        Some(batch.map_err(|error| Error::Arrow(error.to_string())).and_then(|batch| {
            add(&batch, columns, content, row, builder)?;
            Ok(batch.num_rows())
        }))
    }
}

/// Why columns were not packed.
pub(crate) enum Error {
    /// The stream, or a type, as Arrow tells it.
    Arrow(String),
    /// The row, and what is wrong with it.
    Row(usize, &'static str),
    Build(sakuin_pack::BuildError),
}

impl IntoPython for Error {
    fn into_python(self) -> PyErr {
        match self {
            Error::Arrow(cause) => PyValueError::new_err(cause),
            Error::Row(row, cause) => PyValueError::new_err(format!("row {row}: {cause}")),
            Error::Build(error) => error.into_python(),
        }
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Error {
        Error::Arrow(error.to_string())
    }
}

/// The type of a column's values, behind a dictionary too.
fn kind(of: &DataType) -> &DataType {
    match of {
        DataType::Dictionary(_, values) => values,
        plain => plain,
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    )
}

/// A column as bytes: text as it is, numbers as they are written.
fn bytes(column: &ArrayRef) -> Result<BinaryViewArray, Error> {
    let text = match kind(column.data_type()) {
        plain if is_binary(plain) => column.clone(),
        _ => cast(column, &DataType::Utf8View)?,
    };
    Ok(cast(&text, &DataType::BinaryView)?.as_binary_view().clone())
}

fn add(
    batch: &RecordBatch,
    columns: &Columns,
    content: Content,
    first: usize,
    builder: &mut Builder,
) -> Result<(), Error> {
    let keys = bytes(batch.column(columns.key))?;
    let key = |row: usize| match keys.is_null(row) {
        true => Err(Error::Row(first + row, "there is no key")),
        false => Ok(keys.value(row)),
    };
    if content != Content::Json
        && let Some(value) = columns.value
    {
        let values = bytes(batch.column(value))?;
        for row in 0..batch.num_rows() {
            if values.is_null(row) {
                return Err(Error::Row(
                    first + row,
                    "there is no value; pack it as content=\"json\"",
                ));
            }
            builder.add(key(row)?, values.value(row)).map_err(Error::Build)?;
        }
        return Ok(());
    }
    if content != Content::Json {
        return Err(Error::Arrow("records are packed as content=\"json\"".to_owned()));
    }
    let values: ArrayRef = match columns.value {
        Some(value) => batch.column(value).clone(),
        None => std::sync::Arc::new(StructArray::from(batch.clone())),
    };
    let field = std::sync::Arc::new(Field::new("value", values.data_type().clone(), true));
    let options = EncoderOptions::default().with_explicit_nulls(true);
    let mut encoder = make_encoder(&field, values.as_ref(), &options)?;
    let mut json = Vec::new();
    for row in 0..batch.num_rows() {
        json.clear();
        match encoder.is_null(row) {
            true => json.extend_from_slice(b"null"),
            false => encoder.encode(row, &mut json),
        }
        builder.add(key(row)?, &json).map_err(Error::Build)?;
    }
    Ok(())
}
