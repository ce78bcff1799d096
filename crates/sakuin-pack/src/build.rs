//! From the entries of one region to its perfect hash and its records, in the order of their slots.
//! Regions know nothing of one another, so they are built on as many threads as there are, with the same result.

use crate::{
    Duplicates, Hash, Keys, chd,
    entry::{Entry, EntryValue},
    hash::Point,
    line::Shape,
    phast, varint,
};

/// What the regions of one table have in common.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) regions: u32,
    pub(crate) hash: Hash,
    pub(crate) keys: Keys,
    pub(crate) duplicates: Duplicates,
}

/// A region ready to be written.
pub(crate) struct BuiltRegion {
    pub(crate) keys: u32,
    pub(crate) values: u64,
    pub(crate) levels: u32,
    pub(crate) seeds: Vec<u8>,
    pub(crate) remap: Vec<u8>,
    /// Of the keys, slot by slot.
    pub(crate) fingerprints: Vec<u32>,
    /// Where each slot's record ends.
    pub(crate) ends: Vec<u64>,
    pub(crate) records: Vec<u8>,
}

/// Why a region was not built.
pub(crate) enum Failure {
    Duplicate { key: Vec<u8>, first: u64, second: u64 },
    Collision { first: Vec<u8>, second: Vec<u8> },
    NoPerfectHash,
}

/// Builds a region from its entries, written one after the other in any order.
pub(crate) fn build(plan: &Plan, bytes: &[u8]) -> Result<BuiltRegion, Failure> {
    let mut entries: Vec<Entry<'_>> = Entry::read_all(bytes).collect();
    entries.sort_unstable_by_key(|entry| (entry.hash, entry.ordinal));
    let groups = group(plan, &entries)?;
    let points: Vec<Point> =
        groups.iter().map(|group| group[0].hash.region(plan.regions).1).collect();
    let built = match plan.hash {
        _ if points.is_empty() => phast::Built::default(),
        Hash::Phast => phast::build(&points).ok_or(Failure::NoPerfectHash)?,
        Hash::Chd => {
            let (seeds, slots) = chd::build(&points).ok_or(Failure::NoPerfectHash)?;
            phast::Built { levels: vec![points.len() as u32], seeds, remap: Vec::new(), slots }
        }
    };

    let mut by_slot = vec![0; groups.len()];
    for (group, slot) in built.slots.iter().enumerate() {
        by_slot[*slot as usize] = group;
    }
    let bits = u32::from(plan.keys.fingerprint_bits());
    let mut region = BuiltRegion {
        keys: groups.len() as u32,
        values: 0,
        levels: built.levels.len() as u32,
        seeds: built.seeds,
        remap: built.remap,
        fingerprints: Vec::with_capacity(groups.len()),
        ends: Vec::with_capacity(groups.len()),
        records: Vec::new(),
    };
    for group in by_slot {
        let entries = groups[group];
        write_record(plan.keys, entries, &mut region.records);
        region.values += entries.len() as u64;
        region.ends.push(region.records.len() as u64);
        region.fingerprints.push(entries[0].hash.fingerprint(bits));
    }
    Ok(region)
}

/// The entries of each key, as many of them as the policy keeps.
fn group<'e, 'b>(plan: &Plan, entries: &'e [Entry<'b>]) -> Result<Vec<&'e [Entry<'b>]>, Failure> {
    let mut groups = Vec::with_capacity(entries.len());
    for group in entries.chunk_by(|one, other| one.hash == other.hash) {
        let [first, .., last] = group else {
            groups.push(group);
            continue;
        };
        if let Some(other) = group.iter().find(|entry| entry.key != first.key) {
            let (first, second) = (first.key.to_vec(), other.key.to_vec());
            return Err(Failure::Collision { first, second });
        }
        groups.push(match plan.duplicates {
            Duplicates::Error => {
                let (first, second) = (first.ordinal, group[1].ordinal);
                return Err(Failure::Duplicate { key: last.key.to_vec(), first, second });
            }
            Duplicates::First => &group[..1],
            Duplicates::Last => &group[group.len() - 1..],
            Duplicates::Keep => group,
        });
    }
    Ok(groups)
}

/// `head · key · body`: the body is the one value of a plain record, or a count, a code for each value
/// and the inline values.
fn write_record(keys: Keys, entries: &[Entry<'_>], out: &mut Vec<u8>) {
    let key = match keys {
        Keys::Exact => entries[0].key,
        Keys::Approximate { .. } => &[],
    };
    let plain = match entries {
        [Entry { value: EntryValue::Inline(bytes), .. }] => Some(*bytes),
        _ => None,
    };
    varint::write(out, (key.len() as u64) << 1 | u64::from(plain.is_some()));
    out.extend_from_slice(key);
    if let Some(value) = plain {
        out.extend_from_slice(value);
        return;
    }
    varint::write(out, entries.len() as u64);
    for entry in entries {
        varint::write(
            out,
            match entry.value {
                EntryValue::Inline(bytes) => (bytes.len() as u64) << 1,
                EntryValue::Shared(offset) => offset << 1 | 1,
            },
        );
    }
    for entry in entries {
        if let EntryValue::Inline(bytes) = entry.value {
            out.extend_from_slice(bytes);
        }
    }
}

impl BuiltRegion {
    /// Writes the region's lines and the ends of those that escape, given where its records and its escapes begin.
    pub(crate) fn lines(&self, shape: &Shape, records: u64, escapes: u64) -> (Vec<u8>, Vec<u8>) {
        let slots = shape.slots() as usize;
        let mut lines = Vec::with_capacity(self.ends.len().div_ceil(slots) * 64);
        let mut escaped = Vec::new();
        let mut start = 0;
        for (ends, fingerprints) in self.ends.chunks(slots).zip(self.fingerprints.chunks(slots)) {
            let mut line = [0; 64];
            let relative: Vec<u64> = ends.iter().map(|end| end - start).collect();
            if !shape.write(&mut line, records + start, fingerprints, &relative) {
                let mut line = [0; 64];
                shape.write_escaped(&mut line, escapes + escaped.len() as u64, fingerprints);
                let ends = std::iter::once(&start).chain(ends);
                escaped.extend(ends.flat_map(|end| (records + end).to_le_bytes()));
                lines.extend(line);
            } else {
                lines.extend(line);
            }
            start = ends[ends.len() - 1];
        }
        (lines, escaped)
    }

    /// The number of slots a line that makes the directory of these records smallest.
    pub(crate) fn best_slots_per_line(&self, fingerprint_bits: u8) -> u8 {
        let most = (384 / u32::from(fingerprint_bits)).min(40) as u8;
        let cost = |slots: &u8| {
            let shape = Shape::new(*slots, fingerprint_bits);
            let mut start = 0;
            let mut bytes = 0;
            for ends in self.ends.chunks(usize::from(*slots)) {
                let last = ends[ends.len() - 1];
                bytes += 64 + if shape.fits(last - start) { 0 } else { ends.len() * 8 + 8 };
                start = last;
            }
            bytes
        };
        (4..=most).min_by_key(cost).unwrap_or(1)
    }
}
