//! Reading a packed table.

use std::path::Path;

use crate::{OpenError, ReadError};

/// An open packed table: immutable, mapped, cheap to clone and to share between threads.
#[derive(Clone)]
pub struct Table {}

/// How to open a table: `TableOptions::new().verify(true).open(path)`.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {}

/// Where a value stands in the file; equal ids of one table are the same stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u64);

/// The values of one key, in the order they were added.
pub struct Values<'t> {
    _table: &'t Table,
}

/// One value.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    _table: &'t Table,
}

impl Table {
    /// Opens a file in constant time.
    pub fn open(path: impl AsRef<Path>) -> Result<Table, OpenError> {
        TableOptions::default().open(path)
    }
    /// A table from bytes already in memory.
    pub fn from_bytes(_bytes: Vec<u8>) -> Result<Table, OpenError> {
        unimplemented!()
    }
    /// The values of `key`.
    pub fn get(&self, _key: &[u8]) -> Result<Option<Values<'_>>, ReadError> {
        unimplemented!()
    }
    /// The values of many keys, in their order, with the memory accesses overlapped.
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        _keys: &[K],
    ) -> Result<Vec<Option<Values<'_>>>, ReadError> {
        unimplemented!()
    }
    /// The value stored at `id`, an id that [`crate::Placed::id`] gave at build.
    pub fn value(&self, _id: ValueId) -> Result<Value<'_>, ReadError> {
        unimplemented!()
    }
    /// A section that another crate owns, checked, 64-byte aligned.
    pub fn section(&self, _name: &str) -> Result<Option<&[u8]>, ReadError> {
        unimplemented!()
    }
    /// The JSON given to [`crate::Builder::meta`].
    pub fn meta(&self) -> Result<Option<&str>, ReadError> {
        unimplemented!()
    }
    /// Checks every block of the file.
    pub fn verify(&self) -> Result<(), ReadError> {
        unimplemented!()
    }
    /// The content id: equal bytes, equal id. 32 hexadecimal digits.
    pub fn content_id(&self) -> String {
        unimplemented!()
    }
}

impl TableOptions {
    /// Opens a file with these options.
    pub fn open(&self, _path: impl AsRef<Path>) -> Result<Table, OpenError> {
        unimplemented!()
    }
}

impl<'t> Values<'t> {
    /// The first value.
    pub fn first(&self) -> Value<'t> {
        unimplemented!()
    }
}

impl<'t> Value<'t> {
    /// The value's bytes.
    pub fn bytes(&self) -> &'t [u8] {
        unimplemented!()
    }
}
