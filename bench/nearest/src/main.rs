//! Measures exact search for the nearest vectors beside what others have, exact and with graphs, and searches and
//! updates half and half. Times are by the clock, of a machine that does nothing else.
//!
//! `cargo run --release -p bench-nearest -- DATE OUTPUT.jsonl PYTHON FOLDER`, from the folder `bench`; `PYTHON` is an
//! interpreter that has `nearest/requirements.txt`, and `FOLDER` has what `nearest/vectors.py` wrote.

mod peers;

use std::{
    cell::RefCell,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use bench_sampler::{Sampler, Subject};
use peers::Peers;
use sakuin_live::{Metric, Nearest, Neighbors, Schema, Store, Value};

const TABLE: &str = "features";
const DIMENSIONS: usize = 128;
const NEAREST: usize = 10;
/// Queries that recall is counted over.
const RECALLED: usize = 200;
/// Searches that arrive at once.
const TOGETHER: usize = 16;
/// Threads that search and update by turns.
const CLIENTS: u64 = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [date, output, python, folder, part @ ..] = arguments.as_slice() else {
        eprintln!("usage: bench-nearest DATE OUTPUT.jsonl PYTHON FOLDER [searches|updates]");
        std::process::exit(2);
    };
    let (rows, queries) = (vectors(folder, "rows"), vectors(folder, "queries"));
    let mut sampler = Sampler::new("nearest", date);
    for (count, name) in [(100_000, "100 k"), (1_000_000, "1 M")] {
        let before = resident();
        let store = filled(&rows[..count]);
        // Of fewer rows, most would be the latest commits, which are kept for transactions under way.
        if count == rows.len() {
            let used = (resident() - before) / (count * DIMENSIONS * size_of::<f32>()) as f64;
            let row = format!("memory of {name} × {DIMENSIONS}, against the vectors alone");
            sampler.samples(&row, "×", "sakuin", &[used]);
            sampler.target(&row, 1.35, None);
        }

        let is_wanted = |name: &str| part.is_empty() || part.iter().any(|part| part == name);
        if is_wanted("searches") {
            let peers = RefCell::new(Peers::start(python, folder, count));
            recall(&mut sampler, name, &store, &queries, &peers);
            searches(&mut sampler, name, &store, &queries, &peers);
        }
        if count == rows.len() && is_wanted("updates") {
            half_and_half(&mut sampler, name, &store, &queries);
        }
    }
    fs::write(output, sampler.lines()).expect("the results can be written");
}

fn vectors(folder: &str, name: &str) -> Vec<Vec<f32>> {
    let bytes = fs::read(Path::new(folder).join(name).with_extension("f32"));
    let bytes = bytes.expect("vectors.py has been run");
    let vector = |bytes: &[u8]| {
        bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect()
    };
    bytes.chunks_exact(DIMENSIONS * size_of::<f32>()).map(vector).collect()
}

fn filled(rows: &[Vec<f32>]) -> Store {
    let schema = Schema::new().with_vectors(DIMENSIONS, Metric::Cosine);
    let store = Store::in_memory([(TABLE, schema)]);
    for part in rows.chunks(5_000) {
        let filled = store.update(|transaction| {
            part.iter().try_for_each(|vector| transaction.insert(TABLE, [vector_of(vector)]))
        });
        filled.expect("it fits");
    }
    store
}

fn vector_of(vector: &[f32]) -> (&'static str, Value) {
    ("vector", vector.into())
}

/// Bytes of memory that this process has.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or_default() * 1024.0
}

