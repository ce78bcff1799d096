//! A true table, its structure changed as the input says, and all sums computed anew, as a forger would:
//! reads end in an answer or an error. The input is a list of changes: where (two bytes) and to what (one).
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sakuin_pack::{Builder, Content, Duplicates, Hash, Keys, Options, Table, ValueId};
use xxhash_rust::xxh3::xxh3_64;

const PAGE: usize = 4096;
const BLOCK: usize = 65_536;

static TABLES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let options = Options::new().duplicates(Duplicates::Keep);
    vec![
        table(options.clone()),
        table(options.clone().hash(Hash::Chd)),
        table(options.keys(Keys::Approximate { bits: 11 })),
    ]
});

fuzz_target!(|input: &[u8]| {
    let Some((first, changes)) = input.split_first() else { return };
    let mut bytes = TABLES[usize::from(*first) % TABLES.len()].clone();
    // Three in four changes hit the header, the section table and what follows the records, which is all structure.
    for change in changes.chunks_exact(3).take(64) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
        let place = if place < 0x4000 { place % 600 } else { PAGE + place % (bytes.len() - PAGE) };
        bytes[place] = change[2];
    }
    sum_again(&mut bytes);
    let Ok(table) = Table::from_bytes(bytes) else { return };
    let keys: Vec<String> = (0..40).map(|number| format!("key {number}")).collect();
    for key in &keys {
        if let Ok(Some(values)) = table.get(key.as_bytes()) {
            assert_eq!(values.iter().count(), values.len());
        }
    }
    let _ = table.get_many(&keys);
    let _ = (table.meta(), table.section("test.note"), table.verify());
    if let Ok(entries) = table.iter() {
        entries.take(1000).for_each(drop);
    }
    for id in [0, PAGE as u64, PAGE as u64 + 1, u64::MAX] {
        let _ = table.value(ValueId(id));
    }
});

fn table(options: Options) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.skn");
    let mut builder = Builder::new(Content::Bytes, options);
    for number in 0..400u32 {
        let key = format!("key {}", number % 350);
        let value = format!("value {}", number / 3).repeat(number as usize % 4);
        builder.add(key.as_bytes(), value.as_bytes()).expect("it can be added");
    }
    builder.add(b"key 3", &[b'x'; 2000]).expect("it can be added");
    builder.meta("{}").expect("it is JSON");
    builder
        .write_with(&path, |_, sections| sections.add("test.note", vec![7; 100], false))
        .expect("it can be written");
    std::fs::read(path).expect("it was written")
}

/// Computes the sums of a file of less than 512 MiB wherever its header says they stand.
fn sum_again(bytes: &mut [u8]) {
    let sections = u32::from_le_bytes([bytes[44], bytes[45], bytes[46], bytes[47]]) as usize;
    let last = 128 + 48 * sections.clamp(1, 82) - 48 + 32;
    let mut offset = [0; 8];
    offset.copy_from_slice(&bytes[last..last + 8]);
    let sums = (u64::from_le_bytes(offset) as usize).clamp(PAGE, bytes.len());
    let blocks = sums.div_ceil(BLOCK);
    for block in 0..blocks {
        let range = (block * BLOCK).max(PAGE)..((block + 1) * BLOCK).min(sums);
        let sum = xxh3_64(&bytes[range]);
        put(bytes, sums + block * 8, sum);
    }
    let tops = (sums + blocks * 8).min(bytes.len());
    let sum = xxh3_64(&bytes[sums..tops]);
    put(bytes, tops, sum);
    let sum = xxh3_64(&bytes[tops..]);
    put(bytes, 80, sum);
    put(bytes, 120, 0);
    let sum = xxh3_64(&bytes[..PAGE]);
    put(bytes, 120, sum);
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    if let Some(place) = bytes.get_mut(at..at + 8) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}
