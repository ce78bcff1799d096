//! The nearest vectors of a table, for several searches in one pass over the codes.
//!
//! The codes say between what bounds each vector's measure lies. While the pass goes on, a search's bar is the
//! `count`th best lower bound so far: what cannot reach it cannot be among the nearest. What can is then measured
//! exactly, the most promising first, until no bound reaches the last of those found. Where the codes say too little,
//! every vector is measured.
//!
//! Measures here are such that the greater is the nearer: the product with the search's vector at length one, the
//! cosine, or `q·x − ‖x‖²/2`, which falls as the distance grows.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering},
};

use rayon::prelude::*;
use smallvec::SmallVec;

use super::{Ranked, Sought, Top};
use crate::{
    Metric,
    kernels::{self, ABREAST, Bounds, Probe},
    rows::{Rows, SLOTS, id_of, ones},
    table::Table,
    vectors::{BIAS, Coded, VectorPage},
};

/// An index decides alone if it leaves one record of so many.
const SELECTIVE: u64 = 20;

/// Codes say too little if they leave one vector of so many.
const TELLING: usize = 20;

/// Pages that a thread takes at a time.
const PART: usize = 32;

/// Bytes of codes, times searches, that are worth a second thread.
const WORTH_THREADS: usize = 2 << 20;

/// Vectors asked for together.
const BATCH: usize = 16;

/// One search in a pass.
struct Scan<'s> {
    sought: &'s Sought,
    /// None if codes are no help from the start.
    probe: Option<Probe>,
    /// The greatest `count`th best lower bound of any thread.
    bar: AtomicI32,
    /// Codes are no help, as it turned out.
    is_vague: AtomicBool,
}

/// What a thread has seen for one search.
struct Part {
    /// The best lower bounds, up to `count`.
    lowers: BinaryHeap<Reverse<i32>>,
    candidates: Vec<Candidate>,
}

/// A vector that may be among the nearest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    upper: i32,
    /// Among the pages of the pass.
    page: u32,
    slot: u8,
}

/// What a pass looks at.
struct Pass<'t> {
    rows: &'t Rows,
    pages: Vec<(u64, &'t VectorPage)>,
    threads: usize,
}

/// The nearest records for each of some searches, the nearest first.
pub(crate) fn search(table: &Table, soughts: &[&Sought]) -> Vec<Vec<Ranked>> {
    let mut found: Vec<_> = soughts.iter().map(|sought| search_few(table, sought)).collect();
    let waiting = || soughts.iter().zip(&found).filter(|(_, found)| found.is_none());
    let scans: Vec<_> =
        waiting().map(|(sought, _)| Scan::new(sought, table.rows().count())).collect();
    let mut scanned = match scans.len() {
        0 => Vec::new(),
        _ => Pass::over(table.rows(), scans.len()).run(&scans),
    }
    .into_iter();
    for found in &mut found {
        *found = found.take().or_else(|| scanned.next());
    }
    found.into_iter().flatten().collect()
}

/// The answer, if it takes no pass: an index leaves few records, or none is asked for.
pub(crate) fn search_few(table: &Table, sought: &Sought) -> Option<Vec<Ranked>> {
    if sought.count == 0 {
        return Some(Vec::new());
    }
    if sought.filter.conditions().is_empty() {
        return None;
    }
    let most = usize::try_from(table.count() / SELECTIVE).unwrap_or(usize::MAX);
    let few = table.search_few(&sought.filter, most)?;
    let mut top = Top::of(sought.count);
    for (id, row) in few {
        top.extend(row.vector().and_then(|vector| sought.rank(id, vector)));
    }
    Some(top.sorted())
}