/// How many of the nearest are found; of several that are equally near any will do.
fn recall(
    sampler: &mut Sampler,
    name: &str,
    store: &Store,
    queries: &[Vec<f32>],
    peers: &RefCell<Peers>,
) {
    let snapshot = store.snapshot();
    let cosine = |id: u64, query: &[f32]| {
        let record = snapshot.get(TABLE, id).expect("a table");
        let Some(Value::Vector(vector)) = record.and_then(|it| it.value("vector")) else {
            return f64::NEG_INFINITY;
        };
        vector.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let row = format!("recall of {NEAREST} of {name} × {DIMENSIONS}");
    // By a look at every vector, in numbers of 64 bits.
    let all: Vec<_> = snapshot.records_from(TABLE, 1).expect("a table").collect();
    let all: Vec<Value> = all.iter().filter_map(|record| record.value("vector")).collect();
    let last = |query: &[f32]| {
        let mut cosines: Vec<f64> = all
            .iter()
            .map(|vector| {
                let Value::Vector(vector) = vector else { return f64::NEG_INFINITY };
                vector.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            })
            .collect();
        *cosines.select_nth_unstable_by(NEAREST - 1, |a, b| b.total_cmp(a)).1
    };
    let lasts: Vec<f64> = queries[..RECALLED].iter().map(|query| last(query)).collect();
    let share = |ids: &[Vec<u64>]| {
        let found = ids.iter().zip(queries).zip(&lasts).map(|((ids, query), last)| {
            ids.iter().filter(|id| cosine(**id, query) >= last - 1e-6).count()
        });
        found.sum::<usize>() as f64 / (RECALLED * NEAREST) as f64
    };
    let ours = queries[..RECALLED].iter().map(|query| {
        let found = store.nearest(TABLE, &Nearest::to(query, NEAREST)).expect("it fits");
        found.found.iter().map(|it| it.record.id()).collect()
    });
    sampler.samples(&row, "", "sakuin", &[share(&ours.collect::<Vec<_>>())]);
    sampler.target_least(&row, 1.0);
    let subjects = peers.borrow().subjects.clone();
    for subject in &subjects {
        let found = peers.borrow_mut().search(subject, cores(), TOGETHER, RECALLED);
        sampler.samples(&row, "", subject, &[share(&found.ids)]);
    }
}

fn searches(
    sampler: &mut Sampler,
    name: &str,
    store: &Store,
    queries: &[Vec<f32>],
    peers: &RefCell<Peers>,
) {
    // So that a sample takes some tenths of a second.
    let count = if name == "1 M" { 16 } else { 160 };
    let both = cores();
    for threads in [1, both] {
        let on = if threads == 1 { "one core" } else { "both cores" };
        let row = format!("nearest {NEAREST} of {name} × {DIMENSIONS}, {on}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let alone = |metric| {
            let (pool, snapshot) = (&pool, store.snapshot());
            move || {
                micros(count, || {
                    for query in &queries[..count] {
                        let nearest =
                            Nearest { metric: Some(metric), ..Nearest::to(query, NEAREST) };
                        found(pool.install(|| snapshot.nearest(TABLE, &nearest)));
                    }
                })
            }
        };
        let mut subjects: Vec<Subject<'_>> = vec![
            ("sakuin", Box::new(alone(Metric::Cosine))),
            ("sakuin, inner product", Box::new(alone(Metric::Dot))),
            ("sakuin, l2", Box::new(alone(Metric::L2))),
        ];
        subjects.extend(of_peers(peers, threads, 1, count));
        sampler.row(&row, "µs", subjects);
        if threads == both {
            sampler.target(&row, if name == "1 M" { 10_000.0 } else { 1_000.0 }, None);
        }
        targets(sampler, &row);
    }
    let row = format!("nearest {NEAREST} of {name} × {DIMENSIONS}, both cores, {TOGETHER} at once");
    let count = count * 4;
    let at_once = || {
        micros(count, || {
            thread::scope(|scope| {
                for queries in queries[..count].chunks(count / TOGETHER) {
                    scope.spawn(move || {
                        for query in queries {
                            found(store.nearest(TABLE, &Nearest::to(query, NEAREST)));
                        }
                    });
                }
            });
        })
    };
    let mut subjects: Vec<Subject<'_>> = vec![("sakuin", Box::new(at_once))];
    subjects.extend(of_peers(peers, both, TOGETHER, count));
    sampler.row(&row, "µs", subjects);
    targets(sampler, &row);
}

fn targets(sampler: &mut Sampler, row: &str) {
    sampler.target(row, 0.5, Some((row, "faiss flat, inner product")));
    sampler.target(row, 0.5, Some((row, "faiss flat, l2")));
    sampler.target(row, 1.0, Some((row, "usearch exact")));
}

fn of_peers<'p>(
    peers: &'p RefCell<Peers>,
    threads: usize,
    together: usize,
    count: usize,
) -> Vec<Subject<'p>> {
    let subjects = peers.borrow().subjects.clone();
    let subject = |name: String| -> Subject<'p> {
        let name: &'static str = name.leak();
        let search = move || {
            peers.borrow_mut().search(name, threads, together, count).seconds * 1e6 / count as f64
        };
        (name, Box::new(search))
    };
    subjects.into_iter().map(subject).collect()
}

fn found<E: std::fmt::Debug>(neighbors: Result<Neighbors, E>) {
    assert_eq!(neighbors.expect("it fits").found.len(), NEAREST);
}

fn micros(count: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6 / count as f64
}

/// Each client gives a record of its own another vector and then searches for that, which has to find it.
fn half_and_half(sampler: &mut Sampler, name: &str, store: &Store, queries: &[Vec<f32>]) {
    const SAMPLE: Duration = Duration::from_secs(2);
    let records = store.snapshot().count(TABLE).expect("a table");
    let round = AtomicU64::new(0);
    let sample = || {
        let (is_over, operations) = (AtomicBool::new(false), AtomicU64::new(0));
        let start = Instant::now();
        let round = round.fetch_add(1, Ordering::Relaxed);
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (is_over, operations) = (&is_over, &operations);
                let mut random = fastrand::Rng::with_seed(round * CLIENTS + client);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let id = random.u64(0..records / CLIENTS) * CLIENTS + client + 1;
                        let query = &queries[random.usize(..queries.len())];
                        let vector: Vec<f32> =
                            query.iter().map(|it| it + (random.f32() - 0.5) * 0.02).collect();
                        let updated = store.update(|transaction| {
                            transaction.patch(TABLE, id, [vector_of(&vector)])
                        });
                        updated.expect("no other client writes it");
                        let nearest = store.nearest(TABLE, &Nearest::to(&vector, NEAREST));
                        let nearest = nearest.expect("it fits").found;
                        let is_found = nearest.iter().any(|it| it.record.id() == id);
                        assert!(is_found, "an acknowledged write is seen");
                        operations.fetch_add(2, Ordering::Relaxed);
                    }
                });
            }
            thread::sleep(SAMPLE);
            is_over.store(true, Ordering::Relaxed);
        });
        operations.into_inner() as f64 / start.elapsed().as_secs_f64()
    };
    let row =
        format!("searches and updates half and half, {name} × {DIMENSIONS}, {CLIENTS} clients");
    sampler.row(&row, "operations/s", vec![("sakuin", Box::new(sample))]);
    sampler.target_least(&row, 1_000.0);
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
