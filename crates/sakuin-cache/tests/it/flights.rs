//! Who waits for a flight, who leaves it, and what happens when it breaks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use sakuin_cache::{
    CacheError, CachedTable, Failure, FailureKind, Fetched, Flights, Kind, Options, Origin,
    Outcome, Source, Strategy, SystemClock,
};
use tokio::{
    runtime::{Builder, Handle},
    sync::{Notify, oneshot},
    task::JoinSet,
};

use crate::support::{Simulated, fill, options, settle};

/// Counts calls, and answers all of them when told.
#[derive(Clone, Default)]
struct Gate {
    calls: Arc<AtomicUsize>,
    open: Arc<Notify>,
}

impl Origin for Gate {
    type Value = u32;

    async fn fetch(&self, _: &str, _: Option<&u32>) -> Result<Fetched<u32>, Failure> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.open.notified().await;
        Ok(Fetched::New(fill(7, Kind::Found)))
    }
}

/// On two runtimes, as in the server: the fetch on one, those who wait on the other.
#[test]
fn ten_thousand_wait_for_one_fetch() {
    let origins = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let serving = Builder::new_current_thread().enable_time().build().unwrap();
    let gate = Gate::default();
    let waiting = Options { max_waiters: 10_000, ..options(Strategy::default()) };
    let clock = SystemClock::default();
    let table = CachedTable::new(gate.clone(), waiting, clock, origins.handle().clone());
    let woken = serving.block_on(async {
        let mut requests = JoinSet::new();
        for _ in 0..10_000 {
            let table = table.clone();
            requests.spawn(async move { table.answer("key").await.map(|answer| answer.source) });
        }
        // The loop takes 61 tasks a turn.
        for _ in 0..4 {
            settle().await;
        }
        while gate.calls.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        let crowded = table.answer("key").await;
        assert!(matches!(crowded, Err(CacheError::Crowded)), "one more than may wait");
        let filled = Instant::now();
        gate.open.notify_waiters();
        let mut collapsed = 0;
        while let Some(source) = requests.join_next().await {
            let Source::Miss { collapsed: own } = source.unwrap().unwrap() else {
                panic!("a miss")
            };
            collapsed += usize::from(own);
        }
        assert_eq!(collapsed, 9_999);
        filled.elapsed()
    });
    assert_eq!(gate.calls.load(Ordering::SeqCst), 1);
    println!("the last of 10,000 was answered {woken:?} after the fill");
    // A slow machine may take longer than the 150 ms we promise on a quiet one; a timer would take seconds.
    assert!(woken < Duration::from_secs(2), "{woken:?}");
}

#[tokio::test]
async fn a_fetch_goes_on_when_its_request_leaves() {
    let flights = Arc::new(Flights::new(10));
    let (reply, fetched) = oneshot::channel::<u32>();
    let leaving = {
        let flights = flights.clone();
        tokio::spawn(async move {
            let fetch = || async { fetched.await.unwrap() };
            flights.join(&Handle::current(), "key", fetch).await
        })
    };
    settle().await;
    let staying = {
        let flights = flights.clone();
        tokio::spawn(async move {
            flights.join(&Handle::current(), "key", || async { panic!("there is one") }).await
        })
    };
    settle().await;
    leaving.abort();
    settle().await;
    reply.send(5).unwrap();
    let Outcome::Landed { value, collapsed: true } = staying.await.unwrap() else {
        panic!("the other's flight")
    };
    assert_eq!(*value, 5);
}

#[tokio::test]
async fn who_leaves_makes_room() {
    let flights = Arc::new(Flights::<u32>::new(2));
    let join = || {
        let flights = flights.clone();
        tokio::spawn(async move {
            flights.join(&Handle::current(), "key", std::future::pending::<u32>).await
        })
    };
    let (first, second) = (join(), join());
    settle().await;
    assert!(matches!(join().await.unwrap(), Outcome::Crowded));
    first.abort();
    settle().await;
    let third = join();
    settle().await;
    assert!(!second.is_finished() && !third.is_finished());
}

#[tokio::test]
async fn a_fetch_that_panics_wakes_who_waits() {
    let flights = Arc::new(Flights::<u32>::new(10));
    let (panic_now, told) = oneshot::channel::<()>();
    let fetch = move || async move {
        let _ = told.await;
        panic!("the test lets this fetch panic");
    };
    let first = {
        let flights = flights.clone();
        tokio::spawn(async move { flights.join(&Handle::current(), "key", fetch).await })
    };
    settle().await;
    let second = {
        let flights = flights.clone();
        tokio::spawn(async move {
            flights.join(&Handle::current(), "key", || async { unreachable!() }).await
        })
    };
    settle().await;
    panic_now.send(()).unwrap();
    assert!(matches!(first.await.unwrap(), Outcome::Broken));
    assert!(matches!(second.await.unwrap(), Outcome::Broken));
    // Nothing is poisoned.
    let again = flights.join(&Handle::current(), "key", || async { 3 }).await;
    assert!(matches!(again, Outcome::Landed { value, collapsed: false } if *value == 3));
}

#[test]
fn the_end_of_the_runtime_wakes_who_waits() {
    let origins = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let serving = Builder::new_current_thread().build().unwrap();
    let gate = Gate::default();
    let table = CachedTable::new(
        gate.clone(),
        options(Strategy::default()),
        Simulated::new(),
        origins.handle().clone(),
    );
    let error = serving.block_on(async {
        let asking = table.clone();
        let asked = tokio::spawn(async move { asking.answer("key").await });
        while gate.calls.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        origins.shutdown_background();
        asked.await.unwrap().err()
    });
    let Some(CacheError::Origin(failure)) = error else { panic!("a failure") };
    assert_eq!(failure.kind, FailureKind::Broken);
}
