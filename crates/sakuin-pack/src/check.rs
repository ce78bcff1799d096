//! The sums of a file. Each 64 KiB block is checked at first touch and remembered in one bit.
//! Once a block is found damaged, all bits are cleared and every later read comes here to be refused,
//! so that a good block costs one relaxed load and nothing else.

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    format::{BLOCK, Header, PAGE, SUMS},
    hash,
};

pub(crate) struct Checked {
    /// Where the sums of the blocks begin, and so where the last block ends.
    sums: u64,
    blocks: u64,
    /// A bit for every block, then one for every block of sums.
    good: Box<[AtomicU64]>,
    bad: OnceLock<u64>,
}

impl Checked {
    pub(crate) fn new(header: &Header) -> Checked {
        let sums = header.section(SUMS).map_or(0, |section| section.offset);
        let (blocks, tops) = header.sum_counts(sums);
        let good = (0..(blocks + tops).div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Checked { sums, blocks, good, bad: OnceLock::new() }
    }

    /// Checks the blocks of a stretch inside the file; the first damaged block otherwise.
    #[inline]
    pub(crate) fn touch(&self, file: &[u8], start: u64, end: u64) -> Result<(), u64> {
        let (first, last) = (start / BLOCK, end.saturating_sub(1) / BLOCK);
        if self.is_good(first) && (last <= first || self.is_good(last) && last == first + 1) {
            return Ok(());
        }
        (first..=last.max(first)).try_for_each(|block| self.block(file, block))
    }

    pub(crate) fn all(&self, file: &[u8]) -> Result<(), u64> {
        (0..self.blocks).try_for_each(|block| self.block(file, block))
    }

    #[inline]
    fn is_good(&self, bit: u64) -> bool {
        let word = self.good.get((bit / 64) as usize);
        word.is_some_and(|word| word.load(Relaxed) >> (bit % 64) & 1 != 0)
    }

    #[cold]
    fn block(&self, file: &[u8], block: u64) -> Result<(), u64> {
        if let Some(bad) = self.bad.get() {
            return Err(*bad);
        }
        if self.is_good(block) {
            return Ok(());
        }
        // The sums are checked by blocks too, against the last sums of the file, which were checked at open.
        let top = block / (BLOCK / 8);
        let tops = self.sums + self.blocks * 8;
        let start = self.sums + top * BLOCK;
        let good = (self.is_good(self.blocks + top)
            || self.matches(file, start, (start + BLOCK).min(tops), tops + top * 8))
            && self.matches(
                file,
                (block * BLOCK).max(PAGE as u64),
                ((block + 1) * BLOCK).min(self.sums),
                self.sums + block * 8,
            );
        if !good {
            let bad = *self.bad.get_or_init(|| block);
            self.clear();
            return Err(bad);
        }
        for bit in [block, self.blocks + top] {
            self.good[(bit / 64) as usize].fetch_or(1 << (bit % 64), Relaxed);
        }
        if self.bad.get().is_some() {
            // Another thread found a damaged block meanwhile; leave no bit set behind it.
            self.clear();
        }
        Ok(())
    }

    fn clear(&self) {
        self.good.iter().for_each(|word| word.store(0, Relaxed));
    }

    fn matches(&self, file: &[u8], start: u64, end: u64, sum: u64) -> bool {
        let bytes = file.get(start as usize..end.max(start) as usize);
        let stored = file.get(sum as usize..).and_then(|rest| rest.first_chunk::<8>());
        match (bytes, stored) {
            (Some(bytes), Some(stored)) => hash::sum(bytes) == u64::from_le_bytes(*stored),
            _ => false,
        }
    }
}
