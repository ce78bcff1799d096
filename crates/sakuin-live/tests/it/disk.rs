//! A disk that can fail: it loses, tears and reorders what was not synced when the power goes, and answers with
//! errors when it is told to.

use std::{
    fmt, io,
    sync::{Arc, Mutex},
};

use fastrand::Rng;
use redb::StorageBackend;

/// A disk; a copy is the same disk.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<Inner>>);

#[derive(Clone, Default)]
struct Inner {
    /// What a read sees.
    seen: Vec<u8>,
    /// What survives for certain.
    synced: Vec<u8>,
    unsynced: Vec<Change>,
    calls: u64,
    fault: Option<Fault>,
}

#[derive(Clone)]
enum Change {
    Length(usize),
    Write(usize, Vec<u8>),
}

/// What goes wrong, and when.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// The first call that fails.
    pub(crate) at: u64,
    /// How many fail.
    pub(crate) calls: u64,
    /// How they fail.
    pub(crate) kind: io::ErrorKind,
}

const SECTOR: usize = 512;

impl Disk {
    pub(crate) fn fail(&self, fault: Fault) {
        let mut inner = self.0.lock().unwrap();
        inner.calls = 0;
        inner.fault = Some(fault);
    }

    /// From this call on it does nothing any more.
    pub(crate) fn cut_at(&self, call: u64) {
        self.fail(Fault { at: call, calls: 1 << 40, kind: io::ErrorKind::Other });
    }

    /// It fails no more.
    pub(crate) fn heal(&self) {
        self.0.lock().unwrap().fault = None;
    }

    /// How often it was called since it was told to fail, or ever.
    pub(crate) fn calls(&self) -> u64 {
        self.0.lock().unwrap().calls
    }

    /// Another disk with the same on it, without faults.
    pub(crate) fn copy(&self) -> Disk {
        let inner = self.0.lock().unwrap();
        let (seen, synced) = (inner.seen.clone(), inner.seen.clone());
        Disk(Arc::new(Mutex::new(Inner { seen, synced, ..Inner::default() })))
    }

    /// What is there when the power comes back: all that was synced, and of the rest some, in any order.
    pub(crate) fn after_power_cut(&self, random: &mut Rng) -> Disk {
        let inner = self.0.lock().unwrap();
        let mut bytes = inner.synced.clone();
        let mut changes: Vec<_> = inner.unsynced.iter().collect();
        if random.bool() {
            random.shuffle(&mut changes);
        }
        let survival = random.f64();
        for change in changes {
            if random.f64() > survival {
                continue;
            }
            match change {
                Change::Length(length) => bytes.resize(*length, 0),
                Change::Write(offset, data) => {
                    let is_torn = random.u8(..) < 64;
                    for (at, sector) in data.chunks(SECTOR).enumerate() {
                        if !is_torn || random.bool() {
                            write(&mut bytes, offset + at * SECTOR, sector);
                        }
                    }
                }
            }
        }
        Disk(Arc::new(Mutex::new(Inner { seen: bytes.clone(), synced: bytes, ..Inner::default() })))
    }

    fn call<T>(&self, work: impl FnOnce(&mut Inner) -> io::Result<T>) -> io::Result<T> {
        let mut inner = self.0.lock().unwrap();
        inner.calls += 1;
        if let Some(fault) = inner.fault
            && (fault.at..fault.at + fault.calls).contains(&inner.calls)
        {
            return Err(fault.kind.into());
        }
        work(&mut inner)
    }
}

fn write(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(data);
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Length(length) => bytes.resize(*length, 0),
            Change::Write(offset, data) => write(bytes, *offset, data),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.call(|inner| Ok(inner.seen.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.call(|inner| {
            let bytes = inner.seen.get(offset as usize..offset as usize + out.len());
            out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(Change::Length(length as usize))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.call(|inner| {
            let Inner { synced, unsynced, .. } = inner;
            unsynced.drain(..).for_each(|change| change.apply(synced));
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Change::Write(offset as usize, data.to_vec()))
    }
}

impl Disk {
    fn change(&self, change: Change) -> io::Result<()> {
        self.call(|inner| {
            change.apply(&mut inner.seen);
            inner.unsynced.push(change);
            Ok(())
        })
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a disk")
    }
}
