//! Any bytes at all: they are a table or are refused, and whatever opens can be read to its end.
//! The first page's own sum is set right as well, so that what it says is looked at. Start it with the golden files:
//! `cargo +nightly fuzz run pack_open fuzz/corpus/pack_open crates/sakuin-pack/tests/data`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_pack::{Table, TableOptions};

fuzz_target!(|bytes: &[u8]| {
    open(bytes);
    if bytes.len() >= 4096 {
        let mut bytes = bytes.to_vec();
        bytes[120..128].fill(0);
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..4096]);
        bytes[120..128].copy_from_slice(&sum.to_le_bytes());
        open(&bytes);
    }
});

fn open(bytes: &[u8]) {
    let Ok(table) = Table::from_bytes(bytes) else { return };
    let _ = table.verify();
    let _ = table.get(b"key 1");
    let _ = (table.stats(), table.meta());
    if let Ok(entries) = table.iter() {
        entries.take(1000).for_each(drop);
    }
    let _ = TableOptions::new().verify(true).section("a.b").from_bytes(bytes);
}
