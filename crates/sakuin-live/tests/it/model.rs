//! Any sequence of commits and searches, against a map and a look at every record.

use std::{collections::BTreeMap, ops::Bound};

use proptest::prelude::*;
use sakuin_live::{Durability, Filter, IndexKind, Record, Schema, Store, Type, Value};

use crate::disk::Disk;

const TABLE: &str = "t";

#[derive(Clone, Debug)]
enum Step {
    Insert(Option<i64>, Option<String>),
    Patch(u64, i64),
    Delete(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let number = || prop::option::of(-3..4i64);
    let text = prop::option::of("[ab]{0,2}");
    prop_oneof![
        (number(), text).prop_map(|(number, text)| Step::Insert(number, text)),
        (1..40u64, -3..4i64).prop_map(|(id, number)| Step::Patch(id, number)),
        (1..40u64).prop_map(Step::Delete),
    ]
}

type Kept = (Option<i64>, Option<String>);
type Model = BTreeMap<u64, Kept>;

fn commit(store: &Store, model: &mut Model, steps: &[Step]) {
    let (_, committed) = store
        .update(|transaction| {
            for step in steps {
                match step {
                    Step::Insert(number, text) => {
                        let number = number.map(|number| ("number", number.into()));
                        let text = text.as_deref().map(|text| ("text", text.into()));
                        transaction.insert(TABLE, number.into_iter().chain(text))?;
                    }
                    Step::Patch(id, number) if transaction.get(TABLE, *id)?.is_some() => {
                        transaction.patch(TABLE, *id, [("number", (*number).into())])?;
                    }
                    Step::Delete(id) if transaction.get(TABLE, *id)?.is_some() => {
                        transaction.delete(TABLE, *id)?;
                    }
                    _ => {}
                }
            }
            Ok(())
        })
        .unwrap();
    let mut ids = committed.ids.into_iter();
    let mut inserted = Model::new();
    for step in steps {
        match step {
            Step::Insert(number, text) => {
                inserted.insert(ids.next().unwrap(), (*number, text.clone()));
            }
            Step::Patch(id, number) => {
                if let Some(record) = model.get_mut(id) {
                    record.0 = Some(*number);
                }
            }
            Step::Delete(id) => drop(model.remove(id)),
        }
    }
    model.append(&mut inserted);
}

fn search(store: &Store, filter: &Filter) -> Vec<u64> {
    let snapshot = store.snapshot();
    let records = snapshot.search(TABLE, filter).unwrap();
    let ids: Vec<_> = records.iter().map(Record::id).collect();
    assert_eq!(snapshot.search_ids(TABLE, filter).unwrap(), ids);
    ids
}

/// Looks at everything there is.
fn check(store: &Store, model: &Model) -> Result<(), TestCaseError> {
    let ids = |wanted: &dyn Fn(&Kept) -> bool| -> Vec<u64> {
        model.iter().filter(|(_, record)| wanted(record)).map(|(id, _)| *id).collect()
    };
    prop_assert_eq!(search(store, &Filter::all()), ids(&|_| true));
    prop_assert_eq!(search(store, &Filter::missing("number")), ids(&|it| it.0.is_none()));
    prop_assert_eq!(
        search(store, &Filter::equal("text", "a")),
        ids(&|it| it.1.as_deref() == Some("a"))
    );
    for (from, to) in [(-1, 2), (2, -1), (1, 1)] {
        let both = Filter::within("number", Value::Int(from)..=Value::Int(to));
        prop_assert_eq!(
            search(store, &both.clone().and_equal("text", "")),
            ids(&|it| it.0.is_some_and(|n| from <= n && n <= to) && it.1.as_deref() == Some(""))
        );
        prop_assert_eq!(
            search(store, &both),
            ids(&|it| it.0.is_some_and(|n| from <= n && n <= to))
        );
        let open = (Bound::Excluded(Value::Int(from)), Bound::Excluded(Value::Int(to)));
        prop_assert_eq!(
            search(store, &Filter::within("number", open)),
            ids(&|it| it.0.is_some_and(|n| from < n && n < to))
        );
    }
    Ok(())
}

fn schema(index: Option<IndexKind>) -> Schema {
    Schema::new().with("number", Type::Int, index).with("text", Type::Text, index)
}

type Commits = Vec<Vec<Step>>;

fn commits(most: usize) -> impl Strategy<Value = Commits> {
    prop::collection::vec(prop::collection::vec(step(), 0..6), 0..most)
}

fn index() -> impl Strategy<Value = Option<IndexKind>> {
    prop::option::of(prop::sample::select(vec![IndexKind::Equal, IndexKind::Ordered]))
}

proptest! {
    #[test]
    fn a_table_is_a_map(commits in commits(30), index in index()) {
        let store = Store::in_memory([(TABLE, schema(index))]);
        let mut model = Model::new();
        for steps in commits {
            let (before, was) = (store.snapshot(), model.clone());
            commit(&store, &mut model, &steps);
            prop_assert_eq!(before.count(TABLE).unwrap(), was.len() as u64, "a snapshot stays");
            check(&store, &model)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In any mode, with folds at any moment, and another index each time.
    #[test]
    fn a_table_opened_again_is_the_same_map(
        lives in prop::collection::vec(
            (commits(12), index(), prop::sample::select(&Durability::ALL[..])), 1..4
        ),
        fold_at in prop_oneof![Just(0u64), 50..500u64],
    ) {
        let (disk, mut model, mut last_id) = (Disk::default(), Model::new(), 0);
        for (commits, index, durability) in lives {
            let tables = [(TABLE, schema(index))];
            let store = Store::open_on(disk.clone(), durability, tables, fold_at).unwrap();
            check(&store, &model)?;
            for steps in commits {
                commit(&store, &mut model, &steps);
                check(&store, &model)?;
            }
            let inserted = store.update(|transaction| transaction.insert(TABLE, []));
            let id = inserted.unwrap().1.ids[0];
            prop_assert!(id > last_id, "no id comes again");
            model.insert(id, (None, None));
            last_id = id;
            commit(&store, &mut model, &[Step::Delete(id)]);
        }
    }
}
