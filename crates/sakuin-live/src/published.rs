//! What readers see, and who waits for it to become newer.
//!
//! The last owner of an old root frees what nothing else shares, which after a large commit is much. So the one who
//! publishes keeps the roots that were replaced until no reader has them, and frees them, rather than a reader.

use std::{collections::VecDeque, sync::Arc};

use arc_swap::{ArcSwap, Guard};
use smallvec::SmallVec;

use crate::{
    snapshot::Root,
    sync::{Mutex, lock},
};

/// The tables as readers see them.
pub(crate) struct Published {
    root: ArcSwap<Root>,
    followers: Mutex<Followers>,
}

#[derive(Default)]
struct Followers {
    /// Who is to be called after which sequence.
    waiting: Vec<(u64, Then)>,
    replaced: VecDeque<Arc<Root>>,
    is_over: bool,
}

type Then = Box<dyn FnOnce() + Send>;

/// What is to be done after a publication, without any lock.
#[must_use]
#[derive(Default)]
pub(crate) struct Afterwards {
    due: Vec<Then>,
    /// Roots that nobody reads any more, to be freed.
    unused: SmallVec<[Arc<Root>; 1]>,
}

/// Replaced roots that are kept while somebody reads them; beyond, their readers free them.
const REPLACED_MAX: usize = 32;

impl Published {
    pub(crate) fn new(root: Root) -> Published {
        let (root, followers) = (ArcSwap::from_pointee(root), Mutex::default());
        Published { root, followers }
    }

    pub(crate) fn root(&self) -> Arc<Root> {
        self.root.load_full()
    }

    pub(crate) fn peek(&self) -> Guard<Arc<Root>> {
        self.root.load()
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.root.load().sequence
    }

    /// Shows readers another root. One at a time: the caller sees to the order.
    pub(crate) fn publish(&self, root: Arc<Root>) -> Afterwards {
        let sequence = root.sequence;
        let before = self.root.swap(root);
        let mut followers = lock(&self.followers);
        let mut afterwards = Afterwards::default();
        followers.replace(before, &mut afterwards);
        if followers.waiting.iter().any(|(after, _)| *after < sequence) {
            let due = followers.waiting.extract_if(.., |(after, _)| *after < sequence);
            afterwards.due = due.map(|(_, then)| then).collect();
        }
        afterwards
    }

    /// Calls `then` once a root after `sequence` is published, or drops it if none will be.
    pub(crate) fn when(&self, sequence: u64, then: impl FnOnce() + Send + 'static) {
        let mut followers = lock(&self.followers);
        // Whoever publishes after this look finds the follower in the list.
        if self.sequence() > sequence {
            drop(followers);
            then();
        } else if !followers.is_over {
            followers.waiting.push((sequence, Box::new(then)));
        }
    }

    /// Nothing more will be published.
    pub(crate) fn end(&self) {
        let mut followers = lock(&self.followers);
        followers.is_over = true;
        let waiting = std::mem::take(&mut followers.waiting);
        drop(followers);
        drop(waiting);
    }
}

impl Followers {
    fn replace(&mut self, before: Arc<Root>, afterwards: &mut Afterwards) {
        // Nobody takes a root any more that is replaced, so a count of one stays.
        self.replaced.push_back(before);
        let kept = self.replaced.len().saturating_sub(REPLACED_MAX);
        afterwards.unused.extend(self.replaced.drain(..kept));
        while let Some(at) = self.replaced.iter().position(|root| Arc::strong_count(root) == 1) {
            afterwards.unused.extend(self.replaced.remove(at));
        }
    }
}

impl Afterwards {
    pub(crate) fn run(self) {
        self.due.into_iter().for_each(|then| then());
    }
}
