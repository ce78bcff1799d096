//! Every way to search is held against [`plainly`], to the bit.

use proptest::prelude::*;

use super::*;
use crate::{Snapshot, Store, table::Table};

const TABLE: &str = "t";

/// The nearest records as they are by definition.
fn plainly(table: &Table, sought: &Sought) -> Vec<Ranked> {
    let rows = table.rows_from(1);
    let rows = rows.filter(|(_, row)| sought.filter.matches(|place| row.cell(place)));
    let mut found: Vec<_> = rows.filter_map(|(id, row)| sought.rank(id, row.vector()?)).collect();
    found.sort();
    found.truncate(sought.count);
    found
}

#[track_caller]
fn check(snapshot: &Snapshot, searches: &[Nearest]) {
    let (_, table) = snapshot.root.table(TABLE).unwrap();
    let soughts: Vec<_> =
        searches.iter().map(|nearest| nearest.check(&table.schema).unwrap()).collect();
    let together = search(table, &soughts.iter().collect::<Vec<_>>());
    for (sought, found) in soughts.iter().zip(together) {
        let wanted = plainly(table, sought);
        assert_eq!(found, wanted, "together: {:?} {}", sought.metric, sought.count);
        assert_eq!(search(table, &[sought]), [wanted], "alone");
    }
}

/// Vectors as they come: around some centres, of any length, tiny, huge, of whole numbers with many ties, or all alike.
fn vectors(dimensions: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
    let number = prop_oneof![
        8 => -1.0f32..1.0,
        1 => (-3..4i32).prop_map(|it| it as f32),
        1 => prop::sample::select(vec![0.0, -0.0, 1e-45, -1e-40, 1e-20, 1e20, -3e38, f32::MAX]),
    ];
    let vector = prop::collection::vec(number, dimensions);
    let shape = prop::sample::select(vec![1.0f32, 1e-3, 1e-42, 1e18]);
    (prop::collection::vec(vector, 1..5), shape, 1..700usize, any::<u64>()).prop_map(
        move |(centres, shape, count, seed)| {
            let mut state = seed | 1;
            let mut random = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let vectors = (0..count).map(|_| {
                let centre = &centres[random() as usize % centres.len()];
                let spread = [0.0, 0.01, 0.3][random() as usize % 3];
                let near = centre.iter().map(|number| {
                    let moved = (random() % 2001) as f32 / 1000.0 - 1.0;
                    (number * shape + moved * spread * shape).clamp(f32::MIN, f32::MAX)
                });
                near.collect()
            });
            vectors.collect()
        },
    )
}

fn store(dimensions: usize, vectors: &[Vec<f32>]) -> Store {
    let schema = crate::Schema::new()
        .with("few", crate::Type::Int, Some(crate::IndexKind::Equal))
        .with("many", crate::Type::Int, None)
        .with_vectors(dimensions, Metric::L2);
    let store = Store::in_memory([(TABLE, schema)]);
    store
        .update(|transaction| {
            for (at, vector) in (0i64..).zip(vectors) {
                let vector = (at % 11 != 3).then(|| ("vector", vector.as_slice().into()));
                let values = [("few", (at % 40).into()), ("many", (at % 3).into())];
                transaction.insert(TABLE, values.into_iter().chain(vector))?;
            }
            Ok(())
        })
        .unwrap();
    store
}

fn searches(vectors: &[Vec<f32>]) -> Vec<Nearest> {
    let filters = [
        Filter::all(),
        Filter::equal("few", 7),
        Filter::equal("many", 1),
        Filter::within("many", crate::Value::Int(1)..=crate::Value::Int(2)).and_equal("few", 8),
        Filter::equal("many", 9),
    ];
    let mut searches = Vec::new();
    for (at, count) in [1, 3, 10, 0, usize::MAX, 20, 2].into_iter().enumerate() {
        for (metric, filter) in Metric::ALL.into_iter().zip(filters.iter().cycle().skip(at)) {
            let vector = vectors[at * 31 % vectors.len()].clone();
            if metric == Metric::Cosine && vector.iter().all(|number| *number == 0.0) {
                continue;
            }
            searches.push(Nearest { vector, count, metric: Some(metric), filter: filter.clone() });
        }
    }
    searches
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_pass_finds_what_a_look_at_every_vector_finds(
        (dimensions, vectors) in prop::sample::select(vec![1, 2, 7, 16, 33, 128, 500])
            .prop_flat_map(|dimensions| (Just(dimensions), vectors(dimensions))),
        changes in prop::collection::vec((0..700u64, 0..3usize), 0..60),
    ) {
        let store = store(dimensions, &vectors);
        let searches = searches(&vectors);
        check(&store.snapshot(), &searches);
        let (before, was) = (store.snapshot(), store.snapshot());
        let was: Vec<_> = was.search(TABLE, &Filter::all()).unwrap();
        store.update(|transaction| {
            for (id, change) in &changes {
                if transaction.get(TABLE, *id)?.is_none() {
                    continue;
                }
                match change {
                    0 => transaction.delete(TABLE, *id)?,
                    1 => transaction.clear(TABLE, *id, ["vector"])?,
                    _ => {
                        let other = &vectors[*id as usize * 7 % vectors.len()];
                        transaction.patch(TABLE, *id, [("vector", other.as_slice().into())])?;
                    }
                }
            }
            Ok(())
        }).unwrap();
        check(&store.snapshot(), &searches);
        let still = before.search(TABLE, &Filter::all()).unwrap();
        prop_assert!(was.iter().map(|it| it.value("vector")).eq(still.iter().map(|it| it.value("vector"))));
        check(&before, &searches);
    }
}
