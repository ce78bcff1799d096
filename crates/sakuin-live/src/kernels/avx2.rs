//! With registers of 32 bytes. Bytes are widened before they are multiplied: the instruction that would not need it
//! cuts sums off.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_load_si128, _mm_set1_epi32, _mm256_add_epi32, _mm256_cvtepi8_epi16,
    _mm256_cvtepu8_epi16, _mm256_madd_epi16, _mm256_setzero_si256, _mm256_storeu_si256,
};

use super::{ABREAST, Bounds, Codes, Probe, SLOTS, Step, apart, bound, sum, times};

/// Records whose codes a register holds, widened.
const WIDE: usize = 4;
/// Registers that sum at once.
const GROUPS: usize = 8;

#[target_feature(enable = "avx2")]
pub(super) fn reach(
    codes: &Codes,
    probes: &[(&Probe, f32)],
    bounds: &mut [Bounds; ABREAST],
) -> [u64; ABREAST] {
    let mut reached = [0; ABREAST];
    for (((probe, bar), bounds), reached) in probes.iter().zip(bounds).zip(&mut reached) {
        let products = multiply(&codes.steps, &probe.steps);
        bound(codes, probe, &products, bounds);
        for (slot, upper) in bounds.upper.iter().enumerate() {
            *reached |= u64::from(upper >= bar) << slot;
        }
    }
    reached
}

#[target_feature(enable = "avx2")]
fn multiply(steps: &[Step], probe: &[i32]) -> [i32; SLOTS] {
    let mut products = [0; SLOTS];
    for (part, products) in products.as_chunks_mut::<{ WIDE * GROUPS }>().0.iter_mut().enumerate() {
        let mut sums = [_mm256_setzero_si256(); GROUPS];
        for (step, probe) in steps.iter().zip(probe) {
            let probe = _mm256_cvtepi8_epi16(_mm_set1_epi32(*probe));
            for (group, sum) in sums.iter_mut().enumerate() {
                // SAFETY: a step has sixteen groups of 16 bytes and is aligned to 64.
                let codes = unsafe {
                    _mm_load_si128(step.0.as_ptr().cast::<__m128i>().add(part * GROUPS + group))
                };
                let codes = _mm256_cvtepu8_epi16(codes);
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(codes, probe));
            }
        }
        for (products, sum) in products.as_chunks_mut::<WIDE>().0.iter_mut().zip(sums) {
            let mut halves = [[0i32; 2]; WIDE];
            // SAFETY: there is room for eight sums.
            unsafe { _mm256_storeu_si256(halves.as_mut_ptr().cast::<__m256i>(), sum) };
            *products = halves.map(|[one, other]| one + other);
        }
    }
    products
}

#[target_feature(enable = "avx2")]
pub(super) fn product(one: &[f32], other: &[f32]) -> f64 {
    sum(one, other, times)
}

#[target_feature(enable = "avx2")]
pub(super) fn distance(one: &[f32], other: &[f32]) -> f64 {
    sum(one, other, apart)
}