impl<'t> Pass<'t> {
    fn over(rows: &'t Rows, scans: usize) -> Pass<'t> {
        let pages: Vec<_> = rows.vector_pages().collect();
        let bytes = pages.first().map_or(0, |(_, page)| size_of_val(&*page.codes().steps));
        let is_large = bytes * pages.len() * scans >= WORTH_THREADS;
        let threads = if is_large { rayon::current_num_threads() } else { 1 };
        Pass { rows, pages, threads }
    }

    fn run(&self, scans: &[Scan<'_>]) -> Vec<Vec<Ranked>> {
        let mut parts: Vec<Vec<Part>> = scans.iter().map(|_| Vec::new()).collect();
        let by_thread = self.share(|ranges| {
            let mut parts: Vec<_> = scans.iter().map(|_| Part::new()).collect();
            let mut bounds = std::array::from_fn(|_| Bounds::new());
            ranges.for_each(|at| self.look(at, scans, &mut parts, &mut bounds));
            parts
        });
        for thread in by_thread {
            parts.iter_mut().zip(thread).for_each(|(parts, part)| parts.push(part));
        }
        let finish = |(scan, parts)| self.finish(scan, parts);
        match self.threads {
            1 => scans.iter().zip(parts).map(finish).collect(),
            _ => scans.par_iter().zip(parts).map(finish).collect(),
        }
    }

    /// Has the pages looked at by all threads, each taking some whenever it is done with others.
    fn share<T: Send>(&self, work: impl Fn(&mut dyn Iterator<Item = usize>) -> T + Sync) -> Vec<T> {
        let next = AtomicUsize::new(0);
        let work = || {
            let ranges = std::iter::from_fn(|| {
                let from = next.fetch_add(PART, Ordering::Relaxed);
                (from < self.pages.len()).then(|| from..self.pages.len().min(from + PART))
            });
            work(&mut ranges.flatten())
        };
        match self.threads {
            1 => vec![work()],
            threads => (0..threads).into_par_iter().map(|_| work()).collect(),
        }
    }

    /// Holds a page's codes against all searches, four at a time.
    fn look(
        &self,
        at: usize,
        scans: &[Scan<'_>],
        parts: &mut [Part],
        bounds: &mut [Bounds; ABREAST],
    ) {
        // What a page is told by is asked for first, since that says where its codes are.
        if let Some((_, later)) = self.pages.get(at + 2) {
            kernels::prefetch(*later);
        }
        if let Some((_, next)) = self.pages.get(at + 1) {
            kernels::prefetch(&*next.codes().steps);
        }
        let codes = self.pages[at].1.codes();
        let most = self.pages.len() * SLOTS / TELLING / self.threads + 256;
        for (scans, parts) in scans.chunks(ABREAST).zip(parts.chunks_mut(ABREAST)) {
            let mut probes = SmallVec::<[(&Probe, f32); ABREAST]>::new();
            let mut heirs = SmallVec::<[(usize, u64); ABREAST]>::new();
            for (which, scan) in scans.iter().enumerate() {
                if let Some(probe) = scan.probe()
                    && let wanted = self.wanted(at, scan.sought)
                    && wanted != 0
                {
                    probes.push((probe, float(scan.bar.load(Ordering::Relaxed))));
                    heirs.push((which, wanted));
                }
            }
            if probes.is_empty() {
                continue;
            }
            let reached = kernels::reach(codes, &probes, bounds);
            for (((which, wanted), reached), bounds) in heirs.into_iter().zip(reached).zip(&*bounds)
            {
                let reached = (reached | codes.wild) & wanted;
                if reached != 0 {
                    parts[which].take(at, reached, codes.wild, bounds, &scans[which], most);
                }
            }
        }
    }

    /// The slots of a page whose vectors a search may find.
    fn wanted(&self, at: usize, sought: &Sought) -> u64 {
        let (number, page) = self.pages[at];
        let codes = page.codes();
        let zero = if sought.metric == Metric::Cosine { codes.zero } else { 0 };
        let matching = match sought.filter.conditions() {
            [] => u64::MAX,
            _ => self.rows.page(number).map_or(0, |page| page.matching(&sought.filter)),
        };
        codes.present & !zero & matching
    }

    /// Measures exactly what may be among the nearest.
    fn finish(&self, scan: &Scan<'_>, parts: Vec<Part>) -> Vec<Ranked> {
        if scan.probe().is_none() {
            return self.measure_all(scan.sought);
        }
        let bar = scan.bar.load(Ordering::Relaxed);
        let candidates = parts.into_iter().flat_map(|part| part.candidates);
        let mut candidates: BinaryHeap<_> = candidates.filter(|it| it.upper >= bar).collect();
        let mut top = Top::of(scan.sought.count);
        loop {
            // They lie far apart: some are asked for together.
            let mut next = SmallVec::<[(u64, &[f32]); BATCH]>::new();
            while next.len() < BATCH
                && let Some(candidate) = candidates.peek()
                && top
                    .last()
                    .is_none_or(|last| f64::from(float(candidate.upper)) >= scan.measure(last))
            {
                let (number, page) = self.pages[candidate.page as usize];
                let slot = usize::from(candidate.slot);
                if let Some(vector) = page.get(slot) {
                    kernels::prefetch(vector);
                    next.push((id_of(number, slot), vector));
                }
                candidates.pop();
            }
            if next.is_empty() {
                return top.sorted();
            }
            top.extend(next.into_iter().filter_map(|(id, vector)| scan.sought.rank(id, vector)));
        }
    }

    fn measure_all(&self, sought: &Sought) -> Vec<Ranked> {
        let tops = self.share(|pages| {
            let mut top = Top::of(sought.count);
            for at in pages {
                let (number, page) = self.pages[at];
                for slot in ones(self.wanted(at, sought)) {
                    let vector = page.get(slot);
                    top.extend(vector.and_then(|vector| sought.rank(id_of(number, slot), vector)));
                }
            }
            top
        });
        let mut top = Top::of(sought.count);
        tops.into_iter().for_each(|part| top.extend(part.sorted()));
        top.sorted()
    }
}

impl<'s> Scan<'s> {
    fn new(sought: &'s Sought, count: u64) -> Scan<'s> {
        let are_most_wanted = sought.count as u64 > count / TELLING as u64;
        let probe = if are_most_wanted { None } else { probe(sought) };
        let bar = AtomicI32::new(sortable(f32::NEG_INFINITY));
        Scan { sought, probe, bar, is_vague: AtomicBool::new(false) }
    }

    fn probe(&self) -> Option<&Probe> {
        self.probe.as_ref().filter(|_| !self.is_vague.load(Ordering::Relaxed))
    }

    /// In the measure that bounds are of.
    fn measure(&self, ranked: Ranked) -> f64 {
        let Sought { metric, norm, .. } = *self.sought;
        match metric {
            Metric::Dot => ranked.rank / norm,
            Metric::Cosine => ranked.rank,
            Metric::L2 => (norm * norm - ranked.rank * ranked.rank) / 2.0,
        }
    }
}

/// The codes of what is sought, and what they allow to be said; none if they allow nothing.
fn probe(sought: &Sought) -> Option<Probe> {
    let Sought { metric, norm, .. } = *sought;
    // The length of what is sought changes no order of products and cosines.
    let unit = if metric == Metric::L2 { 1.0 } else { norm };
    if unit == 0.0 {
        return None;
    }
    let coded = Coded::of(sought.vector.iter().map(|number| f64::from(*number) / unit));
    if norm != 0.0 && !coded.is_tame() {
        return None;
    }
    let sum: i32 = coded.codes.iter().map(|code| i32::from(*code)).sum();
    let steps = coded.codes.chunks(4).map(|codes| {
        i32::from_le_bytes(std::array::from_fn(|at| {
            codes.get(at).map_or(0, |it| it.cast_unsigned())
        }))
    });
    let length = coded.norm + coded.residual;
    let is_l2 = metric == Metric::L2;
    Some(Probe {
        steps: steps.collect(),
        offset: BIAS * sum,
        scale: coded.scale,
        metric,
        by_norm: (coded.residual + length * ROUNDING) as f32,
        by_residual: (length * (1.0 + ROUNDING)) as f32,
        by_square: if is_l2 { ROUNDING as f32 } else { 0.0 },
        always: if is_l2 { (norm * norm * ROUNDING) as f32 } else { 0.0 },
    })
}

/// More than all roundings together make of a measure: some of a 2²⁴th each.
const ROUNDING: f64 = 1.0 / (1 << 19) as f64;

impl Part {
    fn new() -> Part {
        Part { lowers: BinaryHeap::new(), candidates: Vec::new() }
    }

    fn take(
        &mut self,
        page: usize,
        reached: u64,
        wild: u64,
        bounds: &Bounds,
        scan: &Scan<'_>,
        most: usize,
    ) {
        for slot in ones(reached) {
            let is_wild = wild & (1 << slot) != 0;
            let upper = if is_wild { f32::INFINITY } else { bounds.upper[slot] };
            let candidate =
                Candidate { upper: sortable(upper), page: page as u32, slot: slot as u8 };
            self.candidates.push(candidate);
            if !is_wild {
                self.raise(sortable(bounds.lower[slot]), scan);
            }
        }
        if self.candidates.len() > most {
            let bar = scan.bar.load(Ordering::Relaxed);
            self.candidates.retain(|candidate| candidate.upper >= bar);
            if self.candidates.len() > most / 2 {
                scan.is_vague.store(true, Ordering::Relaxed);
            }
        }
    }

    /// One vector more is at least so near.
    fn raise(&mut self, lower: i32, scan: &Scan<'_>) {
        if self.lowers.len() < scan.sought.count {
            self.lowers.push(Reverse(lower));
        } else if let Some(mut least) = self.lowers.peek_mut()
            && lower > least.0
        {
            *least = Reverse(lower);
        }
        if self.lowers.len() == scan.sought.count
            && let Some(Reverse(least)) = self.lowers.peek()
        {
            scan.bar.fetch_max(*least, Ordering::Relaxed);
        }
    }
}

/// A number as one that compares as it does.
fn sortable(number: f32) -> i32 {
    let bits = number.to_bits().cast_signed();
    bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()
}

fn float(sortable: i32) -> f32 {
    f32::from_bits(
        (sortable ^ ((sortable >> 31).cast_unsigned() >> 1).cast_signed()).cast_unsigned(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::nearest::{Nearest, tests};

    proptest! {
        #[test]
        fn what_is_measured_lies_within_bounds(
            (dimensions, vectors) in prop::sample::select(vec![1, 3, 64, 128])
                .prop_flat_map(|dimensions| (Just(dimensions), tests::vectors(dimensions))),
        ) {
            let table = tests::table(dimensions, &vectors);
            for (metric, vector) in Metric::ALL.into_iter().zip(vectors.iter().rev().cycle()) {
                let nearest = Nearest { metric: Some(metric), ..Nearest::to(vector, 1) };
                let Ok(sought) = nearest.check(&table.schema) else { continue };
                let scan = Scan::new(&sought, u64::MAX);
                let Some(probe) = scan.probe() else { continue };
                let pass = Pass::over(table.rows(), 1);
                let mut bounds = std::array::from_fn(|_| Bounds::new());
                for (at, (number, page)) in pass.pages.iter().enumerate() {
                    kernels::reach(page.codes(), &[(probe, 0.0)], &mut bounds);
                    for slot in ones(pass.wanted(at, &sought) & !page.codes().wild) {
                        let id = id_of(*number, slot);
                        let ranked = sought.rank(id, page.get(slot).unwrap()).unwrap();
                        let measure = scan.measure(ranked);
                        let (lower, upper) = (bounds[0].lower[slot], bounds[0].upper[slot]);
                        prop_assert!(f64::from(lower) <= measure && measure <= f64::from(upper),
                            "{:?} {}: {} <= {} <= {}", metric, id, lower, measure, upper);
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_are_sorted_as_they_compare() {
        let numbers = [f32::NEG_INFINITY, f32::MIN, -1.0, -1e-45, 0.0, 1e-45, 2.0, f32::INFINITY];
        assert!(numbers.map(sortable).is_sorted_by(|a, b| a < b));
        assert_eq!(numbers.map(|number| float(sortable(number))), numbers);
    }
}
