//! Room: what goes when there is not enough, whatever the strategy.

use sakuin_cache::{Kind, Options, Peek, Strategy};
use tokio::runtime::Handle;

use crate::support::{
    Scripted, Simulated, Table,
    bodies::{MEBIBYTE, body, table},
    fill, options,
};

#[tokio::test]
async fn what_is_larger_than_the_table_is_not_kept() {
    for strategy in Strategy::ALL {
        let table = table(strategy, MEBIBYTE);
        table.load([("key", body(2 * MEBIBYTE)), ("other", body(1000))]);
        assert!(matches!(table.peek("key"), Peek::Absent), "{strategy}");
        assert!(matches!(table.peek("other"), Peek::Fresh(_)), "{strategy}");
    }
}

#[tokio::test]
async fn known_absences_take_a_tenth() {
    for strategy in Strategy::ALL {
        let options = Options { max_bytes: MEBIBYTE, ..options(strategy) };
        let (clock, origin) = (Simulated::new(), Scripted::default());
        let table = Table::new(origin, options, clock, Handle::current());
        table.load((0..100).map(|key| (format!("found {key}"), fill(key, Kind::Found))));
        table.load((0..9_000).map(|key| (format!("missing {key}"), fill(key, Kind::Missing))));
        let stats = table.stats();
        assert!((100..500).contains(&stats.entries), "{strategy}: {stats:?}");
        assert!(matches!(table.peek("missing 8999"), Peek::Fresh(_)), "{strategy}");
        for key in 0..100 {
            assert!(matches!(table.peek(&format!("found {key}")), Peek::Fresh(_)), "{strategy}");
        }
    }
}

#[tokio::test]
async fn a_scan_leaves_what_is_asked_for_often() {
    for strategy in Strategy::ALL {
        let table = table(strategy, 4 * MEBIBYTE);
        let often: Vec<String> = (0..100).map(|key| format!("often {key}")).collect();
        for round in 0..100 {
            table.load(often.iter().map(|key| (key, body(1000))));
            often.iter().for_each(|key| drop(table.peek(key)));
            table.load((0..500).map(|key| (format!("once {round} {key}"), body(1000))));
        }
        let kept = often.iter().filter(|key| matches!(table.peek(key), Peek::Fresh(_))).count();
        assert!(kept >= 95, "{strategy}: {kept} of 100 are left");
    }
}
