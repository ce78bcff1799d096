//! The locks, counters and tasks that flights, stores and tables synchronise with. They stand here alone so that
//! the unit tests (`schedules`) can put those of a checker in their place, which tries one order of events after
//! another. All other tests, and everybody else, get the real ones.

#[cfg(not(test))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU64,
};

#[cfg(test)]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU64,
};

use std::sync::PoisonError;

use tokio::runtime::Handle;

/// Begins a task of its own.
#[cfg(not(test))]
pub(crate) fn spawn(runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) {
    runtime.spawn(task);
}

/// The checker's runtime is everywhere. A task can ask to be dropped at its next rest, as one is that panics or
/// whose runtime ends; the checker has no unwinding.
#[cfg(test)]
pub(crate) fn spawn(_: &Handle, task: impl Future<Output = ()> + Send + 'static) {
    use std::{future::poll_fn, task::Poll};
    let mut task = Some(Box::pin(task));
    shuttle::future::spawn(poll_fn(move |context| {
        let polled = task.as_mut().map(|task| task.as_mut().poll(context));
        if polled == Some(Poll::Pending) && !DROP_ME.take() {
            return Poll::Pending;
        }
        task = None;
        Poll::Ready(())
    }));
}

#[cfg(test)]
thread_local! {
    pub(crate) static DROP_ME: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
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
