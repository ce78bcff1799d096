//! Files to a store and back, in parts: a few at once, and none of them whole in memory.

use std::{
    fs,
    io::{self, Read},
    ops::Range,
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
};

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};
use memmap2::MmapMut;
use object_store::{
    Error as StoreError, GetOptions, GetResultPayload, ObjectStoreExt, path::Path as Name,
};
use tokio::{task::spawn_blocking, time::timeout};

use crate::{
    error::Error,
    store::{LONG, SHORT, Store, bare, failed, silent, within},
};

/// What is longer travels in parts of this length, so many at once.
pub(crate) const PART_BYTES: u64 = 8 << 20;
pub(crate) const PARTS_AT_ONCE: usize = 4;
/// What is fetched is written in pieces of this length.
const WRITE_BYTES: usize = 1 << 20;

impl Store {
    /// Writes a file of any length, whatever was there; if it must have a hash, only as what has that.
    pub(crate) async fn upload(
        &self,
        name: &str,
        file: &Path,
        hash: Option<&str>,
        told: impl Fn(u64) + Sync,
    ) -> Result<Option<String>, Error> {
        let unreadable = |cause| Error::File { file: file.to_owned(), cause };
        let opened = Arc::new(fs::File::open(file).map_err(unreadable)?);
        let length = opened.metadata().map_err(unreadable)?.len();
        let mut check = Check { hash, hasher: blake3::Hasher::new() };
        let changed = || unreadable(io::Error::other("it changed while it was read"));
        if length <= PART_BYTES {
            let bytes = part(&opened, 0, length).await.map_err(unreadable)?;
            check.update(&bytes);
            if !check.is_passed() {
                return Err(changed());
            }
            let tag = self.put(name, bytes).await?;
            told(length);
            return Ok(tag);
        }
        let refused = |error: StoreError| failed("writing", name, &error);
        let mut upload =
            within(SHORT, self.long.put_multipart(&self.at(name))).await.map_err(refused)?;
        let sent = async {
            let starts = (0..length).step_by(PART_BYTES as usize);
            let mut under_way = stream::FuturesUnordered::new();
            for start in starts {
                if under_way.len() >= PARTS_AT_ONCE {
                    told(under_way.next().await.unwrap_or(Ok(0))?);
                }
                let bytes = part(&opened, start, PART_BYTES.min(length - start))
                    .await
                    .map_err(unreadable)?;
                check.update(&bytes);
                let length = bytes.len() as u64;
                let put = upload.put_part(bytes.into());
                under_way.push(async move {
                    within(LONG, put)
                        .await
                        .map(|()| length)
                        .map_err(|error| failed("writing", name, &error))
                });
            }
            while let Some(part) = under_way.next().await {
                told(part?);
            }
            if check.is_passed() { Ok(()) } else { Err(changed()) }
        };
        match sent.await {
            Ok(()) => {
                let whole = within(LONG, upload.complete()).await.map_err(refused)?;
                Ok(bare(whole.e_tag))
            }
            Err(error) => {
                // What is left of it, the store forgets sooner or later.
                let _ = within(SHORT, upload.abort()).await;
                Err(error)
            }
        }
    }

    /// Fetches an object of a known length into a file, never more than that.
    pub(crate) async fn fetch(
        &self,
        name: &str,
        file: &Path,
        length: u64,
        told: impl Fn(u64),
    ) -> Result<(), Error> {
        let unwritable = |cause| Error::File { file: file.to_owned(), cause };
        let out = Arc::new(fs::File::create(file).map_err(unwritable)?);
        let at = self.at(name);
        let head = within(SHORT, self.short.head(&at)).await;
        let found = head.map_err(|error| failed("fetching", name, &error))?.size;
        if found != length {
            let what = format!("it has {found} bytes, and its manifest says {length}");
            return Err(Error::Damaged { name: name.to_owned(), what });
        }
        let parts = (0..length).step_by(PART_BYTES as usize).map(|start| {
            let range = start..(start + PART_BYTES).min(length);
            let (part, told) = (self.fetch_part(&at, range.clone(), &out), &told);
            async move {
                match timeout(LONG, part).await.unwrap_or_else(|_| Err(silent(LONG).into())) {
                    Ok(()) => {
                        told(range.end - range.start);
                        Ok(())
                    }
                    Err(Failure::Store(error)) => Err(failed("fetching", name, &error)),
                    Err(Failure::File(cause)) => Err(unwritable(cause)),
                    Err(Failure::Length) => {
                        let what = "a part of it has another length than was asked for".to_owned();
                        Err(Error::Damaged { name: name.to_owned(), what })
                    }
                }
            }
        });
        stream::iter(parts).buffer_unordered(PARTS_AT_ONCE).try_collect::<()>().await?;
        blocking(move || out.sync_all()).await.map_err(unwritable)
    }

