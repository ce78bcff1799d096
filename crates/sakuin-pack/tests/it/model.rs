use std::collections::BTreeMap;

use proptest::prelude::*;
use sakuin_pack::{Builder, Content, Duplicates, Hash, Keys, Load, Options, Table, TableOptions};

type Model = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// Builds a table of the model with every perfect hash and compares every answer with it, and those for absent keys.
fn check(model: &Model) {
    for hash in [Hash::Phast, Hash::Chd] {
        check_with(model, Options::new().hash(hash).duplicates(Duplicates::Keep));
    }
}

fn check_with(model: &Model, options: Options) {
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
    assert_eq!(report.file_bytes, path.metadata().unwrap().len());

    let heap = TableOptions::new().load(Load::Heap).verify(true).open(&path).unwrap();
    for table in [Table::open(&path).unwrap(), heap] {
        check_answers(model, &table);
    }
}

fn check_answers(model: &Model, table: &Table) {
    assert_eq!(table.len(), model.len() as u64);
    for (key, values) in model {
        let found = table.get(key).unwrap().expect("the key is there");
        assert_eq!(found.len(), values.len());
        assert_eq!(found.first().bytes(), values[0]);
        let found: Vec<&[u8]> = found.iter().map(|value| value.bytes()).collect();
        assert_eq!(&found, values, "{}", key.escape_ascii());
        let absent = [key.as_slice(), b"\x01absent"].concat();
        assert!(model.contains_key(&absent) || table.get(&absent).unwrap().is_none());
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
        check(&numbered(count, |key| key.to_le_bytes().to_vec()));
    }
}

/// From empty to above the length at which values leave the records, in neighbouring slots.
#[test]
fn values_of_all_lengths() {
    check(&numbered(3000, |key| vec![key as u8; (key as usize * key as usize * 31) % 3000]));
    check(&numbered(3000, |key| key.to_le_bytes().repeat(key as usize % 256)));
}

#[test]
fn long_and_regular_keys() {
    let mut model = numbered(10, |_| Vec::new());
    model.insert(Vec::new(), vec![b"the empty key".to_vec()]);
    for length in [63, 64, 127, 128, 65_535, 65_536, 1 << 20] {
        model.insert(vec![b'x'; length], vec![length.to_string().into_bytes()]);
    }
    for number in 0..2000u64 {
        model.insert((number << 20).to_be_bytes().to_vec(), vec![vec![number as u8]]);
    }
    check(&model);
}

/// More keys than one region has, and so a line of regions with different first lines, seeds and records.
#[test]
fn several_regions() {
    check_with(&numbered(600_000, |key| key.to_le_bytes().to_vec()), Options::new());
    let options = Options::new().hash(Hash::Chd).threads(2);
    check_with(&numbered(300_000, |_| b"yes".to_vec()), options);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_map(
        model in prop::collection::btree_map(
            prop::collection::vec(any::<u8>(), 0..12),
            prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..40),
                    prop::collection::vec(Just(7u8), 1000..1100),
                ],
                1..5,
            ),
            0..200,
        )
    ) {
        check(&model);
    }
}

/// Present keys are always found; absent ones about once in 2^bits.
#[test]
fn approximate_keys() {
    let model = numbered(20_000, |key| key.to_le_bytes().to_vec());
    for (hash, bits) in [(Hash::Phast, 4), (Hash::Chd, 5), (Hash::Phast, 8), (Hash::Chd, 13)]
        .into_iter()
        .chain([16, 23, 31, 32].map(|bits| (Hash::Phast, bits)))
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.skn");
        let options = Options::new().hash(hash).keys(Keys::Approximate { bits });
        let mut builder = Builder::new(Content::Bytes, options);
        for (key, values) in &model {
            builder.add(key, &values[0]).unwrap();
        }
        builder.write(&path).unwrap();
        let table = Table::open(&path).unwrap();
        for (key, values) in &model {
            assert_eq!(table.get(key).unwrap().unwrap().first().bytes(), values[0]);
        }
        let absent: Vec<String> = (0..3000).map(|probe| format!("absent {probe}")).collect();
        for (key, found) in absent.iter().zip(table.get_many(&absent).unwrap()) {
            assert_eq!(found.is_some(), table.contains(key.as_bytes()).unwrap());
        }
        let probes = 200_000;
        let found = (0..probes)
            .filter(|probe| table.contains(format!("absent {probe}").as_bytes()).unwrap())
            .count() as f64;
        let expected = f64::from(probes) / 2f64.powi(bits.into());
        let spread = 5.0 * expected.sqrt() + 1.0;
        assert!((found - expected).abs() < spread, "{bits} bits: {found} of {expected}");
        assert!(table.iter().is_err());
    }
}
