//! Entries on their way to a region, cut by the top bits of a hash so that any part fits in memory by itself.
//! They stay in memory as long as they fit; past the limit every part's bytes are appended to one temporary file
//! and the file remembers which stretches of it belong to which part. The order within a part is the order added.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use crate::BuildError;

pub(crate) const PARTS: usize = 256;

/// Bytes cut into parts, in memory or partly in a temporary file.
pub(crate) struct Partitions {
    parts: Vec<Part>,
    in_memory: usize,
    limit: usize,
    file: Option<File>,
    file_length: u64,
}

#[derive(Default)]
struct Part {
    spilled: Vec<(u64, usize)>,
    bytes: Vec<u8>,
}

impl Partitions {
    /// Parts that take up to `limit` bytes of memory.
    pub(crate) fn new(limit: usize) -> Partitions {
        let parts = (0..PARTS).map(|_| Part::default()).collect();
        Partitions { parts, in_memory: 0, limit, file: None, file_length: 0 }
    }

    /// Which part a hash belongs to; parts follow one another as hashes do.
    pub(crate) fn part(hash: u64) -> usize {
        (hash >> 56) as usize
    }

    /// Appends what `write` writes to a part.
    pub(crate) fn push(&mut self, part: usize, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let bytes = &mut self.parts[part].bytes;
        let before = bytes.len();
        write(bytes);
        self.in_memory += bytes.len() - before;
        if self.in_memory > self.limit { self.spill() } else { Ok(()) }
    }

    /// The bytes of a part.
    pub(crate) fn load(&mut self, part: usize) -> io::Result<Cow<'_, [u8]>> {
        let part = &self.parts[part];
        let Some(file) = self.file.as_mut().filter(|_| !part.spilled.is_empty()) else {
            return Ok(Cow::Borrowed(&part.bytes));
        };
        let spilled: usize = part.spilled.iter().map(|(_, length)| length).sum();
        let mut bytes = Vec::with_capacity(spilled + part.bytes.len());
        for (offset, length) in &part.spilled {
            file.seek(SeekFrom::Start(*offset))?;
            Read::take(&mut *file, *length as u64).read_to_end(&mut bytes)?;
        }
        bytes.extend_from_slice(&part.bytes);
        Ok(Cow::Owned(bytes))
    }

    /// Gives back the memory of a part that is not needed any more.
    pub(crate) fn forget(&mut self, part: usize) {
        let part = std::mem::take(&mut self.parts[part]);
        self.in_memory -= part.bytes.len();
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.file_length))?;
        for part in &mut self.parts {
            if !part.bytes.is_empty() {
                file.write_all(&part.bytes)?;
                part.spilled.push((self.file_length, part.bytes.len()));
                self.file_length += part.bytes.len() as u64;
                part.bytes = Vec::new();
            }
        }
        self.in_memory = 0;
        Ok(())
    }
}

/// Bytes appended one after the other and copied out once: in memory, past the limit in a temporary file.
pub(crate) struct Spool {
    memory: Vec<u8>,
    limit: usize,
    file: Option<File>,
    spilled: u64,
}

impl Spool {
    pub(crate) fn new(limit: usize) -> Spool {
        Spool { memory: Vec::new(), limit, file: None, spilled: 0 }
    }

    pub(crate) fn length(&self) -> u64 {
        self.spilled + self.memory.len() as u64
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.memory.extend_from_slice(bytes);
        if self.memory.len() <= self.limit {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.memory)?;
        self.spilled += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// Hands over all bytes in order, in pieces.
    pub(crate) fn read(
        &mut self,
        mut out: impl FnMut(&[u8]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0)).map_err(spill_failed)?;
            let mut buffer = vec![0; 1 << 18];
            let mut left = self.spilled;
            while left > 0 {
                let length = left.min(buffer.len() as u64) as usize;
                file.read_exact(&mut buffer[..length]).map_err(spill_failed)?;
                out(&buffer[..length])?;
                left -= length as u64;
            }
        }
        out(&self.memory)
    }
}

/// The temporary file failed; its name is only its folder, as it has none.
pub(crate) fn spill_failed(source: io::Error) -> BuildError {
    BuildError::Io { action: "spill to", file: std::env::temp_dir(), source }
}
