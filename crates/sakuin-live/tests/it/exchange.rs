//! Records into files and back: whatever a store holds comes back as it was, and what is no record is refused by
//! place.

use std::{fs::File, io::Write, path::Path};

use proptest::{collection::vec, option, prelude::*};
use sakuin_live::{
    Filter, IndexKind, Metric, Schema, Store, Type, Value,
    exchange::{Format, ImportError, Source, export, import},
};

const DIMENSIONS: usize = 3;

fn schema() -> Schema {
    let ordered = Some(IndexKind::Ordered);
    Schema::new()
        .with("int", Type::Int, ordered)
        .with("float", Type::Float, None)
        .with("bool", Type::Bool, Some(IndexKind::Equal))
        .with("time", Type::Time, ordered)
        .with("text", Type::Text, ordered)
        .with("bytes", Type::Bytes, None)
        .with_vectors(DIMENSIONS, Metric::L2)
}

fn store() -> Store {
    Store::in_memory([("t", schema())])
}

/// A store's records as they print, without their versions.
fn records(store: &Store) -> Vec<String> {
    let snapshot = store.snapshot();
    let records = snapshot.records_from("t", 1).unwrap();
    records
        .map(|record| format!("{} {:?}", record.id(), record.values().collect::<Vec<_>>()))
        .collect()
}

fn written(store: &Store, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    let all = Filter::all();
    export(&store.snapshot(), "t", &all, format, &mut bytes, &mut |_| {}).unwrap();
    bytes
}

fn read(store: &Store, format: Format, bytes: &[u8]) -> Result<u64, ImportError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let source = Source::File(File::open(file.path()).unwrap());
    import(store, "t", format, source, &mut |_| {})
}

/// What a record may have, with odd texts among them.
fn value(of: Type) -> BoxedStrategy<Value> {
    let number = prop_oneof![any::<f32>().prop_filter("finite", |one| one.is_finite()), Just(0.1)];
    match of {
        Type::Int => any::<i64>().prop_map(Value::Int).boxed(),
        Type::Float => any::<f64>()
            .prop_filter("finite", |one| one.is_finite())
            .prop_map(|number| Value::Float(number + 0.0))
            .boxed(),
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Time => prop_oneof![any::<i64>(), -1i64 << 50..1 << 52].prop_map(Value::Time).boxed(),
        Type::Text => {
            prop_oneof!["\"{0,5}", "[,\"\r\n]{0,4}", "(索|😀|é| |\u{feff}|\0){0,6}", ".{0,9}"]
                .prop_map(|text| Value::from(&*text))
                .boxed()
        }
        Type::Bytes => vec(any::<u8>(), 0..9).prop_map(|it| Value::from(&it[..])).boxed(),
        _ => vec(number, DIMENSIONS).prop_map(|it| Value::from(&it[..])).boxed(),
    }
}

type Values = Vec<Option<Value>>;

fn values() -> impl Strategy<Value = Vec<(Option<u64>, Values)>> {
    let schema = schema();
    let each: Vec<_> =
        schema.attributes().iter().map(|one| option::of(value(one.values))).collect();
    vec((option::weighted(0.2, 1..1u64 << 53), each), 0..40)
}

fn filled(records: &[(Option<u64>, Values)]) -> Store {
    let (store, schema) = (store(), schema());
    for (id, values) in records {
        let names = schema.attributes().iter().map(|attribute| attribute.name.as_str());
        let given: Vec<_> =
            names.zip(values).filter_map(|(name, value)| Some((name, value.clone()?))).collect();
        let put = store.update(|transaction| match id {
            Some(id) => transaction.put("t", *id, given.clone()),
            None => transaction.insert("t", given.clone()),
        });
        put.unwrap();
    }
    store
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_exported_is_imported_as_it_was(given in values()) {
        let store = filled(&given);
        for format in Format::ALL {
            let bytes = written(&store, format);
            let other = self::store();
            let count = read(&other, format, &bytes).unwrap();
            prop_assert_eq!(count as usize, records(&store).len());
            prop_assert_eq!(records(&other), records(&store), "{:?}", format);
            read(&other, format, &bytes).unwrap();
            prop_assert_eq!(records(&other), records(&store), "{:?} once more", format);
            prop_assert_eq!(written(&other, format), bytes);
        }
    }

    #[test]
    fn no_file_breaks_it(bytes in prop_oneof![
        vec(any::<u8>(), 0..200),
        "(id|int|text|,|\"|\n|1|\\{|\\}|:| |true){0,40}".prop_map(String::into_bytes),
    ]) {
        for format in Format::ALL {
            let _ = read(&store(), format, &bytes);
        }
    }
}

