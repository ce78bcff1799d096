//! The rows of the benchmark.

use std::{collections::HashMap, path::Path};

use bench_sampler::{Sampler, process_time, thread_time};
use lexindex::{Mphf, PerfectHashIndex};
use ph::phast::Function2;
use ptr_hash::{PtrHash, PtrHashParams, bucket_fn::CubicEps, hash::StrongerIntHash};
use sakuin_pack::{Builder, Content, Hash, Keys, Load, Options, PerfectHash, Table, TableOptions};

use crate::data::{self, Random, Strings};

type Compact = PtrHash<u64, CubicEps, Vec<u32>, StrongerIntHash, Vec<u8>>;

/// The perfect hash alone: size, build on one thread, lookup.
pub fn perfect_hash(sampler: &mut Sampler, count: usize) {
    let mut random = Random(1);
    let keys: Vec<u64> = (0..count).map(|_| random.next()).collect();
    let lexindex = || {
        let hashes: Vec<u64> =
            keys.iter().map(|key| lexindex::hash_key_bytes(&key.to_le_bytes())).collect();
        Mphf::build_with_threads(&hashes, 1).expect("distinct keys")
    };
    let sakuin = || PerfectHash::build(keys.iter().map(|key| key.to_le_bytes())).expect("distinct");
    let ph = || Function2::from_slice_st(&keys);
    let ptr_hash = || Compact::new(&keys, PtrHashParams::default_compact());

    let row = format!("perfect hash, {} M keys", count as f64 / 1e6);
    let size = format!("{row}: size");
    let build = format!("{row}: build on one thread");
    let lookup = format!("{row}: lookup");
    let (ours, lex, function, pilots) = (sakuin(), lexindex(), ph(), ptr_hash());
    let lex_index = |key: u64| lex.index(lexindex::hash_key_bytes(&key.to_le_bytes())) as usize;
    check_bijection(&keys, |key| ours.index(key.to_le_bytes()) as usize);
    check_bijection(&keys, lex_index);
    check_bijection(&keys, |key| function.get(&key));
    check_bijection(&keys, |key| pilots.index(&key));

    let bits = |bytes: usize| bytes as f64 * 8.0 / count as f64;
    sampler.samples(&size, "bits/key", "sakuin", &[ours.bits_per_key()]);
    sampler.samples(&size, "bits/key", "lexindex", &[bits(lex.to_bytes().len())]);
    sampler.samples(&size, "bits/key", "ph (PHast+)", &[bits(function.write_bytes())]);
    let (pilot_bits, remap_bits) = pilots.bits_per_element();
    sampler.samples(&size, "bits/key", "ptr_hash (compact)", &[pilot_bits + remap_bits]);
    sampler.target(&size, 1.95, None);

    sampler.row(
        &build,
        "ns/key",
        vec![
            ("sakuin", Box::new(|| process_time(count, sakuin))),
            ("lexindex", Box::new(|| process_time(count, lexindex))),
            ("ph (PHast+)", Box::new(|| process_time(count, ph))),
            ("ptr_hash (compact)", Box::new(|| process_time(count, ptr_hash))),
        ],
    );
    sampler.target(&build, 1.2, Some((&build, "lexindex")));
    sampler.target(&build, 1.2, Some((&build, "ph (PHast+)")));

    sampler.row(
        &lookup,
        "ns/key",
        vec![
            (
                "sakuin",
                Box::new(|| {
                    let index = |key: &u64| ours.index(key.to_le_bytes());
                    thread_time(count, || keys.iter().map(index).sum::<u64>())
                }),
            ),
            (
                "lexindex",
                Box::new(|| {
                    thread_time(count, || keys.iter().map(|key| lex_index(*key)).sum::<usize>())
                }),
            ),
            (
                "ph (PHast+)",
                Box::new(|| {
                    thread_time(count, || keys.iter().map(|key| function.get(key)).sum::<usize>())
                }),
            ),
            (
                "ptr_hash (compact)",
                Box::new(|| {
                    thread_time(count, || keys.iter().map(|key| pilots.index(key)).sum::<usize>())
                }),
            ),
        ],
    );
}

