//! The default perfect hash, after PHast (Beling and Sanders, 2025): one seed byte for 4.4 keys.
//!
//! A key's position along the range chooses its bucket and, in the same proportion, the slice of slots
//! where it may land. The bucket's seed picks one of 32 arrangements of its keys within the slice and
//! shifts it by 0 to 7 slots; the eight shifts are tried in one go, as bits of a byte. Buckets are placed in
//! sweeps from left to right, the fuller ones running ahead, each where it fills the slots left behind best.
//! A bucket that fits nowhere gets seed 0 and its keys, about one in a hundred, go to the next level:
//! a smaller perfect hash of the same form, whose slots are mapped to those that stayed free here.

use crate::{
    bits,
    hash::{Point, mix, scale},
};

/// Levels after which a build gives up and asks for another hash seed; three or four are usual.
pub(crate) const LEVELS_MAX: u32 = 32;

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
        let slice_bits = (keys.ilog2() / 2 + 2).min(SLICE_BITS_MAX).min(keys.ilog2());
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
        self.start(point) + self.within(point, arrangement)
    }

    /// The first slot of a key's slice.
    #[inline]
    fn start(&self, point: Point) -> u64 {
        u64::from(scale(point.along, self.keys))
    }

    #[inline]
    fn within(&self, point: Point, arrangement: u32) -> u64 {
        let spread = point.place.wrapping_mul(MULTIPLIERS[arrangement as usize]);
        // A shift by 64, in a level of one key, leaves nothing.
        spread.checked_shr(self.slice_shift).unwrap_or(0)
    }

    #[inline]
    fn wrap(&self, slot: u64) -> u32 {
        let keys = u64::from(self.keys);
        (if slot < keys { slot } else { slot % keys }) as u32
    }
}

const SLICE_BITS_MAX: u32 = 11;
const SHIFTS: u32 = 8;
const ARRANGEMENTS: u32 = 32;

/// What each arrangement multiplies a key's placing bits by.
const MULTIPLIERS: [u64; ARRANGEMENTS as usize] = {
    let mut multipliers = [0; ARRANGEMENTS as usize];
    let mut index = 0;
    while index < multipliers.len() {
        multipliers[index] = mix(index as u64 + 1) | 1;
        index += 1;
    }
    multipliers
};

/// Buckets of a level of `keys` keys: 4.4 keys each.
#[inline]
fn buckets(keys: u32) -> u32 {
    (u64::from(keys) * 5).div_ceil(22) as u32
}

/// How many buckets ahead of the emptiest a bucket of each size is placed, for slices of 2,048 slots.
const AHEAD: [i64; 13] = [0, 0, 239, 369, 428, 457, 496, 529, 558, 585, 609, 630, 649];

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
        built.remap = write_remap(level.keys, &built.levels[1..], &targets);
    }
    Some(built)
}

