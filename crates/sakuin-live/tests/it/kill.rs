//! Writers that are killed, really: this program runs itself again as a writer, reads from it what was acknowledged,
//! kills it at some moment and looks into the file.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
};

use fastrand::Rng;
use redb::backends::FileBackend;
use sakuin_live::{Durability, Filter, IndexKind, Schema, Store, Type, Value};

const TABLES: [&str; 2] = ["one", "two"];
const FILE: &str = "SAKUIN_KILLED_FILE";
const ACKNOWLEDGED: &str = "acknowledged ";

/// Commits under way at a time.
const WINDOW: u64 = 64;

/// A fold begins every thousand commits.
const FOLD_AT: u64 = 40_000;

fn open(path: &Path) -> Store {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let schema = || Schema::new().with("value", Type::Int, Some(IndexKind::Equal));
    let tables = TABLES.map(|table| (table, schema()));
    let backend = FileBackend::new(file.unwrap()).unwrap();
    Store::open_on(backend, Durability::Sync, tables, FOLD_AT).unwrap()
}

/// The records that a commit writes, by its sequence: one in each table.
fn ids(sequence: u64) -> [u64; 2] {
    [1 + sequence * 7 % 501, 1 + sequence * 13 % 707]
}

/// Not a test by itself: what the killed program runs.
#[test]
#[ignore = "runs until it is killed"]
fn writer() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let store = open(Path::new(&path));
    let (sender, receiver) = mpsc::channel();
    let mut under_way = 0;
    for sequence in store.snapshot().sequence() + 1.. {
        let mut transaction = store.begin();
        for (table, id) in TABLES.into_iter().zip(ids(sequence)) {
            transaction.put(table, id, [("value", (sequence as i64).into())]).unwrap();
        }
        let sender = sender.clone();
        store.submit(transaction, move |outcome| sender.send(outcome.unwrap().sequence).unwrap());
        under_way += 1;
        while let Some(acknowledged) = match under_way < WINDOW {
            true => receiver.try_recv().ok(),
            false => receiver.recv().ok(),
        } {
            under_way -= 1;
            // One call, so that no line is cut in two.
            let line = format!("{ACKNOWLEDGED}{acknowledged}\n");
            std::io::stdout().write_all(line.as_bytes()).unwrap();
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_a_writer_is_killed() {
    let kills: u64 = std::env::var("SAKUIN_KILLS").map_or(24, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.redb");
    let random = &mut Rng::with_seed(7);
    drop(open(&path));
    let mut before = 0;
    for kill in 0..kills {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::writer", "--ignored", "--nocapture"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let patience = random.usize(..3_000);
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut acknowledged = before;
        let sequence = |line: String| line.strip_prefix(ACKNOWLEDGED)?.parse().ok();
        acknowledged =
            lines.by_ref().filter_map(sequence).take(patience).last().unwrap_or(acknowledged);
        writer.kill().unwrap();
        writer.wait().unwrap();
        // What was on its way when it died.
        acknowledged = lines.filter_map(sequence).last().unwrap_or(acknowledged);
        let store = open(&path);
        let there = store.snapshot().sequence();
        assert!(there >= acknowledged, "kill {kill}: {there} of {acknowledged} acknowledged");
        check(&store, there);
        before = there;
    }
    println!("{kills} kills, {before} commits, {} bytes", path.metadata().unwrap().len());
    assert!(before > kills * 10, "{before} commits");
}

/// That the store has all of every commit up to this one, and nothing of another.
fn check(store: &Store, sequence: u64) {
    let mut wanted = [const { std::collections::BTreeMap::new() }; 2];
    // The ids come round after 501 and 707 commits: the last of these have written every record last.
    for sequence in sequence.saturating_sub(707) + 1..=sequence {
        for (records, id) in wanted.iter_mut().zip(ids(sequence)) {
            records.insert(id, sequence);
        }
    }
    for (table, wanted) in TABLES.into_iter().zip(wanted) {
        let records = store.snapshot().search(table, &Filter::all()).unwrap();
        let found = records.iter().map(|record| match record.value("value") {
            Some(Value::Int(value)) => (record.id(), value as u64),
            other => panic!("{other:?}"),
        });
        assert!(found.eq(wanted), "table {table} at {sequence}");
    }
}
