//! Records into files and out of them: JSON Lines, CSV and Parquet.
//!
//! Both ways are a stream: memory is bounded by one transaction or one group of rows, whatever the file's size. An
//! import is a row of transactions, each whole, so that one which ends early has imported the records before its
//! end and says how many; an export is one snapshot. Exported records carry their ids, and imported again they get
//! them back: importing the same file twice changes nothing.
//!
//! ```
//! use sakuin_live::{Filter, Schema, Store, Type, exchange::{Format, Source, export, import}};
//! let schema = Schema::new().with("value", Type::Int, None);
//! let store = Store::in_memory([("features", schema)]);
//! let file = "{\"value\": 3}\n{\"id\": 9, \"value\": 4}\n";
//! let source = Source::Stream(Box::new(file.as_bytes()));
//! let imported = import(&store, "features", Format::JsonLines, source, &mut |_| {})?;
//! assert_eq!(imported, 2);
//!
//! let mut written = Vec::new();
//! let (snapshot, all) = (store.snapshot(), Filter::all());
//! export(&snapshot, "features", &all, Format::Csv, &mut written, &mut |_| {})?;
//! assert_eq!(written, b"id,value\n9,4\n10,3\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod csv_file;
mod error;
mod json_lines;
mod parquet_file;

use std::{
    fs::File,
    io::{BufRead, Write},
    path::Path,
    str::FromStr,
};

pub use error::{Cause, ExportError, ImportError, Place};

use crate::{Filter, Record, Snapshot, Store, Transaction, Value, json::Fields};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// An object a line: [`crate::json`].
    JsonLines,
    /// A header with the names of the attributes, and a line for each record. An empty cell is no value; an empty
    /// text is a cell of two quotation marks.
    Csv,
    /// A column for each attribute: vectors are lists of `float32`, times are of microseconds in UTC.
    Parquet,
}

/// Where records are read from.
pub enum Source {
    /// A file, of any format.
    File(File),
    /// What cannot be read from its end, as Parquet is.
    Stream(Box<dyn BufRead>),
}

/// Records of one transaction, and about how many bytes of values.
const RECORDS_MAX: usize = 10_000;
const BYTES_MAX: usize = 4 << 20;

/// What a file says of one record, or why not.
type Row<'s> = Result<(Place, Fields<'s>), Cause>;

impl Format {
    /// Every format.
    pub const ALL: [Format; 3] = [Format::JsonLines, Format::Csv, Format::Parquet];

    /// Its name, which is also how a file's name ends.
    pub const fn name(self) -> &'static str {
        match self {
            Format::JsonLines => "jsonl",
            Format::Csv => "csv",
            Format::Parquet => "parquet",
        }
    }

    /// The format that a file's name says.
    pub fn of_path(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match &*extension {
            "ndjson" => Some(Format::JsonLines),
            extension => extension.parse().ok(),
        }
    }
}

impl FromStr for Format {
    type Err = ();

    fn from_str(name: &str) -> Result<Format, ()> {
        Format::ALL.into_iter().find(|one| one.name() == name).ok_or(())
    }
}

/// Puts every record of a file into a table. One that has an `id` gets it, and takes the place of the record that
/// has it; others get new ones. `progress` is told after each transaction how many are in.
pub fn import(
    store: &Store,
    table: &str,
    format: Format,
    source: Source,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, ImportError> {
    let snapshot = store.snapshot();
    let failed = |cause| ImportError { cause, imported: 0 };
    let schema = snapshot.schema(table).map_err(|error| failed(Cause::Table(error)))?;
    let rows: Box<dyn Iterator<Item = Row<'_>>> = match (format, source) {
        (Format::JsonLines, source) => Box::new(json_lines::rows(schema, source.stream())),
        (Format::Csv, source) => Box::new(csv_file::rows(schema, source.stream()).map_err(failed)?),
        (Format::Parquet, Source::File(file)) => {
            Box::new(parquet_file::rows(schema, file).map_err(failed)?)
        }
        (Format::Parquet, Source::Stream(_)) => return Err(failed(Cause::NoFile)),
    };
    let mut imported = 0;
    let mut group = Group::new(store);
    for row in rows {
        let added = row.and_then(|(place, fields)| {
            group.add(table, place, fields).map_err(|error| Cause::of_commit(place, format, error))
        });
        // What stands before a bad row is good, and is kept as if the file ended here.
        if let Err(cause) = added {
            imported += group.commit(store).unwrap_or(0);
            return Err(ImportError { cause, imported });
        }
        if group.is_full() {
            imported = group.commit_after(store, format, imported)?;
            progress(imported);
        }
    }
    imported = group.commit_after(store, format, imported)?;
    progress(imported);
    Ok(imported)
}