fn check_bijection(keys: &[u64], index: impl Fn(u64) -> usize) {
    let mut seen = vec![false; keys.len()];
    for key in keys {
        assert!(!std::mem::replace(&mut seen[index(*key)], true));
    }
}

/// Lookups with values: hits one by one and in batches, misses.
pub fn lookups(sampler: &mut Sampler, count: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.skn");
    let (keys, values) = (data::keys(count, ""), data::values(count));
    let pairs = || keys.iter().zip(values.iter());
    build(&path, Options::new(), &keys, &values);
    let mapped = Table::open(&path).expect("it was built");
    let heap = TableOptions::new().load(Load::Heap).open(&path).expect("it was built");
    let std_map: HashMap<String, String> =
        pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let fast_map: hashbrown::HashMap<String, String, foldhash::fast::RandomState> =
        pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let ids = PerfectHashIndex::build_with_fingerprints(keys.iter()).expect("distinct keys");
    let mut arrays = vec![""; count];
    for (key, value) in pairs() {
        arrays[ids.id(key).expect("a key") as usize] = value;
    }
    let arrays = Strings::new(arrays.into_iter().map(str::to_owned));

    let in_table = |table: &Table, key: &str| -> Option<usize> {
        let found = table.get(key.as_bytes()).expect("a good file")?;
        Some(weight(found.first().bytes()))
    };
    let in_std = |key: &str| std_map.get(key).map(|value| weight(value.as_bytes()));
    let in_fast = |key: &str| fast_map.get(key).map(|value| weight(value.as_bytes()));
    let in_arrays = |key: &str| ids.id(key).map(|id| weight(arrays.get(id as usize).as_bytes()));
    let in_batches = |table: &Table, keys: &[&str]| -> usize {
        let batches = keys.chunks(256).map(|keys| table.get_many(keys).expect("a good file"));
        batches.flatten().flatten().map(|found| weight(found.first().bytes())).sum()
    };

    let present = keys.shuffled();
    let absent = data::keys(count, "none-").shuffled();
    let batch: Vec<&str> = present.iter().collect();
    for (key, value) in pairs() {
        let answer = Some(weight(value.as_bytes()));
        assert_eq!(mapped.get(key.as_bytes()).unwrap().unwrap().first().text(), Some(value));
        assert_eq!(heap.get(key.as_bytes()).unwrap().unwrap().first().text(), Some(value));
        assert!([in_std(key), in_fast(key), in_arrays(key)].iter().all(|found| *found == answer));
    }
    for key in absent.iter() {
        let found = [in_table(&mapped, key), in_std(key), in_fast(key), in_arrays(key)];
        assert_eq!(found, [None; 4]);
    }
    let all: usize = values.iter().map(|value| weight(value.as_bytes())).sum();
    assert_eq!(in_batches(&mapped, &batch), all);

    let hit = format!("exact get with value, {} M strings", count as f64 / 1e6);
    let many = format!("{hit}, batched");
    let miss = format!("{hit}, absent keys");
    for (row, keys) in [(&hit, &present), (&miss, &absent)] {
        // A macro, so that each subject gets a loop of its own, its lookup inlined.
        macro_rules! each {
            ($get:expr) => {
                Box::new(|| thread_time(keys.len(), || keys.iter().filter_map($get).sum::<usize>()))
            };
        }
        sampler.row(
            row,
            "ns/op",
            vec![
                ("sakuin", each!(|key| in_table(&mapped, key))),
                ("sakuin, on the heap", each!(|key| in_table(&heap, key))),
                ("std HashMap", each!(in_std)),
                ("hashbrown with foldhash", each!(in_fast)),
                ("lexindex with arrays", each!(in_arrays)),
            ],
        );
    }
    sampler.row(
        &many,
        "ns/op",
        vec![
            ("sakuin", Box::new(|| thread_time(count, || in_batches(&mapped, &batch)))),
            (
                "lexindex with arrays",
                Box::new(|| {
                    thread_time(count, || {
                        let found = batch.chunks(256).map(|keys| ids.ids_of(keys));
                        let values = found.flatten().flatten().map(|id| arrays.get(id as usize));
                        values.map(|value| weight(value.as_bytes())).sum::<usize>()
                    })
                }),
            ),
        ],
    );
    sampler.target(&hit, 0.45, Some((&hit, "std HashMap")));
    sampler.target(&hit, 1.0, Some((&hit, "hashbrown with foldhash")));
    sampler.target(&many, 0.6, Some((&hit, "sakuin")));
    sampler.target(&miss, 0.25, Some((&hit, "sakuin")));

    let megabytes = path.metadata().expect("it was built").len() as f64 / 1e6;
    sampler.row(
        "verify a file of 1 M strings",
        "ms/MB",
        vec![(
            "sakuin",
            Box::new(|| {
                let table = Table::open(&path).expect("it was built");
                thread_time(1, || table.verify().expect("it is whole")) / 1e6 / megabytes
            }),
        )],
    );
}

