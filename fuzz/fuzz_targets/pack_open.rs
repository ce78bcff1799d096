//! Any bytes at all: they are a table or are refused, and whatever opens can be read to its end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_pack::{Table, TableOptions};

fuzz_target!(|bytes: &[u8]| {
    let Ok(table) = Table::from_bytes(bytes.to_vec()) else { return };
    let _ = table.verify();
    let _ = table.get(b"key 1");
    let _ = (table.stats(), table.meta());
    if let Ok(entries) = table.iter() {
        entries.take(1000).for_each(drop);
    }
    let _ = TableOptions::new().verify(true).section("a.b").from_bytes(bytes.to_vec());
});
