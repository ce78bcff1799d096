//! Requests that wait for a flight. A table fetches a key; a proxy's origin has to be sent a request, and what
//! cannot be kept must reach the one client it is for. So each request that waits leaves its headers and an
//! address here, and a fetch takes one of them.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{HeaderMap, Response};
use tokio::sync::oneshot;

use super::Body;

/// The requests that wait, by key.
#[derive(Default)]
pub(super) struct Waiting {
    requests: Mutex<HashMap<Box<str>, Vec<Asked>>>,
    number: AtomicU64,
}

/// A request that waits.
pub(super) struct Asked {
    /// Its own number, from 1.
    pub(super) number: u64,
    pub(super) headers: HeaderMap,
    /// Where a response goes that cannot be kept.
    pub(super) reply: oneshot::Sender<Response<Body>>,
}

/// A request's place among those that wait; dropping it leaves.
pub(super) struct Place<'w> {
    waiting: &'w Waiting,
    key: Box<str>,
    number: u64,
    reply: Option<oneshot::Receiver<Response<Body>>>,
}

impl Waiting {
    pub(super) fn enter(&self, key: &str, headers: &HeaderMap) -> Place<'_> {
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        let asked = Asked { number, headers: headers.clone(), reply: sender };
        self.lock().entry(key.into()).or_default().push(asked);
        Place { waiting: self, key: key.into(), number, reply: Some(receiver) }
    }

    /// The request that has waited longest for `key`.
    pub(super) fn take(&self, key: &str) -> Option<Asked> {
        let mut requests = self.lock();
        let waiting = requests.get_mut(key)?;
        let first = waiting.remove(0);
        if waiting.is_empty() {
            requests.remove(key);
        }
        Some(first)
    }

    fn remove(&self, key: &str, number: u64) -> bool {
        let mut requests = self.lock();
        let Some(waiting) = requests.get_mut(key) else { return false };
        let place = waiting.iter().position(|asked| asked.number == number);
        if let Some(place) = place {
            waiting.remove(place);
        }
        if waiting.is_empty() {
            requests.remove(key);
        }
        place.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Vec<Asked>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place<'_> {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Leaves; what a fetch sends, if one was made with this request.
    pub(super) fn leave(mut self) -> Option<oneshot::Receiver<Response<Body>>> {
        let reply = self.reply.take()?;
        (!self.waiting.remove(&self.key, self.number)).then_some(reply)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.reply.is_some() {
            self.waiting.remove(&self.key, self.number);
        }
    }
}
