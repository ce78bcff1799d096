//! The loops that look at every record, in the widest instructions that the processor has.
//!
//! Each is here once in plain Rust, and where the compiler does not find the instructions by itself once more in
//! [`avx512`] and [`avx2`]. Whatever runs, the results are the same to the bit: integers do not round, and numbers are
//! added in one order, each rounded by itself.

#![allow(unsafe_code, reason = "instructions beyond the least a processor has are unsafe to use")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use std::sync::OnceLock;

use crate::{
    Metric,
    rows::SLOTS,
    vectors::{Codes, Step},
};

/// Which instructions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Plain,
}

/// What a vector is looked for with: its codes, and what they allow to be said.
pub(crate) struct Probe {
    /// Four codes to a word.
    pub(crate) steps: Box<[i32]>,
    /// What the bias of the codes adds to each product.
    pub(crate) offset: i32,
    pub(crate) scale: f32,
    pub(crate) metric: Metric,
    /// How far off a product may be for each unit of a vector's length.
    pub(crate) by_norm: f32,
    /// And for each unit of how far off the vector's codes are.
    pub(crate) by_residual: f32,
    /// And for each half of its length squared.
    pub(crate) by_square: f32,
    /// And always.
    pub(crate) always: f32,
}

/// Between what the measure of each of a page's vectors lies; the greater, the nearer.
pub(crate) struct Bounds {
    pub(crate) lower: [f32; SLOTS],
    pub(crate) upper: [f32; SLOTS],
}

impl Bounds {
    pub(crate) fn new() -> Bounds {
        Bounds { lower: [0.0; SLOTS], upper: [0.0; SLOTS] }
    }
}

/// Probes that are held against a page at once.
pub(crate) const ABREAST: usize = 4;

impl Level {
    /// The best of this processor.
    fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Level::all()[0])
    }

    /// All that this processor has, the best first.
    fn all() -> Vec<Level> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                all.push(Level::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                all.push(Level::Avx2);
            }
        }
        all.push(Level::Plain);
        all
    }
}

/// Bounds for every vector of a page under up to four probes, and as bits those vectors whose upper bound is at
/// least a probe's bar. What is said of slots without a vector means nothing.
pub(crate) fn reach(
    codes: &Codes,
    probes: &[(&Probe, f32)],
    bounds: &mut [Bounds; ABREAST],
) -> [u64; ABREAST] {
    reach_at(Level::best(), codes, probes, bounds)
}

fn reach_at(
    level: Level,
    codes: &Codes,
    probes: &[(&Probe, f32)],
    bounds: &mut [Bounds; ABREAST],
) -> [u64; ABREAST] {
    for (probe, _) in probes {
        assert_eq!(probe.steps.len(), codes.steps.len(), "one table, one number of dimensions");
    }
    match level {
        // SAFETY: the level is only there on processors that have these instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::reach(codes, probes, bounds) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::reach(codes, probes, bounds) },
        Level::Plain => reach_plainly(codes, probes, bounds),
    }
}

fn reach_plainly(
    codes: &Codes,
    probes: &[(&Probe, f32)],
    bounds: &mut [Bounds; ABREAST],
) -> [u64; ABREAST] {
    let mut reached = [0; ABREAST];
    for (((probe, bar), bounds), reached) in probes.iter().zip(bounds).zip(&mut reached) {
        let products = products_plainly(&codes.steps, &probe.steps);
        bound(codes, probe, &products, bounds);
        for (slot, upper) in bounds.upper.iter().enumerate() {
            *reached |= u64::from(upper >= bar) << slot;
        }
    }
    reached
}

fn products_plainly(steps: &[Step], probe: &[i32]) -> [i32; SLOTS] {
    let mut sums = [0; SLOTS];
    for (step, probe) in steps.iter().zip(probe) {
        let probe = probe.to_le_bytes().map(|code| i32::from(code.cast_signed()));
        for (sum, codes) in sums.iter_mut().zip(&step.0) {
            for (code, probe) in codes.iter().zip(probe) {
                *sum += i32::from(*code) * probe;
            }
        }
    }
    sums
}

