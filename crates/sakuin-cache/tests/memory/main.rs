//! Memory: what is kept stays within the limit by the allocator's count too, whatever the strategy.
//!
//! A program of its own whose tests run one after another: some strategies leave their garbage to whichever thread
//! comes by, and only what a thread frees itself can be counted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, unused_imports, reason = "the other tests need more of it")]
#[path = "../it/support/mod.rs"]
mod support;

use sakuin_cache::Strategy;
use tokio::sync::Mutex;

use support::bodies::{self, MEBIBYTE, body};

static ALONE: Mutex<()> = Mutex::const_new(());

#[tokio::test]
async fn memory_stays_within_the_limit_and_a_little() {
    let _alone = ALONE.lock().await;
    let max_bytes = 8 * MEBIBYTE;
    for strategy in Strategy::ALL {
        for size in [40, 300, 5_000] {
            let keys = 40 * MEBIBYTE / (size + 300);
            let mut table = None;
            let used = allocation_counter::measure(|| {
                let made = bodies::table(strategy, max_bytes);
                made.load((0..keys).map(|key| (format!("key number {key}"), body(size))));
                table = Some(made);
            });
            let stats = table.unwrap().stats();
            let used = used.bytes_current as f64 / max_bytes as f64;
            let counted = stats.bytes as f64 / max_bytes as f64;
            println!("{strategy}, {size} bytes: {used:.3} used, {counted:.3} counted, {stats:?}");
            assert!(counted <= 1.0, "{strategy}: {counted}");
            assert!((0.6..1.15).contains(&used), "{strategy}, {size} bytes: {used}");
            assert!(stats.evictions > 0);
        }
    }
}

#[tokio::test]
async fn forgotten_keys_leave_nothing_behind() {
    let _alone = ALONE.lock().await;
    for strategy in Strategy::ALL {
        let table = bodies::table(strategy, 4 * MEBIBYTE);
        table.load([("key", body(1000))]);
        let used = allocation_counter::measure(|| {
            for _ in 0..20_000 {
                table.purge(sakuin_cache::Purge::Key("key"), sakuin_cache::Depth::Hard);
                table.load([("key", body(1000))]);
            }
            table.stats();
        });
        let left = used.bytes_current;
        assert!(left < MEBIBYTE as i64, "{strategy}: {left} bytes");
    }
}
