//! The perfect hash on its own, in memory: a distinct number below n for each of n keys, and nothing stored of them.

use crate::{
    BuildError,
    hash::{KeyHash, Point, SEEDS},
    phast::{self, Level},
    region::REGION_ENTRIES,
};

/// A minimal perfect hash of a set of keys: about 1.93 bits a key.
///
/// ```
/// let keys = ["red", "green", "blue"];
/// let hash = sakuin_pack::PerfectHash::build(keys)?;
/// let mut indexes = keys.map(|key| hash.index(key));
/// indexes.sort();
/// assert_eq!(indexes, [0, 1, 2]);
/// # Ok::<(), sakuin_pack::BuildError>(())
/// ```
pub struct PerfectHash {
    seed: u64,
    regions: Vec<PerfectRegion>,
    seeds: Vec<u8>,
    remap: Vec<u8>,
}

#[derive(Clone, Copy)]
struct PerfectRegion {
    slots: u64,
    seeds: u64,
    remap: u64,
    keys: u32,
    levels: u32,
}

impl PerfectHash {
    /// Builds the perfect hash of distinct keys on one thread. Needs 16 bytes of memory for each.
    pub fn build<K: AsRef<[u8]>>(
        keys: impl IntoIterator<Item = K, IntoIter: ExactSizeIterator>,
    ) -> Result<PerfectHash, BuildError> {
        let seed = SEEDS[0];
        let hashes = keys.into_iter().map(|key| KeyHash::new(key.as_ref(), seed));
        let regions = (hashes.len() as u64).div_ceil(REGION_ENTRIES) as u32;
        let mut hash =
            PerfectHash { seed, regions: Vec::new(), seeds: Vec::new(), remap: Vec::new() };
        let mut slots = 0;
        for points in by_region(hashes, regions) {
            let region = PerfectRegion {
                slots,
                seeds: hash.seeds.len() as u64,
                remap: hash.remap.len() as u64,
                keys: points.len() as u32,
                levels: 0,
            };
            slots += points.len() as u64;
            let built = match points.is_empty() {
                true => phast::Built::default(),
                false => phast::build(&points).ok_or(BuildError::NoPerfectHash)?,
            };
            hash.seeds.extend(built.seeds);
            hash.remap.extend(built.remap);
            hash.regions.push(PerfectRegion { levels: built.levels.len() as u32, ..region });
        }
        Ok(hash)
    }

    /// The number of one of the keys; of any other key, any number below n.
    #[inline]
    pub fn index(&self, key: impl AsRef<[u8]>) -> u64 {
        let (region, point) =
            KeyHash::new(key.as_ref(), self.seed).region(self.regions.len() as u32);
        let Some(region) = self.regions.get(region as usize).filter(|region| region.keys > 0)
        else {
            return 0;
        };
        let level = Level::new(region.keys);
        let seed = self.seeds[(region.seeds + u64::from(level.bucket(point))) as usize];
        let slot = level.slot(point, seed).unwrap_or_else(|| self.lower_slot(region, point));
        region.slots + u64::from(slot)
    }

    /// Bits of memory for each key.
    pub fn bits_per_key(&self) -> f64 {
        let keys: u64 = self.regions.iter().map(|region| u64::from(region.keys)).sum();
        let regions = self.regions.len() * size_of::<PerfectRegion>();
        (self.seeds.len() + self.remap.len() + regions) as f64 * 8.0 / keys.max(1) as f64
    }

    #[cold]
    fn lower_slot(&self, region: &PerfectRegion, point: Point) -> u32 {
        let seeds = &self.seeds[region.seeds as usize..];
        let remap = &self.remap[region.remap as usize..];
        let word_at = |at: u64| {
            let bytes = remap.get(at as usize..).and_then(|rest| rest.first_chunk());
            bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(())
        };
        let seed_at = |at: u64| seeds.get(at as usize).copied().ok_or(());
        let slot = phast::lower_slot(point, region.keys, region.levels, seed_at, word_at);
        slot.ok().flatten().unwrap_or(0)
    }
}

/// The points of each region.
fn by_region(hashes: impl ExactSizeIterator<Item = KeyHash>, regions: u32) -> Vec<Vec<Point>> {
    // A little more than the average, since regions differ.
    let each = hashes.len() / regions.max(1) as usize;
    let room = each + each.isqrt() * 4;
    let mut points: Vec<Vec<Point>> = (0..regions).map(|_| Vec::with_capacity(room)).collect();
    for hash in hashes {
        let (region, point) = hash.region(regions);
        points[region as usize].push(point);
    }
    points
}