/// From products of codes to bounds of what is measured. Every rounding on the way is a 2²⁴th of what `by_norm` and
/// `by_square` count a 2¹⁹th of.
#[inline(always)]
fn bound(codes: &Codes, probe: &Probe, products: &[i32; SLOTS], bounds: &mut Bounds) {
    match probe.metric {
        Metric::Dot => {
            bound_by(codes, probe, products, bounds, |product, off, _| (product, off, 0.0));
        }
        Metric::Cosine => bound_by(codes, probe, products, bounds, |product, off, norm| {
            (product / norm, off / norm, 0.0)
        }),
        Metric::L2 => bound_by(codes, probe, products, bounds, |product, off, norm| {
            let half = norm * norm * 0.5;
            (product - half, off, half)
        }),
    }
}

#[inline(always)]
fn bound_by(
    codes: &Codes,
    probe: &Probe,
    products: &[i32; SLOTS],
    bounds: &mut Bounds,
    measure: impl Fn(f32, f32, f32) -> (f32, f32, f32),
) {
    let Codes { scales, norms, residuals, .. } = codes;
    let Probe { offset, scale, by_norm, by_residual, by_square, always, .. } = *probe;
    for at in 0..SLOTS {
        let product = (products[at] - offset) as f32 * (scales[at] * scale);
        let off = norms[at] * by_norm + residuals[at] * by_residual;
        let (middle, off, square) = measure(product, off, norms[at]);
        let off = off + square * by_square + always;
        bounds.lower[at] = middle - off;
        bounds.upper[at] = middle + off;
    }
}

/// Which of the words are within bounds, both of them included.
pub(crate) fn within(words: &[u64; SLOTS], least: u64, most: u64) -> u64 {
    within_at(Level::best(), words, least, most)
}

fn within_at(level: Level, words: &[u64; SLOTS], least: u64, most: u64) -> u64 {
    if least > most {
        return 0;
    }
    match level {
        // SAFETY: the level is only there on processors that have these instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::within(words, least, most) },
        _ => {
            let is_within = |word: u64| word.wrapping_sub(least) <= most - least;
            let bits = words.iter().enumerate();
            bits.fold(0, |bits, (at, word)| bits | u64::from(is_within(*word)) << at)
        }
    }
}

/// The inner product of two vectors.
pub(crate) fn product(one: &[f32], other: &[f32]) -> f64 {
    product_at(Level::best(), one, other)
}

fn product_at(level: Level, one: &[f32], other: &[f32]) -> f64 {
    match level {
        // SAFETY: the level is only there on processors that have these instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::product(one, other) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::product(one, other) },
        Level::Plain => sum(one, other, times),
    }
}

/// The square of the distance between two vectors.
pub(crate) fn distance(one: &[f32], other: &[f32]) -> f64 {
    distance_at(Level::best(), one, other)
}

fn distance_at(level: Level, one: &[f32], other: &[f32]) -> f64 {
    match level {
        // SAFETY: the level is only there on processors that have these instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::distance(one, other) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::distance(one, other) },
        Level::Plain => sum(one, other, apart),
    }
}

fn times(one: f64, other: f64) -> f64 {
    one * other
}

fn apart(one: f64, other: f64) -> f64 {
    (one - other) * (one - other)
}

/// Sixteen sums, of every sixteenth number each, and then their sum: as the widest instructions add, so that narrower
/// ones give the same.
#[inline(always)]
fn sum(one: &[f32], other: &[f32], of: impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (ones, one_rest) = one.as_chunks::<LANES>();
    let (others, other_rest) = other.as_chunks::<LANES>();
    for (one, other) in ones.iter().zip(others) {
        for at in 0..LANES {
            sums[at] += of(f64::from(one[at]), f64::from(other[at]));
        }
    }
    for (sum, (one, other)) in sums.iter_mut().zip(one_rest.iter().zip(other_rest)) {
        *sum += of(f64::from(*one), f64::from(*other));
    }
    let mut width = LANES / 2;
    while width > 0 {
        for at in 0..width {
            sums[at] += sums[at + width];
        }
        width /= 2;
    }
    sums[0]
}

