//! The default perfect hash, after PHast (Beling and Sanders, 2025): one seed byte for 4.5 keys.
//!
//! A key's position along the range chooses its bucket and, in the same proportion, the slice of slots
//! where it may land. The bucket's seed picks one of 32 arrangements of its keys within the slice and
//! shifts it by 0 to 7 slots; the eight shifts are tried in one go, as bits of a byte. Buckets are placed in
//! sweeps from left to right, the fuller ones running ahead, each where it fills the slots left behind best.
//! A bucket that fits nowhere gets seed 0 and its keys, about one in a hundred, go to the next level:
//! a smaller perfect hash of the same form, whose slots are mapped to those that stayed free here.

use crate::{
    bits::{self, nth_one},
    hash::{Point, mix, scale},
};

/// Levels after which a build gives up and asks for another hash seed; three or four are usual.
const LEVELS_MAX: u32 = 32;

/// The sizes of one level, all derived from its number of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub(crate) keys: u32,
    pub(crate) buckets: u32,
    slice_shift: u32,
}

impl Level {
    /// A level of at least one key; one of none has no buckets to ask for.
    #[inline]
    pub(crate) fn new(keys: u32) -> Level {
        let log = keys.max(1).ilog2();
        let slice_bits = (log / 2 + 2).min(SLICE_BITS_MAX).min(log).max(1);
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
        self.start(point) + self.within(point.place, arrangement)
    }

    /// The first slot of a key's slice.
    #[inline]
    fn start(&self, point: Point) -> u64 {
        u64::from(scale(point.along, self.keys))
    }

    #[inline]
    fn within(&self, place: u64, arrangement: u32) -> u64 {
        place.wrapping_mul(MULTIPLIERS[arrangement as usize]) >> self.slice_shift
    }

    fn slice(&self) -> u64 {
        1 << (64 - self.slice_shift)
    }

