use std::{collections::BTreeMap, fs};

use sakuin_pack::{
    Builder, Content, Duplicates, Hash, OpenReason, Options, ReadError, Table, TableOptions,
};
use xxhash_rust::xxh3::xxh3_64;

type Model = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// A table of every kind of record, and what it must answer.
fn sample(keys: u32, hash: Hash) -> (Vec<u8>, Model) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.skn");
    let options = Options::new().hash(hash).duplicates(Duplicates::Keep);
    let mut builder = Builder::new(Content::Text, options);
    let mut model = Model::new();
    for number in 0..keys {
        let key = format!("key {number}").into_bytes();
        for copy in 0..number % 3 + 1 {
            let value = match number % 5 {
                0 => format!("shared by some {}", number % 7 + copy),
                1 if number % 50 == 1 => "long ".repeat(300),
                _ => format!("{number} and {copy}"),
            };
            builder.add(&key, value.as_bytes()).unwrap();
            model.entry(key.clone()).or_default().push(value.into_bytes());
        }
    }
    builder.meta(r#"{"title":"sample"}"#).unwrap();
    builder.write_with(&path, |_, sections| sections.add("test.note", vec![1; 90], false)).unwrap();
    (fs::read(&path).unwrap(), model)
}

/// Opens damaged bytes and asks for everything: a refusal by name, or the right answer. Whether all was right.
fn probe(bytes: Vec<u8>, model: &Model) -> bool {
    let table = match Table::from_bytes(bytes) {
        Ok(table) => table,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let mut all_right = true;
    for (key, values) in model {
        match table.get(key) {
            Ok(found) => {
                let found = found.expect("a table that answers has the key");
                let found: Vec<&[u8]> = found.iter().map(|value| value.bytes()).collect();
                assert_eq!(&found, values);
            }
            Err(error) => all_right = check_named(&error),
        }
        if let Ok(found) = table.contains(&[key, &b"?"[..]].concat()) {
            assert!(!found);
        }
    }
    if let Err(error) = table.section("test.note") {
        all_right = check_named(&error);
    }
    all_right
}

fn check_named(error: &ReadError) -> bool {
    assert!(matches!(error, ReadError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("section `"), "{error}");
    false
}

#[test]
fn every_flipped_bit_is_found() {
    let (bytes, model) = sample(30, Hash::Phast);
    assert!(probe(bytes.clone(), &model));
    assert!(TableOptions::new().verify(true).from_bytes(bytes.clone()).is_ok());
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(TableOptions::new().verify(true).from_bytes(damaged.clone()).is_err(), "bit {bit}");
        probe(damaged, &model);
    }
}

#[test]
fn every_cut_and_every_addition_is_refused() {
    let (bytes, _) = sample(30, Hash::Chd);
    for length in 0..bytes.len() {
        let error = Table::from_bytes(&bytes[..length]).unwrap_err();
        match error.reason {
            OpenReason::NotATable => assert!(length < 8),
            OpenReason::Truncated { found, .. } => assert_eq!(found, length as u64),
            _ => panic!("{error}"),
        }
    }
    let error = Table::from_bytes([&bytes[..], b"x"].concat()).unwrap_err();
    assert!(matches!(error.reason, OpenReason::Trailing { .. }), "{error}");
}

/// 100,000 flips of one bit in tables of several blocks: good blocks answer right until a bad one is touched,
/// and nothing is answered after that.
#[test]
fn random_flips_give_the_right_answer_or_a_named_error() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for hash in [Hash::Phast, Hash::Chd] {
        let (bytes, model) = sample(4_500, hash);
        assert!(bytes.len() > 2 << 16, "{}", bytes.len());
        let keys: Vec<&Vec<u8>> = model.keys().collect();
        for _ in 0..50_000 {
            let mut damaged = bytes.clone();
            let bit = random.below(bytes.len() * 8);
            damaged[bit / 8] ^= 1 << (bit % 8);
            let Ok(table) = Table::from_bytes(damaged) else { continue };
            let mut refused = false;
            for _ in 0..6 {
                let key = keys[random.below(keys.len())];
                match table.get(key) {
                    Ok(found) => {
                        assert!(!refused, "a table with a damaged block answered again");
                        let found = found.expect("the key");
                        let values: Vec<&[u8]> = found.iter().map(|value| value.bytes()).collect();
                        assert_eq!(values, model[key]);
                    }
                    Err(error) => refused = !check_named(&error),
                }
            }
            assert!(table.verify().is_err());
            assert!(table.get(keys[0]).is_err());
        }
    }
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Computes all sums anew, as a forger would, from the description of the format alone.
fn sum_again(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
    };
    let sections = u32::from_le_bytes(bytes[44..48].try_into().unwrap()) as usize;
    let last = 128 + 48 * sections.clamp(1, 82) - 48;
    let sums = number(bytes, last + 32).min(bytes.len());
    let blocks = sums.div_ceil(65_536);
    let tops = sums + blocks * 8;
    let put = |bytes: &mut [u8], at: usize, sum: u64| {
        if let Some(place) = bytes.get_mut(at..at + 8) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
    };
    for block in 0..blocks {
        let start = (block * 65_536).max(4096).min(sums);
        let end = ((block + 1) * 65_536).min(sums).max(start);
        let sum = xxh3_64(&bytes[start..end]);
        put(bytes, sums + block * 8, sum);
    }
    for (index, start) in (sums..tops).step_by(65_536).enumerate() {
        let end = (start + 65_536).min(tops).min(bytes.len());
        let sum = xxh3_64(&bytes[start.min(end)..end]);
        put(bytes, tops + index * 8, sum);
    }
    let sum = xxh3_64(&bytes[tops.min(bytes.len())..]);
    put(bytes, 80, sum);
    bytes[120..128].fill(0);
    let sum = xxh3_64(&bytes[..4096]);
    put(bytes, 120, sum);
}

