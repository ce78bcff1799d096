//! Live tables: records in memory that change all the time, under transactions that lose no update.
//!
//! ```
//! use sakuin_live::{Filter, IndexKind, Schema, Store, Type};
//!
//! let schema = Schema::new().with("value", Type::Int, Some(IndexKind::Equal));
//! let store = Store::in_memory([("features", schema)]);
//! let (_, committed) = store.update(|transaction| {
//!     transaction.insert("features", [("value", 7.into())])?;
//!     transaction.insert("features", [("value", 8.into())])
//! })?;
//! assert_eq!(committed.ids, [1, 2]);
//!
//! // Adds one to every 7, whatever else happens meanwhile.
//! store.update(|transaction| {
//!     for record in transaction.search("features", &Filter::equal("value", 7))? {
//!         transaction.patch("features", record.id(), [("value", 8.into())])?;
//!     }
//!     Ok(())
//! })?;
//! assert_eq!(store.snapshot().search("features", &Filter::equal("value", 8))?.len(), 2);
//! # Ok::<(), sakuin_live::CommitError>(())
//! ```

mod assignment;
mod durability;
mod error;
#[cfg(feature = "exchange")]
pub mod exchange;
mod filter;
pub mod json;
mod nearest;
mod schema;
mod snapshot;
mod store;
mod transaction;
mod value;

mod committer;
mod published;
mod requests;
mod ring;

mod index;
mod kernels;
mod rows;
mod table;
mod text;
mod tree;
mod vectors;

mod bytes;
mod disk;
mod frame;
mod layout;
mod log;
mod sync;

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod schedules;

pub use assignment::Assignment;
pub use durability::Durability;
pub use error::{CommitError, Conflict, OpenError, ValueError};
pub use filter::{Filter, FilterError};
pub use nearest::{Nearest, Neighbor, Neighbors};
pub use schema::{Attribute, IndexKind, Metric, Schema, Type, VECTOR, Vectors};
pub use snapshot::{Record, Snapshot};
pub use store::{ATTEMPTS_MAX, Changed, Changes, Committed, Status, Store};
pub use transaction::{ID_MAX, Transaction};
pub use value::Value;
