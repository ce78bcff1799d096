//! The bytes of an open file: mapped, or on the heap. The one module of this crate with unsafe code.
//!
//! A mapping is read while another process may write to the file. This crate's own writer never does: it writes
//! another file and renames it. Whoever truncates a mapped file in place makes its readers die of SIGBUS; open files
//! that others may cut with `Load::Heap`.

#![allow(unsafe_code)]

use std::{fs::File, io, ops::Deref, path::Path, sync::Arc};

/// How the bytes of a file are brought in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Mapped: read on demand and shared between processes.
    #[default]
    Map,
    /// Read whole into memory: for network file systems and files that others may truncate.
    Heap,
}

/// The bytes of a table.
pub(crate) enum Bytes {
    Mapped(memmap2::Mmap),
    Heap(Arc<[u8]>),
}

impl Bytes {
    pub(crate) fn open(path: &Path, load: Load) -> io::Result<Bytes> {
        match load {
            Load::Heap => Ok(Bytes::Heap(std::fs::read(path)?.into())),
            Load::Map => {
                let file = File::open(path)?;
                // Safety: the file is replaced by renaming, never written in place, by this crate's writer; whoever
                // else changes it breaks a rule that the crate's documentation states. What is read is checked
                // against its sums before use, once for every block, and every later use is bounded by slices.
                let map = unsafe { memmap2::Mmap::map(&file) }?;
                Ok(Bytes::Mapped(map))
            }
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Heap(bytes) => bytes,
        }
    }
}

/// Asks the processor to bring in the cache line of a byte that is needed soon.
#[inline]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    let Some(byte) = bytes.get(at) else { return };
    #[cfg(target_arch = "x86_64")]
    // Safety: SSE is part of x86-64, and a prefetch of a live reference has no effect but on time.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(std::ptr::from_ref(byte).cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = byte;
}
