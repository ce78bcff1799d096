//! The vectors of 64 neighbouring records: as they are, and as codes of a byte a number that say within a known bound
//! how near each is.
//!
//! A vector `x` has the codes `c` and a scale `s`, so that `s·c` is about `x`. How far off that is, `‖x − s·c‖`, is
//! kept with it and rounded up: by Cauchy and Schwarz no product with `x` can be further off than that allows. The
//! vectors themselves lie in blocks of some 8 KB with counters of their own. So a change of one copies its block and
//! the codes of its page, and a change of anything else copies none.

use std::{array, sync::Arc};

use crate::{rows::SLOTS, value::Cell};

/// The vectors of up to 64 records.
#[derive(Clone)]
pub(crate) struct VectorPage {
    dimensions: usize,
    blocks: Box<[Option<Arc<[f32]>>]>,
    codes: Codes,
}

/// What is known of the vectors of a page without looking at them.
#[derive(Clone)]
pub(crate) struct Codes {
    /// Which slots have a vector.
    pub(crate) present: u64,
    /// Of those, which are too long or too short for codes to say anything.
    pub(crate) wild: u64,
    /// Of those, which are nothing but zeros.
    pub(crate) zero: u64,
    pub(crate) scales: [f32; SLOTS],
    /// Lengths, rounded up.
    pub(crate) norms: [f32; SLOTS],
    /// How far off the codes are, rounded up.
    pub(crate) residuals: [f32; SLOTS],
    pub(crate) steps: Box<[Step]>,
}

/// Four codes of each vector of a page, 128 added to each: codes are from -127 to 127, and one instruction multiplies
/// unsigned bytes by signed ones.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Step(pub(crate) [[u8; 4]; SLOTS]);

/// What is added to a code.
pub(crate) const BIAS: i32 = 128;

/// The greatest code.
const MOST: f32 = 127.0;

/// Numbers in a block.
const BLOCK: usize = 2048;

/// Codes of a vector, and how good they are.
pub(crate) struct Coded {
    /// From -127 to 127.
    pub(crate) codes: Vec<i8>,
    pub(crate) scale: f32,
    pub(crate) norm: f64,
    pub(crate) residual: f64,
}

impl VectorPage {
    pub(crate) fn new(dimensions: usize) -> VectorPage {
        let steps = vec![Step([[0; 4]; SLOTS]); dimensions.div_ceil(4)].into();
        let codes = Codes {
            present: 0,
            wild: 0,
            zero: 0,
            scales: [0.0; SLOTS],
            norms: [0.0; SLOTS],
            residuals: [0.0; SLOTS],
            steps,
        };
        let blocks = vec![None; SLOTS / rows_of_block(dimensions)].into();
        VectorPage { dimensions, blocks, codes }
    }

    pub(crate) fn codes(&self) -> &Codes {
        &self.codes
    }

    pub(crate) fn get(&self, slot: usize) -> Option<&[f32]> {
        if self.codes.present & (1 << slot) == 0 {
            return None;
        }
        let (block, from) = self.place(slot);
        Some(&self.blocks[block].as_ref()?[from..from + self.dimensions])
    }

    /// Puts a vector in, given as it is kept in a cell.
    pub(crate) fn set(&mut self, slot: usize, bytes: &[u8]) {
        let (block, from) = self.place(slot);
        let length = self.dimensions * rows_of_block(self.dimensions);
        let block = self.blocks[block].get_or_insert_with(|| vec![0.0; length].into());
        let vector = &mut Arc::make_mut(block)[from..from + self.dimensions];
        for (number, bytes) in vector.iter_mut().zip(bytes.as_chunks().0) {
            *number = f32::from_le_bytes(*bytes);
        }
        self.codes.set(slot, vector);
    }

    pub(crate) fn remove(&mut self, slot: usize) {
        self.codes.mark(slot, false, false, false);
        let (block, _) = self.place(slot);
        let rows = rows_of_block(self.dimensions);
        let others = (u64::MAX >> (SLOTS - rows)) << (block * rows);
        if self.codes.present & others == 0 {
            self.blocks[block] = None;
        }
    }

