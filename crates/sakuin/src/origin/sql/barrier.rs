//! One question for all who want to know, asked late enough for each of them.
//!
//! A request that arrives wants the outcome of a check that began no earlier than `every` before it. If there is
//! none, it waits: for the check under way, if that began late enough, else for the next one, which begins when
//! that has ended. So at any time at most one check runs, and nobody waits for more than two. With an `every` of
//! zero each request waits for a check that began after it came.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use sakuin_cache::{Clock, Tick};
use tokio::sync::{Notify, watch};

/// Who is asked, and what is known.
pub(crate) struct Barrier<C> {
    every: Duration,
    clock: C,
    demand: Notify,
    work: Mutex<Work>,
    known: watch::Sender<Option<Known>>,
    /// In nanoseconds: until when the last check that succeeded is believed.
    good_until: AtomicU64,
    /// Whether the next check has been asked for ahead of time.
    ahead: AtomicBool,
}

#[derive(Default)]
struct Work {
    /// When the check under way began.
    running: Option<Tick>,
    /// Whether another has been asked for.
    wanted: bool,
}

/// The outcome of the last check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// When it began.
    pub(crate) began: Tick,
    /// Whether it succeeded.
    pub(crate) good: bool,
    /// When the last one began that succeeded.
    pub(crate) good_at: Option<Tick>,
}

impl<C: Clock> Barrier<C> {
    pub(crate) fn new(every: Duration, clock: C) -> Barrier<C> {
        Barrier {
            every,
            clock,
            demand: Notify::new(),
            work: Mutex::default(),
            known: watch::Sender::default(),
            good_until: AtomicU64::default(),
            ahead: AtomicBool::default(),
        }
    }

    /// Whether a check succeeded recently enough for a request that arrives now. Takes no lock. In the second
    /// half of its time the next check is begun ahead, so that busy tables need not wait for it.
    pub(crate) fn is_good(&self) -> bool {
        let now = self.clock.now();
        let good_until = Tick::from_nanos(self.good_until.load(Relaxed));
        if now + self.every / 2 > good_until && now < good_until && !self.ahead.swap(true, Relaxed)
        {
            self.want(&mut self.work());
        }
        now < good_until
    }

    /// The outcome of a check that began late enough for a request that arrives now.
    pub(crate) async fn wait(&self) -> Known {
        let arrived = self.clock.now();
        let enough = |began: Tick| began + self.every >= arrived;
        let mut known = self.known.subscribe();
        loop {
            {
                let mut work = self.work();
                if let Some(known) = *known.borrow_and_update()
                    && enough(known.began)
                {
                    return known;
                }
                if !work.running.is_some_and(enough) {
                    self.want(&mut work);
                }
            }
            // The sender lives as long as `self`.
            let _ = known.changed().await;
        }
    }

    /// Waits until somebody wants to know. Whoever makes the checks begins one now: one at a time.
    pub(crate) async fn begin(&self) -> Tick {
        self.demand.notified().await;
        let mut work = self.work();
        work.wanted = false;
        *work.running.insert(self.clock.now())
    }

    /// The check that began then has ended, and all that has to be done about its outcome is done: those who
    /// wait are told.
    pub(crate) fn end(&self, began: Tick, good: bool) {
        let mut work = self.work();
        work.running = None;
        self.ahead.store(false, Relaxed);
        let before = self.known.borrow().and_then(|known| known.good_at);
        let good_at = if good { Some(began) } else { before };
        if good {
            self.good_until.store((began + self.every).as_nanos(), Relaxed);
        }
        self.known.send_replace(Some(Known { began, good, good_at }));
    }

    /// Asks for a check, once for all who do before it begins.
    fn want(&self, work: &mut Work) {
        if !std::mem::replace(&mut work.wanted, true) {
            self.demand.notify_one();
        }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::Pin, sync::Arc, time::SystemTime};

    use proptest::prelude::*;
    use tokio::time::Instant;

