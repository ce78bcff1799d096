//! The classic perfect hash: compress, hash and displace (Belazzougui, Botelho and Dietzfelbinger, 2009).
//!
//! Four keys a bucket on average; the fullest bucket goes first and takes the smallest seed that puts all its keys on
//! free slots, and so on down to buckets of one. Seeds are packed in blocks of 128 as `bitpacking`'s BitPacker4x does:
//! number i of a block of width w is in 32-bit lane i mod 4, at bit ⌊i / 4⌋ · w of that lane.
//! One word for every block says where it begins and how wide it is, so that a single seed is read without its block.

use crate::hash::{Point, mix, scale};

/// Seeds in a block.
const BLOCK: u32 = 128;
/// Bytes in which the beginning of a block is counted.
const UNIT: u32 = 16;
const WIDTH_BITS: u32 = 6;
/// A seed beyond this is not looked for: another hash seed is.
const SEED_MAX: u32 = 1 << 28;

/// Buckets of a region of `keys` keys: four keys each, at least one.
#[inline]
fn buckets(keys: u32) -> u32 {
    keys.div_ceil(4).max(1)
}

/// Blocks of a region's seeds, and the bytes of the words that describe them.
#[inline]
fn blocks(keys: u32) -> (u32, u32) {
    let blocks = buckets(keys).div_ceil(BLOCK);
    (blocks, (blocks * 4).next_multiple_of(UNIT))
}

#[inline]
pub(crate) fn bucket(point: Point, keys: u32) -> u32 {
    scale(point.along, buckets(keys))
}

/// The slot of a key whose bucket has this seed.
#[inline]
pub(crate) fn slot(point: Point, seed: u32, keys: u32) -> u32 {
    let salt = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    scale(mix(point.place ^ salt), keys)
}

/// Where in a region's seeds that of a bucket stands.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The byte of the word that describes the block.
    pub(crate) word: u64,
    after_words: u64,
    index: u32,
}

impl Place {
    #[inline]
    pub(crate) fn new(bucket: u32, keys: u32) -> Place {
        Place {
            word: u64::from(bucket / BLOCK) * 4,
            after_words: u64::from(blocks(keys).1),
            index: bucket % BLOCK,
        }
    }

    /// The byte of the two 32-bit words, 16 bytes apart, that hold the seed; its bit therein, and its width.
    /// The second one matters only if the seed runs over the end of the first.
    #[inline]
    pub(crate) fn lane(&self, word: u32) -> (u64, u32, u32) {
        let width = (word & ((1 << WIDTH_BITS) - 1)).min(32);
        let block = self.after_words + u64::from(word >> WIDTH_BITS) * u64::from(UNIT);
        let bit = self.index / 4 * width;
        let at = block + u64::from(bit / 32) * 16 + u64::from(self.index % 4) * 4;
        (at, bit % 32, width)
    }
}

/// Takes a seed out of its lane.
#[inline]
pub(crate) fn seed(first: u32, second: u32, bit: u32, width: u32) -> u32 {
    let lane = u64::from(first) | u64::from(second) << 32;
    ((lane >> bit) & ((1u64 << width) - 1)) as u32
}

/// Builds the perfect hash of distinct points sorted by `along`: the packed seeds, and the slot of each point.
/// `None` if a bucket fits under no seed.
pub(crate) fn build(points: &[Point]) -> Option<(Vec<u8>, Vec<u32>)> {
    let keys = points.len() as u32;
    let mut ranges: Vec<(u32, std::ops::Range<usize>)> = Vec::new();
    let mut start = 0;
    for group in points.chunk_by(|one, other| bucket(*one, keys) == bucket(*other, keys)) {
        ranges.push((bucket(group[0], keys), start..start + group.len()));
        start += group.len();
    }
    ranges.sort_by_key(|(bucket, range)| (std::cmp::Reverse(range.len()), *bucket));

    let mut seeds = vec![0; buckets(keys) as usize];
    let mut slots = vec![0; points.len()];
    let mut taken = vec![false; points.len()];
    let mut chosen = Vec::new();
    for (bucket, range) in ranges {
        let found = (0..SEED_MAX).find(|seed| {
            chosen.clear();
            points[range.clone()].iter().all(|point| {
                let slot = slot(*point, *seed, keys);
                let free = !taken[slot as usize] && !chosen.contains(&slot);
                chosen.push(slot);
                free
            })
        });
        seeds[bucket as usize] = found?;
        for (index, slot) in range.zip(&chosen) {
            slots[index] = *slot;
            taken[*slot as usize] = true;
        }
    }
    Some((pack(&seeds, keys)?, slots))
}

