//! What each loop counts, on cache lines of its own, and the coarse clock that its sweeps set: a hit reads no
//! clock of the system. Summed when somebody asks.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::Instant,
};

use axum::http::StatusCode;

/// Counts of one loop. Only that loop writes them, but for [`Counters::open`], which a loop that hands over a
/// connection raises for the one that gets it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    /// Connections that are open.
    pub(crate) open: AtomicUsize,
    /// Connections accepted.
    pub(crate) accepted: AtomicU64,
    /// Connections handed to another loop.
    pub(crate) handed_over: AtomicU64,
    /// Connections closed because their client was too slow or silent.
    pub(crate) timed_out: AtomicU64,
    /// TLS handshakes that failed.
    pub(crate) handshakes_failed: AtomicU64,
    /// Handlers that panicked.
    pub(crate) panics: AtomicU64,
    /// When the loop last turned, in milliseconds since [`Counters::start`]; none before its first turn.
    ticked: AtomicU64,
    requests: [[AtomicU64; CLASSES]; Door::ALL.len()],
}

const CLASSES: usize = 5;

/// Which part of the server answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Tables.
    Lookup,
    /// The reading site, with `/v1/scan`.
    Reader,
    /// Calls of gRPC.
    Grpc,
    /// Contacts and files over DAV.
    Dav,
    /// The pages of contacts.
    Contacts,
    /// None of them.
    None,
}

impl Door {
    pub(crate) const ALL: [Door; 6] =
        [Door::Lookup, Door::Reader, Door::Grpc, Door::Dav, Door::Contacts, Door::None];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Door::Lookup => "lookup",
            Door::Reader => "reader",
            Door::Grpc => "grpc",
            Door::Dav => "dav",
            Door::Contacts => "contacts",
            Door::None => "none",
        }
    }
}

impl Counters {
    /// Counts an answered request.
    pub(crate) fn answered(&self, door: Door, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES) - 1;
        add(&self.requests[door as usize][class]);
    }

    /// Answers of a door by the first digit of their status, from 1.
    pub(crate) fn requests(&self, door: Door) -> [u64; CLASSES] {
        self.requests[door as usize].each_ref().map(|count| count.load(Relaxed))
    }

    /// Sets the coarse clock.
    pub(crate) fn tick(&self, start: Instant) -> u64 {
        let now = millis(start);
        self.ticked.store(now, Relaxed);
        now
    }

    /// The coarse clock: as old as the last sweep.
    pub(crate) fn now(&self) -> u64 {
        self.ticked.load(Relaxed)
    }
}

/// Adds one to a count that only the calling thread writes, which needs no lock on the bus.
pub(crate) fn add(count: &AtomicU64) {
    count.store(count.load(Relaxed) + 1, Relaxed);
}

/// Milliseconds since `start`, from one.
pub(crate) fn millis(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
}
