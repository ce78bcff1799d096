//! Commits that are on the disk when they are acknowledged, 256 of them under way at a time, beside the least that
//! costs: the same bytes appended to a file and synced. And what a store of a million records needs to be there again,
//! in a process of its own.

use std::{
    env,
    fs::{self, File},
    io::Write,
    path::Path,
    process::Command,
    sync::mpsc,
    time::Instant,
};

use bench_sampler::Sampler;
use sakuin_live::{Durability, IndexKind, Schema, Store, Type};

const TABLE: &str = "features";
const RECORDS: u64 = 1_000_000;
const VALUES: i64 = 100_000;
/// Commits under way at a time.
const WINDOW: u64 = 256;
const COMMITS: u64 = 50_000;
const ROUNDS: usize = 5;

/// What a commit of one record has in the log: counts, table, id, attribute and value.
const COMMIT_BYTES: usize = 18;

/// An id, a version and a value.
const RAW_BYTES: u64 = 24;

/// Names the file that a process of its own is to open.
const OPENS: &str = "SAKUIN_BENCH_OPENS";

pub fn measure(sampler: &mut Sampler) {
    if let Some(path) = env::var_os(OPENS) {
        return open_and_tell(Path::new(&path));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("live.redb");
    fill(&path);
    restart(sampler, &path);
    commits(sampler, &path, &folder.path().join("floor"));
}

fn open(path: &Path, durability: Durability) -> Store {
    let schema = Schema::new().with("value", Type::Int, Some(IndexKind::Equal));
    Store::open(path, durability, [(TABLE, schema)]).expect("it can be opened")
}

fn fill(path: &Path) {
    let store = open(path, Durability::None);
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..RECORDS / 10_000 {
        let filled = store.update(|transaction| {
            (0..10_000).try_for_each(|_| {
                transaction.insert(TABLE, [("value", random.i64(0..VALUES).into())])
            })
        });
        filled.expect("it fits");
    }
    store.close().expect("it can be written");
}

fn commits(sampler: &mut Sampler, path: &Path, floor: &Path) {
    let store = open(path, Durability::Sync);
    let mut floor = File::create(floor).expect("a file");
    let [mut rates, mut floors, mut lone, mut lone_floors] = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        rates.push(rate(&store));
        floors.push(floor_rate(&mut floor));
        lone.push(lone_commits(&store));
        lone_floors.push(lone_appends(&mut floor));
    }
    let row = "durable commits, 256 under way";
    sampler.samples(row, "op/s", "sakuin", &rates);
    sampler.samples(row, "op/s", "append and fdatasync, 256 at a time", &floors);
    sampler.target_least(row, 50_000.0);
    let row = "a durable commit by a lone client: p50";
    sampler.samples(row, "µs", "sakuin", &lone);
    sampler.samples(row, "µs", "append and fdatasync", &lone_floors);
    sampler.target(row, 3.0, Some((row, "append and fdatasync")));
}

/// Commits a second, each of one record.
fn rate(store: &Store) -> f64 {
    let mut random = fastrand::Rng::with_seed(8);
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    for at in 0..COMMITS {
        let mut transaction = store.begin();
        let value = random.i64(0..VALUES);
        let put = transaction.put(TABLE, random.u64(1..=RECORDS), [("value", value.into())]);
        put.expect("it fits");
        let sender = sender.clone();
        store.submit(transaction, move |outcome| {
            let _ = sender.send(outcome.is_ok());
        });
        if at >= WINDOW {
            assert!(receiver.recv().expect("it is told"), "it is written");
        }
    }
    drop(sender);
    assert_eq!(receiver.iter().filter(|is_written| *is_written).count() as u64, WINDOW);
    COMMITS as f64 / start.elapsed().as_secs_f64()
}

fn floor_rate(file: &mut File) -> f64 {
    let group = [7; COMMIT_BYTES * WINDOW as usize];
    let start = Instant::now();
    for _ in 0..COMMITS / WINDOW {
        file.write_all(&group).and_then(|()| file.sync_data()).expect("it can be written");
    }
    (COMMITS / WINDOW * WINDOW) as f64 / start.elapsed().as_secs_f64()
}

fn lone_commits(store: &Store) -> f64 {
    let mut random = fastrand::Rng::with_seed(9);
    middle(|| {
        let mut transaction = store.begin();
        let put = transaction.put(TABLE, random.u64(1..=RECORDS), [("value", 7.into())]);
        put.expect("it fits");
        store.commit(transaction).expect("it is written");
    })
}

fn lone_appends(file: &mut File) -> f64 {
    let commit = [7; COMMIT_BYTES];
    middle(|| file.write_all(&commit).and_then(|()| file.sync_data()).expect("it can be written"))
}

/// The microseconds that half of the times are below.
fn middle(mut once: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..500)
        .map(|_| {
            let start = Instant::now();
            once();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn restart(sampler: &mut Sampler, path: &Path) {
    let [mut times, mut bytes] = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        let child = Command::new(env::current_exe().expect("this program"))
            .args(["-", "/dev/null", "durable"])
            .env(OPENS, path)
            .output()
            .expect("it can be started");
        let told = String::from_utf8(child.stdout).expect("text");
        let mut numbers = told.split_whitespace().map(|one| one.parse::<f64>().expect("a number"));
        times.extend(numbers.next());
        bytes.extend(numbers.next());
    }
    let row = "a store of 1 M records is there again";
    sampler.samples(row, "s", "sakuin", &times);
    sampler.target(row, 1.0, None);
    let row = "memory of 1 M records with one index, by what an id, a version and a value take";
    let ratios: Vec<f64> = bytes.iter().map(|bytes| bytes / (RECORDS * RAW_BYTES) as f64).collect();
    sampler.samples(row, "", "sakuin", &ratios);
    sampler.target(row, 2.5, None);
}

/// Prints how many seconds it took, and how many bytes it takes.
fn open_and_tell(path: &Path) {
    let (before, start) = (memory(), Instant::now());
    let store = open(path, Durability::Sync);
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(store.snapshot().count(TABLE).expect("it has the table"), RECORDS);
    println!("{seconds} {}", memory() - before);
}

fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("there is one of every process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it says so");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