/// Writes the records that a filter wants, in the order of ids, and says how many. `progress` is told now and then.
pub fn export(
    snapshot: &Snapshot,
    table: &str,
    filter: &Filter,
    format: Format,
    to: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64),
) -> Result<u64, ExportError> {
    let schema = snapshot.schema(table)?;
    let mut count = 0;
    let counted = records(snapshot, table, filter)?.inspect(|_| {
        count += 1;
        if count % RECORDS_MAX as u64 == 0 {
            progress(count);
        }
    });
    match format {
        Format::JsonLines => json_lines::write(counted, to)?,
        Format::Csv => csv_file::write(schema, counted, to)?,
        Format::Parquet => parquet_file::write(schema, counted, to)?,
    }
    to.flush().map_err(ExportError::Write)?;
    Ok(count)
}

/// One after another, so that a snapshot of any size takes no more memory than it has.
fn records<'t>(
    snapshot: &'t Snapshot,
    table: &'t str,
    filter: &Filter,
) -> Result<Box<dyn Iterator<Item = Record> + 't>, ExportError> {
    if *filter == Filter::all() {
        return Ok(Box::new(snapshot.records_from(table, 1)?));
    }
    let ids = snapshot.search_ids(table, filter)?;
    Ok(Box::new(ids.into_iter().filter_map(move |id| snapshot.get(table, id).ok().flatten())))
}

impl Source {
    fn stream(self) -> Box<dyn BufRead> {
        match self {
            Source::File(file) => Box::new(std::io::BufReader::new(file)),
            Source::Stream(stream) => stream,
        }
    }
}

/// The records of one transaction.
struct Group {
    transaction: Transaction,
    first: Option<Place>,
    records: usize,
    bytes: usize,
}

impl Group {
    fn new(store: &Store) -> Group {
        Group { transaction: store.begin(), first: None, records: 0, bytes: 0 }
    }

    fn add(
        &mut self,
        table: &str,
        place: Place,
        fields: Fields<'_>,
    ) -> Result<(), crate::CommitError> {
        let values = fields.values.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let values: Vec<_> = values.collect();
        let bytes: usize = values.iter().map(|(_, value)| bytes_of(value)).sum();
        match fields.id {
            Some(id) => self.transaction.put(table, id, values)?,
            None => self.transaction.insert(table, values)?,
        }
        self.first.get_or_insert(place);
        self.records += 1;
        self.bytes += bytes;
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.records >= RECORDS_MAX || self.bytes >= BYTES_MAX
    }

    /// As [`Group::commit`], after so many other records.
    fn commit_after(
        &mut self,
        store: &Store,
        format: Format,
        imported: u64,
    ) -> Result<u64, ImportError> {
        let committed = self.commit(store).map_err(|(place, error)| ImportError {
            cause: Cause::of_commit(place, format, error),
            imported,
        });
        committed.map(|records| imported + records)
    }

    /// Commits what is there and begins anew.
    fn commit(&mut self, store: &Store) -> Result<u64, (Place, crate::CommitError)> {
        let Group { transaction, first, records, .. } = std::mem::replace(self, Group::new(store));
        let Some(first) = first else { return Ok(0) };
        store.commit(transaction).map_err(|error| (first, error))?;
        Ok(records as u64)
    }
}

fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Vector(numbers) => 4 * numbers.len(),
        _ => 8,
    }
}
