//! With registers of 64 bytes, and an instruction that adds four products of bytes to each of sixteen sums.

use std::arch::x86_64::{
    __m512i, _CMP_GE_OQ, _mm512_cmp_ps_mask, _mm512_cmple_epu64_mask, _mm512_dpbusd_epi32,
    _mm512_load_si512, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_set1_ps, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_sub_epi64,
};

use super::{ABREAST, Bounds, Codes, Probe, SLOTS, Step, apart, bound, sum, times};

/// Sums of a register.
const LANES: usize = 16;
/// Registers that hold a page's.
const GROUPS: usize = SLOTS / LANES;

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn reach(
    codes: &Codes,
    probes: &[(&Probe, f32)],
    bounds: &mut [Bounds; ABREAST],
) -> [u64; ABREAST] {
    let mut products = [[0; SLOTS]; ABREAST];
    match *probes {
        [(a, _)] => multiply(&codes.steps, [a], &mut products),
        [(a, _), (b, _)] => multiply(&codes.steps, [a, b], &mut products),
        [(a, _), (b, _), (c, _)] => multiply(&codes.steps, [a, b, c], &mut products),
        [(a, _), (b, _), (c, _), (d, _)] => {
            multiply(&codes.steps, [a, b, c, d], &mut products);
        }
        _ => unreachable!("one to four"),
    }
    let mut reached = [0; ABREAST];
    for (at, (probe, bar)) in probes.iter().enumerate() {
        bound(codes, probe, &products[at], &mut bounds[at]);
        let bar = _mm512_set1_ps(*bar);
        for (group, upper) in bounds[at].upper.as_chunks::<LANES>().0.iter().enumerate() {
            // SAFETY: sixteen numbers are there.
            let upper = unsafe { _mm512_loadu_ps(upper.as_ptr()) };
            let bits = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(upper, bar);
            reached[at] |= u64::from(bits) << (group * LANES);
        }
    }
    reached
}

/// A page of codes is read once, whatever the number of probes.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn multiply<const N: usize>(
    steps: &[Step],
    probes: [&Probe; N],
    products: &mut [[i32; SLOTS]; ABREAST],
) {
    let probes = probes.map(|probe| &probe.steps[..steps.len()]);
    let mut sums = [[_mm512_setzero_si512(); GROUPS]; N];
    for (at, step) in steps.iter().enumerate() {
        let codes: [__m512i; GROUPS] = std::array::from_fn(|group| {
            // SAFETY: a step has four groups of 64 bytes and is aligned to 64.
            unsafe { _mm512_load_si512(step.0.as_ptr().cast::<__m512i>().add(group)) }
        });
        for (sums, probe) in sums.iter_mut().zip(&probes) {
            let probe = _mm512_set1_epi32(probe[at]);
            for (sum, codes) in sums.iter_mut().zip(codes) {
                *sum = _mm512_dpbusd_epi32(*sum, codes, probe);
            }
        }
    }
    for (products, sums) in products.iter_mut().zip(sums) {
        for (products, sum) in products.as_chunks_mut::<LANES>().0.iter_mut().zip(sums) {
            // SAFETY: there is room for sixteen sums.
            unsafe { _mm512_storeu_si512(products.as_mut_ptr().cast(), sum) };
        }
    }
}

#[target_feature(enable = "avx512f")]
pub(super) fn within(words: &[u64; SLOTS], least: u64, most: u64) -> u64 {
    const WORDS: usize = 8;
    let span = _mm512_set1_epi64((most - least).cast_signed());
    let least = _mm512_set1_epi64(least.cast_signed());
    words.as_chunks::<WORDS>().0.iter().enumerate().fold(0, |found, (at, words)| {
        // SAFETY: eight words are there.
        let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        let bits = _mm512_cmple_epu64_mask(_mm512_sub_epi64(words, least), span);
        found | u64::from(bits) << (at * WORDS)
    })
}

#[target_feature(enable = "avx512f")]
pub(super) fn product(one: &[f32], other: &[f32]) -> f64 {
    sum(one, other, times)
}

#[target_feature(enable = "avx512f")]
pub(super) fn distance(one: &[f32], other: &[f32]) -> f64 {
    sum(one, other, apart)
}
