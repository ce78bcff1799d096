//! The directory: one 64-byte line serves the same number of consecutive slots throughout a table.
//! It holds the slots' fingerprints and where their records end, as an Elias–Fano list relative to the line's base,
//! so that a lookup touches one cache line to refuse an absent key or to find a present one's record.
//!
//! ```text
//! bits 0..59    base: offset in `records` of the first record, or in `escapes` if the width is 31
//! bits 59..64   width: low bits of each end, at most 28
//! then          a fingerprint for each slot
//! then          the low bits of each end
//! then          for each slot j in turn, a one at bit (end >> width) + j of what is left
//! ```
//! A line whose ends do not fit escapes: its base leads to the ends in full, eight bytes each.

use crate::format::LINE;

const BASE_BITS: u32 = 59;
const ESCAPED: u32 = 31;
/// With this width the low bits of two ends still fit a word.
const WIDTH_MAX: u32 = 28;
const FINGERPRINTS: u32 = 64;
/// High bits beyond these a reader need not look for: sixteen bytes from any bit on hold them.
const HIGH_BITS_MAX: u32 = 120;

/// How many slots a line serves and how long their fingerprints are; where everything stands follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    slots: u32,
    fingerprint_bits: u32,
    /// The bit at which the low bits of the ends begin.
    low_start: u32,
    /// 2^32 / slots, rounded up: a multiplication divides slots below 2^26.
    reciprocal: u64,
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// From and to these offsets in `records`.
    Record(u64, u64),
    /// As the numbers of this index and the one before in the ends at this offset of `escapes` say.
    Escaped { ends: u64, index: u32 },
}

impl Shape {
    pub(crate) fn new(slots: u8, fingerprint_bits: u8) -> Shape {
        Shape {
            slots: u32::from(slots),
            fingerprint_bits: u32::from(fingerprint_bits),
            low_start: FINGERPRINTS + u32::from(slots) * u32::from(fingerprint_bits),
            reciprocal: (1u64 << 32).div_ceil(u64::from(slots)),
        }
    }

