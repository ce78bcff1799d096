//! The bytes of an open file: mapped, or on the heap. The one module of this crate with unsafe code.
//!
//! A mapping is read while another process may write to the file. This crate's own writer never does: it writes
//! another file and renames it. Whoever truncates a mapped file in place makes its readers die of SIGBUS; open files
//! that others may cut with `Load::Heap`.

#![allow(unsafe_code)]

use std::{
    fs::File,
    io::{self, Read},
    ops::Deref,
    path::Path,
};

/// How the bytes of a file are brought in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Mapped: read on demand and shared between processes.
    #[default]
    Map,
    /// Read whole into memory: for network file systems and files that others may truncate.
    Heap,
}

/// The bytes of a table: a mapping of the file, or of memory that it was copied to.
pub(crate) struct Bytes(memmap2::Mmap);

impl Bytes {
    pub(crate) fn open(path: &Path, load: Load) -> io::Result<Bytes> {
        let mut file = File::open(path)?;
        match load {
            // Safety: the file is replaced by renaming, never written in place, by this crate's writer; whoever
            // else changes it breaks a rule that the crate's documentation states. What is read is checked
            // against its sums before use, once for every block, and every later use is bounded by slices.
            Load::Map => Ok(Bytes(unsafe { memmap2::Mmap::map(&file) }?)),
            Load::Heap => {
                let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
                let mut memory = memmap2::MmapMut::map_anon(length)?;
                // Fewer pages to find for random reads; where it is not to be had, nothing is lost.
                #[cfg(target_os = "linux")]
                let _ = memory.advise(memmap2::Advice::HugePage);
                file.read_exact(&mut memory)?;
                Ok(Bytes(memory.make_read_only()?))
            }
        }
    }

    pub(crate) fn copied(bytes: &[u8]) -> io::Result<Bytes> {
        let mut memory = memmap2::MmapMut::map_anon(bytes.len())?;
        memory.copy_from_slice(bytes);
        Ok(Bytes(memory.make_read_only()?))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
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
