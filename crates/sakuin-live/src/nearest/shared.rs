//! Searches that share a look at the vectors: while one pass goes on, those that arrive gather, and the next takes up
//! to sixteen of them. Who comes alone waits for nobody.
//!
//! A pass takes the newest snapshot after it has taken its searches, so each sees what was published before it came.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
};

use super::{Neighbors, Sought, scan};
use crate::{Snapshot, snapshot::Root};

/// The searches under way in a store.
pub(crate) struct Searches {
    newest: Box<dyn Fn() -> Arc<Root> + Send + Sync>,
    tables: Box<[Mutex<Gathering>]>,
}

/// Those of one table.
#[derive(Default)]
struct Gathering {
    /// Somebody makes passes, and will see who waits.
    is_running: bool,
    waiting: VecDeque<(Sought, Then)>,
}

pub(crate) type Then = Box<dyn FnOnce(Neighbors) + Send>;

/// Searches of a pass. More would share no better: the codes of a page are in the nearest cache after the first few.
const TOGETHER: usize = 16;

impl Searches {
    /// For tables of which `newest` says how they are.
    pub(crate) fn new(
        tables: usize,
        newest: impl Fn() -> Arc<Root> + Send + Sync + 'static,
    ) -> Searches {
        let tables = (0..tables).map(|_| Mutex::default()).collect();
        Searches { newest: Box::new(newest), tables }
    }

    pub(crate) fn nearest(self: &Arc<Searches>, table: usize, sought: Sought) -> Neighbors {
        if let Some(found) = self.few(table, &sought) {
            return found;
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let again = {
            let mut gathering = self.gathering(table);
            if !gathering.is_running {
                gathering.is_running = true;
                drop(gathering);
                let _relay = Relay { searches: self, table };
                return self.pass(table, &[&sought]).remove(0);
            }
            let again = sought.clone();
            let then = move |found| drop(sender.send(found));
            gathering.waiting.push_back((sought, Box::new(then)));
            again
        };
        // Whoever made the pass may have panicked.
        receiver.recv().unwrap_or_else(|_| self.pass(table, &[&again]).remove(0))
    }

    /// Without waiting, even for an index.
    pub(crate) fn nearest_then(self: &Arc<Searches>, table: usize, sought: Sought, then: Then) {
        if sought.filter.conditions().is_empty() {
            return self.enter(table, sought, then);
        }
        let searches = self.clone();
        spawn(move || match searches.few(table, &sought) {
            Some(found) => then(found),
            None => searches.enter(table, sought, then),
        });
    }

    fn enter(self: &Arc<Searches>, table: usize, sought: Sought, then: Then) {
        let mut gathering = self.gathering(table);
        gathering.waiting.push_back((sought, then));
        if !std::mem::replace(&mut gathering.is_running, true) {
            self.run(table);
        }
    }

    /// Makes passes, on a thread of the pool, until nobody waits.
    fn run(self: &Arc<Searches>, table: usize) {
        let searches = self.clone();
        spawn(move || {
            while let Some(together) = searches.next(table) {
                let (soughts, thens): (Vec<_>, Vec<_>) = together.into_iter().unzip();
                // Who is not answered since this panics is told by that his callback is dropped.
                let found = || searches.pass(table, &soughts.iter().collect::<Vec<_>>());
                let found = catch_unwind(AssertUnwindSafe(found)).unwrap_or_default();
                for (then, found) in thens.into_iter().zip(found) {
                    drop(catch_unwind(AssertUnwindSafe(|| then(found))));
                }
            }
        });
    }

    fn next(&self, table: usize) -> Option<Vec<(Sought, Then)>> {
        let mut gathering = self.gathering(table);
        let count = gathering.waiting.len().min(TOGETHER);
        gathering.is_running = count > 0;
        (count > 0).then(|| gathering.waiting.drain(..count).collect())
    }

    fn pass(&self, table: usize, soughts: &[&Sought]) -> Vec<Neighbors> {
        let snapshot = Snapshot { root: (self.newest)() };
        let table = &snapshot.root.tables[table];
        let found = scan::search(table, soughts).into_iter().zip(soughts);
        found.map(|(ranked, sought)| snapshot.neighbors(table, sought, &ranked)).collect()
    }

    fn few(&self, table: usize, sought: &Sought) -> Option<Neighbors> {
        if sought.count > 0 && sought.filter.conditions().is_empty() {
            return None;
        }
        let snapshot = Snapshot { root: (self.newest)() };
        let table = &snapshot.root.tables[table];
        Some(snapshot.neighbors(table, sought, &scan::search_few(table, sought)?))
    }

    fn gathering(&self, table: usize) -> MutexGuard<'_, Gathering> {
        self.tables[table].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands those who gathered on to the pool, even if the pass panicked.
struct Relay<'s> {
    searches: &'s Arc<Searches>,
    table: usize,
}

impl Drop for Relay<'_> {
    fn drop(&mut self) {
        let mut gathering = self.searches.gathering(self.table);
        if gathering.waiting.is_empty() {
            gathering.is_running = false;
        } else {
            self.searches.run(self.table);
        }
    }
}

/// Runs something on a thread of the pool, which must not see it panic.
fn spawn(work: impl FnOnce() + Send + 'static) {
    rayon::spawn(|| drop(catch_unwind(AssertUnwindSafe(work))));
}