    /// The line of a slot below 2^26, and the slot's place in it.
    #[inline]
    pub(crate) fn line(&self, slot: u32) -> (u32, u32) {
        let line = ((u64::from(slot) * self.reciprocal) >> 32) as u32;
        (line, slot - line * self.slots)
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    #[inline]
    pub(crate) fn fingerprint(&self, line: &[u8; LINE], index: u32) -> u32 {
        if self.fingerprint_bits == 8 {
            return u32::from(line[(FINGERPRINTS / 8 + index) as usize]);
        }
        bits(line, FINGERPRINTS + index * self.fingerprint_bits, self.fingerprint_bits) as u32
    }

    /// Where the record of a slot of this line stands; wrong but harmless for a line no builder wrote.
    #[inline]
    pub(crate) fn span(&self, line: &[u8; LINE], index: u32) -> Span {
        let head = word(line, 0);
        let base = head & ((1 << BASE_BITS) - 1);
        let width = (head >> BASE_BITS) as u32;
        if width > WIDTH_MAX {
            return Span::Escaped { ends: base, index };
        }
        let low_start = self.low_start;
        let high_start = low_start + self.slots * width;
        if high_start >= LINE as u32 * 8 {
            return Span::Record(u64::MAX, u64::MAX);
        }
        let (previous, own) = neighbours(high_bits(line, high_start), index);
        // The low bits of both ends stand side by side.
        let before = index.saturating_sub(1);
        let low = bits(line, low_start + before * width, 2 * width);
        let mask = (1 << width) - 1;
        let end = |position: u32, index: u32, low: u64| {
            u64::from(position.saturating_sub(index)) << width | low & mask
        };
        if index == 0 {
            return Span::Record(base, base + end(own, 0, low));
        }
        let start = base + end(previous, before, low);
        Span::Record(start, base + end(own, index, low >> width))
    }

    /// Writes a line for up to `slots` records whose ends are given relative to `base`.
    /// `false` if they do not fit.
    pub(crate) fn write(
        &self,
        line: &mut [u8; LINE],
        base: u64,
        fingerprints: &[u32],
        ends: &[u64],
    ) -> bool {
        self.write_fingerprints(line, fingerprints);
        let Some(width) = self.width(ends.last().copied().unwrap_or(0)) else {
            return false;
        };
        put(line, 0, base | u64::from(width) << BASE_BITS, 64);
        let low_start = self.low_start;
        let high_start = low_start + self.slots * width;
        let last = ends.last().copied().unwrap_or(0);
        for index in 0..self.slots {
            let end = ends.get(index as usize).copied().unwrap_or(last);
            put(line, low_start + index * width, end & ((1 << width) - 1), width);
            put(line, high_start + (end >> width) as u32 + index, 1, 1);
        }
        true
    }

    /// Writes a line whose ends stand in `escapes`.
    pub(crate) fn write_escaped(&self, line: &mut [u8; LINE], ends: u64, fingerprints: &[u32]) {
        self.write_fingerprints(line, fingerprints);
        put(line, 0, ends | u64::from(ESCAPED) << BASE_BITS, 64);
    }

    fn write_fingerprints(&self, line: &mut [u8; LINE], fingerprints: &[u32]) {
        for (index, fingerprint) in fingerprints.iter().enumerate() {
            let at = FINGERPRINTS + index as u32 * self.fingerprint_bits;
            put(line, at, u64::from(*fingerprint), self.fingerprint_bits);
        }
    }

    /// The largest width with which a last end fits: it leaves the shortest high part to search.
    fn width(&self, last: u64) -> Option<u32> {
        let room = LINE as u32 * 8 - self.low_start;
        (0..=WIDTH_MAX).rev().find(|width| {
            let high = room.saturating_sub(self.slots * width).min(HIGH_BITS_MAX);
            (last >> width) + u64::from(self.slots) <= u64::from(high)
        })
    }

    /// Whether records ending at these places, relative to the line's base, need no escape.
    pub(crate) fn fits(&self, last: u64) -> bool {
        self.width(last).is_some()
    }
}

/// Up to 128 bits from `start` to the end of the line.
#[inline]
fn high_bits(line: &[u8; LINE], start: u32) -> u128 {
    let last = LINE as u32 * 8 - 128;
    let at = start.min(last) / 8 * 8;
    let mut window = [0; 16];
    window.copy_from_slice(&line[at as usize / 8..at as usize / 8 + 16]);
    u128::from_le_bytes(window) >> (start - at)
}

/// The positions of the ones before and at `index`; beyond all bits where there are too few.
#[inline]
fn neighbours(ones: u128, index: u32) -> (u32, u32) {
    let (low, high) = (ones as u64, (ones >> 64) as u64);
    let before = index.saturating_sub(1);
    // Without branches: which half it is in cannot be foretold, and a wrong guess would cost more than the rest.
    let in_low = low.count_ones();
    let is_high = u64::from(before >= in_low);
    let half = low ^ ((low ^ high) & is_high.wrapping_neg());
    let before = before - in_low * is_high as u32;
    let previous = is_high as u32 * 64 + nth_one(half, before);
    // The first one has none before it.
    let passed = u32::from(index > 0);
    let rest = (ones >> passed).checked_shr(previous).unwrap_or(0);
    let next = match rest as u64 {
        0 => rest.trailing_zeros(),
        near => near.trailing_zeros(),
    };
    (previous, previous + passed + next)
}

/// The position of the one that has `index` ones below it; wrong if there are too few.
#[inline]
pub(crate) fn nth_one(word: u64, index: u32) -> u32 {
    const BYTES: u64 = 0x0101_0101_0101_0101;
    // How many ones each byte and those below it have.
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let counts = ((nibbles + (nibbles >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(BYTES);
    // A top bit for each byte up to which there are no more than `index` ones: as many bytes lie below the wanted one.
    let index = index.min(63);
    let passed = ((u64::from(index) * BYTES) | 0x8080_8080_8080_8080).wrapping_sub(counts);
    let byte = ((passed & 0x8080_8080_8080_8080) >> 7).wrapping_mul(BYTES) >> 56;
    let below = counts.wrapping_shl(8).checked_shr(byte as u32 * 8).unwrap_or(0) as u8;
    let ones = word.checked_shr(byte as u32 * 8).unwrap_or(0) as u8;
    let wanted = index.wrapping_sub(u32::from(below)) & 7;
    byte as u32 * 8 + u32::from(NTH_ONE[ones as usize][wanted as usize])
}

/// For every byte, where each of its ones stands.
const NTH_ONE: [[u8; 8]; 256] = {
    let mut table = [[8; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut found) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][found] = bit as u8;
                found += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

#[inline]
fn word(line: &[u8; LINE], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&line[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// Up to 57 bits at any place of a line.
#[inline]
fn bits(line: &[u8; LINE], at: u32, width: u32) -> u64 {
    let byte = (at as usize / 8).min(LINE - 8);
    let shift = at - byte as u32 * 8;
    (word(line, byte).checked_shr(shift).unwrap_or(0)) & ((1u64 << width) - 1)
}

fn put(line: &mut [u8; LINE], at: u32, number: u64, width: u32) {
    for bit in 0..width {
        line[((at + bit) / 8) as usize] |= ((number >> bit & 1) as u8) << ((at + bit) % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn finds_each_one() {
        for word in (0..300).map(mix).chain([0, 1, u64::MAX, 1 << 63, 0x8000_0000_0000_0001]) {
            let ones = (0..64).filter(|bit| word >> bit & 1 == 1);
            for (index, bit) in ones.enumerate() {
                assert_eq!(nth_one(word, index as u32), bit, "{word:#x}");
            }
            // Too few ones: anything, but no panic.
            assert!((0..200).all(|index| nth_one(word, index) <= 128));
        }
    }

    #[test]
    fn reads_the_ends_it_wrote() {
        for (slots, bits, length) in
            [(20, 8, 300), (29, 8, 30), (40, 8, 1), (8, 32, 5000), (24, 16, 0)]
        {
            let shape = Shape::new(slots, bits);
            let ends: Vec<u64> = (1..=u64::from(slots))
                .map(|slot| slot * length + mix(slot) % (length + 1))
                .collect();
            let fingerprints: Vec<u32> =
                (0..slots).map(|slot| (mix(slot.into()) & ((1 << bits) - 1)) as u32).collect();
            let mut line = [0; LINE];
            assert!(shape.write(&mut line, 1 << 40, &fingerprints, &ends), "{slots} slots");
            let mut start = 1 << 40;
            for (index, end) in ends.iter().enumerate() {
                let index = index as u32;
                assert_eq!(shape.fingerprint(&line, index), fingerprints[index as usize]);
                let end = (1 << 40) + end;
                assert_eq!(shape.span(&line, index), Span::Record(start, end));
                start = end;
            }
        }
    }
}
