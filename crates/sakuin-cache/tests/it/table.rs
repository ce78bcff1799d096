//! What the model does not compare: counts, shared values, tables that take over from others.

use std::ptr;

use sakuin_cache::{
    CacheError, CachedTable, Depth, FailureKind, Fetched, Fill, Kind, Peek, Purge, Source, Strategy,
};
use tokio::runtime::Handle;

use crate::support::{
    Scripted, Simulated, Table, fill, lifetimes, options, refusal, seconds, settle, table,
};

/// Asks for `key` and lets the origin reply.
async fn fetch(table: &Table, origin: &Scripted, key: &str, fill: Fill<u32>) {
    let (asking, key_there) = (table.clone(), key.to_owned());
    let asked = tokio::spawn(async move { asking.answer(&key_there).await });
    settle().await;
    origin.reply(key, Ok(Fetched::New(fill)));
    asked.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_confirmed_value_is_not_copied() {
    let (table, clock, origin) = table(options(Strategy::default()));
    fetch(&table, &origin, "key", fill(1, Kind::Found)).await;
    let Peek::Fresh(before) = table.peek("key") else { panic!("fresh") };
    clock.advance(seconds(15));
    assert!(matches!(table.peek("key"), Peek::Stale(_)));
    settle().await;
    assert!(origin.reply("key", Ok(Fetched::NotModified(Some(lifetimes(3, 0, 0))))));
    settle().await;
    let Peek::Fresh(after) = table.peek("key") else { panic!("fresh") };
    assert!(ptr::eq(before.value(), after.value()));
    assert_eq!(after.lifetimes(), lifetimes(3, 0, 0));
    clock.advance(seconds(3));
    assert!(matches!(table.peek("key"), Peek::Absent));
}

#[tokio::test]
async fn everything_is_counted() {
    let (table, clock, origin) = table(options(Strategy::default()));
    let found = |tags: &[&str]| Fill {
        tags: tags.iter().map(|tag| (*tag).into()).collect(),
        ..fill(1, Kind::Found)
    };
    let (asking, one) = (table.clone(), "one");
    let asked = tokio::spawn(async move { asking.answer(one).await.map(|answer| answer.source) });
    settle().await;
    clock.advance(seconds(2));
    settle().await;
    assert_eq!(table.stats().flights, 1);
    origin.reply("one", Ok(Fetched::New(found(&["line"]))));
    assert_eq!(asked.await.unwrap().unwrap(), Source::Miss { collapsed: false });
    assert_eq!(table.answer("one").await.unwrap().source, Source::Hit);
    table.peek("one");
    assert_eq!(table.stats().stale_cover, None);

    clock.advance(seconds(10));
    table.peek("one");
    settle().await;
    origin.reply("one", Err(refusal(None)));
    settle().await;
    let two = table.clone();
    let asked = tokio::spawn(async move { two.answer("two").await });
    settle().await;
    origin.reply("two", Err(refusal(None)));
    assert!(asked.await.unwrap().is_err());

    let stats = table.stats();
    let ends = (stats.hits, stats.misses, stats.stale, stats.refused);
    assert_eq!(ends, (2, 1, 1, 1));
    assert_eq!((stats.fetches, stats.failures, stats.flights), (3, 2, 0));
    assert_eq!((stats.latency[0], stats.latency[9], stats.latency[10]), (2, 0, 1));
    assert_eq!((stats.latency_sum, stats.entries), (seconds(2), 1));
    // Fresh for 10 s and stale for 90 s, asked for 12 s ago.
    assert_eq!(stats.stale_cover, Some(seconds(88)));
    assert!((100..1000).contains(&stats.bytes), "{} bytes", stats.bytes);
}

#[tokio::test]
async fn another_strategy_takes_over_with_ages_and_purges() {
    for (before, after) in Strategy::ALL.into_iter().zip(Strategy::ALL.into_iter().rev()) {
        let (old, clock, origin) = table(options(before));
        // The generations of the two tables differ, and so do their clocks.
        old.purge(Purge::All, Depth::Soft);
        for key in ["kept", "outdated", "forgotten"] {
            fetch(&old, &origin, key, fill(7, Kind::Found)).await;
        }
        old.purge(Purge::Key("outdated"), Depth::Soft);
        old.purge(Purge::Key("forgotten"), Depth::Hard);
        clock.advance(seconds(4));
        let (own_clock, own_origin) = (Simulated::new(), Scripted::default());
        let handle = Handle::current();
        let new = CachedTable::new(own_origin, options(after), own_clock.clone(), handle);
        new.adopt(&old);
        own_clock.advance(seconds(5));
        let answer = new.answer("kept").await.unwrap();
        assert_eq!((answer.age, answer.source), (seconds(9), Source::Hit));
        own_clock.advance(seconds(1));
        assert!(matches!(new.peek("kept"), Peek::Stale(_)));
        assert!(matches!(new.peek("outdated"), Peek::Absent));
        assert_eq!(new.stats().entries, 2, "{before} to {after}");
    }
}

#[tokio::test]
async fn loaded_values_do_not_expire_together() {
    let (table, clock, _) = table(options(Strategy::default()));
    let keys: Vec<String> = (0..1000).map(|key| key.to_string()).collect();
    table.load(keys.iter().map(|key| (key, fill(1, Kind::Found))));
    clock.advance(seconds(9));
    let fresh = || keys.iter().filter(|key| matches!(table.peek(key), Peek::Fresh(_))).count();
    assert_eq!(fresh(), 1000);
    clock.advance(seconds(1) / 2);
    assert!((350..650).contains(&fresh()), "{} of 1000 are fresh after half the jitter", fresh());
    clock.advance(seconds(1) / 2);
    assert!(fresh() < 10);
}

#[tokio::test]
async fn an_answer_that_cannot_be_kept_does_not_make_others_wait_in_line() {
    let (table, clock, origin) = table(options(Strategy::default()));
    let ask = || {
        let table = table.clone();
        tokio::spawn(async move { table.answer("key").await.map(|answer| *answer.entry.value()) })
    };
    let (first, second) = (ask(), ask());
    settle().await;
    assert_eq!(origin.waiting("key"), 1);
    origin.reply("key", Ok(Fetched::New(fill(1, Kind::Unstorable))));
    assert_eq!((first.await.unwrap().unwrap(), second.await.unwrap().unwrap()), (1, 1));

    clock.advance(seconds(119));
    let asked = [ask(), ask(), ask(), ask(), ask()];
    settle().await;
    assert_eq!(origin.waiting("key"), 4, "as many as may wait");
    for (value, asked) in asked.into_iter().enumerate() {
        let value = value as u32;
        origin.reply("key", Ok(Fetched::New(fill(value, Kind::Unstorable))));
        match asked.await.unwrap() {
            Ok(got) => assert_eq!(got, value),
            Err(error) => assert!(value == 4 && matches!(error, CacheError::Crowded)),
        }
    }
    clock.advance(seconds(1));
    let asked = [ask(), ask()];
    settle().await;
    assert_eq!(origin.waiting("key"), 1, "tried again in one flight after two minutes");
    origin.reply("key", Ok(Fetched::New(fill(9, Kind::Found))));
    for asked in asked {
        assert_eq!(asked.await.unwrap().unwrap(), 9);
    }
}

#[tokio::test]
async fn a_confirmation_of_nothing_is_a_bad_answer() {
    let (table, _, origin) = table(options(Strategy::default()));
    let asking = table.clone();
    let asked = tokio::spawn(async move { asking.answer("key").await });
    settle().await;
    origin.reply("key", Ok(Fetched::NotModified(None)));
    let Err(CacheError::Origin(failure)) = asked.await.unwrap() else { panic!("a failure") };
    assert_eq!(failure.kind, FailureKind::BadAnswer);
}

#[tokio::test]
async fn a_hit_allocates_nothing() {
    for strategy in Strategy::ALL {
        let (table, _, origin) = table(options(strategy));
        fetch(&table, &origin, "key", fill(1, Kind::Found)).await;
        // The first look may set up what a thread keeps.
        drop(table.peek("key"));
        let allocated = allocation_counter::measure(|| {
            assert!(matches!(table.peek("key"), Peek::Fresh(_)));
        });
        assert_eq!(allocated.count_total, 0, "{strategy}");
    }
}
