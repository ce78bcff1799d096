//! Building a packed table.

use std::path::Path;

use crate::{BuildError, ValueId};

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// JSON, checked at build; white space outside strings is dropped, every other byte kept.
    Json,
    /// UTF-8.
    Text,
    /// Any bytes.
    Bytes,
}

/// How to build: hash, key mode, duplicates, memory, threads.
#[derive(Clone, Debug, Default)]
pub struct Options {}

/// Collects keys and values and writes them as one file.
pub struct Builder {}

/// A value stored once and pointed to by any number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueHandle(u64);

/// Where the values of a build ended up, for the sections that refer to them.
pub struct Placed {}

/// The sections that other crates add to a file.
pub struct Sections {}

/// What a build wrote.
#[derive(Clone, Debug)]
pub struct Report {}

impl Builder {
    /// A builder with the given options.
    pub fn new(_content: Content, _options: Options) -> Builder {
        unimplemented!()
    }
    /// Adds `value` to `key`.
    pub fn add(&mut self, _key: &[u8], _value: &[u8]) -> Result<(), BuildError> {
        unimplemented!()
    }
    /// Stores a value once; [`Builder::point`] gives it keys.
    pub fn value(&mut self, _value: &[u8]) -> Result<ValueHandle, BuildError> {
        unimplemented!()
    }
    /// Adds a stored value to `key`.
    pub fn point(&mut self, _key: &[u8], _value: ValueHandle) -> Result<(), BuildError> {
        unimplemented!()
    }
    /// The user's JSON about the table: title, source, licence.
    pub fn meta(&mut self, _json: &str) -> Result<(), BuildError> {
        unimplemented!()
    }
    /// Writes the file, replacing `path` in one step.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Report, BuildError> {
        self.write_with(path, |_, _| Ok(()))
    }
    /// Writes the file; `sections` runs once every value has its place.
    pub fn write_with(
        self,
        _path: impl AsRef<Path>,
        _sections: impl FnOnce(&Placed, &mut Sections) -> Result<(), BuildError>,
    ) -> Result<Report, BuildError> {
        unimplemented!()
    }
}

impl Placed {
    /// The id by which [`crate::Table::value`] finds a value made by [`Builder::value`].
    pub fn id(&self, _value: ValueHandle) -> ValueId {
        unimplemented!()
    }
}

impl Sections {
    /// Adds a section named `owner.name`; `required` makes readers that do not know it refuse the file.
    pub fn add(&mut self, _name: &str, _bytes: Vec<u8>, _required: bool) -> Result<(), BuildError> {
        unimplemented!()
    }
}