    /// Fetches a part of an object into its place in a file.
    async fn fetch_part(
        &self,
        at: &Name,
        range: Range<u64>,
        out: &Arc<fs::File>,
    ) -> Result<(), Failure> {
        let options = GetOptions::new().with_range(Some(range.clone()));
        let got = within(SHORT, self.long.get_opts(at, options)).await?;
        let out = out.clone();
        let mut chunks = match got.payload {
            GetResultPayload::Stream(chunks) => chunks,
            GetResultPayload::File(from, _) => {
                return Ok(blocking(move || copy(&from, &out, range)).await?);
            }
        };
        let (mut start, mut bytes) = (range.start, BytesMut::new());
        loop {
            let chunk = within(SHORT, chunks.try_next()).await?;
            bytes.extend_from_slice(chunk.as_deref().unwrap_or_default());
            if start + bytes.len() as u64 > range.end {
                return Err(Failure::Length);
            }
            if chunk.is_none() || bytes.len() >= WRITE_BYTES {
                let (out, bytes) = (out.clone(), bytes.split());
                let length = bytes.len() as u64;
                blocking(move || out.write_all_at(&bytes, start)).await?;
                start += length;
            }
            if chunk.is_none() {
                return if start == range.end { Ok(()) } else { Err(Failure::Length) };
            }
        }
    }
}

/// Why a part is not there.
enum Failure {
    Store(StoreError),
    File(io::Error),
    Length,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::File(error)
    }
}

/// Does what waits for a disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await?
}

/// Copies a part of a file to the same place in another.
fn copy(from: &fs::File, to: &fs::File, range: Range<u64>) -> io::Result<()> {
    let mut buffer = vec![0; WRITE_BYTES];
    for start in range.clone().step_by(WRITE_BYTES) {
        let length = (range.end - start).min(WRITE_BYTES as u64) as usize;
        from.read_exact_at(&mut buffer[..length], start)?;
        to.write_all_at(&buffer[..length], start)?;
    }
    Ok(())
}

/// A part of a file. Its memory is the system's, which has it back at once: an allocator would keep some of every thread's.
async fn part(file: &Arc<fs::File>, start: u64, length: u64) -> io::Result<Bytes> {
    let file = file.clone();
    blocking(move || {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let mut bytes = MmapMut::map_anon(length as usize)?;
        file.read_exact_at(&mut bytes, start)?;
        Ok(Bytes::from_owner(bytes))
    })
    .await
}

/// Whether bytes have the hash that they must have, if any.
struct Check<'h> {
    hash: Option<&'h str>,
    hasher: blake3::Hasher,
}

impl Check<'_> {
    fn update(&mut self, bytes: &[u8]) {
        if self.hash.is_some() {
            self.hasher.update(bytes);
        }
    }

    fn is_passed(&self) -> bool {
        self.hash.is_none_or(|hash| self.hasher.finalize().to_hex().as_str() == hash)
    }
}

/// The BLAKE3 of a file.
pub(crate) async fn hash(file: &Path) -> Result<String, Error> {
    let path = file.to_owned();
    let hashed = blocking(move || hash_now(&path)).await;
    hashed.map_err(|cause| Error::File { file: file.to_owned(), cause })
}

fn hash_now(file: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut file = fs::File::open(file)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().to_hex().to_string()),
            count => drop(hasher.update(&buffer[..count])),
        }
    }
}
