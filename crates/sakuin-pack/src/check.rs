//! The sums of a file. Each 64 KiB block is checked at first touch and remembered in one byte.
//! Once a block is found damaged, all bytes are cleared and every later read comes here to be refused,
//! so that a good block costs one relaxed load and nothing else.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::{
    format::{BLOCK, Header, PAGE, SUMS},
    hash,
};

pub(crate) struct Checked {
    /// Where the sums of the blocks begin, and so where the last block ends.
    sums: u64,
    blocks: u64,
    /// For every block, then for every block of sums.
    good: Box<[AtomicBool]>,
    bad: OnceLock<u64>,
}

impl Checked {
    pub(crate) fn new(header: &Header) -> Checked {
        let sums = header.section(SUMS).map_or(0, |section| section.offset);
        let (blocks, tops) = header.sum_counts(sums);
        let good = (0..blocks + tops).map(|_| AtomicBool::new(false)).collect();
        Checked { sums, blocks, good, bad: OnceLock::new() }
    }

    /// Checks the blocks of a stretch inside the file; the first damaged block otherwise.
    #[inline]
    pub(crate) fn touch(&self, file: &[u8], start: u64, end: u64) -> Result<(), u64> {
        if start / BLOCK == end / BLOCK && self.is_good(start / BLOCK) {
            return Ok(());
        }
        self.blocks(file, start / BLOCK, end.saturating_sub(1).max(start) / BLOCK)
    }

    /// Checks the block of one place.
    #[inline]
    pub(crate) fn touch_one(&self, file: &[u8], at: u64) -> Result<(), u64> {
        let block = at / BLOCK;
        if self.is_good(block) { Ok(()) } else { self.blocks(file, block, block) }
    }

    #[inline(never)]
    fn blocks(&self, file: &[u8], first: u64, last: u64) -> Result<(), u64> {
        // A section of another crate is touched whole, and mostly is known to be good.
        let good = self.good.get(first as usize..=last as usize);
        if good.is_some_and(|good| good.iter().all(|good| good.load(Relaxed))) {
            return Ok(());
        }
        (first..=last.min(self.blocks - 1)).try_for_each(|block| self.block(file, block))
    }

    pub(crate) fn all(&self, file: &[u8]) -> Result<(), u64> {
        (0..self.blocks).try_for_each(|block| self.block(file, block))
    }

    #[inline]
    fn is_good(&self, block: u64) -> bool {
        self.good.get(block as usize).is_some_and(|good| good.load(Relaxed))
    }

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
        self.good[block as usize].store(true, Relaxed);
        self.good[(self.blocks + top) as usize].store(true, Relaxed);
        if self.bad.get().is_some() {
            // Another thread found a damaged block meanwhile; leave nothing set behind it.
            self.clear();
        }
        Ok(())
    }

    fn clear(&self) {
        self.good.iter().for_each(|good| good.store(false, Relaxed));
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
