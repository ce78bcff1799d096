//! The hash of a key: XXH3-128 under the seed in the header, frozen with the format.
//! The low half says where along the table a key lies (region, then bucket) and ends in its fingerprint;
//! the high half places the key among the slots near there.
//! Both halves together tell keys apart while building.

use xxhash_rust::xxh3;

/// The seeds a build tries in turn when 128 bits cannot tell two keys apart.
pub(crate) const SEEDS: [u64; 8] = [
    0,
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
];

/// The 128-bit hash of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyHash {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// Where a key lies within its region, as a fraction of 2^64, and the bits that place it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) along: u64,
    pub(crate) place: u64,
}

impl KeyHash {
    #[inline]
    pub(crate) fn new(key: &[u8], seed: u64) -> KeyHash {
        let hash = xxh3::xxh3_128_with_seed(key, seed);
        KeyHash { low: hash as u64, high: (hash >> 64) as u64 }
    }

    /// The region of `regions` that holds the key, and the key's point in it.
    #[inline]
    pub(crate) fn region(self, regions: u32) -> (u32, Point) {
        let wide = u128::from(self.low) * u128::from(regions);
        ((wide >> 64) as u32, Point { along: wide as u64, place: self.high })
    }

    /// The low `bits` bits, which a directory line keeps to refuse absent keys.
    #[inline]
    pub(crate) fn fingerprint(self, bits: u32) -> u32 {
        (self.low & ((1u64 << bits) - 1)) as u32
    }
}

impl Point {
    /// The same key at a lower level, as if hashed anew.
    pub(crate) fn again(self, level: u32) -> Point {
        let salt = SEEDS[1].wrapping_mul(u64::from(level));
        Point { along: mix(self.along ^ salt), place: mix(self.place.wrapping_add(salt)) }
    }
}

/// Scales a fraction of 2^64 to `0..range`.
#[inline]
pub(crate) fn scale(fraction: u64, range: u32) -> u32 {
    ((u128::from(fraction) * u128::from(range)) >> 64) as u32
}

/// A bijection in which every bit of the input moves every bit of the output.
#[inline]
pub(crate) const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

/// The sum of a block of the file.
#[inline]
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    xxh3::xxh3_64(bytes)
}

/// Where keys 0 to `count` stand in the one region of a table, in order.
#[cfg(test)]
pub(crate) fn points(count: u32) -> Vec<Point> {
    let mut points: Vec<Point> =
        (0..count).map(|key| KeyHash::new(&key.to_le_bytes(), 7).region(1).1).collect();
    points.sort_unstable();
    points
}
