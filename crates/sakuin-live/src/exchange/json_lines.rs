//! JSON Lines: one object a line; empty lines are passed over.

use std::io::{BufRead, Read, Write};

use super::{Cause, ExportError, Format, Place, Row};
use crate::{Record, Schema, json};

/// The longest line: a record is far shorter.
const LINE_BYTES_MAX: u64 = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The records of a file.
pub(super) fn rows(schema: &Schema, mut from: Box<dyn BufRead>) -> impl Iterator<Item = Row<'_>> {
    let mut line = Vec::new();
    let mut number = 0;
    std::iter::from_fn(move || {
        loop {
            line.clear();
            number += 1;
            let limited = &mut from.by_ref().take(LINE_BYTES_MAX);
            match limited.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(Cause::Read(error))),
            }
            if line.len() as u64 == LINE_BYTES_MAX {
                let cause = format!("line {number} is longer than {LINE_BYTES_MAX} bytes");
                return Some(Err(Cause::Format { format: Format::JsonLines, cause }));
            }
            let mut text = line.as_slice();
            if number == 1 {
                text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let place = Place::Line(number);
            let read = json::read(schema, text).map(|fields| (place, fields));
            return Some(read.map_err(|error| Cause::record(place, Format::JsonLines, error)));
        }
    })
}

/// Writes each record as a line.
pub(super) fn write(
    records: impl Iterator<Item = Record>,
    to: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for record in records {
        let mut line = record.to_json();
        line.push('\n');
        to.write_all(line.as_bytes()).map_err(ExportError::Write)?;
    }
    Ok(())
}