/// The words that describe the blocks, then the blocks; `None` if they take a gibibyte.
fn pack(seeds: &[u32], keys: u32) -> Option<Vec<u8>> {
    let mut out = vec![0; blocks(keys).1 as usize];
    let mut data: Vec<u32> = Vec::new();
    for (index, block) in seeds.chunks(BLOCK as usize).enumerate() {
        let width = u32::BITS - block.iter().fold(0, |all, seed| all | seed).leading_zeros();
        let start = data.len() as u32 * 4 / UNIT;
        if start >= 1 << (32 - WIDTH_BITS) {
            return None;
        }
        let word = start << WIDTH_BITS | width;
        out[index * 4..index * 4 + 4].copy_from_slice(&word.to_le_bytes());
        let mut packed = vec![0; width as usize * 4];
        for (index, seed) in block.iter().enumerate() {
            let bit = index / 4 * width as usize;
            let lane = bit / 32 * 4 + index % 4;
            let shifted = u64::from(*seed) << (bit % 32);
            for (lane, part) in [(lane, shifted as u32), (lane + 4, (shifted >> 32) as u32)] {
                if part != 0 {
                    packed[lane] |= part;
                }
            }
        }
        data.extend(packed);
    }
    out.extend(data.iter().flat_map(|word| word.to_le_bytes()));
    // A reader loads two words of a lane, the second of which may lie after the last block.
    out.extend([0; UNIT as usize * 2]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use bitpacking::{BitPacker, BitPacker4x};

    use super::*;
    use crate::hash::points;

    fn read(bytes: &[u8], bucket: u32, keys: u32) -> u32 {
        let word = |at: u64| {
            let at = at as usize;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let place = Place::new(bucket, keys);
        let (at, bit, width) = place.lane(word(place.word));
        seed(word(at), word(at + 16), bit, width)
    }

    #[test]
    fn every_key_has_a_slot_of_its_own() {
        for count in [1, 2, 3, 4, 5, 9, 63, 64, 65, 512, 513, 5000] {
            let points = points(count);
            let (bytes, slots) = build(&points).expect("seeds are found");
            let found: Vec<u32> = points
                .iter()
                .map(|point| slot(*point, read(&bytes, bucket(*point, count), count), count))
                .collect();
            assert_eq!(found, slots);
            let mut slots = slots;
            slots.sort_unstable();
            assert!(slots.into_iter().eq(0..count), "{count} keys");
        }
    }

    #[test]
    fn packs_as_the_library_does() {
        let packer = BitPacker4x::new();
        for width in 0..=32u32 {
            let most = ((1u64 << width) - 1) as u32;
            let mut seeds: Vec<u32> = (0..128u64).map(|index| mix(index) as u32 & most).collect();
            seeds[77] = most;
            let bytes = pack(&seeds, 512).expect("it is small");
            let mut expected = vec![0; 512];
            let length = packer.compress(&seeds, &mut expected, width as u8);
            assert_eq!(bytes[16..16 + length], expected[..length], "width {width}");
            for (index, seed) in seeds.iter().enumerate() {
                assert_eq!(read(&bytes, index as u32, 512), *seed, "width {width}");
            }
        }
    }
}
