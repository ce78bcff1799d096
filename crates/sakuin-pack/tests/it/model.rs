use std::collections::BTreeMap;

use sakuin_pack::{Builder, Content, Options, Table};

type Model = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// Builds a table of the model and compares every answer with it, and those for absent keys.
fn check(model: &Model, options: Options) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.skn");
    let mut builder = Builder::new(Content::Bytes, options);
    for (key, values) in model {
        for value in values {
            builder.add(key, value).unwrap();
        }
    }
    let report = builder.write(&path).unwrap();
    assert_eq!(report.keys, model.len() as u64);

    let table = Table::open(&path).unwrap();
    table.verify().unwrap();
    assert_eq!(table.len(), model.len() as u64);
    for (key, values) in model {
        let found = table.get(key).unwrap().expect("the key is there");
        let found: Vec<&[u8]> = found.iter().map(|value| value.bytes()).collect();
        assert_eq!(&found, values, "{}", key.escape_ascii());
        let absent = [key.as_slice(), b"\x01absent"].concat();
        assert!(table.get(&absent).unwrap().is_none());
    }
    let keys: Vec<&[u8]> = model.keys().flat_map(|key| [key, &b"absent"[..]]).collect();
    for (key, found) in keys.iter().zip(table.get_many(&keys).unwrap()) {
        let found = found.map(|found| found.iter().map(|value| value.bytes().to_vec()).collect());
        assert_eq!(found.as_ref(), model.get(*key));
    }
    let mut listed = Model::new();
    for entry in table.iter().unwrap() {
        let (key, values) = entry.unwrap();
        listed.insert(key.to_vec(), values.iter().map(|value| value.bytes().to_vec()).collect());
    }
    assert_eq!(&listed, model);
}

fn numbered(count: u32, value: impl Fn(u32) -> Vec<u8>) -> Model {
    (0..count).map(|key| (format!("key {key}").into_bytes(), vec![value(key)])).collect()
}

#[test]
fn small_tables() {
    for count in (0..70).chain([1000, 5000]) {
        check(&numbered(count, |key| key.to_le_bytes().to_vec()), Options::new());
    }
}

#[test]
fn values_of_all_lengths() {
    let value = |key: u32| vec![key as u8; (key as usize * key as usize * 31) % 3000];
    check(&numbered(3000, value), Options::new());
}