/// Gives every bucket of one level a seed, tells the slot of each placed point, and returns the free slots.
fn place(points: &[Point], mut tell: impl FnMut(usize, u32)) -> (Vec<u8>, Vec<u32>) {
    let level = Level::new(points.len() as u32);
    let starts = bucket_starts(&level, points);
    let slice = 1i64 << (64 - level.slice_shift);
    let ahead = AHEAD.map(|buckets| buckets * slice >> SLICE_BITS_MAX);
    let fullest = ahead.len() - 1;

    let mut seeds = vec![0; level.buckets as usize];
    let mut slots = Slots::new(level);
    for sweep in -ahead[fullest]..i64::from(level.buckets) {
        for size in (1..=fullest).rev() {
            let bucket = sweep + ahead[size];
            if bucket < 0 || bucket >= i64::from(level.buckets) {
                continue;
            }
            let bucket = bucket as usize;
            let range = starts[bucket] as usize..starts[bucket + 1] as usize;
            if range.len().min(fullest) != size {
                continue;
            }
            let seed = slots.best_seed(&points[range.clone()]);
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

/// Where each bucket begins among the sorted points, and where the last one ends.
fn bucket_starts(level: &Level, points: &[Point]) -> Vec<u32> {
    let mut starts = vec![0; level.buckets as usize + 1];
    for point in points {
        starts[level.bucket(*point) as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}

/// Which slots of a level are taken, a bit each. The first ones are repeated after the end,
/// so that a window may run over it.
struct Slots {
    level: Level,
    taken: Vec<u8>,
    /// What it costs to take a slot so far from the beginning of the slice: the less the nearer,
    /// and most so at the very beginning, which few of the buckets to come can reach.
    costs: Vec<u64>,
    starts: Vec<(u64, Point)>,
    positions: Vec<u64>,
}

impl Slots {
    fn new(level: Level) -> Slots {
        let reach = (1u64 << (64 - level.slice_shift)) + 64;
        Slots {
            level,
            taken: vec![0; level.keys as usize / 8 + 3],
            costs: (1..=reach).map(|distance| (distance << 32).isqrt()).collect(),
            starts: Vec::new(),
            positions: Vec::new(),
        }
    }

    /// The seed under which the bucket costs least, 0 if it fits under none.
    fn best_seed(&mut self, bucket: &[Point]) -> u8 {
        let level = self.level;
        self.starts.clear();
        self.starts.extend(bucket.iter().map(|point| (level.start(*point), *point)));
        let mut best = (u64::MAX, 0);
        'arrangements: for arrangement in 0..ARRANGEMENTS {
            // The last shift of the last arrangement would be seed 256.
            let mut taken = if arrangement == ARRANGEMENTS - 1 { 0x80 } else { 0 };
            self.positions.clear();
            for (start, point) in &self.starts {
                let position = u64::from(level.wrap(start + level.within(*point, arrangement)));
                self.positions.push(position);
                taken |= window(&self.taken, position);
                if taken == 0xff {
                    continue 'arrangements;
                }
            }
            let shift = u64::from(taken.trailing_ones());
            let cost = self.cost(shift);
            if cost < best.0 && are_distinct(&self.positions) {
                best = (cost, arrangement * SHIFTS + shift as u32 + 1);
            }
        }
        best.1 as u8
    }

    fn cost(&self, shift: u64) -> u64 {
        let keys = u64::from(self.level.keys);
        let first = self.starts.first().map_or(0, |(start, _)| *start);
        let costs = self.positions.iter().map(|position| {
            let slot = position + shift;
            let distance = if slot < first { slot + keys - first } else { slot - first };
            self.costs[(distance as usize).min(self.costs.len() - 1)]
        });
        costs.sum()
    }

    fn take(&mut self, slot: u32) {
        let mut slot = slot as usize;
        while slot < self.level.keys as usize + 8 {
            self.taken[slot / 8] |= 1 << (slot % 8);
            slot += self.level.keys as usize;
        }
    }

    fn free(&self) -> Vec<u32> {
        let free = |slot: &u32| self.taken[*slot as usize / 8] >> (slot % 8) & 1 == 0;
        (0..self.level.keys).filter(free).collect()
    }
}

/// Eight slots from `position` on.
#[inline]
fn window(taken: &[u8], position: u64) -> u8 {
    let byte = (position / 8) as usize;
    (u16::from_le_bytes([taken[byte], taken[byte + 1]]) >> (position % 8)) as u8
}

fn are_distinct(positions: &[u64]) -> bool {
    positions.iter().enumerate().all(|(index, position)| !positions[..index].contains(position))
}

/// `keys of each further level u32… · width u32 · samples u32… · high bits u64… · low bits…`:
/// an Elias–Fano list of the slots that further levels map to, with the place of every 64th one among the high bits.
fn write_remap(keys: u32, levels: &[u32], targets: &[u32]) -> Vec<u8> {
    let width = Remap::width(keys, targets.len() as u64);
    let remap = Remap::new(levels.len() as u32, keys, targets.len() as u64);
    let mut samples = Vec::new();
    let mut high = vec![0u64; ((remap.low - remap.high) / 8) as usize];
    let mut low = bits::Writer::default();
    for (index, target) in targets.iter().enumerate() {
        let position = (target >> width) as usize + index;
        high[position / 64] |= 1 << (position % 64);
        if index % SAMPLE as usize == 0 {
            samples.push(position as u32);
        }
        low.push(u64::from(target & ((1 << width) - 1)), width);
    }
    let mut out: Vec<u8> =
        levels.iter().chain(&samples).flat_map(|number| number.to_le_bytes()).collect();
    out.resize(remap.high as usize, 0);
    out.extend(high.iter().flat_map(|word| word.to_le_bytes()));
    out.extend(low.finish());
    out
}

const SAMPLE: u64 = 64;

/// Where the parts of a region's `remap` stand, all derived from the number of keys.
pub(crate) struct Remap {
    pub(crate) width: u32,
    pub(crate) samples: u64,
    pub(crate) high: u64,
    pub(crate) low: u64,
}

impl Remap {
    /// `further` counts the levels below the first, `targets` their keys together, `keys` those of the first.
    pub(crate) fn new(further: u32, keys: u32, targets: u64) -> Remap {
        let width = Remap::width(keys, targets);
        let samples = u64::from(further) * 4;
        let high = (samples + targets.div_ceil(SAMPLE) * 4).next_multiple_of(8);
        let words = (targets + u64::from(keys >> width)) / 64 + 1;
        Remap { width, samples, high, low: high + words * 8 }
    }

    /// The low bits of each target.
    fn width(keys: u32, targets: u64) -> u32 {
        (u64::from(keys) / targets.max(1)).max(1).ilog2()
    }

    /// The byte of the sample before an index, and how many ones lie between.
    pub(crate) fn sample(&self, index: u64) -> (u64, u32) {
        (self.samples + index / SAMPLE * 4, (index % SAMPLE) as u32)
    }

    /// The byte from which eight hold the low bits of an index, their shift and their mask.
    pub(crate) fn low_bits(&self, index: u64) -> (u64, u32, u64) {
        let bit = index * u64::from(self.width);
        (self.low + bit / 8, (bit % 8) as u32, (1 << self.width) - 1)
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
        assert!(bits < 1.97, "{bits} bits, levels {:?}", built.levels);
    }
}
