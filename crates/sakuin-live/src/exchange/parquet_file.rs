//! Parquet, by way of Arrow: a column for each attribute, read in any width that loses nothing of what is written.
//!
//! Times are read in every unit and kept in microseconds; a list of `float64` is rounded to the `float32` of a vector.

use std::{fs::File, io::Write, sync::Arc};

use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchReader,
    builder::{
        BinaryBuilder, BooleanBuilder, FixedSizeListBuilder, Float32Builder, Float64Builder,
        Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
    },
    cast::AsArray,
    types::{
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Field, TimeUnit};
use parquet::{
    arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::properties::WriterProperties,
};

use super::{Cause, ExportError, Format, Place, Row, csv_file::unknown};
use crate::{Attribute, ID_MAX, Record, Schema, Type, Value, ValueError, json, json::Fields, text};

/// Rows that are read and written together, and rows of a group of the file.
const BATCH_ROWS: usize = 1024;
const GROUP_ROWS: usize = 64 << 10;

const UTC: &str = "UTC";

/// A column, by what its values are.
enum Column<'s> {
    Id,
    Values(&'s Attribute),
}

/// The records of a file.
pub(super) fn rows(schema: &Schema, file: File) -> Result<impl Iterator<Item = Row<'_>>, Cause> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(refused)?;
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(refused)?;
    let fields = reader.schema();
    let columns: Vec<_> =
        fields.fields().iter().map(|field| column(schema, field)).collect::<Result<_, _>>()?;
    let mut row = 0;
    Ok(reader.flat_map(move |batch| {
        let rows: Vec<_> = match batch {
            Err(error) => vec![Err(Cause::Format {
                format: Format::Parquet,
                cause: format!("after row {row}: {error}"),
            })],
            Ok(batch) => (0..batch.num_rows())
                .map(|at| {
                    row += 1;
                    let place = Place::Row(row);
                    let fields = fields_of(&columns, &batch, at).map(|fields| (place, fields));
                    fields.map_err(|error| Cause::record(place, Format::Parquet, error))
                })
                .collect(),
        };
        rows.into_iter()
    }))
}

fn refused(error: ParquetError) -> Cause {
    match error {
        ParquetError::External(error) => match error.downcast() {
            Ok(error) => Cause::Read(*error),
            Err(error) => Cause::Format { format: Format::Parquet, cause: error.to_string() },
        },
        error => Cause::Format { format: Format::Parquet, cause: error.to_string() },
    }
}

fn column<'s>(schema: &'s Schema, field: &Field) -> Result<Column<'s>, Cause> {
    let name = field.name();
    let (column, wanted) = if name == "id" {
        (Column::Id, Type::Int)
    } else {
        let found = schema.attributes().iter().find(|attribute| attribute.name == *name);
        let attribute = found.ok_or_else(|| unknown(schema, name))?;
        (Column::Values(attribute), attribute.values)
    };
    if is_readable(wanted, field.data_type()) {
        return Ok(column);
    }
    Err(Cause::Column {
        column: name.escape_debug().to_string(),
        cause: format!("it is {}, and the attribute {wanted}", field.data_type()),
        hint: format!("write it as {}", data_type(wanted, 1)),
    })
}

fn is_readable(wanted: Type, found: &DataType) -> bool {
    use DataType as Is;
    match (wanted, found) {
        (_, Is::Null) => true,
        (Type::Int, found) => found.is_integer(),
        (Type::Float, found) => matches!(found, Is::Float32 | Is::Float64),
        (Type::Bool, found) => *found == Is::Boolean,
        (Type::Time, found) => matches!(found, Is::Timestamp(..)),
        (Type::Text, found) => matches!(found, Is::Utf8 | Is::LargeUtf8 | Is::Utf8View),
        (Type::Bytes, found) => {
            matches!(found, Is::Binary | Is::LargeBinary | Is::BinaryView | Is::FixedSizeBinary(_))
        }
        (Type::Vector, Is::List(item) | Is::LargeList(item) | Is::FixedSizeList(item, _)) => {
            matches!(item.data_type(), Is::Float32 | Is::Float64)
        }
        (Type::Vector, _) => false,
    }
}