/// Reads the value as a user would: its length and its first byte.
fn weight(value: &[u8]) -> usize {
    value.len() + usize::from(value[0])
}

/// Opening, which must not grow with the table.
pub fn opening(sampler: &mut Sampler, scale: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    for count in [1_000, 100_000, 1_000_000, 10_000_000] {
        let count = count / scale;
        let path = folder.path().join("table.skn");
        build(&path, Options::new(), &data::keys(count, ""), &data::values(count));
        let row = format!("open, {count} keys");
        let open = || thread_time(100, || (0..100).for_each(|_| drop(Table::open(&path)))) / 1e3;
        sampler.row(&row, "µs", vec![("sakuin", Box::new(open))]);
        sampler.target(&row, 50.0, None);
    }
}

/// What a key costs beyond its own bytes and its value's.
pub fn sizes(sampler: &mut Sampler, count: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.skn");
    let (keys, values) = (data::keys(count, ""), data::values(count));
    let raw = (keys.bytes() + values.bytes()) as f64;
    let approximate = Options::new().keys(Keys::Approximate { bits: 8 });
    let (beyond, hash) = ("file beyond raw keys and values", "perfect hash in a file");
    let mut bits = Vec::new();
    for (subject, options, raw) in [
        ("sakuin", Options::new(), raw),
        ("sakuin, chd", Options::new().hash(Hash::Chd), raw),
        ("sakuin, approximate keys of 8 bits", approximate, values.bytes() as f64),
    ] {
        let bytes = build(&path, options, &keys, &values) as f64;
        sampler.samples(beyond, "bytes/key", subject, &[(bytes - raw) / count as f64]);
        bits.push((subject, Table::open(&path).expect("it was built").stats().hash_bits_per_key));
    }
    let index = PerfectHashIndex::build_with_fingerprints(keys.iter()).expect("distinct keys");
    let bytes = index.serialized_len().expect("it fits") as f64 - keys.bytes() as f64;
    sampler.samples(beyond, "bytes/key", "lexindex, without values", &[bytes / count as f64]);
    sampler.target(beyond, 4.0, None);
    for (subject, bits) in bits {
        sampler.samples(hash, "bits/key", subject, &[bits]);
    }
    sampler.row(
        "build a file of 1 M strings on one thread",
        "ns/key",
        vec![(
            "sakuin",
            Box::new(|| {
                let options = Options::new().threads(1);
                process_time(count, || build(&path, options, &keys, &values))
            }),
        )],
    );
}

fn build(path: &Path, options: Options, keys: &Strings, values: &Strings) -> u64 {
    let mut builder = Builder::new(Content::Bytes, options);
    for (key, value) in keys.iter().zip(values.iter()) {
        builder.add(key.as_bytes(), value.as_bytes()).expect("it can be added");
    }
    builder.write(path).expect("it can be written").file_bytes
}