/// Asks for something that will be looked at soon. It is brought as near as the second cache: more can be under way
/// there at once than to the first, and that is what a pass over large tables waits for.
pub(crate) fn prefetch<T: ?Sized>(soon: &T) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(soon)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: within what is borrowed; and asking for memory reads none.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(soon).cast::<i8>().add(at)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (soon, LINE);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vectors::VectorPage;

    /// A page whose codes are whatever bytes there are.
    fn page(dimensions: usize, byte: impl Fn() -> u8, number: impl Fn() -> f32) -> Codes {
        let mut codes = VectorPage::new(dimensions).codes().clone();
        codes.steps.iter_mut().flat_map(|it| it.0.as_flattened_mut()).for_each(|it| *it = byte());
        for numbers in [&mut codes.scales, &mut codes.norms, &mut codes.residuals] {
            numbers.iter_mut().for_each(|it| *it = number());
        }
        codes
    }

    fn bits(bounds: &[Bounds]) -> Vec<u32> {
        let all = bounds.iter().flat_map(|it| it.lower.iter().chain(&it.upper));
        all.map(|number| number.to_bits()).collect()
    }

    proptest! {
        #[test]
        fn pages_reach_alike(
            dimensions in prop_oneof![1..70usize, Just(256), Just(4096)],
            count in 1..=ABREAST,
            bytes in prop::sample::select(vec![&[][..], &[0, 1, 127, 128, 255], &[127, 255], &[128, 255], &[127]]),
            seed in any::<u64>(),
        ) {
            let random = std::cell::RefCell::new(fastrand::Rng::with_seed(seed));
            let byte = || match bytes.len() {
                0 => random.borrow_mut().u8(..),
                kinds => bytes[random.borrow_mut().usize(..kinds)],
            };
            let codes = page(dimensions, byte, || random.borrow_mut().f32() + 0.01);
            let probe = || {
                let codes = || i32::from_le_bytes(std::array::from_fn(|_| byte()));
                let mut random = random.borrow_mut();
                let metric = Metric::ALL[random.usize(..3)];
                let [scale, by_norm, by_residual, by_square, always] =
                    std::array::from_fn(|_| random.f32());
                let offset = random.i32(-9999..9999);
                drop(random);
                let steps = codes_of(dimensions, codes);
                Probe { steps, offset, scale, metric, by_norm, by_residual, by_square, always }
            };
            let probes: Vec<Probe> = (0..count).map(|_| probe()).collect();
            let barred: Vec<_> = probes.iter().map(|probe| (probe, 5.0)).collect();
            let results = Level::all().into_iter().map(|level| {
                let mut bounds = std::array::from_fn(|_| Bounds::new());
                let reached = reach_at(level, &codes, &barred, &mut bounds);
                (reached, bits(&bounds))
            });
            let results: Vec<_> = results.collect();
            prop_assert!(results.iter().all(|result| *result == results[0]));
        }

        #[test]
        fn sums_are_alike_to_the_bit(
            (one, other) in (0..300usize).prop_flat_map(|length| {
                let vector = || prop::collection::vec(-1e20f32..1e20, length);
                (vector(), vector())
            }),
        ) {
            for level in Level::all() {
                let product = |level| product_at(level, &one, &other).to_bits();
                prop_assert_eq!(product(level), product(Level::Plain));
                let distance = |level| distance_at(level, &one, &other).to_bits();
                prop_assert_eq!(distance(level), distance(Level::Plain));
            }
        }

        #[test]
        fn words_are_within_alike(
            words in prop::collection::vec(prop_oneof![0..9u64, any::<u64>(), u64::MAX - 9..], SLOTS),
            bounds in (prop_oneof![0..9u64, any::<u64>()], prop_oneof![0..9u64, any::<u64>()]),
        ) {
            let words = words.try_into().unwrap();
            let (least, most) = bounds;
            for level in Level::all() {
                let found = within_at(level, &words, least, most);
                for (at, word) in words.iter().enumerate() {
                    prop_assert_eq!(found >> at & 1 == 1, (least..=most).contains(word));
                }
            }
        }
    }

    fn codes_of(dimensions: usize, word: impl Fn() -> i32) -> Box<[i32]> {
        (0..dimensions.div_ceil(4)).map(|_| word()).collect()
    }
}
