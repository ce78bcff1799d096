//! An entry of a build: one value of one key, as it travels through the partitions to its region.

use crate::hash::KeyHash;

/// One value of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'b> {
    pub(crate) hash: KeyHash,
    /// Which call added it.
    pub(crate) ordinal: u64,
    pub(crate) key: &'b [u8],
    pub(crate) value: EntryValue<'b>,
}

/// The value of an entry: its bytes, or where in `values` they stand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EntryValue<'b> {
    Inline(&'b [u8]),
    Shared(u64),
}

const SHARED: u64 = 1 << 63;

impl<'b> Entry<'b> {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (value, bytes) = match self.value {
            EntryValue::Inline(bytes) => (bytes.len() as u64, bytes),
            EntryValue::Shared(offset) => (SHARED | offset, &[][..]),
        };
        let key = self.key.len() as u64;
        for number in [self.hash.low, self.hash.high, self.ordinal, key, value] {
            out.extend(number.to_le_bytes());
        }
        out.extend_from_slice(self.key);
        out.extend_from_slice(bytes);
    }

    /// All entries written one after the other.
    pub(crate) fn read_all(mut bytes: &'b [u8]) -> impl Iterator<Item = Entry<'b>> {
        std::iter::from_fn(move || {
            let (entry, rest) = Entry::read(bytes)?;
            bytes = rest;
            Some(entry)
        })
    }

    fn read(bytes: &'b [u8]) -> Option<(Entry<'b>, &'b [u8])> {
        let (numbers, rest) = bytes.split_at_checked(40)?;
        let mut numbers = numbers.chunks_exact(8).map(|number| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(number);
            u64::from_le_bytes(bytes)
        });
        let mut next = || numbers.next();
        let (low, high, ordinal, key, value) = (next()?, next()?, next()?, next()?, next()?);
        let (key, rest) = rest.split_at_checked(key as usize)?;
        let (value, rest) = match value & SHARED {
            0 => {
                let (bytes, rest) = rest.split_at_checked(value as usize)?;
                (EntryValue::Inline(bytes), rest)
            }
            _ => (EntryValue::Shared(value & !SHARED), rest),
        };
        Some((Entry { hash: KeyHash { low, high }, ordinal, key, value }, rest))
    }
}
