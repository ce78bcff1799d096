//! Whatever is packed comes back, whole and one by one; what was not packed is refused.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used)]

use bitpacking::{BitPacker, BitPacker4x};
use proptest::prelude::*;
use sakuin_bits::{Bits, Error};

fn check(numbers: &[u64]) {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    for (bits, numbers) in
        [(Bits::pack(numbers).unwrap(), numbers), (Bits::pack_sorted(&sorted).unwrap(), &sorted)]
    {
        assert_eq!(bits.unpack(), numbers);
        assert_eq!(bits.len(), numbers.len());
        let one_by_one: Vec<_> = (0..numbers.len()).filter_map(|at| bits.get(at)).collect();
        assert_eq!(one_by_one, numbers);
        assert_eq!(bits.get(numbers.len()), None);
        assert_eq!(Bits::from_bytes(bits.as_bytes()).unwrap(), bits);
    }
}

/// Integers of every width, some blocks of them.
fn numbers() -> impl Strategy<Value = Vec<u64>> {
    let of_a_width = (0..=64_u32, 0..300_usize).prop_flat_map(|(width, len)| {
        let most = u64::MAX.checked_shr(64 - width).unwrap_or(0);
        proptest::collection::vec(0..=most, len)
    });
    proptest::collection::vec(of_a_width, 0..4).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn what_is_packed_comes_back(numbers in numbers()) {
        check(&numbers);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
        is_sorted in any::<bool>(),
        len in 0..400_u64,
    ) {
        if bytes.len() >= 16 {
            bytes[..4].copy_from_slice(b"SKB\x01");
            bytes[4] = u8::from(is_sorted);
            bytes[6..8].fill(0);
            bytes[8..16].copy_from_slice(&len.to_le_bytes());
        }
        if let Ok(bits) = Bits::from_bytes(bytes) {
            let all = bits.unpack();
            prop_assert!((0..all.len()).all(|at| bits.get(at) == Some(all[at])));
        }
    }
}

#[test]
fn the_longest_and_the_shortest() {
    check(&[]);
    check(&[0]);
    check(&[u64::MAX]);
    check(&[0; 128]);
    check(&[u64::MAX; 300]);
    check(&(0..10_000).collect::<Vec<_>>());
}

#[test]
fn a_whole_block_is_as_the_crate_lays_it_out() {
    for width in 1..=64_u32 {
        let most = u64::MAX >> (64 - width);
        let numbers: Vec<u64> =
            (0..128_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) & most).collect();
        let bits = Bits::pack(&numbers).unwrap();
        let mut block = &bits.as_bytes()[20..];
        let mut found = [0_u64; 128];
        for (shift, width) in [(0, width.min(32)), (32, width.saturating_sub(32))] {
            let mut part = [0; 128];
            let read = BitPacker4x::new().decompress(block, &mut part, width as u8);
            block = &block[read..];
            found.iter_mut().zip(part).for_each(|(one, part)| *one |= u64::from(part) << shift);
        }
        assert!(block.is_empty());
        assert_eq!(found[..], numbers, "{width} bits");
    }
}

#[test]
fn errors_name_the_cause() {
    assert_eq!(Bits::pack_sorted(&[1, 3, 2]), Err(Error::NotSorted { at: 2 }));
    assert_eq!(Bits::from_bytes(*b"PNG"), Err(Error::NotBits));
    let good = Bits::pack(&(0..300).collect::<Vec<_>>()).unwrap().as_bytes().to_vec();
    for end in 4..good.len() {
        assert!(matches!(Bits::from_bytes(&good[..end]), Err(Error::Damaged { .. })), "{end}");
    }
    assert!(matches!(Bits::from_bytes([good, vec![0]].concat()), Err(Error::Damaged { .. })));
}
