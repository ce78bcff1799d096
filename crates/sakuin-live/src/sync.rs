//! The locks and threads that the committer, the publication and the log meet with. They stand here alone so that
//! the unit tests (`schedules`) can put those of a checker in their place, which tries one order of events after
//! another. All other tests, and everybody else, get the real ones.

#[cfg(not(test))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, mpsc},
    thread,
};

#[cfg(test)]
pub(crate) use shuttle::{
    sync::{Condvar, Mutex, MutexGuard, mpsc},
    thread,
};

use std::sync::PoisonError;

/// Locks what is whole between any two statements, whoever panicked while holding it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the mutex guards is whole again.
pub(crate) fn clear_poison<T>(mutex: &Mutex<T>) {
    // The checker's mutexes have no such thing, nor does a panic end in it.
    #[cfg(not(test))]
    mutex.clear_poison();
    #[cfg(test)]
    let _ = mutex;
}