    /// How far a slot may lie from the beginning of a key's slice.
    fn reach(&self) -> u64 {
        self.slice() + u64::from(SHIFTS)
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

/// Buckets of a level of `keys` keys: 4.5 keys each.
#[inline]
fn buckets(keys: u32) -> u32 {
    (u64::from(keys) * 2).div_ceil(9) as u32
}

/// How many buckets ahead of the emptiest a bucket of each size is placed, for slices of 2,048 slots.
const AHEAD: [u32; 13] = [0, 0, 239, 369, 428, 457, 496, 529, 558, 585, 609, 630, 649];

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

/// Builds a perfect hash of distinct points, in any order; `None` if too many levels were needed.
pub(crate) fn build(points: &[Point]) -> Option<Built> {
    let mut slots = vec![0; points.len()];
    let level = Level::new(points.len() as u32);
    let mut left = Vec::new();
    let (seeds, free) = place(level, points, |index, slot| match slot {
        Some(slot) => slots[index] = slot,
        None => left.push((points[index], index as u32)),
    });
    let mut built = Built { levels: vec![level.keys], seeds, remap: Vec::new(), slots };

    // Slots of the further levels, one range after the other, with the key that has each.
    let mut taken: Vec<Option<u32>> = Vec::new();
    for depth in 1.. {
        if left.is_empty() {
            break;
        }
        if depth == LEVELS_MAX {
            return None;
        }
        let points: Vec<Point> = left.iter().map(|(point, _)| point.again(depth)).collect();
        let level = Level::new(points.len() as u32);
        let base = taken.len();
        taken.resize(base + points.len(), None);
        let mut still_left = Vec::new();
        let (seeds, _) = place(level, &points, |index, slot| match slot {
            Some(slot) => taken[base + slot as usize] = Some(left[index].1),
            None => still_left.push((points[index], left[index].1)),
        });
        left = still_left;
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

/// Gives every bucket of one level a seed, tells the slot of each point or that it has none,
/// and returns the seeds and the free slots.
fn place(
    level: Level,
    points: &[Point],
    mut tell: impl FnMut(usize, Option<u32>),
) -> (Vec<u8>, Vec<u32>) {
    let indexed = points.iter().copied().zip(0..points.len() as u32);
    let (starts, order) =
        grouped(level.buckets as usize, indexed, |(point, _)| level.bucket(*point) as usize);
    let keys = |bucket: u32| {
        let bucket = bucket as usize;
        &order[starts[bucket] as usize..starts[bucket + 1] as usize]
    };
    let ahead = AHEAD.map(|buckets| (buckets * level.slice() as u32) >> SLICE_BITS_MAX);
    let (farthest, buckets) = (ahead[AHEAD.len() - 1], level.buckets);
    // The buckets of each sweep, from the last to the first, which is from the fullest to the emptiest.
    let sweep = |bucket: &u32| {
        let size = keys(*bucket).len().min(AHEAD.len() - 1);
        (bucket + farthest - ahead[size]) as usize
    };
    let (sweeps, turns) = grouped((buckets + farthest) as usize, (0..buckets).rev(), sweep);
    let from_sweep = |sweep: u32| turns[sweeps[sweep as usize] as usize..].iter().copied();

    // Slices at the end run over to the beginning, where the first buckets, finding all free, would leave them nothing.
    // So the last buckets are placed once for trial, and what they take at the beginning is kept for them.
    let lap = farthest + (level.reach() * u64::from(buckets) / u64::from(level.keys)) as u32 + 1;
    let mut kept = Vec::new();
    if buckets > 4 * lap {
        let mut trial = Slots::new(level);
        let from = buckets - lap - lap / 2;
        for bucket in from_sweep(from).filter(|bucket| *bucket >= from) {
            let seed = trial.best_seed(keys(bucket));
            let slots = keys(bucket).iter().filter_map(|(point, _)| level.slot(*point, seed));
            slots.for_each(|slot| trial.take(slot));
        }
        kept.extend((0..level.reach() as u32).filter(|slot| trial.is_taken(*slot)));
    }

    let mut seeds = vec![0; buckets as usize];
    let mut slots = Slots::new(level);
    kept.iter().for_each(|slot| slots.take(*slot));
    let release = (farthest + buckets).saturating_sub(lap) as usize;
    for (turn, bucket) in from_sweep(0).enumerate() {
        if turn == sweeps[release] as usize {
            kept.iter().for_each(|slot| slots.release(*slot));
        }
        let seed = slots.best_seed(keys(bucket));
        seeds[bucket as usize] = seed;
        for (point, index) in keys(bucket) {
            let slot = level.slot(*point, seed);
            if let Some(slot) = slot {
                slots.take(slot);
            }
            tell(*index as usize, slot);
        }
    }
    (seeds, slots.free())
}

/// Where each group begins, where the last one ends, and the items by group, otherwise in their order.
fn grouped<T: Copy + Default>(
    groups: usize,
    items: impl ExactSizeIterator<Item = T> + Clone,
    group: impl Fn(&T) -> usize,
) -> (Vec<u32>, Vec<T>) {
    // Counts shifted by two become, while the items are dealt out, the starts shifted by one.
    let mut starts = vec![0; groups + 2];
    for item in items.clone() {
        starts[group(&item) + 2] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut order = vec![T::default(); items.len()];
    for item in items {
        let next = &mut starts[group(&item) + 1];
        order[*next as usize] = item;
        *next += 1;
    }
    starts.pop();
    (starts, order)
}

/// Which slots of a level are taken, and what is needed again for each bucket.
struct Slots {
    level: Level,
    /// Bit b of byte i + 7 says whether slot i + b is taken, so that one byte shows all shifts of a key.
    /// Slots stand again after the last one, as often as slices run over the end.
    taken: Vec<u8>,
    /// What it costs to take a slot so far from the beginning of the slice: the less the nearer,
    /// and most so at the very beginning, which few of the buckets to come can reach.
    costs: Box<[u32; SLICE_MAX * 2]>,
    /// For each key of a bucket where its slice begins, and how far into it each arrangement puts the key.
    keys: Vec<(u32, [u16; ARRANGEMENTS as usize])>,
}

const SLICE_MAX: usize = 1 << SLICE_BITS_MAX;

/// What each shift adds to a key's cost: about what it does in the middle of the slice.
const SHIFT_COST: u32 = 90;

/// The bits of eight bytes in a row that stand for one slot.
const ONE_SLOT: u64 = 0x0102_0408_1020_4080;

impl Slots {
    fn new(level: Level) -> Slots {
        let mut costs = Box::new([0; SLICE_MAX * 2]);
        for (distance, cost) in (1u64..).zip(costs.iter_mut()) {
            *cost = (distance << 24).isqrt() as u32;
        }
        let taken = vec![0; level.keys as usize + SLICE_MAX + 2 * SHIFTS as usize];
        Slots { level, taken, costs, keys: Vec::new() }
    }

    /// The seed under which the bucket costs least, 0 if it fits under none.
    fn best_seed(&mut self, bucket: &[(Point, u32)]) -> u8 {
        if bucket.is_empty() {
            return 0;
        }
        self.keys.resize(bucket.len(), (0, [0; ARRANGEMENTS as usize]));
        // For each arrangement, the shifts that it does not fit with.
        let mut taken = [0u8; ARRANGEMENTS as usize];
        // The last shift of the last arrangement would be seed 256.
        taken[ARRANGEMENTS as usize - 1] = 1 << (SHIFTS - 1);
        let mut first = u32::MAX;
        for ((point, _), (start, all_within)) in bucket.iter().zip(&mut self.keys) {
            *start = self.level.start(*point) as u32;
            first = first.min(*start);
            let Some(slice) = self.taken[*start as usize + 7..].first_chunk::<SLICE_MAX>() else {
                return 0;
            };
            for (arrangement, taken) in taken.iter_mut().enumerate() {
                let within = self.level.within(point.place, arrangement as u32) as usize;
                *taken |= slice[within % SLICE_MAX];
                all_within[arrangement] = within as u16;
            }
        }

        let mut fitting = 0u32;
        for (arrangement, taken) in taken.iter().enumerate() {
            fitting |= u32::from(*taken != u8::MAX) << arrangement;
        }
        self.keys.iter_mut().for_each(|(start, _)| *start -= first);
        let step = SHIFT_COST * bucket.len() as u32;
        loop {
            let (mut best, mut rest) = (u64::MAX, fitting);
            while rest != 0 {
                let arrangement = rest.trailing_zeros();
                rest &= rest - 1;
                let shift = taken[arrangement as usize].trailing_ones();
                let cost = self.keys.iter().map(|(start, within)| {
                    let distance = *start as usize + usize::from(within[arrangement as usize]);
                    self.costs[distance % (SLICE_MAX * 2)]
                });
                let cost = cost.sum::<u32>() + shift * step;
                let seed = arrangement * SHIFTS + shift + 1;
                best = best.min(u64::from(cost) << 8 | u64::from(seed));
            }
            if best == u64::MAX {
                return 0;
            }
            let arrangement = (best as u8 - 1) as u32 / SHIFTS;
            if self.are_apart(first, arrangement as usize) {
                return best as u8;
            }
            fitting &= !(1 << arrangement);
        }
    }

    /// Whether an arrangement gives the keys of a bucket slots of their own.
    fn are_apart(&self, first: u32, arrangement: usize) -> bool {
        let slot = |(start, within): &(u32, [u16; ARRANGEMENTS as usize])| {
            self.level.wrap(u64::from(first) + u64::from(*start) + u64::from(within[arrangement]))
        };
        let apart = |(index, key)| self.keys[..index].iter().all(|other| slot(other) != slot(key));
        self.keys.iter().enumerate().all(apart)
    }

    fn take(&mut self, slot: u32) {
        self.each_copy(slot, |eight| eight | ONE_SLOT);
    }

    fn release(&mut self, slot: u32) {
        self.each_copy(slot, |eight| eight & !ONE_SLOT);
    }

    fn is_taken(&self, slot: u32) -> bool {
        self.taken[slot as usize + 7] & 1 != 0
    }

    /// Changes the eight bytes that show a slot, wherever it stands.
    fn each_copy(&mut self, slot: u32, change: impl Fn(u64) -> u64) {
        let end = u64::from(self.level.keys) + self.level.reach();
        for slot in (u64::from(slot)..end).step_by(self.level.keys as usize) {
            if let Some(bytes) = self.taken[slot as usize..].first_chunk_mut() {
                *bytes = change(u64::from_le_bytes(*bytes)).to_le_bytes();
            }
        }
    }

    fn free(&self) -> Vec<u32> {
        (0..self.level.keys).filter(|slot| !self.is_taken(*slot)).collect()
    }
}

/// `keys of each further level u32… · width u32 · samples u32… · high bits u64… · low bits…`:
/// an Elias–Fano list of the slots that further levels map to, with the place of every 64th one among the high bits.
fn write_remap(keys: u32, levels: &[u32], targets: &[u32]) -> Vec<u8> {
    let remap = Remap::new(levels.len() as u32, keys, targets.len() as u64);
    let width = remap.width;
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
struct Remap {
    width: u32,
    samples: u64,
    high: u64,
    low: u64,
}

impl Remap {
    /// `further` counts the levels below the first, `targets` their keys together, `keys` those of the first.
    fn new(further: u32, keys: u32, targets: u64) -> Remap {
        let width = (u64::from(keys) / targets.max(1)).max(1).ilog2();
        let samples = u64::from(further) * 4;
        let high = (samples + targets.div_ceil(SAMPLE) * 4).next_multiple_of(8);
        let words = (targets + u64::from(keys >> width)) / 64 + 1;
        Remap { width, samples, high, low: high + words * 8 }
    }

    /// The target of an index, given a way to read eight bytes.
    fn target<E>(
        &self,
        index: u64,
        word_at: impl Fn(u64) -> Result<u64, E>,
    ) -> Result<Option<u64>, E> {
        let sample = word_at(self.samples + index / SAMPLE * 4)?;
        let mut position = sample & u64::from(u32::MAX);
        let mut ones = (index % SAMPLE) as u32;
        loop {
            let at = self.high + position / 64 * 8;
            if at >= self.low {
                return Ok(None);
            }
            let word = word_at(at)? >> (position % 64);
            if word.count_ones() > ones {
                position += u64::from(nth_one(word, ones));
                break;
            }
            ones -= word.count_ones();
            position = (position / 64 + 1) * 64;
        }
        let bit = index * u64::from(self.width);
        let low = word_at(self.low + bit / 8)? >> (bit % 8) & ((1 << self.width) - 1);
        Ok(position.checked_sub(index).map(|high| high << self.width | low))
    }
}

/// The slot of a key whose bucket has seed 0, given ways to read one of the region's seeds and eight bytes of its
/// `remap`. `Ok(None)`: the bytes are not those of a perfect hash, or lead no further.
pub(crate) fn lower_slot<E>(
    point: Point,
    keys: u32,
    levels: u32,
    seed_at: impl Fn(u64) -> Result<u8, E>,
    word_at: impl Fn(u64) -> Result<u64, E>,
) -> Result<Option<u32>, E> {
    let further = levels.saturating_sub(1).min(LEVELS_MAX);
    let mut seeds = u64::from(Level::new(keys).buckets);
    let (mut point, mut targets, mut found) = (point, 0, None);
    for depth in 0..further {
        let count = word_at(u64::from(depth) * 4)? as u32;
        if count == 0 || count > keys {
            return Ok(None);
        }
        if found.is_none() {
            let level = Level::new(count);
            point = point.again(depth + 1);
            let seed = seed_at(seeds + u64::from(level.bucket(point)))?;
            found = level.slot(point, seed).map(|slot| targets + u64::from(slot));
            seeds += u64::from(level.buckets);
        }
        targets += u64::from(count);
    }
    let Some(index) = found else { return Ok(None) };
    let slot = Remap::new(further, keys, targets).target(index, word_at)?;
    Ok(slot.filter(|slot| *slot < u64::from(keys)).map(|slot| slot as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::points;

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
        let built = build(&points(count)).expect("few levels");
        let bytes = built.seeds.len() + built.remap.len();
        let bits = bytes as f64 * 8.0 / f64::from(count);
        assert!(bits < 1.95, "{bits} bits, levels {:?}", built.levels);
    }
}