fn fields_of<'s>(
    columns: &[Column<'s>],
    batch: &RecordBatch,
    row: usize,
) -> Result<Fields<'s>, json::Error> {
    let mut fields = Fields::default();
    let present = columns.iter().zip(batch.columns()).filter(|(_, array)| array.is_valid(row));
    for (column, array) in present {
        match column {
            Column::Id => {
                let id = whole(array, row);
                let good = id.and_then(|id| u64::try_from(id).ok());
                let good = good.filter(|id| (1..=ID_MAX).contains(id));
                let found = || format!("`{}`", id.unwrap_or_default());
                fields.id = Some(good.ok_or_else(|| json::Error::Id { found: found() })?);
            }
            Column::Values(attribute) => {
                fields.values.push((&attribute.name, Some(value(attribute, array, row)?)));
            }
        }
    }
    Ok(fields)
}

/// A value that is there, of a column that [is readable](is_readable).
fn value(attribute: &Attribute, array: &ArrayRef, row: usize) -> Result<Value, ValueError> {
    let value = match attribute.values {
        Type::Int => whole(array, row).map(Value::Int),
        Type::Float => match array.data_type() {
            DataType::Float32 => Some(array.as_primitive::<Float32Type>().value(row).into()),
            _ => Some(array.as_primitive::<Float64Type>().value(row)),
        }
        .map(Value::Float),
        Type::Bool => Some(Value::Bool(array.as_boolean().value(row))),
        Type::Time => time(array, row).map(Value::Time),
        Type::Text => Some(Value::from(match array.data_type() {
            DataType::LargeUtf8 => array.as_string::<i64>().value(row),
            DataType::Utf8View => array.as_string_view().value(row),
            _ => array.as_string::<i32>().value(row),
        })),
        Type::Bytes => Some(Value::from(match array.data_type() {
            DataType::LargeBinary => array.as_binary::<i64>().value(row),
            DataType::BinaryView => array.as_binary_view().value(row),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
            _ => array.as_binary::<i32>().value(row),
        })),
        Type::Vector => vector(array, row),
    };
    value.ok_or_else(|| text::refused(attribute, "what no such value can hold"))
}

/// A whole number of any width, if it is one of 64 bits with a sign.
fn whole(array: &ArrayRef, row: usize) -> Option<i64> {
    Some(match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).try_into().ok()?,
        _ => return None,
    })
}

/// Microseconds since 1970; what is finer is cut.
fn time(array: &ArrayRef, row: usize) -> Option<i64> {
    let DataType::Timestamp(unit, _) = array.data_type() else { return None };
    match unit {
        TimeUnit::Second => {
            array.as_primitive::<TimestampSecondType>().value(row).checked_mul(1_000_000)
        }
        TimeUnit::Millisecond => {
            array.as_primitive::<TimestampMillisecondType>().value(row).checked_mul(1_000)
        }
        TimeUnit::Microsecond => Some(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        TimeUnit::Nanosecond => {
            Some(array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1_000))
        }
    }
}

fn vector(array: &ArrayRef, row: usize) -> Option<Value> {
    let numbers = match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().value(row),
        _ => return None,
    };
    if numbers.null_count() > 0 {
        return None;
    }
    Some(Value::Vector(match numbers.data_type() {
        DataType::Float32 => numbers.as_primitive::<Float32Type>().values()[..].into(),
        _ => numbers.as_primitive::<Float64Type>().values().iter().map(|one| *one as f32).collect(),
    }))
}

