//! The default perfect hash, after PHast (Beling and Sanders, 2025): one seed byte for about 4.5 keys.
//!
//! A key's position along the range chooses its bucket and, in the same proportion, the stretch of slots
//! where it may land. The bucket's seed picks one of four arrangements of its keys within the stretch and
//! shifts it by 0 to 63 slots; 64 shifts are tried in one go, as the bits of a word. Buckets are placed in
//! sweeps from left to right, the fuller ones running ahead, each as far left as it fits.
//! A bucket that fits nowhere gets seed 0 and its keys, about one in a hundred, go to the next level:
//! a smaller perfect hash of the same form, whose slots are mapped to those that stayed free here.

use crate::{
    bits,
    hash::{Point, scale},
};

/// Levels after which a build gives up and asks for another hash seed; three or four are usual.
pub(crate) const LEVELS_MAX: u32 = 32;

/// Remapped slots are kept as a base every so many and packed differences between.
const RUN: usize = 32;

/// The sizes of one level, all derived from its number of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub(crate) keys: u32,
    pub(crate) buckets: u32,
    slice_shift: u32,
}

impl Level {
    /// A level of at least one key.
    #[inline]
    pub(crate) fn new(keys: u32) -> Level {
        let slice_bits = keys.ilog2().min(SLICE_BITS_MAX);
        Level { keys, buckets: buckets(keys), slice_shift: 64 - slice_bits }
    }

    #[inline]
    pub(crate) fn bucket(&self, point: Point) -> u32 {
        scale(point.along, self.buckets)
    }

    /// The slot of a key whose bucket has this seed; `None` when the bucket went to the next level.
    #[inline]
    pub(crate) fn slot(&self, point: Point, seed: u8) -> Option<u32> {
        let seed = u32::from(seed).checked_sub(1)?;
        let slot = self.position(point, seed / SHIFTS) + u64::from(seed % SHIFTS);
        Some(self.wrap(slot))
    }

    /// Where an arrangement puts a key before the bucket is shifted.
    #[inline]
    fn position(&self, point: Point, arrangement: u32) -> u64 {
        let spread = point.place.wrapping_mul(ARRANGEMENTS[arrangement as usize]);
        // A shift by 64, in a level of one key, leaves nothing.
        let within = spread.checked_shr(self.slice_shift).unwrap_or(0);
        u64::from(scale(point.along, self.keys)) + within
    }

    #[inline]
    fn wrap(&self, slot: u64) -> u32 {
        let keys = u64::from(self.keys);
        (if slot < keys { slot } else { slot % keys }) as u32
    }
}

const SLICE_BITS_MAX: u32 = 10;
const SHIFTS: u32 = 64;
const ARRANGEMENTS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03, 0x8cb9_2ba7_2f3d_8dd7, 0xaef1_7502_108e_f2d9];

/// Buckets of a level of `keys` keys: 4.5 keys each.
#[inline]
fn buckets(keys: u32) -> u32 {
    (u64::from(keys) * 2).div_ceil(9) as u32
}

/// How many buckets ahead of the emptiest a bucket of each size is placed.
const AHEAD: [i64; 12] = [0, 0, 45, 90, 135, 180, 225, 270, 315, 360, 405, 450];

/// A perfect hash built for one region.
#[derive(Default)]
pub(crate) struct Built {
    /// The keys of each level, the first being all of them.
    pub(crate) levels: Vec<u32>,
    /// The seeds of the levels, one after the other.
    pub(crate) seeds: Vec<u8>,
    /// What `remap` holds for the region; empty if no key left the first level.
    pub(crate) remap: Vec<u8>,
    /// The slot of every point, in the order of the points.
    pub(crate) slots: Vec<u32>,
}

