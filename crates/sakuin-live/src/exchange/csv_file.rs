//! CSV: the header names the attributes, in any order; an attribute it leaves away has no value.
//!
//! CSV knows no absence, so an empty cell is one, and what is empty itself is written as a pair of quotation marks.
//! A text of such pairs alone gets one pair more, so that every text is read back as it was.

use std::io::{BufRead, Write};

use csv::{ErrorKind, ReaderBuilder, StringRecord, WriterBuilder};

use super::{Cause, ExportError, Format, Place, Row};
use crate::{Attribute, ID_MAX, Record, Schema, Value, json, json::Fields, text};

const PAIR: &str = "\"\"";

/// A column, by what its cells are.
enum Column<'s> {
    Id,
    Values(&'s Attribute),
}

/// The records of a file.
pub(super) fn rows(
    schema: &Schema,
    from: Box<dyn BufRead>,
) -> Result<impl Iterator<Item = Row<'_>>, Cause> {
    let mut reader = ReaderBuilder::new().from_reader(from);
    let header = reader.headers().map_err(cause)?;
    let columns: Vec<_> =
        header.iter().map(|name| column(schema, name)).collect::<Result<_, _>>()?;
    let names: Vec<_> = header.iter().map(str::to_owned).collect();
    if let Some(twice) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        return Err(Cause::Column {
            column: names[twice].clone(),
            cause: "it stands twice".to_owned(),
            hint: "name each attribute once".to_owned(),
        });
    }
    let mut cells = StringRecord::new();
    Ok(std::iter::from_fn(move || match reader.read_record(&mut cells) {
        Ok(true) => {
            let place = Place::Line(cells.position().map_or(0, csv::Position::line));
            let fields = fields(&columns, &cells).map(|fields| (place, fields));
            Some(fields.map_err(|error| Cause::record(place, Format::Csv, error)))
        }
        Ok(false) => None,
        Err(error) => Some(Err(cause(error))),
    }))
}

fn column<'s>(schema: &'s Schema, name: &str) -> Result<Column<'s>, Cause> {
    if name == "id" {
        return Ok(Column::Id);
    }
    let found = schema.attributes().iter().find(|attribute| attribute.name == name);
    found.map(Column::Values).ok_or_else(|| unknown(schema, name))
}

/// The refusal of a column that is no attribute.
pub(super) fn unknown(schema: &Schema, name: &str) -> Cause {
    let names: Vec<_> = schema.attributes().iter().map(|one| one.name.as_str()).collect();
    Cause::Column {
        column: name.escape_debug().to_string(),
        cause: "the table has no such attribute".to_owned(),
        hint: format!("the first line names attributes: `id`, `{}`", names.join("`, `")),
    }
}

fn fields<'s>(columns: &[Column<'s>], cells: &StringRecord) -> Result<Fields<'s>, json::Error> {
    let mut fields = Fields::default();
    for (column, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
        match column {
            Column::Id => fields.id = Some(id(cell)?),
            Column::Values(attribute) => {
                let value = text::read(attribute, without_pair(cell))?;
                fields.values.push((&attribute.name, Some(value)));
            }
        }
    }
    Ok(fields)
}

fn id(cell: &str) -> Result<u64, json::Error> {
    let id = cell.parse().ok().filter(|id| (1..=ID_MAX).contains(id));
    id.ok_or_else(|| json::Error::Id { found: format!("`{}`", cell.escape_debug()) })
}

fn cause(error: csv::Error) -> Cause {
    let cause = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(error) => Cause::Read(error),
        _ => Cause::Format { format: Format::Csv, cause },
    }
}

/// Writes a header and each record as a line.
pub(super) fn write(
    schema: &Schema,
    records: impl Iterator<Item = Record>,
    to: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let failed = |error: csv::Error| match error.into_kind() {
        ErrorKind::Io(error) => ExportError::Write(error),
        kind => ExportError::Write(std::io::Error::other(format!("{kind:?}"))),
    };
    let mut writer = WriterBuilder::new().from_writer(to);
    let names = schema.attributes().iter().map(|attribute| attribute.name.as_str());
    writer.write_record(std::iter::once("id").chain(names)).map_err(failed)?;
    let mut cell = String::new();
    for record in records {
        writer.write_field(record.id().to_string()).map_err(failed)?;
        let mut values = record.values().peekable();
        for attribute in schema.attributes() {
            cell.clear();
            if let Some((_, value)) = values.next_if(|(name, _)| *name == attribute.name) {
                write_cell(&value, &mut cell);
            }
            writer.write_field(&cell).map_err(failed)?;
        }
        writer.write_record(None::<&[u8]>).map_err(failed)?;
    }
    writer.flush().map_err(ExportError::Write)
}

fn write_cell(value: &Value, cell: &mut String) {
    text::write(value, cell);
    if is_pairs(cell) {
        cell.push_str(PAIR);
    }
}

fn without_pair(cell: &str) -> &str {
    if is_pairs(cell) { &cell[..cell.len() - PAIR.len()] } else { cell }
}

/// Whether a text is quotation marks alone, in pairs, be they none.
fn is_pairs(text: &str) -> bool {
    text.len().is_multiple_of(PAIR.len()) && text.bytes().all(|byte| byte == b'"')
}