    fn place(&self, slot: usize) -> (usize, usize) {
        let rows = rows_of_block(self.dimensions);
        (slot / rows, slot % rows * self.dimensions)
    }
}

/// Vectors in a block: a power of two, up to a page's.
fn rows_of_block(dimensions: usize) -> usize {
    let most = (BLOCK / dimensions.max(1)).clamp(1, SLOTS);
    1 << most.ilog2()
}

impl Codes {
    fn set(&mut self, slot: usize, vector: &[f32]) {
        let coded = Coded::of(vector.iter().map(|number| f64::from(*number)));
        for (step, codes) in self.steps.iter_mut().zip(coded.codes.chunks(4)) {
            step.0[slot] = array::from_fn(|at| biased(codes.get(at).copied().unwrap_or(0)));
        }
        self.scales[slot] = coded.scale;
        self.norms[slot] = up(coded.norm);
        self.residuals[slot] = up(coded.residual);
        let is_zero = coded.norm == 0.0;
        self.mark(slot, true, !is_zero && !coded.is_tame(), is_zero);
    }

    fn mark(&mut self, slot: usize, is_present: bool, is_wild: bool, is_zero: bool) {
        let marks =
            [(&mut self.present, is_present), (&mut self.wild, is_wild), (&mut self.zero, is_zero)];
        for (mask, is) in marks {
            *mask = *mask & !(1 << slot) | u64::from(is) << slot;
        }
    }
}

impl Coded {
    pub(crate) fn of(vector: impl Iterator<Item = f64> + Clone) -> Coded {
        let most = vector.clone().fold(0.0f64, |most, number| most.max(number.abs()));
        let scale = (most / f64::from(MOST)) as f32;
        let kept = f64::from(scale);
        let inverse = if scale == 0.0 { 0.0 } else { 1.0 / kept };
        let (mut squares, mut off) = (0.0, 0.0);
        let codes = vector.map(|number| {
            let code = nearest_code(number * inverse);
            let rest = number - kept * f64::from(code);
            squares += number * number;
            off += rest * rest;
            code
        });
        let codes = codes.collect();
        Coded { codes, scale, norm: squares.sqrt(), residual: off.sqrt() }
    }

    /// Whether the arithmetic of bounds, in 32 bits, neither overflows nor vanishes.
    pub(crate) fn is_tame(&self) -> bool {
        (TAME.recip()..=TAME).contains(&self.norm)
    }
}

const TAME: f64 = (1u64 << 40) as f64;

fn nearest_code(number: f64) -> i8 {
    // Towards zero from what is above it: rounding, without a call.
    let most = f64::from(MOST);
    ((number.clamp(-most, most) + 128.5) as i32 - BIAS) as i8
}

fn biased(code: i8) -> u8 {
    (i32::from(code) + BIAS) as u8
}

/// At least this, and hardly more.
fn up(number: f64) -> f32 {
    let near = number as f32;
    if f64::from(near) < number { near.next_up() } else { near }
}

/// Whether a vector is what a cell holds.
pub(crate) fn is_equal(vector: &[f32], bytes: &[u8]) -> bool {
    let (numbers, _) = bytes.as_chunks();
    let same = |(number, bytes): (&f32, &[u8; 4])| number.to_le_bytes() == *bytes;
    vector.len() == numbers.len() && vector.iter().zip(numbers).all(same)
}

/// The vector that a cell holds.
pub(crate) fn of_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect()
}

/// A vector as a cell holds it.
pub(crate) fn cell(vector: &[f32]) -> Cell {
    let mut bytes = vec![0; vector.len() * 4];
    for (bytes, number) in bytes.as_chunks_mut().0.iter_mut().zip(vector) {
        *bytes = number.to_le_bytes();
    }
    Cell::Blob(bytes.into())
}
