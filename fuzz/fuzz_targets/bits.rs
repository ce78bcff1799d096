//! Any bytes as packed integers: refused, or read one by one as all together, and packed again to the same integers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sakuin_bits::Bits;

fuzz_target!(|bytes: &[u8]| {
    let Ok(bits) = Bits::from_bytes(bytes) else { return };
    let all = bits.unpack();
    assert_eq!(all.len(), bits.len());
    assert!((0..all.len()).all(|at| bits.get(at) == Some(all[at])));
    let again = Bits::pack(&all).expect("there are few");
    assert_eq!(again.unpack(), all);
});
