//! Cached tables: a slow origin answered from memory.
//!
//! A [`CachedTable`] reads through an [`Origin`]: it asks once however many wait, answers at once from what
//! it has while that is fresh, goes on answering while a new answer is fetched, and answers what it last
//! knew, marked as such, while the origin is away. It knows keys, times and bytes, and no protocol.
//!
//! Read in this order: [`Lifetimes`] and [`State`] say when an entry may be served, `flight` how one fetch
//! serves all who wait, `fetch` how it ends, [`CachedTable`] joins them, `store` keeps the entries, [`Guard`]
//! keeps the origin from being asked too much.

mod clock;
mod entry;
mod evict;
mod fetch;
mod flight;
mod freshness;
mod guard;
mod origin;
mod purge;
pub mod rfc9111;
#[cfg(test)]
mod schedules;
mod stats;
mod store;
mod sync;
mod table;

pub use clock::{Clock, SystemClock, Tick};
pub use entry::{Answer, Entry, Source};
pub use flight::{Flights, Outcome};
pub use freshness::{Lifetimes, State};
pub use guard::{BreakerState, Guard, GuardLimits, GuardStats, Quota, Rate, Refusal};
pub use origin::{Failure, FailureKind, Fetched, Fill, Kind, Origin};
pub use purge::{Depth, Purge};
pub use stats::Stats;
pub use store::Strategy;
pub use table::{CacheError, CachedTable, Options, Peek};
