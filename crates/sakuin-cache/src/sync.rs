//! The locks, counters and tasks that flights, stores and tables synchronise with. They stand here alone so that
//! the tests of schedules (`tests/schedules`) can build the same sources over those of a checker.

use tokio::runtime::Handle;

pub(crate) use std::sync::{
    Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU64,
};

/// Begins a task of its own.
pub(crate) fn spawn(runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) {
    runtime.spawn(task);
}

/// Locks, whoever panicked while holding it: what these locks guard is whole between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same for reading.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// The same for writing.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
