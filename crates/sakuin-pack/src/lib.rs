//! Packed tables: one immutable file that maps a key to one or more values and is read in place.

mod builder;
mod error;
mod table;

pub use builder::{Builder, Content, Options, Placed, Report, Sections, ValueHandle};
pub use error::{BuildError, OpenError, ReadError};
pub use table::{Table, TableOptions, Value, ValueId, Values};
