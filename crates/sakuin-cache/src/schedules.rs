//! Thousands of orders in which threads may meet: at the start, the landing and the breaking of a flight, when a
//! request leaves, when a purge or an eviction comes in mid-flight, and when a table takes over from another.
//!
//! Run under shuttle, whose locks and tasks `sync` gives the crate in its unit tests. A failure prints the
//! schedule; `shuttle::replay` plays it again.

use std::{
    future::pending,
    pin::{Pin, pin},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Waker},
    time::{Duration, SystemTime},
};

use shuttle::{check_random, future::block_on, thread};
use tokio::runtime::{Builder, Runtime};

use crate::{
    Answer, CacheError, CachedTable, Clock, Depth, Entry, Failure, FailureKind, Fetched, Fill,
    Flights, Kind, Lifetimes, Options, Origin, Outcome, Peek, Purge, Source, Strategy, Tick,
    store::Store,
};

fn check(run: impl Fn() + Send + Sync + 'static) {
    check_random(run, 2_000);
}

type Table = CachedTable<Truth, Still>;

/// Says what is true when it is asked, a little later.
#[derive(Clone, Default)]
struct Truth {
    value: Arc<AtomicU32>,
    calls: Arc<AtomicU32>,
    under_way: Arc<AtomicU32>,
    /// The first fetch.
    breaks: bool,
}

impl Origin for Truth {
    type Value = u32;

    async fn fetch(&self, key: &str, _: Option<&u32>) -> Result<Fetched<u32>, Failure> {
        let alone = self.under_way.fetch_add(1, Ordering::SeqCst) == 0;
        assert!(alone || key != "key", "two calls for one key overlap");
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let value = self.value.load(Ordering::SeqCst);
        for _ in 0..8 {
            shuttle::future::yield_now().await;
        }
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        if self.breaks && call == 0 {
            crate::sync::DROP_ME.set(true);
            pending::<()>().await;
        }
        Ok(Fetched::New(found(value)))
    }
}

fn found(value: u32) -> Fill<u32> {
    let (kind, age) = (Kind::Found, Duration::ZERO);
    Fill { value, kind, bytes: 100, tags: vec!["tag".into()], lifetimes: None, age }
}

/// A clock that stands still, on which nothing is ever late.
struct Still;

impl Clock for Still {
    fn now(&self) -> Tick {
        Tick::default()
    }

    fn unix(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(pending())
    }
}

fn table(origin: &Truth, strategy: Strategy, max_bytes: usize) -> Table {
    static UNUSED: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().build().expect("a runtime"));
    let minute = Duration::from_secs(60);
    let lifetimes =
        Lifetimes { fresh: minute, stale_while_revalidate: minute, stale_if_error: minute };
    let options =
        Options { lifetimes, missing: minute, strategy, max_bytes, max_waiters: 10, wait: minute };
    CachedTable::new(origin.clone(), options, Still, UNUSED.handle().clone())
}

fn ask(table: &Table, key: &str) -> Result<Answer<u32>, CacheError> {
    block_on(table.answer(key))
}

#[test]
fn who_comes_meanwhile_shares_the_fetch() {
    let run = || {
        let origin = Truth::default();
        let table = table(&origin, Strategy::Sharded, 1 << 20);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let table = table.clone();
                thread::spawn(move || ask(&table, "key").expect("it answers").source)
            })
            .collect();
        let sources: Vec<Source> =
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        let begun = sources.iter().filter(|source| **source == Source::Miss { collapsed: false });
        assert_eq!(begun.count(), 1, "{sources:?}");
        assert_eq!(origin.calls.load(Ordering::SeqCst), 1);
    };
    check(run);
}

/// A writer changes the truth in mid-flight and purges; who asks after that must not be told the old truth as
/// fresh.
fn purged_answers_stay_away(purge: Purge<'static>, depth: Depth) {
    let run = move || {
        let origin = Truth::default();
        let table = table(&origin, Strategy::Sharded, 1 << 20);
        let reader = {
            let table = table.clone();
            thread::spawn(move || drop(ask(&table, "key")))
        };
        let writer = thread::spawn(move || {
            while origin.calls.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            let truth = origin.value.fetch_add(1, Ordering::SeqCst) + 1;
            table.purge(purge, depth);
            if let Peek::Fresh(entry) = table.peek("key") {
                assert!(*entry.value() >= truth, "an old hit");
            }
            for _ in 0..2 {
                let answer = ask(&table, "key").expect("it answers");
                assert!(*answer.entry.value() >= truth, "an old {:?}", answer.source);
            }
        });
        reader.join().expect("no panic");
        writer.join().expect("no panic");
    };
    check(run);
}

#[test]
fn a_key_purged_in_mid_flight_stays_away() {
    purged_answers_stay_away(Purge::Key("key"), Depth::Soft);
    purged_answers_stay_away(Purge::Key("key"), Depth::Hard);
}

#[test]
fn a_prefix_or_tag_purged_in_mid_flight_stays_away() {
    purged_answers_stay_away(Purge::Prefix("k"), Depth::Soft);
    purged_answers_stay_away(Purge::Tag("tag"), Depth::Hard);
}