#[test]
fn a_damaged_file_of_columns_is_refused() {
    let store = filled(&[(None, vec![Some(7.into()), None, None, None, None, None, None])]);
    let whole = written(&store, Format::Parquet);
    for length in 0..whole.len() {
        read(&self::store(), Format::Parquet, &whole[..length]).unwrap_err();
    }
}

#[track_caller]
fn refuse(format: Format, text: &str, error: &str, hint: &str, imported: u64) {
    let store = store();
    let refused = read(&store, format, text.as_bytes()).expect_err(text);
    assert!(refused.to_string().contains(error), "{refused}");
    let hints = refused.hint().unwrap_or_default();
    assert!(hints.contains(hint), "{refused}: {hints}");
    assert_eq!((refused.imported, store.snapshot().count("t").unwrap()), (imported, imported));
}

#[test]
fn a_bad_record_is_told_by_line_and_attribute_and_what_stands_before_it_is_in() {
    use Format::{Csv, JsonLines};
    let bad = "{\"int\": 1}\n\n{\"int\": \"x\"}\n{\"int\": 3}\n";
    refuse(JsonLines, bad, "line 3: attribute `int` takes int", "whole number", 1);
    refuse(JsonLines, bad, "records imported before it: 1", "import what is left", 1);
    refuse(JsonLines, "{\"integer\": 1}", "line 1: there is no attribute `integer`", "", 0);
    refuse(JsonLines, "{\"id\": 0}", "line 1: `id` is `0`", "from 1", 0);
    refuse(JsonLines, "{\"vector\": [1, 2]}", "line 1: a vector of 2 dimensions", "3 numbers", 0);
    refuse(JsonLines, "{\"int\": 1} {}", "line 1: trailing characters", "one object", 0);
    refuse(
        Csv,
        "int,time\n1,\n2,noon\n",
        "line 3: attribute `time` takes time, not `noon`",
        "RFC 3339",
        1,
    );
    refuse(
        Csv,
        "int,number\n1,2\n",
        "column `number`: the table has no such attribute",
        "`int`",
        0,
    );
    refuse(Csv, "int,int\n1,2\n", "column `int`: it stands twice", "once", 0);
    refuse(Csv, "int,text\n1\n", "no csv", "", 0);
    refuse(Csv, "id\n0\n", "line 2: `id` is `0`", "from 1", 0);
    refuse(Csv, "int\n1\n9223372036854775808\n", "line 3: attribute `int` takes int", "whole", 1);
    refuse(Format::Parquet, "PAR1", "the file is no parquet", "", 0);
}

#[test]
fn a_file_of_columns_needs_a_file() {
    let stream = Source::Stream(Box::new(&b""[..]));
    let error = import(&store(), "t", Format::Parquet, stream, &mut |_| {}).unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("name a file"));
}

#[test]
fn large_imports_are_many_transactions_and_large_exports_one_snapshot() {
    let store = store();
    let lines: String = (0..25_000).map(|n| format!("{{\"int\": {n}}}\n")).collect();
    let mut told = Vec::new();
    let source = Source::Stream(Box::new(std::io::Cursor::new(lines)));
    let count = import(&store, "t", Format::JsonLines, source, &mut |count| told.push(count));
    assert_eq!((count.unwrap(), told), (25_000, vec![10_000, 20_000, 25_000]));
    assert_eq!(store.snapshot().sequence(), 3);
    let some = Filter::within("int", Value::Int(24_998)..);
    let mut csv = Vec::new();
    let count = export(&store.snapshot(), "t", &some, Format::Csv, &mut csv, &mut |_| {}).unwrap();
    assert_eq!(count, 2);
    assert!(String::from_utf8(csv).unwrap().ends_with("24999,24998,,,,,,\n25000,24999,,,,,,\n"));
}

#[test]
fn a_files_name_says_its_format() {
    let of = |name: &str| Format::of_path(Path::new(name)).map(Format::name);
    assert_eq!(
        ["a.jsonl", "a.ndjson", "a.CSV", "a.parquet", "a.json", "csv"].map(of),
        [Some("jsonl"), Some("jsonl"), Some("csv"), Some("parquet"), None, None]
    );
}