/// Builds a perfect hash of distinct points sorted by `along`; `None` if too many levels were needed.
pub(crate) fn build(points: &[Point]) -> Option<Built> {
    let mut built = Built {
        levels: Vec::new(),
        seeds: Vec::new(),
        remap: Vec::new(),
        slots: vec![0; points.len()],
    };
    let (seeds, free) = place(points, |index, slot| built.slots[index] = slot);
    let level = Level::new(points.len() as u32);
    built.levels.push(level.keys);
    let mut left: Vec<(Point, u32)> = points
        .iter()
        .enumerate()
        .filter(|(_, point)| seeds[level.bucket(**point) as usize] == 0)
        .map(|(index, point)| (*point, index as u32))
        .collect();
    built.seeds = seeds;

    // Slots of the further levels, one range after the other, with the key that has each.
    let mut taken: Vec<Option<u32>> = Vec::new();
    for depth in 1.. {
        if left.is_empty() {
            break;
        }
        if depth == LEVELS_MAX {
            return None;
        }
        for (point, _) in &mut left {
            *point = point.again(depth);
        }
        left.sort_unstable();
        let points: Vec<Point> = left.iter().map(|(point, _)| *point).collect();
        let level = Level::new(points.len() as u32);
        let base = taken.len();
        taken.resize(base + points.len(), None);
        let (seeds, _) =
            place(&points, |index, slot| taken[base + slot as usize] = Some(left[index].1));
        left.retain(|(point, _)| seeds[level.bucket(*point) as usize] == 0);
        built.levels.push(level.keys);
        built.seeds.extend(seeds);
    }

    if !taken.is_empty() {
        let mut free = free.into_iter();
        let mut last = 0;
        let mut targets = Vec::with_capacity(taken.len());
        for key in taken {
            if let Some(key) = key {
                last = free.next().expect("as many slots are free as keys were left");
                built.slots[key as usize] = last;
            }
            targets.push(last);
        }
        built.remap = write_remap(&built.levels[1..], &targets);
    }
    Some(built)
}

/// Gives every bucket of one level a seed, tells the slot of each placed point, and returns the free slots.
fn place(points: &[Point], mut tell: impl FnMut(usize, u32)) -> (Vec<u8>, Vec<u32>) {
    let level = Level::new(points.len() as u32);
    let mut starts = Vec::with_capacity(level.buckets as usize + 1);
    let mut index = 0;
    for bucket in 0..level.buckets {
        starts.push(index as u32);
        while index < points.len() && level.bucket(points[index]) == bucket {
            index += 1;
        }
    }
    starts.push(index as u32);

    let mut seeds = vec![0; level.buckets as usize];
    let mut slots = Slots::new(level.keys);
    let fullest = AHEAD.len() - 1;
    for sweep in -AHEAD[fullest]..i64::from(level.buckets) {
        for size in (1..=fullest).rev() {
            let bucket = sweep + AHEAD[size];
            if bucket < 0 || bucket >= i64::from(level.buckets) {
                continue;
            }
            let bucket = bucket as usize;
            let range = starts[bucket] as usize..starts[bucket + 1] as usize;
            if range.len().min(fullest) != size {
                continue;
            }
            let seed = slots.best_seed(&level, &points[range.clone()]);
            seeds[bucket] = seed;
            for index in range {
                if let Some(slot) = level.slot(points[index], seed) {
                    slots.take(slot);
                    tell(index, slot);
                }
            }
        }
    }
    (seeds, slots.free())
}

/// Which slots of a level are taken. The first 64 are repeated after the end, so that a window may run over it.
struct Slots {
    words: Vec<u64>,
    count: u32,
    positions: Vec<u64>,
}

impl Slots {
    fn new(count: u32) -> Slots {
        Slots { words: vec![0; count as usize / 64 + 3], count, positions: Vec::new() }
    }

    /// The seed that puts the bucket furthest left, 0 if none fits.
    fn best_seed(&mut self, level: &Level, bucket: &[Point]) -> u8 {
        let mut best = (u64::MAX, 0);
        for arrangement in 0..ARRANGEMENTS.len() as u32 {
            let mut positions = std::mem::take(&mut self.positions);
            positions.clear();
            let mut taken = 0;
            let mut sum = 0;
            let mut apart = true;
            for &point in bucket {
                let position = u64::from(level.wrap(level.position(point, arrangement)));
                taken |= self.window(position);
                sum += position;
                apart &= !positions.contains(&position);
                positions.push(position);
            }
            self.positions = positions;
            let mut free = !taken;
            if arrangement == ARRANGEMENTS.len() as u32 - 1 {
                // Its last shift would be seed 256.
                free &= u64::MAX >> 1;
            }
            if free == 0 || !apart {
                continue;
            }
            let shift = free.trailing_zeros();
            let cost = sum + u64::from(shift) * bucket.len() as u64;
            best = best.min((cost, arrangement * SHIFTS + shift + 1));
        }
        best.1 as u8
    }

