//! Every way to search is held against [`plainly`], to the bit.

use proptest::prelude::*;

use super::*;
use crate::{IndexKind, Type, Value, schema::Cells, table::Table};

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
fn check(table: &Table, searches: &[Nearest]) {
    let soughts: Vec<_> =
        searches.iter().map(|nearest| nearest.clone().check(&table.schema).unwrap()).collect();
    let together = search(table, &soughts.iter().collect::<Vec<_>>());
    for (sought, found) in soughts.iter().zip(together) {
        let wanted = plainly(table, sought);
        assert_eq!(found, wanted, "together: {:?} {}", sought.metric, sought.count);
        assert_eq!(search(table, &[sought]), [wanted], "alone");
    }
}

/// Vectors as they come: around some centres, of any length, tiny, huge, of whole numbers with many ties, or all alike.
pub(super) fn vectors(dimensions: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
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

pub(super) fn table(dimensions: usize, vectors: &[Vec<f32>]) -> Table {
    let schema = Schema::new()
        .with("few", Type::Int, Some(IndexKind::Equal))
        .with("many", Type::Int, None)
        .with_vectors(dimensions, Metric::L2);
    let mut table = Table::new("t", schema);
    for (at, vector) in (0u64..).zip(vectors) {
        set(&mut table, at + 1, (at % 11 != 3).then_some(vector));
    }
    table
}

fn set(table: &mut Table, id: u64, vector: Option<&Vec<f32>>) {
    let at = (id - 1).cast_signed();
    let vector = vector.map(|vector| ("vector", vector.as_slice().into()));
    let values = [("few", Value::Int(at % 40)), ("many", Value::Int(at % 3))];
    let mut cells = Cells::from_elem(None, 3);
    table.schema.put(&mut cells, values.into_iter().chain(vector)).unwrap();
    table.set(id, 1, &cells);
}

fn searches(vectors: &[Vec<f32>]) -> Vec<Nearest> {
    let filters = [
        Filter::all(),
        Filter::equal("few", 7),
        Filter::equal("many", 1),
        Filter::within("many", Value::Int(1)..=Value::Int(2)).and_equal("few", 8),
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
        let mut table = table(dimensions, &vectors);
        let searches = searches(&vectors);
        check(&table, &searches);
        let before = table.clone();
        let was: Vec<_> = before.rows_from(1).map(|(id, row)| (id, row.cells())).collect();
        for (id, change) in changes {
            if table.get(id).is_none() {
                continue;
            }
            match change {
                0 => drop(table.remove(id)),
                1 => set(&mut table, id, None),
                _ => set(&mut table, id, Some(&vectors[id as usize * 7 % vectors.len()])),
            }
        }
        check(&table, &searches);
        check(&before, &searches);
        prop_assert!(before.rows_from(1).map(|(id, row)| (id, row.cells())).eq(was));
    }
}

/// Of copies of a table, what is not changed is shared.
#[test]
fn a_change_copies_the_block_of_its_vector_alone() {
    let vectors: Vec<_> = (0..200).map(|at| vec![at as f32 + 1.0; 128]).collect();
    let before = table(128, &vectors);
    let lies = |table: &Table, id| table.get(id).unwrap().vector().map(<[f32]>::as_ptr);

    let mut after = before.clone();
    let mut cells = before.get(100).unwrap().cells();
    after.schema.put(&mut cells, [("many", Value::Int(9))]).unwrap();
    after.set(100, 2, &cells);
    assert_eq!(lies(&before, 100), lies(&after, 100), "another attribute");

    set(&mut after, 100, Some(&vectors[0]));
    let copied: Vec<u64> = (1..=200).filter(|id| lies(&before, *id) != lies(&after, *id)).collect();
    assert!(copied.contains(&100) && copied.len() <= 16, "{copied:?}");
}