#[test]
fn everything_purged_in_mid_flight_stays_away() {
    purged_answers_stay_away(Purge::All, Depth::Soft);
    purged_answers_stay_away(Purge::All, Depth::Hard);
}

#[test]
fn a_broken_fetch_wakes_who_waits() {
    let run = || {
        let origin = Truth { breaks: true, ..Truth::default() };
        let table = table(&origin, Strategy::RwLock, 1 << 20);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let table = table.clone();
                thread::spawn(move || match ask(&table, "key") {
                    Err(CacheError::Origin(failure)) => failure.kind == FailureKind::Broken,
                    Err(error) => panic!("{error}"),
                    Ok(_) => false,
                })
            })
            .collect();
        let broken = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        assert!(broken.filter(|broken| *broken).count() >= 1);
        assert!(ask(&table, "key").is_ok());
        assert_eq!(table.stats().flights, 0);
    };
    check(run);
}

#[test]
fn a_request_may_leave_at_any_time() {
    let run = || {
        let origin = Truth::default();
        let table = table(&origin, Strategy::Sharded, 1 << 20);
        let leaving = {
            let table = table.clone();
            thread::spawn(move || {
                let mut request = pin!(table.answer("key"));
                let _ = request.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            })
        };
        let staying = {
            let table = table.clone();
            thread::spawn(move || ask(&table, "key").expect("it answers").source)
        };
        leaving.join().expect("no panic");
        staying.join().expect("no panic");
        assert_eq!(origin.calls.load(Ordering::SeqCst), 1);
    };
    check(run);
}

#[test]
fn flights_alone_serve_two_tables() {
    let run = || {
        static UNUSED: LazyLock<Runtime> =
            LazyLock::new(|| Builder::new_current_thread().build().expect("a runtime"));
        let flights = Arc::new(Flights::new(2));
        let calls = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (flights, calls) = (flights.clone(), calls.clone());
                thread::spawn(move || {
                    let fetch = || async move {
                        let call = calls.fetch_add(1, Ordering::SeqCst);
                        shuttle::future::yield_now().await;
                        call
                    };
                    block_on(flights.join(UNUSED.handle(), "key", fetch))
                })
            })
            .collect();
        let mut begun = 0;
        for thread in threads {
            match thread.join().expect("no panic") {
                Outcome::Landed { collapsed, .. } => begun += u32::from(!collapsed),
                Outcome::Crowded => {}
                Outcome::Broken => panic!("nothing broke"),
            }
        }
        assert_eq!(begun, calls.load(Ordering::SeqCst));
    };
    check(run);
}

#[test]
fn eviction_in_mid_fill_mixes_nothing_up() {
    for strategy in [Strategy::RwLock, Strategy::Sharded] {
        let run = move || {
            // Room for three.
            let store = Arc::new(Store::new(strategy, 3 * 600));
            let threads: Vec<_> = (0..3)
                .map(|thread| {
                    let store = store.clone();
                    thread::spawn(move || {
                        for key in [thread, thread + 1, 5] {
                            let name = format!("key {key}");
                            store.insert(&name, entry(&name, key, 100 + 50 * thread as usize));
                            let other = format!("key {}", key + 1);
                            let found = store.get(&other);
                            assert!(found.is_none_or(|found| *found.value() == key + 1));
                            if thread == 2 {
                                store.remove_if(&name, |entry| *entry.value() != 5);
                            }
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("no panic");
            }
            let (mut entries, mut bytes) = (0, 0);
            store.for_each(&mut |_, entry| {
                entries += 1;
                bytes += entry.weight() + crate::evict::Slot::OVERHEAD;
            });
            assert_eq!((store.len(), store.bytes()), (entries, bytes), "the evictor lost count");
            assert!(bytes <= 3 * 600);
        };
        check(run);
    }
}

fn entry(key: &str, value: u32, bytes: usize) -> Arc<Entry<u32>> {
    let fill = Fill { bytes, ..found(value) };
    let lifetimes = Lifetimes {
        fresh: Duration::from_secs(1),
        stale_while_revalidate: Duration::ZERO,
        stale_if_error: Duration::ZERO,
    };
    Arc::new(Entry::new(key, fill, lifetimes, Tick::default(), 2))
}

#[test]
fn a_table_that_takes_over_keeps_what_is_newer() {
    let run = || {
        let origin = Truth::default();
        let old = table(&origin, Strategy::RwLock, 1 << 20);
        let new = table(&origin, Strategy::Sharded, 1 << 20);
        old.load([("key", found(0)), ("other", found(0))]);
        origin.value.store(1, Ordering::SeqCst);
        let adopting = {
            let new = new.clone();
            thread::spawn(move || new.adopt(&old))
        };
        let asking = {
            let new = new.clone();
            thread::spawn(move || *ask(&new, "key").expect("it answers").entry.value())
        };
        adopting.join().expect("no panic");
        let told = asking.join().expect("no panic");
        let kept = *ask(&new, "key").expect("it answers").entry.value();
        assert!(kept >= told, "told {told}, then {kept}");
        assert_eq!(new.stats().entries, 2);
    };
    check(run);
}