/// Writes the records in groups of rows.
pub(super) fn write(
    schema: &Schema,
    mut records: impl Iterator<Item = Record>,
    to: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let columns = arrow_schema(schema);
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let mut writer = ArrowWriter::try_new(to, columns.clone(), Some(properties)).map_err(failed)?;
    loop {
        let rows: Vec<_> = records.by_ref().take(BATCH_ROWS).collect();
        if rows.is_empty() {
            return writer.close().map(drop).map_err(failed);
        }
        let ids = Int64Builder::new();
        let mut arrays: Vec<ArrayRef> = vec![array(ids, &rows, |ids, record| {
            ids.append_value(record.id().cast_signed());
        })];
        arrays.extend(schema.attributes().iter().map(|attribute| values(schema, attribute, &rows)));
        let batch = RecordBatch::try_new(columns.clone(), arrays);
        let batch = batch.map_err(|error| failed(error.into()))?;
        writer.write(&batch).map_err(failed)?;
    }
}

fn failed(error: ParquetError) -> ExportError {
    ExportError::Write(match error {
        ParquetError::External(error) => match error.downcast() {
            Ok(error) => *error,
            Err(error) => std::io::Error::other(error),
        },
        error => std::io::Error::other(error),
    })
}

fn arrow_schema(schema: &Schema) -> Arc<arrow_schema::Schema> {
    let dimensions = schema.vectors().map_or(0, |vectors| vectors.dimensions);
    let attributes = schema.attributes().iter().map(|attribute| {
        Field::new(&attribute.name, data_type(attribute.values, dimensions), true)
    });
    let id = Field::new("id", DataType::Int64, false);
    Arc::new(arrow_schema::Schema::new(std::iter::once(id).chain(attributes).collect::<Vec<_>>()))
}

fn data_type(of: Type, dimensions: usize) -> DataType {
    match of {
        Type::Int => DataType::Int64,
        Type::Float => DataType::Float64,
        Type::Bool => DataType::Boolean,
        Type::Time => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        Type::Text => DataType::Utf8,
        Type::Bytes => DataType::Binary,
        Type::Vector => {
            let dimensions = i32::try_from(dimensions).expect("a vector has at most 4096");
            DataType::FixedSizeList(number(), dimensions)
        }
    }
}

fn number() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Float32, false))
}

/// The column of an attribute.
fn values(schema: &Schema, attribute: &Attribute, rows: &[Record]) -> ArrayRef {
    macro_rules! column {
        ($builder:expr, $kind:ident) => {
            array($builder, rows, |builder, record| match record.value(&attribute.name) {
                Some(Value::$kind(value)) => builder.append_value(value),
                _ => builder.append_null(),
            })
        };
    }
    match attribute.values {
        Type::Int => column!(Int64Builder::new(), Int),
        Type::Float => column!(Float64Builder::new(), Float),
        Type::Bool => column!(BooleanBuilder::new(), Bool),
        Type::Time => column!(TimestampMicrosecondBuilder::new().with_timezone(UTC), Time),
        Type::Text => column!(StringBuilder::new(), Text),
        Type::Bytes => column!(BinaryBuilder::new(), Bytes),
        Type::Vector => {
            let dimensions = schema.vectors().map_or(0, |vectors| vectors.dimensions);
            let length = i32::try_from(dimensions).expect("a vector has at most 4096");
            let numbers = Float32Builder::new();
            let builder = FixedSizeListBuilder::new(numbers, length).with_field(number());
            array(builder, rows, |builder, record| {
                let value = record.value(&attribute.name);
                match &value {
                    Some(Value::Vector(vector)) => builder.values().append_slice(vector),
                    _ => builder.values().append_slice(&vec![0.0; dimensions]),
                }
                builder.append(value.is_some());
            })
        }
    }
}

fn array<B: arrow_array::builder::ArrayBuilder>(
    mut builder: B,
    rows: &[Record],
    append: impl Fn(&mut B, &Record),
) -> ArrayRef {
    rows.iter().for_each(|record| append(&mut builder, record));
    builder.finish()
}
