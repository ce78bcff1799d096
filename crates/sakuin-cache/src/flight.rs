//! Flights: one fetch for a key, however many ask meanwhile.

use std::sync::Arc;

/// The flights of one table or one origin, by key. `T` is what a flight brings; all who wait share it.
pub struct Flights<T> {
    landed: std::marker::PhantomData<T>,
}

/// How joining a flight ended.
#[derive(Clone, Debug)]
pub enum Outcome<T> {
    /// It landed. `collapsed` if another had begun it.
    Landed {
        /// What it brought.
        value: Arc<T>,
        /// Whether another request had begun it.
        collapsed: bool,
    },
    /// Too many wait for it already.
    Crowded,
    /// It panicked.
    Broken,
}

impl<T: Send + Sync + 'static> Flights<T> {
    /// No flights yet; at most `max_waiters` may wait for each.
    pub fn new(max_waiters: usize) -> Flights<T> {
        let _ = max_waiters;
        unimplemented!()
    }

    /// Waits for the flight of `key`, beginning it with `fetch` if there is none. The fetch is a task of its
    /// own on `runtime`: it goes on when the one who began it leaves.
    pub async fn join<F>(
        &self,
        runtime: &tokio::runtime::Handle,
        key: &str,
        fetch: impl FnOnce() -> F + Send,
    ) -> Outcome<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let _ = (runtime, key, fetch);
        unimplemented!()
    }
}
