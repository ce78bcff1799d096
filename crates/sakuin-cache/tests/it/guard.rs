//! The guard of an origin, in simulated time: tokio's clock stands still and jumps to the next timer when
//! nothing else can run.

use std::{
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use sakuin_cache::{
    BreakerState, Clock, Failure, FailureKind, Guard, GuardLimits, GuardStats, Quota, Rate,
    Refusal, Tick,
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// Tokio's clock; the wall clock goes with it from a moment that a test can move.
#[derive(Clone)]
struct Simulated {
    start: Instant,
    midnight_plus: Arc<AtomicU64>,
}

impl Simulated {
    fn new() -> Simulated {
        Simulated { start: Instant::now(), midnight_plus: Arc::default() }
    }

    fn set_wall(&self, days: i64) {
        self.midnight_plus.store((days * 86_400) as u64, Relaxed);
    }
}

impl Clock for Simulated {
    fn now(&self) -> Tick {
        Tick::default() + self.start.elapsed()
    }

    fn unix(&self) -> SystemTime {
        let days = self.midnight_plus.load(Relaxed) as i64;
        let base = 20_000 * 86_400 + days;
        SystemTime::UNIX_EPOCH + Duration::from_secs(base as u64) + self.start.elapsed()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(time))
    }
}

fn limits() -> GuardLimits {
    GuardLimits { timeout: 2 * SECOND, concurrency: 64, rate: None }
}

fn rate(per_second: u32, burst: u32) -> GuardLimits {
    GuardLimits { rate: Some(Rate { per_second, burst, per_day: None }), ..limits() }
}

fn quota(requests: u64, state: &Path) -> GuardLimits {
    let per_day = Some(Quota { requests, state: state.to_owned() });
    let rate = Some(Rate { per_second: 1_000_000, burst: 1_000_000, per_day });
    GuardLimits { rate, ..limits() }
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, cause: "down".to_owned(), retry_after: None }
}

/// What an attempt does.
#[derive(Clone, Copy)]
enum Origin {
    Well,
    Fails(FailureKind),
    Hangs,
    Wants(Duration),
}

async fn call(guard: &Guard<Simulated>, origin: Origin) -> Result<(), Failure> {
    call_counted(guard, origin, false).await.0
}

async fn call_counted(
    guard: &Guard<Simulated>,
    origin: Origin,
    needed: bool,
) -> (Result<(), Failure>, u64) {
    let attempts = Arc::new(AtomicU64::default());
    let result = guard
        .call(needed, || {
            attempts.fetch_add(1, Relaxed);
            async move {
                match origin {
                    Origin::Well => Ok(()),
                    Origin::Fails(kind) => Err(failure(kind)),
                    Origin::Hangs => std::future::pending().await,
                    Origin::Wants(rest) => {
                        Err(Failure { retry_after: Some(rest), ..failure(FailureKind::Refused) })
                    }
                }
            }
        })
        .await;
    (result, attempts.load(Relaxed))
}

#[track_caller]
fn check_refused(result: Result<(), Failure>, wait: Duration) {
    let failure = result.unwrap_err();
    assert_eq!((failure.kind, failure.retry_after), (FailureKind::Guarded, Some(wait)));
}

fn refused(stats: &GuardStats) -> [u64; 4] {
    Refusal::ALL.map(|refusal| stats.refused(refusal))
}

/// Counts calls that ran, starting `count` of them at once.
async fn flood(guard: &Guard<Simulated>, count: usize) -> (usize, usize) {
    let calls: Vec<_> = (0..count)
        .map(|_| {
            let guard = guard.clone();
            tokio::spawn(async move { call(&guard, Origin::Well).await })
        })
        .collect();
    let (mut passed, mut failed) = (0, 0);
    for call in calls {
        match call.await.unwrap() {
            Ok(()) => passed += 1,
            Err(failure) => {
                assert_eq!(failure.kind, FailureKind::Guarded);
                failed += 1;
            }
        }
    }
    (passed, failed)
}