/// Files whose sums are right but whose structure is not: whatever they say, no panic and no endless loop.
#[test]
fn forged_files_do_no_harm() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for hash in [Hash::Phast, Hash::Chd] {
        let (bytes, model) = sample(700, hash);
        let mut again = bytes.clone();
        sum_again(&mut again);
        assert!(again == bytes, "the forger computes the sums of a true file");
        let keys: Vec<&Vec<u8>> = model.keys().collect();
        let mut opened = 0;
        for _ in 0..20_000 {
            let mut forged = bytes.clone();
            for _ in 0..random.below(4) + 1 {
                // Half of the changes hit the header and the sections that are structure throughout.
                let at = match random.below(2) {
                    0 => random.below(128 + 48 * 9),
                    _ => 4096 + random.below(bytes.len() - 4096),
                };
                forged[at] = match random.below(3) {
                    0 => 0xff,
                    1 => 0,
                    _ => random.below(256) as u8,
                };
            }
            sum_again(&mut forged);
            let Ok(table) = Table::from_bytes(forged) else { continue };
            opened += 1;
            let _ = table.verify();
            for _ in 0..20 {
                let _ = table.get(keys[random.below(keys.len())]);
            }
            let _ = table.get_many(&keys[..40]);
            let _ = (table.meta(), table.section("test.note"), table.stats());
            if let Ok(entries) = table.iter() {
                entries.take(1000).filter_map(Result::ok).for_each(|(key, values)| {
                    assert_eq!(values.iter().count(), values.len(), "{}", key.escape_ascii());
                });
            }
            for id in [0, 4096, 4097, 5000, u64::MAX] {
                let _ = table.value(sakuin_pack::ValueId(id));
            }
        }
        assert!(opened > 5000, "{opened}");
    }
}

#[test]
fn foreign_and_newer_files_are_refused_by_name() {
    let refused = |bytes: &[u8]| Table::from_bytes(bytes).unwrap_err();
    assert!(matches!(refused(b"").reason, OpenReason::NotATable));
    assert!(matches!(refused(b"PK\x03\x04").reason, OpenReason::NotATable));
    assert!(matches!(refused(&[0; 10_000]).reason, OpenReason::NotATable));
    let (mut bytes, _) = sample(3, Hash::Phast);
    bytes[8] = 9;
    let error = refused(&bytes);
    assert!(matches!(error.reason, OpenReason::Newer { found: 9, known: 1 }));
    assert!(error.hint().is_some());

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    fs::write(&path, "not a table").unwrap();
    let error = Table::open(&path).unwrap_err().to_string();
    assert!(error.contains("notes.txt") && error.contains("not a packed table"), "{error}");
    fs::write(&path, "").unwrap();
    assert!(matches!(Table::open(&path).unwrap_err().reason, OpenReason::NotATable));
    let error = Table::open(folder.path().join("none")).unwrap_err();
    assert!(matches!(error.reason, OpenReason::Io(_)));
    assert!(matches!(Table::open(folder.path()).unwrap_err().reason, OpenReason::Io(_)));
}

#[test]
fn spliced_blocks_are_refused() {
    let (one, model) = sample(12_000, Hash::Phast);
    let mut swapped = one.clone();
    let (left, right) = swapped.split_at_mut(2 << 16);
    left[1 << 16..].swap_with_slice(&mut right[..1 << 16]);
    assert!(!probe(swapped, &model));
}
