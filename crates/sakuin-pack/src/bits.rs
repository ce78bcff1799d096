//! Numbers of any width up to 57 bits, one after the other, lowest bit first; and the ones of a word.

/// Packs numbers into bytes.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    pending: u128,
    filled: u32,
}

impl Writer {
    /// Appends the low `width` bits of a number that has no others.
    pub(crate) fn push(&mut self, number: u64, width: u32) {
        self.pending |= u128::from(number) << self.filled;
        self.filled += width;
        while self.filled >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.filled -= 8;
        }
    }

    /// The bytes, with room after the last number for a reader that loads eight at once.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(self.pending as u8);
        self.bytes.extend([0; 7]);
        self.bytes
    }
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
}
