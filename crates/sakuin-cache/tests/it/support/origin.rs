//! An origin that answers when the test says so, and what it says.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use sakuin_cache::{Failure, FailureKind, Fetched, Fill, Kind, Origin};
use tokio::sync::oneshot;

pub(crate) type Reply = Result<Fetched<u32>, Failure>;

/// Cheap to clone; all clones are the same origin.
#[derive(Clone, Default)]
pub(crate) struct Scripted(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    calls: Vec<(String, Option<u32>)>,
    pending: HashMap<String, VecDeque<oneshot::Sender<Reply>>>,
}

impl Scripted {
    /// Answers the oldest call for `key`; false if there is none. A call left without an answer panics.
    pub(crate) fn reply(&self, key: &str, reply: Reply) -> bool {
        self.take(key).is_some_and(|call| call.send(reply).is_ok())
    }

    /// Lets the oldest call for `key` panic.
    pub(crate) fn panic(&self, key: &str) -> bool {
        self.take(key).is_some()
    }

    /// Every call so far: the key, and the value the table had.
    pub(crate) fn calls(&self) -> Vec<(String, Option<u32>)> {
        self.0.lock().unwrap().calls.clone()
    }

    /// Calls for `key` that wait for an answer.
    pub(crate) fn waiting(&self, key: &str) -> usize {
        self.0.lock().unwrap().pending.get(key).map_or(0, VecDeque::len)
    }

    fn take(&self, key: &str) -> Option<oneshot::Sender<Reply>> {
        self.0.lock().unwrap().pending.get_mut(key)?.pop_front()
    }
}

impl Origin for Scripted {
    type Value = u32;

    async fn fetch(&self, key: &str, previous: Option<&u32>) -> Reply {
        let (sender, reply) = oneshot::channel();
        {
            let mut state = self.0.lock().unwrap();
            state.calls.push((key.to_owned(), previous.copied()));
            state.pending.entry(key.to_owned()).or_default().push_back(sender);
        }
        reply.await.expect("the test lets this fetch panic")
    }
}

/// A value of 100 bytes.
pub(crate) fn fill(value: u32, kind: Kind) -> Fill<u32> {
    Fill { value, kind, bytes: 100, tags: Vec::new(), lifetimes: None, age: Duration::ZERO }
}

pub(crate) fn refusal(retry_after: Option<Duration>) -> Failure {
    Failure { kind: FailureKind::Refused, cause: "no".to_owned(), retry_after }
}
