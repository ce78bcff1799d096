//! A region: the keys of one stretch of hashes, with a perfect hash, directory lines and slots of their own.
//! Cutting a table into regions keeps builds parallel and bounded in memory, with the same bytes in any case.

use crate::format::REGION;

/// Keys and repeated keys that a region has on average, at most.
pub(crate) const REGION_ENTRIES: u64 = 1 << 18;

/// Slots of a region beyond which a reader refuses it, as its arithmetic would go wrong.
const KEYS_MAX: u32 = 1 << 26;

/// An entry of the section `regions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// Where its part of `seeds` begins.
    pub(crate) seeds: u64,
    /// Where its part of `remap` begins.
    pub(crate) remap: u64,
    /// Its first line.
    pub(crate) lines: u64,
    pub(crate) keys: u32,
    /// Levels of its perfect hash.
    pub(crate) levels: u32,
}

impl Region {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.seeds.to_le_bytes());
        out.extend(self.remap.to_le_bytes());
        out.extend(self.lines.to_le_bytes());
        out.extend(self.keys.to_le_bytes());
        out.extend(self.levels.to_le_bytes());
    }

    /// `None` if it has more keys than any builder puts there.
    #[inline]
    pub(crate) fn read(bytes: &[u8; REGION as usize]) -> Option<Region> {
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_le_bytes(word)
        };
        let counts = word(3);
        let region = Region {
            seeds: word(0),
            remap: word(1),
            lines: word(2),
            keys: counts as u32,
            levels: (counts >> 32) as u32,
        };
        (region.keys <= KEYS_MAX).then_some(region)
    }
}
