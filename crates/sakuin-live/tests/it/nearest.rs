//! The nearest vectors: what is refused, what a transaction was told and who changes that, and many at once beside
//! writers. That a pass finds what a look at every vector finds is tested next to it.

use std::{
    collections::BTreeMap,
    panic::panic_any,
    sync::{Mutex, mpsc},
    thread,
};

use sakuin_live::{
    CommitError, Filter, IndexKind, Metric, Nearest, Neighbors, Record, Schema, Snapshot, Store,
    Transaction, Type, Value, ValueError,
};

const TABLE: &str = "t";

fn store(metric: Metric, vectors: &[[f32; 2]]) -> Store {
    let schema = Schema::new()
        .with("colour", Type::Text, None)
        .with("kind", Type::Int, Some(IndexKind::Equal))
        .with_vectors(2, metric);
    let store = Store::in_memory([(TABLE, schema)]);
    insert(&store, vectors);
    store
}

fn insert(store: &Store, vectors: &[[f32; 2]]) {
    let inserted = store.update(|transaction| {
        vectors.iter().try_for_each(|vector| transaction.insert(TABLE, [vector_of(*vector)]))
    });
    inserted.unwrap();
}

fn vector_of(vector: [f32; 2]) -> (&'static str, Value) {
    ("vector", Value::from(&vector[..]))
}

fn near(vector: [f32; 2], count: usize) -> Nearest {
    Nearest::to(&vector, count)
}

fn ids(neighbors: &Neighbors) -> Vec<u64> {
    neighbors.found.iter().map(|it| it.record.id()).collect()
}

#[test]
fn each_metric_has_its_own_nearest() {
    let store = store(Metric::L2, &[[9.0, 1.0], [1.0, 0.0], [1.5, 1.5], [-1.0, 0.0]]);
    let found = |metric| {
        let nearest = Nearest { metric, ..near([2.0, 0.0], 2) };
        let found = store.nearest(TABLE, &nearest).unwrap();
        (ids(&found), found.found[0].score)
    };
    assert_eq!(found(None), (vec![2, 3], 1.0));
    assert_eq!(found(Some(Metric::Dot)), (vec![1, 3], 18.0));
    assert_eq!(found(Some(Metric::Cosine)), (vec![2, 1], 1.0));
}

#[test]
fn of_equally_near_ones_the_lower_id_is_first() {
    let store = store(Metric::L2, &[[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]]);
    assert_eq!(ids(&store.nearest(TABLE, &near([0.0, 0.0], 3)).unwrap()), [1, 2, 3]);
    assert_eq!(ids(&store.nearest(TABLE, &near([0.0, 0.0], usize::MAX)).unwrap()), [1, 2, 3, 4]);
    assert_eq!(ids(&store.nearest(TABLE, &near([0.0, 0.0], 0)).unwrap()), [0; 0]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let store = store(Metric::Dot, &[[0.0, 0.0], [0.0, 2.0]]);
    let refused = |nearest: &Nearest| store.nearest(TABLE, nearest).unwrap_err();
    let dimensions = ValueError::Dimensions { wanted: 2, found: 3 };
    assert_eq!(refused(&Nearest::to(&[1.0; 3], 1)), dimensions);
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(matches!(refused(&near([0.0, number], 1)), ValueError::Type { .. }));
    }
    let cosine = |vector| Nearest { metric: Some(Metric::Cosine), ..near(vector, 9) };
    assert_eq!(refused(&cosine([0.0, -0.0])), ValueError::NoDirection);
    let found = store.nearest(TABLE, &cosine([0.0, 1.0])).unwrap();
    assert_eq!(ids(&found), [2], "a record without a direction has no cosine");

    let by_value = Filter::equal("vector", &[0.0f32, 2.0][..]);
    let vector = ValueError::Vector { attribute: "vector".to_owned() };
    assert_eq!(store.snapshot().search(TABLE, &by_value).unwrap_err(), vector);

    let plain = Store::in_memory([(TABLE, Schema::new())]);
    assert_eq!(plain.nearest(TABLE, &near([0.0, 1.0], 1)).unwrap_err(), ValueError::NoVectors);
    let (sender, answers) = mpsc::channel();
    store.nearest_then("other", near([0.0, 1.0], 1), move |found| sender.send(found).unwrap());
    assert!(matches!(answers.recv().unwrap(), Err(ValueError::Table { .. })));
}

