//! Arrays of integers in as few bits as they need, each readable by itself.
//!
//! ```
//! use sakuin_bits::Bits;
//! let offsets: Vec<u64> = (0..1000).map(|at| at * at).collect();
//! let bits = Bits::pack_sorted(&offsets)?;
//! assert!(bits.as_bytes().len() < 1600); // of 8,000
//! assert_eq!(bits.get(999), Some(998_001));
//! assert_eq!(Bits::from_bytes(bits.as_bytes().to_vec())?.unpack(), offsets);
//! # Ok::<(), sakuin_bits::Error>(())
//! ```
//!
//! # Layout
//!
//! Numbers are little-endian; a block is of 128 integers and has a width of its own.
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | `SKB` and the version, 1 |
//! | 1 | 0 if the integers stand as they are, 1 if each is what it exceeds the one before it by |
//! | 1 | the width of the integers after the last whole block, in bits |
//! | 2 | zeros |
//! | 8 | how many integers there are |
//! | 4 each | for every whole block, the sum of the widths up to its own: it ends at 16 bytes times that |
//! | 8 each | if sorted: for every block, the last one too, the integer before it; 0 before the first |
//! | 16 × width each | the whole blocks |
//! | the rest | the integers after the last whole block, lowest bit first, and zeros up to a whole byte |
//!
//! A block of up to 32 bits is laid out as `BitPacker4x` of the crate [`bitpacking`] does, which is the layout of
//! Lemire and Boytsov's SIMD-BP128 ("Decoding billions of integers per second through vectorization", 2015): integer *i*
//! is in lane *i* mod 4. One of more bits is two such blocks, of the low 32 bits and of the bits above.

use bitpacking::{BitPacker, BitPacker4x};

mod read;
mod write;

pub use read::{Bits, Error};

/// Integers of a block.
const BLOCK: usize = BitPacker4x::BLOCK_LEN;
/// Lanes of a block.
const LANES: usize = 4;
/// The width from which on a block is two.
const HALF: usize = 32;

const MAGIC: [u8; 4] = *b"SKB\x01";
const HEAD: usize = 16;

/// Integers of one block, in two halves.
type Halves = [[u32; BLOCK]; 2];

/// The bits a number has.
fn width(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()) as usize
}

/// The widths of the two halves of a block.
fn halves(width: usize) -> [u8; 2] {
    [width.min(HALF) as u8, width.saturating_sub(HALF) as u8]
}