    /// 64 slots from `position` on.
    #[inline]
    fn window(&self, position: u64) -> u64 {
        let (word, bit) = ((position / 64) as usize, position % 64);
        self.words[word] >> bit | (self.words[word + 1] << 1) << (63 - bit)
    }

    fn take(&mut self, slot: u32) {
        let mut slot = slot as usize;
        while slot < self.count as usize + 64 {
            self.words[slot / 64] |= 1 << (slot % 64);
            slot += self.count as usize;
        }
    }

    fn free(&self) -> Vec<u32> {
        (0..self.count)
            .filter(|slot| self.words[*slot as usize / 64] >> (slot % 64) & 1 == 0)
            .collect()
    }
}

/// `keys of each further level u32… · width u32 · bases u32… · differences of width bits…`
fn write_remap(levels: &[u32], targets: &[u32]) -> Vec<u8> {
    let width = targets.chunks(RUN).map(|run| run[run.len() - 1] - run[0]).max().unwrap_or(0);
    let width = u32::BITS - width.leading_zeros();
    let mut out = Vec::new();
    for number in levels.iter().chain([&width]).chain(targets.iter().step_by(RUN)) {
        out.extend(number.to_le_bytes());
    }
    let mut differences = bits::Writer::default();
    for run in targets.chunks(RUN) {
        for target in run {
            differences.push(u64::from(target - run[0]), width);
        }
    }
    out.extend(differences.finish());
    out
}

/// Where in a region's `remap` the target of an index stands: the base, then the bits of the difference.
pub(crate) struct Remap {
    bases: u64,
    differences: u64,
    width: u32,
}

impl Remap {
    /// `levels` counts the further levels, `keys` their keys together.
    pub(crate) fn new(levels: u32, keys: u64, width: u32) -> Remap {
        let bases = u64::from(levels + 1) * 4;
        Remap { bases, differences: bases + keys.div_ceil(RUN as u64) * 4, width }
    }

    /// The byte of the base, the byte to read eight from, and the shift and mask of the difference therein.
    pub(crate) fn at(&self, index: u64) -> (u64, u64, u32, u64) {
        let bit = index * u64::from(self.width);
        let mask = (1u64 << self.width) - 1;
        (self.bases + index / RUN as u64 * 4, self.differences + bit / 8, (bit % 8) as u32, mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::KeyHash;

    fn points(count: u32) -> Vec<Point> {
        let mut points: Vec<Point> =
            (0..count).map(|key| KeyHash::new(&key.to_le_bytes(), 7).region(1).1).collect();
        points.sort_unstable();
        points
    }

    #[test]
    fn every_key_has_a_slot_of_its_own() {
        for count in [1, 2, 3, 4, 5, 9, 10, 63, 64, 65, 100, 1000, 1024, 5000, 100_000] {
            let built = build(&points(count)).expect("few levels");
            let mut slots = built.slots.clone();
            slots.sort_unstable();
            assert!(slots.into_iter().eq(0..count), "{count} keys");
        }
    }

    #[test]
    fn takes_less_than_two_bits_a_key() {
        let count = 262_144;
        let start = std::time::Instant::now();
        let built = build(&points(count)).expect("few levels");
        let bytes = built.seeds.len() + built.remap.len();
        let bits = bytes as f64 * 8.0 / f64::from(count);
        eprintln!(
            "{bits} bits, levels {:?}, remap {} {:?}",
            built.levels,
            built.remap.len(),
            start.elapsed()
        );
        assert!(bits < 2.5, "{bits} bits, levels {:?}", built.levels);
    }
}