#[test]
fn a_record_may_have_no_vector() {
    let store = store(Metric::L2, &[[0.0, 1.0], [0.0, 2.0]]);
    store.update(|transaction| transaction.clear(TABLE, 1, ["vector"])).unwrap();
    assert_eq!(ids(&store.nearest(TABLE, &near([0.0, 1.0], 9)).unwrap()), [2]);
    let missing = Filter::missing("vector");
    assert_eq!(store.snapshot().search_ids(TABLE, &missing).unwrap(), [1]);
    let any = Filter::within("vector", ..);
    assert_eq!(store.snapshot().search_ids(TABLE, &any).unwrap(), [2]);
    assert_eq!(store.snapshot().get(TABLE, 1).unwrap().unwrap().value("vector"), None);
}

/// A transaction that asks for the two nearest to the origin and then writes, beside a commit in between.
fn told(filter: &Filter, between: impl Fn(&mut Transaction) -> Result<(), CommitError>) -> bool {
    let store = store(Metric::L2, &[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]]);
    store.update(|transaction| transaction.patch(TABLE, 4, [("colour", "red".into())])).unwrap();
    let mut late = store.begin();
    late.nearest(TABLE, &Nearest { filter: filter.clone(), ..near([0.0, 0.0], 2) }).unwrap();
    late.insert(TABLE, []).unwrap();
    store.update(|transaction| between(transaction)).unwrap();
    match store.commit(late) {
        Ok(_) => true,
        Err(CommitError::Conflict(conflict)) => {
            assert_eq!((conflict.records.len(), conflict.searches), (0, vec![0]));
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_commit_that_changes_who_is_nearest_is_a_conflict() {
    let all = Filter::all();
    assert!(told(&all, |it| it.patch(TABLE, 3, [vector_of([5.0, 0.0])])), "further away");
    assert!(told(&all, |it| it.delete(TABLE, 3)), "not among them");
    assert!(told(&all, |it| it.insert(TABLE, [vector_of([0.0, 2.0])])), "as near, a higher id");
    assert!(told(&all, |it| it.insert(TABLE, [])), "no vector");
    assert!(!told(&all, |it| it.insert(TABLE, [vector_of([0.0, 1.5])])), "a new one");
    assert!(!told(&all, |it| it.patch(TABLE, 4, [vector_of([0.5, 0.0])])), "one that came near");
    assert!(!told(&all, |it| it.delete(TABLE, 2)), "one of them gone");
    assert!(
        !told(&all, |it| it.patch(TABLE, 1, [("colour", "red".into())])),
        "one of them changed"
    );

    let red = Filter::equal("colour", "red");
    assert!(told(&red, |it| it.insert(TABLE, [vector_of([0.0, 0.0])])), "not of those wanted");
    let (colour, far) = (("colour", Value::from("red")), vector_of([9.0, 9.0]));
    assert!(!told(&red, |it| it.insert(TABLE, [colour.clone(), far.clone()])), "fewer were found");
}

#[test]
fn a_transaction_sees_its_own_vectors() {
    let store = store(Metric::L2, &[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]);
    let mut transaction = store.begin();
    transaction.delete(TABLE, 1).unwrap();
    transaction.patch(TABLE, 3, [vector_of([0.5, 0.0])]).unwrap();
    let found = transaction.nearest(TABLE, &near([0.0, 0.0], 2)).unwrap();
    assert_eq!(ids(&found), [3, 2]);
    assert_eq!((found.found[0].record.version(), found.found[0].score), (0, 0.5));
    store.commit(transaction).unwrap();
    assert_eq!(ids(&store.nearest(TABLE, &near([0.0, 0.0], 2)).unwrap()), [3, 2]);
}

/// By definition, on a snapshot.
fn plainly(snapshot: &Snapshot, nearest: &Nearest) -> Vec<(u64, f64)> {
    let distance = |record: &Record| {
        let Some(Value::Vector(vector)) = record.value("vector") else { return None };
        let pairs = vector.iter().zip(&nearest.vector);
        let squares = pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
        Some((record.id(), squares.sum::<f64>().sqrt()))
    };
    let records = snapshot.search(TABLE, &nearest.filter).unwrap();
    let mut found: Vec<_> = records.iter().filter_map(distance).collect();
    found.sort_by(|(a, near), (b, far)| near.total_cmp(far).then(a.cmp(b)));
    found.truncate(nearest.count);
    found
}

#[test]
fn many_at_once_are_each_answered_from_one_snapshot() {
    const SEARCHERS: u64 = 20;
    let mut random = fastrand::Rng::with_seed(7);
    let mut point = move || [random.i32(-60..60) as f32, random.i32(-60..60) as f32];
    let store = store(Metric::L2, &[]);
    insert(&store, &(0..3000).map(|_| point()).collect::<Vec<_>>());
    let snapshots = Mutex::new(BTreeMap::from([(1, store.snapshot())]));
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for seed in 0..SEARCHERS {
            let (store, answers) = (&store, &answers);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..40 {
                    let mut nearest =
                        near([random.f32(), random.f32() * 50.0], random.usize(1..20));
                    if random.bool() {
                        nearest.filter = Filter::missing("kind");
                    }
                    let found = match random.bool() {
                        true => store.nearest(TABLE, &nearest).unwrap(),
                        false => {
                            let (sender, answer) = mpsc::channel();
                            store.nearest_then(TABLE, nearest.clone(), move |found| {
                                sender.send(found).unwrap();
                            });
                            answer.recv().unwrap().unwrap()
                        }
                    };
                    answers.lock().unwrap().push((nearest, found));
                }
            });
        }
        for id in 1..200 {
            let changed = store.update(|transaction| {
                transaction.patch(TABLE, id, [vector_of(point()), ("kind", Value::Int(7))])
            });
            let sequence = changed.unwrap().1.sequence;
            snapshots.lock().unwrap().insert(sequence, store.snapshot());
            let found = store.nearest(TABLE, &near(point(), 1)).unwrap();
            assert!(found.snapshot >= sequence, "what was written before is seen");
        }
    });
    let (snapshots, answers) = (snapshots.into_inner().unwrap(), answers.into_inner().unwrap());
    assert_eq!(answers.len() as u64, SEARCHERS * 40);
    for (nearest, found) in answers {
        let pairs: Vec<_> = found.found.iter().map(|it| (it.record.id(), it.score)).collect();
        assert_eq!(pairs, plainly(&snapshots[&found.snapshot], &nearest), "{nearest:?}");
    }
}

#[test]
fn a_callback_that_panics_and_a_store_that_is_dropped_keep_nobody_waiting() {
    let vectors: Vec<_> = (0..5000).map(|at| [at as f32, 1.0]).collect();
    let store = store(Metric::L2, &vectors);
    let (sender, answers) = mpsc::channel();
    for at in 0..100u64 {
        let sender = sender.clone();
        store.nearest_then(TABLE, near([at as f32, 1.0], 1), move |found| {
            if at % 10 == 3 {
                panic_any("by a callback, as planned");
            }
            sender.send((at, ids(&found.unwrap()))).unwrap();
        });
    }
    drop((store, sender));
    let mut answers: Vec<_> = answers.iter().collect();
    answers.sort_unstable();
    let wanted = (0..100).filter(|at| at % 10 != 3).map(|at| (at, vec![at + 1]));
    assert_eq!(answers, wanted.collect::<Vec<_>>());
}
