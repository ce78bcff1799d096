//! Packed tables: one immutable file that maps a key to one or more values and is read in place.
//!
//! Opening a file parses and copies nothing: it takes microseconds for a thousand keys and for a hundred million, and all
//! processes that open it share one copy in memory. A lookup touches a byte of a perfect hash, a line of the directory
//! and the record, about three cache lines; an absent key is refused without the last one in 255 of 256 cases.
//!
//! [`Builder`] makes a file and replaces the one before it in one step. [`Table`] reads it. What a damaged or forged file
//! says is never believed: every block is checked against its sum when it is first touched, every offset is bounded.
//! `docs/design/packed-file.md` draws every byte, for readers in other languages.
//!
//! A mapped file must not be changed or cut in place while it is open. The builder never does that; where others may,
//! open the file with [`Load::Heap`].
//!
//! ```
//! use sakuin_pack::{Builder, Content, Duplicates, Options, Table};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("stations.skn");
//! // A key may have several values, and keys may share a value, which is then stored once.
//! let mut builder = Builder::new(Content::Text, Options::new().duplicates(Duplicates::Keep));
//! let opera = builder.value("Opéra".as_bytes())?;
//! builder.point(b"line 3", opera)?;
//! builder.point(b"line 7", opera)?;
//! builder.add(b"line 7", "Châtelet".as_bytes())?;
//! builder.write(&path)?;
//!
//! let table = Table::open(&path)?;
//! let stations = table.get(b"line 7")?.expect("it was added");
//! let names: Vec<&str> = stations.iter().filter_map(|station| station.text()).collect();
//! assert_eq!(names, ["Opéra", "Châtelet"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
