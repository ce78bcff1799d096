//! How commits, records and answers lie in the file.
//!
//! ```text
//! group     sum 8 | commits 4 | commit …              in `log`, under the sequence of its first commit
//!   commit  count of records | has a request 0/1 | answer? | record …
//!   record  table | id | 0, or 1 and cells            0: it is deleted
//! row       sum 8 | version | cells                   in `record`, under (table, id)
//! answers   sum 8 | count | sequence answer …         in `request`, under (time, sequence) of the last
//!   answer  time | request | ids | matched
//! cells     count | attribute and word 8, or attribute and length and bytes …
//! ```
//!
//! All that has no size here is a number of seven bits a byte. Records are whole, never differences: to apply a
//! group again changes nothing.

use std::sync::Arc;

use crate::{
    bytes::{Damage, Reader, put_bytes, put_number, seal, sealable, unseal},
    layout::Layout,
    requests::Known,
    ring::Change,
    schema::Cells,
};

/// Commits one after another, to be written at once.
pub(crate) struct Frame {
    bytes: Vec<u8>,
    commits: u32,
}

/// A commit as it was read back.
#[derive(Debug, PartialEq)]
pub(crate) struct Replayed {
    pub(crate) sequence: u64,
    /// Table, id, and what the record became; none if it was deleted.
    pub(crate) records: Vec<(usize, u64, Option<Cells>)>,
    pub(crate) known: Option<Known>,
}

const COUNT: std::ops::Range<usize> = 8..12;

impl Frame {
    pub(crate) fn new() -> Frame {
        let mut bytes = sealable();
        bytes.resize(COUNT.end, 0);
        Frame { bytes, commits: 0 }
    }

    pub(crate) fn commits(&self) -> u32 {
        self.commits
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn push(&mut self, layout: &Layout, changes: &[Change], known: Option<&Known>) {
        let out = &mut self.bytes;
        self.commits += 1;
        put_number(out, changes.len() as u64);
        put_number(out, u64::from(known.is_some()));
        if let Some(known) = known {
            put_answer(out, known);
        }
        for change in changes {
            put_number(out, u64::from(layout.number(change.table)));
            put_number(out, change.id);
            put_number(out, u64::from(change.after.is_some()));
            if let Some(cells) = &change.after {
                layout.put_cells(out, change.table, cells);
            }
        }
    }

    /// All of it, if its first commit is this one.
    pub(crate) fn sealed(&mut self, first: u64) -> &[u8] {
        self.bytes[COUNT].copy_from_slice(&self.commits.to_le_bytes());
        seal(&mut self.bytes, first);
        &self.bytes
    }
}

/// The commits of a group.
pub(crate) fn group(bytes: &[u8], first: u64, layout: &Layout) -> Result<Vec<Replayed>, Damage> {
    commits(unseal(bytes, first)?, first, layout)
}

pub(crate) fn commits(
    mut reader: Reader<'_>,
    first: u64,
    layout: &Layout,
) -> Result<Vec<Replayed>, Damage> {
    let mut replayed = Vec::new();
    for at in 0..u32::from_le_bytes(reader.array()?) {
        let sequence = first.checked_add(at.into()).ok_or(Damage("its sequence is too large"))?;
        let count = reader.number()?;
        let known = match reader.number()? {
            0 => None,
            1 => Some(answer(&mut reader, sequence)?),
            _ => return Err(Damage("it has neither a request nor none")),
        };
        let mut records = Vec::new();
        for _ in 0..count {
            records.push(record(&mut reader, layout)?);
        }
        replayed.push(Replayed { sequence, records, known });
    }
    reader.end()?;
    Ok(replayed)
}

fn record(reader: &mut Reader<'_>, layout: &Layout) -> Result<(usize, u64, Option<Cells>), Damage> {
    let table = layout.table(reader.number()?)?;
    let id = id(reader.number()?)?;
    let cells = match reader.number()? {
        0 => None,
        1 => Some(layout.cells(reader, table)?),
        _ => return Err(Damage("a record in it neither is nor is deleted")),
    };
    Ok((table, id, cells))
}

/// Ids count from 1, and there is one after each.
fn id(id: u64) -> Result<u64, Damage> {
    if (1..u64::MAX).contains(&id) { Ok(id) } else { Err(Damage("an id in it is none")) }
}

/// A row as it lies under its table and id.
pub(crate) fn put_row(
    layout: &Layout,
    table: usize,
    id: u64,
    version: u64,
    cells: &Cells,
) -> Vec<u8> {
    let mut out = sealable();
    put_number(&mut out, version);
    layout.put_cells(&mut out, table, cells);
    seal(&mut out, row_key(layout.number(table), id));
    out
}

/// The version and the cells of a row.
pub(crate) fn row(
    bytes: &[u8],
    table: usize,
    key: u64,
    layout: &Layout,
) -> Result<(u64, Cells), Damage> {
    id(key)?;
    let mut reader = unseal(bytes, row_key(layout.number(table), key))?;
    let version = reader.number()?;
    let cells = layout.cells(&mut reader, table)?;
    reader.end()?;
    Ok((version, cells))
}

pub(crate) fn row_key(table: u32, id: u64) -> u64 {
    id ^ u64::from(table).rotate_right(16)
}

/// Answers, as they lie under the time and the sequence of the last.
pub(crate) fn put_answers(all: &[Arc<Known>], last: u64) -> Vec<u8> {
    let mut out = sealable();
    put_number(&mut out, all.len() as u64);
    for known in all {
        put_number(&mut out, known.sequence);
        put_answer(&mut out, known);
    }
    seal(&mut out, last);
    out
}

/// Them again.
pub(crate) fn answers(bytes: &[u8], last: u64) -> Result<Vec<Known>, Damage> {
    let mut reader = unseal(bytes, last)?;
    let known = reader.many(|reader| {
        let sequence = reader.number()?;
        answer(reader, sequence)
    })?;
    reader.end()?;
    Ok(known)
}

fn put_answer(out: &mut Vec<u8>, known: &Known) {
    put_number(out, known.time);
    put_bytes(out, known.request.as_bytes());
    for ids in [&known.ids, &known.matched] {
        put_number(out, ids.len() as u64);
        ids.iter().for_each(|id| put_number(out, *id));
    }
}

fn answer(reader: &mut Reader<'_>, sequence: u64) -> Result<Known, Damage> {
    let (time, request) = (reader.number()?, reader.text()?.into());
    let (ids, matched) = (reader.many(Reader::number)?, reader.many(Reader::number)?);
    Ok(Known { request, sequence, time, ids, matched })
}
