//! The directory: one 64-byte line serves the same number of consecutive slots throughout a table.
//! It holds the slots' fingerprints and where their records end, counted from the line's base,
//! so that a lookup touches one cache line to refuse an absent key or to find a present one's record.
//!
//! ```text
//! bits 0..47    base: offset in `records` of the first record, or in `escapes` if the line is escaped
//! bit 47        whether it is
//! then          a fingerprint for each slot
//! then          an end for each slot, as wide as there is room for, at most 28 bits
//! ```
//! A line whose ends do not fit escapes: its base leads to the ends in full, eight bytes each.

use crate::{format::LINE, hash::KeyHash};

const BASE_BITS: u32 = 47;
const FINGERPRINTS: u32 = 48;
/// With this width two ends still fit a word.
const WIDTH_MAX: u32 = 28;

/// How many slots a line serves and how long their fingerprints are; where everything stands follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    slots: u32,
    fingerprint_bits: u32,
    fingerprint_mask: u64,
    /// The bit at which the ends begin.
    ends: u32,
    /// The bits of an end: at least one, as fingerprints take 384 bits of at most 64 slots.
    width: u32,
    end_mask: u64,
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
        let (slots, fingerprint_bits) = (u32::from(slots), u32::from(fingerprint_bits));
        let ends = FINGERPRINTS + slots * fingerprint_bits;
        let width = ((LINE as u32 * 8 - ends) / slots).min(WIDTH_MAX);
        Shape {
            slots,
            fingerprint_bits,
            fingerprint_mask: (1 << fingerprint_bits) - 1,
            ends,
            width,
            end_mask: (1 << width) - 1,
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

    /// Whether a slot of this line may be that of a key with this hash.
    #[inline]
    pub(crate) fn may_be(&self, line: &[u8; LINE], index: u32, hash: KeyHash) -> bool {
        let fingerprint = word(line, FINGERPRINTS + index * self.fingerprint_bits);
        (fingerprint ^ hash.low) & self.fingerprint_mask == 0
    }

    /// Where the record of a slot of this line stands; wrong but harmless for a line no builder wrote.
    #[inline]
    pub(crate) fn span(&self, line: &[u8; LINE], index: u32) -> Span {
        let head = word(line, 0);
        let base = head & ((1 << BASE_BITS) - 1);
        if head >> BASE_BITS & 1 != 0 {
            return Span::Escaped { ends: base, index };
        }
        // The end before the first one is none but bits of fingerprints, and stands for 0.
        let pair = word(line, self.ends + index * self.width - self.width);
        let start = if index == 0 { 0 } else { pair & self.end_mask };
        Span::Record(base + start, base + (pair >> self.width & self.end_mask))
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
        let last = ends.last().copied().unwrap_or(0);
        if !self.fits(last) || base >> BASE_BITS != 0 {
            return false;
        }
        self.write_fingerprints(line, fingerprints);
        put(line, 0, base, BASE_BITS);
        for index in 0..self.slots {
            let end = ends.get(index as usize).copied().unwrap_or(last);
            put(line, self.ends + index * self.width, end, self.width);
        }
        true
    }

    /// Writes a line whose ends stand in `escapes`.
    pub(crate) fn write_escaped(&self, line: &mut [u8; LINE], ends: u64, fingerprints: &[u32]) {
        self.write_fingerprints(line, fingerprints);
        put(line, 0, ends | 1 << BASE_BITS, BASE_BITS + 1);
    }

    fn write_fingerprints(&self, line: &mut [u8; LINE], fingerprints: &[u32]) {
        for (index, fingerprint) in fingerprints.iter().enumerate() {
            let at = FINGERPRINTS + index as u32 * self.fingerprint_bits;
            put(line, at, u64::from(*fingerprint), self.fingerprint_bits);
        }
    }

    /// Whether records whose last one ends here, relative to the line's base, need no escape.
    pub(crate) fn fits(&self, last: u64) -> bool {
        last >> self.width == 0
    }
}

/// At least 57 bits from a place of the line on, or all that are left.
#[inline]
fn word(line: &[u8; LINE], at: u32) -> u64 {
    let byte = (at as usize / 8).min(LINE - 8);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&line[byte..byte + 8]);
    u64::from_le_bytes(bytes).wrapping_shr(at - byte as u32 * 8)
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
    fn reads_the_ends_it_wrote() {
        for (slots, bits, length) in
            [(20, 8, 300), (24, 8, 60), (29, 8, 6), (8, 32, 5000), (24, 16, 0), (64, 6, 0)]
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
                let low = u64::from(fingerprints[index as usize]);
                let hash = |low| KeyHash { low: low | 1 << 60, high: 0 };
                assert!(shape.may_be(&line, index, hash(low)));
                assert!(!shape.may_be(&line, index, hash(low ^ 1 << (bits - 1))));
                let end = (1 << 40) + end;
                assert_eq!(shape.span(&line, index), Span::Record(start, end));
                start = end;
            }
        }
    }
}
