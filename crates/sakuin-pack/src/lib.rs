//! Packed tables: one immutable file that maps a key to one or more values and is read in place.

mod builder;
mod error;
mod inspect;
mod map;
mod options;
mod perfect;
mod table;
mod value;

mod bits;
mod build;
mod chd;
mod check;
mod entry;
mod format;
mod hash;
mod json;
mod line;
mod partition;
mod phast;
mod region;
mod varint;
mod write;

pub use builder::{Builder, Placed, Report, Sections, ValueHandle};
pub use error::{BuildError, OpenError, OpenReason, ReadError};
pub use inspect::Stats;
pub use map::Load;
pub use options::{Content, Duplicates, Hash, Keys, Options, Progress};
pub use perfect::PerfectHash;
pub use table::{Iter, Table, TableOptions};
pub use value::{Value, ValueId, Values, ValuesIter};
