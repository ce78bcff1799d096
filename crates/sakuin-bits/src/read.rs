//! From bytes to integers: all, or one.

use std::fmt;

use bitpacking::{BitPacker, BitPacker4x};

use crate::{BLOCK, HALF, HEAD, Halves, LANES, MAGIC, halves};

/// An array of integers, packed.
#[derive(Clone, PartialEq, Eq)]
pub struct Bits {
    bytes: Vec<u8>,
    len: usize,
    is_sorted: bool,
    /// Where the blocks begin, and the integers after them.
    blocks: usize,
    rest: usize,
    rest_width: usize,
}

/// Why there is no such array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An integer is less than the one before it.
    #[error("integer {at} is less than the one before it")]
    NotSorted {
        /// Its place, from 0.
        at: usize,
    },
    /// There are more than the format has room for.
    #[error("there are too many integers for one array")]
    TooMany,
    /// The bytes are something else, or of a later version.
    #[error("these bytes are no packed integers")]
    NotBits,
    /// The bytes were cut or changed.
    #[error("these bytes are packed integers that were cut or changed: {what}")]
    Damaged {
        /// What shows it.
        what: &'static str,
    },
}

impl Error {
    /// What would do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::NotSorted { .. } => Some("sort them, or pack them as they stand"),
            Error::TooMany => Some("split them"),
            Error::NotBits | Error::Damaged { .. } => None,
        }
    }
}

impl Bits {
    /// Takes bytes as they were packed, here or in another language. Every length is checked; what the integers are
    /// depends on all bits, so a changed one may be another integer.
    ///
    /// # Errors
    ///
    /// [`Error::NotBits`] and [`Error::Damaged`].
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Bits, Error> {
        let bytes = bytes.into();
        let damaged = |what| Error::Damaged { what };
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::NotBits);
        }
        let head = bytes.get(..HEAD).ok_or_else(|| damaged("the head is cut"))?;
        let (is_sorted, rest_width) = (head[4] == 1, usize::from(head[5]));
        if head[4] > 1 || rest_width > 64 || head[6..8] != [0; 2] {
            return Err(damaged("the head says what no version does"));
        }
        let len = u64_at(head, 8).try_into().map_err(|_| damaged("it is too long"))?;
        let bits = Bits { bytes, len, is_sorted, blocks: 0, rest: 0, rest_width };
        let (whole, left) = (len / BLOCK, len % BLOCK);
        let bases = if is_sorted { len.div_ceil(BLOCK) } else { 0 };
        // Lengths are compared before anything is read, in numbers that do not overflow.
        let blocks = HEAD as u128 + 4 * whole as u128 + 8 * bases as u128;
        if (bits.bytes.len() as u128) < blocks {
            return Err(damaged("it ends too early"));
        }
        let mut end = 0;
        for block in 0..whole {
            let next = u32_at(&bits.bytes, HEAD + 4 * block);
            if next < end || next - end > 64 {
                return Err(damaged("a block has a width that none has"));
            }
            end = next;
        }
        let rest = blocks + 16 * u128::from(end);
        let all = rest + (left * rest_width).div_ceil(8) as u128;
        match (bits.bytes.len() as u128).cmp(&all) {
            std::cmp::Ordering::Less => Err(damaged("it ends too early")),
            std::cmp::Ordering::Greater => Err(damaged("more follows after its end")),
            std::cmp::Ordering::Equal => {
                Ok(Bits { blocks: blocks as usize, rest: rest as usize, ..bits })
            }
        }
    }

    /// The bytes, to be kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many integers there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether only growth was kept.
    pub fn is_sorted(&self) -> bool {
        self.is_sorted
    }

    /// One integer. Costs one or two reads; in a sorted array, as many additions as there are integers before it in its
    /// block: 127 at most.
    pub fn get(&self, at: usize) -> Option<u64> {
        if at >= self.len {
            return None;
        }
        let (block, within) = (at / BLOCK, at % BLOCK);
        if !self.is_sorted {
            return Some(self.stored(block, within));
        }
        let base = u64_at(&self.bytes, self.bases() + 8 * block);
        Some((0..=within).fold(base, |sum, at| sum.wrapping_add(self.stored(block, at))))
    }

    /// All integers, 8 bytes each; of zeros, the packed form is 256 times smaller.
    pub fn unpack(&self) -> Vec<u64> {
        let mut numbers = Vec::with_capacity(self.len);
        let mut parts: Halves = [[0; BLOCK]; 2];
        for block in 0..self.len / BLOCK {
            let (mut start, width) = self.block(block);
            for (part, width) in parts.iter_mut().zip(halves(width)) {
                start += BitPacker4x::new().decompress(&self.bytes[start..], part, width);
            }
            let [low, high] = &parts;
            let both = low.iter().zip(high);
            numbers.extend(both.map(|(low, high)| u64::from(*low) | u64::from(*high) << 32));
        }
        let whole = numbers.len();
        numbers.extend((whole..self.len).map(|at| self.stored(at / BLOCK, at % BLOCK)));
        if self.is_sorted {
            let mut last = 0_u64;
            for number in &mut numbers {
                last = last.wrapping_add(*number);
                *number = last;
            }
        }
        numbers
    }

    /// Where the integers before each block stand, if it is sorted.
    fn bases(&self) -> usize {
        HEAD + 4 * (self.len / BLOCK)
    }

    /// Where a whole block begins, and its width.
    fn block(&self, block: usize) -> (usize, usize) {
        let end = |block: usize| u32_at(&self.bytes, HEAD + 4 * block) as usize;
        let before = if block == 0 { 0 } else { end(block - 1) };
        (self.blocks + 16 * before, end(block) - before)
    }

    /// What stands at a place of a block.
    fn stored(&self, block: usize, at: usize) -> u64 {
        if block == self.len / BLOCK {
            return bits_at(&self.bytes[self.rest..], at * self.rest_width, self.rest_width);
        }
        let (start, width) = self.block(block);
        let [low, high] = halves(width).map(usize::from);
        let low_bits = lane_bits(&self.bytes[start..], at, low);
        match high {
            0 => low_bits,
            high => low_bits | lane_bits(&self.bytes[start + 16 * low..], at, high) << HALF,
        }
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Bits of {} integers in {} bytes", self.len, self.bytes.len())
    }
}

/// An integer of a block of up to 32 bits: words of a lane stand four apart.
fn lane_bits(block: &[u8], at: usize, width: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let (lane, first) = (at % LANES, at / LANES * width);
    let word = |word: usize| u64::from(u32_at(block, 4 * (word * LANES + lane)));
    let (place, shift) = (first / HALF, first % HALF);
    let mut bits = word(place) >> shift;
    if shift + width > HALF {
        bits |= word(place + 1) << (HALF - shift);
    }
    bits & (u64::MAX >> (64 - width))
}

/// Bits that stand one after another, lowest first.
fn bits_at(bytes: &[u8], first: usize, width: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let bytes = &bytes[first / 8..(first + width).div_ceil(8)];
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    (u128::from_le_bytes(word) >> (first % 8)) as u64 & (u64::MAX >> (64 - width))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("lengths were checked"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("lengths were checked"))
}
