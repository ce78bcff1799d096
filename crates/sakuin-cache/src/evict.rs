//! What has to go when a table is full: S3-FIFO, counted in bytes.
//!
//! New keys stand in a small queue. At its end those that were asked for meanwhile move on to the main queue, and
//! the others go, leaving their hash among the ghosts; a ghost that returns enters the main queue at once. At the
//! end of the main queue a slot that was asked for goes round again. One scan over many keys thus flows through
//! the small queue and leaves the main one alone. Only fills touch the queues: a hit writes one byte of its slot,
//! and none once that says "often".

use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
};

use hashbrown::{HashTable, hash_table::OccupiedEntry};

use crate::entry::ALLOCATION;

/// What the queues know of a key; the map holds it beside the entry, so that entries can be replaced.
#[derive(Debug)]
pub(crate) struct Slot {
    key: Box<str>,
    hash: u64,
    /// Hits since it last came to the end of its queue, up to [`OFTEN`].
    hits: AtomicU8,
    /// Its queue. This and the weight change under the evictor's lock alone.
    place: AtomicU8,
    weight: AtomicUsize,
}

/// More hits make no difference.
const OFTEN: u8 = 3;

/// The small queue is this part of the whole. This, the one hit by which a key leaves it, and half as many ghosts
/// as slots in the main queue hit most often by Zipf's law, with scans or without.
const SMALL_PART: usize = 32;

const SMALL: u8 = 0;
const MAIN: u8 = 1;
const GONE: u8 = 2;

impl Slot {
    /// What a slot takes with its places in a map, half empty at worst, in a queue and among the ghosts.
    pub(crate) const OVERHEAD: usize =
        mem::size_of::<Slot>() + 2 * ALLOCATION + 2 * 24 + 2 * 8 + 16;

    pub(crate) fn new(key: &str, hash: u64) -> Slot {
        Slot {
            key: key.into(),
            hash,
            hits: AtomicU8::new(0),
            place: AtomicU8::new(GONE),
            weight: AtomicUsize::new(0),
        }
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    #[inline]
    pub(crate) fn hit(&self) {
        let hits = self.hits.load(Ordering::Relaxed);
        if hits < OFTEN {
            self.hits.store(hits + 1, Ordering::Relaxed);
        }
    }

    fn place(&self) -> u8 {
        self.place.load(Ordering::Relaxed)
    }

    fn weight(&self) -> usize {
        self.weight.load(Ordering::Relaxed)
    }
}

/// The queues of one store.
pub(crate) struct Evictor {
    max_bytes: usize,
    small: Queue,
    main: Queue,
    ghosts: Ghosts,
}

impl Evictor {
    pub(crate) fn new(max_bytes: usize) -> Evictor {
        let queue = |place| Queue { place, slots: VecDeque::new(), bytes: 0, gone: 0 };
        Evictor { max_bytes, small: queue(SMALL), main: queue(MAIN), ghosts: Ghosts::default() }
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    pub(crate) fn bytes(&self) -> usize {
        self.small.bytes + self.main.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.small.len() + self.main.len()
    }

    /// Takes in a slot, or its new weight.
    pub(crate) fn put(&mut self, slot: &Arc<Slot>, weight: usize) {
        match slot.place() {
            SMALL => self.small.weigh(slot, weight),
            MAIN => self.main.weigh(slot, weight),
            _ if self.ghosts.take(slot.hash) => self.main.push(slot.clone(), weight),
            _ => self.small.push(slot.clone(), weight),
        }
    }

    /// Forgets a slot that left the map.
    pub(crate) fn forget(&mut self, slot: &Slot) {
        match slot.place() {
            SMALL => self.small.forget(slot),
            MAIN => self.main.forget(slot),
            _ => {}
        }
    }

    /// The next slot to go, as long as there is too much.
    pub(crate) fn victim(&mut self) -> Option<Arc<Slot>> {
        while self.bytes() > self.max_bytes {
            let small_is_long =
                self.small.bytes > self.max_bytes / SMALL_PART && self.small.len() > 1;
            if self.main.bytes == 0 || small_is_long {
                let Some((slot, weight)) = self.small.pop() else { continue };
                if slot.hits.swap(0, Ordering::Relaxed) > 0 {
                    self.main.push(slot, weight);
                } else {
                    self.ghosts.add(slot.hash, self.main.slots.len() / 2);
                    return Some(slot);
                }
            } else {
                let Some((slot, weight)) = self.main.pop() else { continue };
                let hits = slot.hits.load(Ordering::Relaxed);
                if hits > 0 {
                    slot.hits.store(hits - 1, Ordering::Relaxed);
                    self.main.push(slot, weight);
                } else {
                    return Some(slot);
                }
            }
        }
        None
    }
}

/// Slots first in, first out. One that was forgotten stays, weightless, until it comes to the end or half of
/// the queue is such.
struct Queue {
    place: u8,
    slots: VecDeque<Arc<Slot>>,
    bytes: usize,
    gone: usize,
}

impl Queue {
    fn len(&self) -> usize {
        self.slots.len() - self.gone
    }

    fn push(&mut self, slot: Arc<Slot>, weight: usize) {
        slot.place.store(self.place, Ordering::Relaxed);
        slot.weight.store(weight, Ordering::Relaxed);
        self.bytes += weight;
        self.slots.push_back(slot);
    }

    fn weigh(&mut self, slot: &Slot, weight: usize) {
        self.bytes = self.bytes - slot.weight.swap(weight, Ordering::Relaxed) + weight;
    }

    fn forget(&mut self, slot: &Slot) {
        self.bytes -= slot.weight();
        slot.place.store(GONE, Ordering::Relaxed);
        self.gone += 1;
        if self.gone > self.slots.len() / 2 {
            self.slots.retain(|slot| slot.place() != GONE);
            self.gone = 0;
        }
    }

    fn pop(&mut self) -> Option<(Arc<Slot>, usize)> {
        while let Some(slot) = self.slots.pop_front() {
            if slot.place() == GONE {
                self.gone -= 1;
                continue;
            }
            slot.place.store(GONE, Ordering::Relaxed);
            let weight = slot.weight();
            self.bytes -= weight;
            return Some((slot, weight));
        }
        None
    }
}

/// Hashes of keys that went lately.
#[derive(Default)]
struct Ghosts {
    order: VecDeque<u64>,
    hashes: HashTable<u64>,
}

impl Ghosts {
    fn add(&mut self, hash: u64, most: usize) {
        if self.hashes.find(hash, |own| *own == hash).is_none() {
            self.hashes.insert_unique(hash, hash, |own| *own);
            self.order.push_back(hash);
        }
        while self.order.len() > most.max(16) {
            let oldest = self.order.pop_front();
            oldest.map(|oldest| self.take(oldest));
        }
    }

    fn take(&mut self, hash: u64) -> bool {
        self.hashes.find_entry(hash, |own| *own == hash).map(OccupiedEntry::remove).is_ok()
    }
}
