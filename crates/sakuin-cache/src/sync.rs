//! The locks and tasks of flights and stores, in one place so that a checker of schedules can take theirs.

#[cfg(not(shuttle))]
pub(crate) use std::sync::{Mutex, RwLock};

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Mutex, RwLock};
