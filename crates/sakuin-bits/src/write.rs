//! From integers to bytes.

use bitpacking::{BitPacker, BitPacker4x};

use crate::{BLOCK, Bits, Error, HEAD, Halves, MAGIC, halves, width};

impl Bits {
    /// Packs integers. Each block of 128 takes as many bits for each as its largest has.
    ///
    /// # Errors
    ///
    /// [`Error::TooMany`], from some 8.6 thousand million of full width on.
    pub fn pack(numbers: &[u64]) -> Result<Bits, Error> {
        pack(numbers, &[])
    }

    /// Packs integers none of which is less than the one before it: only how much they grow is kept.
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] names the first that is less.
    pub fn pack_sorted(numbers: &[u64]) -> Result<Bits, Error> {
        if let Some(at) = numbers.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Error::NotSorted { at: at + 1 });
        }
        let before = |at: usize| if at == 0 { 0 } else { numbers[at - 1] };
        let growth: Vec<u64> = (0..numbers.len()).map(|at| numbers[at] - before(at)).collect();
        let bases: Vec<u64> = (0..numbers.len()).step_by(BLOCK).map(before).collect();
        // An array that is empty is sorted as it stands.
        pack(&growth, &bases)
    }
}

fn pack(numbers: &[u64], bases: &[u64]) -> Result<Bits, Error> {
    let (blocks, rest) = numbers.as_chunks::<BLOCK>();
    let widths = blocks.iter().map(|block| width(block.iter().fold(0, |all, one| all | one)));
    let mut end = 0_u32;
    let ends = widths.clone().map(|width| {
        end = end.checked_add(width as u32).ok_or(Error::TooMany)?;
        Ok(end)
    });
    let ends: Vec<u32> = ends.collect::<Result<_, _>>()?;
    let rest_width = width(rest.iter().fold(0, |all, one| all | one));

    let mut bytes = Vec::with_capacity(HEAD + 12 * ends.len() + 16 * end as usize + rest.len() * 8);
    bytes.extend(MAGIC);
    bytes.extend([u8::from(!bases.is_empty()), rest_width as u8, 0, 0]);
    bytes.extend((numbers.len() as u64).to_le_bytes());
    bytes.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
    bytes.extend(bases.iter().flat_map(|base| base.to_le_bytes()));
    for (block, width) in blocks.iter().zip(widths) {
        let parts: Halves = [block.map(|one| one as u32), block.map(|one| (one >> 32) as u32)];
        for (part, width) in parts.iter().zip(halves(width)) {
            let start = bytes.len();
            bytes.resize(start + BitPacker4x::compressed_block_size(width), 0);
            BitPacker4x::new().compress(part, &mut bytes[start..], width);
        }
    }
    let start = bytes.len();
    bytes.resize(start + (rest.len() * rest_width).div_ceil(8), 0);
    for (at, number) in rest.iter().enumerate() {
        let shift = at * rest_width % 8;
        let word = u128::from(*number) << shift;
        let into = bytes[start + at * rest_width / 8..].iter_mut();
        for (byte, bits) in into.zip(word.to_le_bytes()).take((shift + rest_width).div_ceil(8)) {
            *byte |= bits;
        }
    }
    Bits::from_bytes(bytes)
}