#[tokio::test(start_paused = true)]
async fn a_burst_passes_and_then_the_rate_rules() {
    let guard = Guard::new(rate(10, 20), Simulated::new());
    let start = Instant::now();
    for _ in 0..20 {
        call(&guard, Origin::Well).await.unwrap();
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    for _ in 0..50 {
        call(&guard, Origin::Well).await.unwrap();
    }
    assert!(start.elapsed() >= 5 * SECOND && start.elapsed() < 5 * SECOND + SECOND / 10);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_had_in_time_is_refused() {
    let guard = Guard::new(rate(10, 5), Simulated::new());
    let (passed, refused_calls) = flood(&guard, 1000).await;
    // Five at once, then ten a second for the two seconds that a call may wait.
    assert!((24..=26).contains(&passed), "{passed}");
    assert_eq!(passed + refused_calls, 1000);
    assert_eq!(guard.stats().calls, passed as u64);
}

#[tokio::test(start_paused = true)]
async fn no_more_at_once_than_allowed() {
    let guard = Guard::new(GuardLimits { concurrency: 3, ..limits() }, Simulated::new());
    let (most, now) = (Arc::new(AtomicU64::default()), Arc::new(AtomicU64::default()));
    let calls: Vec<_> = (0..12)
        .map(|_| {
            let (guard, most, now) = (guard.clone(), most.clone(), now.clone());
            tokio::spawn(async move {
                let attempt = || async {
                    most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
                    tokio::time::sleep(SECOND * 9 / 10).await;
                    now.fetch_sub(1, Relaxed);
                    Ok::<(), Failure>(())
                };
                guard.call(false, attempt).await
            })
        })
        .collect();
    let mut kinds = Vec::new();
    for call in calls {
        kinds.push(call.await.unwrap().map_err(|failure| failure.kind));
    }
    assert_eq!(most.load(Relaxed), 3);
    // Two rounds fit into the two seconds; the third begins too late, the fourth never.
    let late = Err(FailureKind::TimedOut);
    let refused = Err(FailureKind::Guarded);
    assert_eq!(kinds, [[Ok(()); 6].as_slice(), &[late; 3], &[refused; 3]].concat());
    assert_eq!(guard.stats().refused(Refusal::Concurrency), 3);
    assert_eq!(guard.stats().under_way, 0);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_over_everything() {
    let guard = Guard::new(limits(), Simulated::new());
    let start = Instant::now();
    let (result, attempts) = call_counted(&guard, Origin::Hangs, true).await;
    assert_eq!((result.unwrap_err().kind, attempts), (FailureKind::TimedOut, 1));
    assert_eq!(start.elapsed(), 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_open_it_and_one_probe_closes_it() {
    let guard = Guard::new(limits(), Simulated::new());
    let down = Origin::Fails(FailureKind::TimedOut);
    for _ in 0..5 {
        assert_eq!(guard.stats().breaker, BreakerState::Closed);
        call(&guard, down).await.unwrap_err();
    }
    assert_eq!(guard.stats().breaker, BreakerState::Open);
    check_refused(call(&guard, Origin::Well).await, SECOND);
    tokio::time::advance(SECOND / 4).await;
    check_refused(call(&guard, Origin::Well).await, SECOND * 3 / 4);
    tokio::time::advance(SECOND).await;
    // The probe fails: another second, and not one that grows.
    for _ in 0..10 {
        call(&guard, down).await.unwrap_err();
        check_refused(call(&guard, Origin::Well).await, SECOND);
        tokio::time::advance(SECOND).await;
    }
    call(&guard, Origin::Well).await.unwrap();
    assert_eq!(guard.stats().breaker, BreakerState::Closed);
    for _ in 0..4 {
        call(&guard, down).await.unwrap_err();
    }
    assert_eq!(guard.stats().breaker, BreakerState::Closed, "it begins anew");
    assert_eq!(refused(&guard.stats()), [0, 0, 0, 12]);
}

#[tokio::test(start_paused = true)]
async fn half_of_the_last_twenty_open_it() {
    let guard = Guard::new(limits(), Simulated::new());
    for at in 0..20 {
        assert_eq!(guard.stats().breaker, BreakerState::Closed, "after {at}");
        let origin = if at % 2 == 0 { Origin::Well } else { Origin::Fails(FailureKind::TimedOut) };
        let _ = call(&guard, origin).await;
    }
    assert_eq!(guard.stats().breaker, BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn only_one_probe_at_a_time() {
    let guard = Guard::new(limits(), Simulated::new());
    for _ in 0..5 {
        call(&guard, Origin::Fails(FailureKind::TimedOut)).await.unwrap_err();
    }
    tokio::time::advance(SECOND).await;
    let probe = tokio::spawn({
        let guard = guard.clone();
        async move { call(&guard, Origin::Hangs).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(guard.stats().breaker, BreakerState::Probing);
    assert_eq!(flood(&guard, 100).await, (0, 100));
    // A probe whose caller goes away has failed; it does not bar the way for good.
    probe.abort();
    probe.await.unwrap_err();
    assert_eq!(guard.stats().breaker, BreakerState::Open);
    tokio::time::advance(SECOND).await;
    call(&guard, Origin::Well).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_bad_answer_says_nothing_about_the_origin() {
    let guard = Guard::new(limits(), Simulated::new());
    for kind in [FailureKind::BadAnswer, FailureKind::Denied] {
        for _ in 0..50 {
            let (result, attempts) = call_counted(&guard, Origin::Fails(kind), true).await;
            assert_eq!((result.unwrap_err().kind, attempts), (kind, 1));
        }
    }
    assert_eq!(guard.stats().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed() {
    let guard = Guard::new(limits(), Simulated::new());
    let (result, attempts) = call_counted(&guard, Origin::Wants(30 * SECOND), true).await;
    assert_eq!((result.unwrap_err().retry_after, attempts), (Some(30 * SECOND), 1));
    check_refused(call(&guard, Origin::Well).await, 30 * SECOND);
    tokio::time::advance(29 * SECOND).await;
    check_refused(call(&guard, Origin::Well).await, SECOND);
    tokio::time::advance(SECOND).await;
    call(&guard, Origin::Well).await.unwrap();
    call(&guard, Origin::Wants(1_000_000 * SECOND)).await.unwrap_err();
    check_refused(call(&guard, Origin::Well).await, 3600 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn one_retry_or_two_where_it_is_needed() {
    for (needed, wanted) in [(false, 2), (true, 3)] {
        let guard = Guard::new(limits(), Simulated::new());
        for _ in 0..50 {
            call(&guard, Origin::Well).await.unwrap();
        }
        let down = Origin::Fails(FailureKind::Unreachable);
        assert_eq!(call_counted(&guard, down, needed).await.1, wanted);
        assert_eq!(guard.stats().retries, wanted - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_can_save_a_call() {
    let guard = Guard::new(limits(), Simulated::new());
    let first = AtomicBool::new(true);
    let attempt = || {
        let fails = first.swap(false, Relaxed);
        async move { if fails { Err(failure(FailureKind::Unreachable)) } else { Ok(7) } }
    };
    assert_eq!(guard.call(false, attempt).await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn retries_are_a_tenth_of_all_calls_or_one_in_ten_seconds() {
    let guard = Guard::new(limits(), Simulated::new());
    let start = Instant::now();
    for at in 0..1000 {
        // One in four fails, too few to open the breaker.
        let origin =
            if at % 4 == 0 { Origin::Fails(FailureKind::Unreachable) } else { Origin::Well };
        let _ = call(&guard, origin).await;
    }
    let floor = 1 + start.elapsed().as_secs() / 10;
    let retries = guard.stats().retries;
    assert!((100 - 10..=100 + floor).contains(&retries), "{retries} in {:?}", start.elapsed());

    let quiet = Guard::new(limits(), Simulated::new());
    for _ in 0..3 {
        let _ = call(&quiet, Origin::Fails(FailureKind::Unreachable)).await;
        tokio::time::advance(5 * SECOND).await;
    }
    assert_eq!(quiet.stats().retries, 2);
}

#[tokio::test(start_paused = true)]
async fn the_quota_holds_over_a_day_of_kills() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state/lta");
    let clock = Simulated::new();
    let mut calls = 0;
    for kill in 0..20 {
        let guard = Guard::new(quota(1000, &state), clock.clone());
        // Eleven blocks of ten, and a part of one that the kill wastes.
        for _ in 0..(40 + kill) {
            calls += u64::from(call(&guard, Origin::Well).await.is_ok());
        }
        tokio::time::advance(DAY / 24).await;
    }
    assert!((800..=1000).contains(&calls), "{calls}");
    let guard = Guard::new(quota(1000, &state), clock.clone());
    while call(&guard, Origin::Well).await.is_ok() {
        calls += 1;
    }
    assert!((1000 - 20 * 10..=1000).contains(&calls), "{calls}");
    check_refused(call(&guard, Origin::Well).await, DAY - DAY / 24 * 20);
    assert_eq!(guard.stats().quota_left, Some(0));

    tokio::time::advance(DAY - DAY / 24 * 20).await;
    for _ in 0..1000 {
        call(&guard, Origin::Well).await.unwrap();
    }
    call(&guard, Origin::Well).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_goes_back_refunds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("lta");
    let clock = Simulated::new();
    let guard = Guard::new(quota(100, &state), clock.clone());
    while call(&guard, Origin::Well).await.is_ok() {}
    clock.set_wall(-1);
    call(&guard, Origin::Well).await.unwrap_err();
    let restarted = Guard::new(quota(100, &state), clock.clone());
    call(&restarted, Origin::Well).await.unwrap_err();
    clock.set_wall(0);
    call(&restarted, Origin::Well).await.unwrap_err();
    // Back by a year for good: a day later the quota is there again, once.
    clock.set_wall(-365);
    tokio::time::advance(DAY).await;
    for _ in 0..100 {
        call(&restarted, Origin::Well).await.unwrap();
    }
    call(&restarted, Origin::Well).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn two_guards_of_one_file_share_the_day() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("lta");
    let clock = Simulated::new();
    let guards = [(); 2].map(|()| Guard::new(quota(1000, &state), clock.clone()));
    let mut calls = 0;
    for at in 0..2000 {
        calls += u32::from(call(&guards[at % 2], Origin::Well).await.is_ok());
    }
    assert_eq!(calls, 1000);
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_cannot_be_kept_lets_nothing_through() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("lta");
    std::fs::write(&state, "no number\n").unwrap();
    let guard = Guard::new(quota(100, &state), Simulated::new());
    let failure = call(&guard, Origin::Well).await.unwrap_err();
    assert_eq!(failure.cause, "the day's quota cannot be kept: invalid data");
    assert_eq!(guard.stats().refused(Refusal::Quota), 1);
    assert_eq!(guard.stats().breaker, BreakerState::Closed);
}