    use super::*;

    /// Tokio's clock, which a test stops and moves.
    #[derive(Clone)]
    struct Paused(Instant);

    impl Clock for Paused {
        fn now(&self) -> Tick {
            // Not zero, which stands for never.
            Tick::from_nanos(1) + self.0.elapsed()
        }

        fn unix(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }

        fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(tokio::time::sleep(time))
        }
    }

    #[derive(Default)]
    struct Log {
        checks: Mutex<Vec<(Tick, Option<Tick>)>>,
    }

    /// Checks that take the given times, in turn; those of an odd number of milliseconds fail.
    fn serve(barrier: &Arc<Barrier<Paused>>, times: Vec<u64>) -> Arc<Log> {
        let log = Arc::<Log>::default();
        let (barrier, theirs) = (barrier.clone(), log.clone());
        tokio::spawn(async move {
            for time in times.iter().cycle() {
                let began = barrier.begin().await;
                theirs.checks.lock().unwrap().push((began, None));
                tokio::time::sleep(Duration::from_millis(*time)).await;
                theirs.checks.lock().unwrap().last_mut().unwrap().1 = Some(barrier.clock.now());
                barrier.end(began, time % 2 == 0);
            }
        });
        log
    }

    fn milliseconds(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    /// Requests that arrive when told to: each gets what it is promised, and no check is made in vain.
    fn check(every: u64, arrivals: &[u64], times: Vec<u64>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let clock = Paused(Instant::now());
            let longest = milliseconds(*times.iter().max().unwrap());
            let barrier = Arc::new(Barrier::new(milliseconds(every), clock.clone()));
            let log = serve(&barrier, times);
            let requests: Vec<_> = arrivals
                .iter()
                .map(|arrival| {
                    let (barrier, arrival) = (barrier.clone(), *arrival);
                    tokio::spawn(async move {
                        tokio::time::sleep(milliseconds(arrival)).await;
                        let arrived = barrier.clock.now();
                        let quick = barrier.is_good();
                        let known = barrier.wait().await;
                        (arrived, quick, known, barrier.clock.now())
                    })
                })
                .collect();
            for request in requests {
                let (arrived, quick, known, left) = request.await.unwrap();
                assert!(known.began + milliseconds(every) >= arrived, "too old");
                assert!(left.since(arrived) <= longest * 2, "waited for more than two");
                assert!(!quick || known.good_at.unwrap() + milliseconds(every) > arrived);
                if quick && known.good {
                    assert_eq!(left, arrived, "waited for what was known");
                }
            }
            let checks = log.checks.lock().unwrap();
            for pair in checks.windows(2) {
                assert!(pair[0].1.is_some_and(|end| end <= pair[1].0), "two at once");
            }
            assert!(checks.len() <= arrivals.len() + 1, "{} checks", checks.len());
        });
    }

    proptest! {
        #[test]
        fn whatever_the_schedule(
            every in 0_u64..40,
            arrivals in prop::collection::vec(0_u64..200, 1..40),
            times in prop::collection::vec(0_u64..30, 1..10),
        ) {
            check(every, &arrivals, times);
        }
    }

    #[test]
    fn a_request_in_the_middle_of_a_check_waits_for_the_next() {
        check(0, &[0, 5, 6, 7, 20], vec![10]);
    }

    #[test]
    fn all_who_wait_share_one_check() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let barrier = Arc::new(Barrier::new(milliseconds(0), Paused(Instant::now())));
            let log = serve(&barrier, vec![10]);
            for _ in 0..3 {
                let requests = (0..1000).map(|_| {
                    let barrier = barrier.clone();
                    tokio::spawn(async move { barrier.wait().await })
                });
                for request in requests.collect::<Vec<_>>() {
                    assert!(request.await.unwrap().good);
                }
            }
            assert_eq!(log.checks.lock().unwrap().len(), 3);
        });
    }
}
