//! Plain files to a store, as they are called: many at once, and only those that have changed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::{
    error::Error,
    store::Store,
    transfer::{PART_BYTES, PARTS_AT_ONCE, hash},
};

/// What an upload came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Uploaded {
    /// Files that were sent, and how long they are together.
    pub sent: usize,
    /// See `sent`.
    pub bytes: u64,
    /// Files that were there as they are.
    pub unchanged: usize,
}

/// Files that are under way at once, and how much of them is in memory.
const FILES_AT_ONCE: usize = 128;
const KIB_AT_ONCE: usize = 64 << 10;
/// What is longer than this together is compared before it is sent; less is sent sooner than compared.
const COMPARED_FROM: u64 = 1 << 20;
/// What was sent the last time, at the place that files are sent to.
const INDEX: &str = ".sakuin-upload.json";

/// What was sent: by name the hash, and the store's tag of it.
#[derive(Default, Serialize, Deserialize)]
struct Index {
    files: BTreeMap<String, (String, Option<String>)>,
}

/// A file of a folder.
struct Plain {
    name: String,
    path: PathBuf,
    bytes: u64,
}

/// Sends every file below a folder to a store, under its own name. Of a folder of more than a megabyte, files whose bytes
/// and whose object are as the last upload left them are not sent again. `told` is called with each file's length, and how
/// much there is in all.
///
/// # Errors
/// Those of the first file that fails; files that were sent are there.
pub async fn upload(
    folder: &Path,
    url: &str,
    told: impl Fn(u64, u64) + Sync,
) -> Result<Uploaded, Error> {
    let store = Store::open(url)?.by_many_connections();
    let files = files(folder)?;
    let all: u64 = files.iter().map(|file| file.bytes).sum();
    let is_compared = all > COMPARED_FROM;
    let (mut index, there) = match is_compared {
        true => before(&store).await?,
        false => (Index::default(), BTreeMap::new()),
    };
    let room = &Semaphore::new(KIB_AT_ONCE);
    let mut uploaded = Uploaded::default();
    let (store, index_before, there, told) = (&store, &index, &there, &told);
    let sent = files.iter().map(|file| async move {
        let hash = match is_compared {
            true => Some(hash(&file.path).await?),
            false => None,
        };
        let known = index_before.files.get(&file.name);
        let is_unchanged = known.is_some_and(|(before, tag)| {
            hash.as_ref() == Some(before)
                && there.get(&file.name) == Some(&(file.bytes, tag.clone()))
        });
        let tag = match is_unchanged {
            true => known.and_then(|(_, tag)| tag.clone()),
            false => {
                // What is long is read in parts.
                let kib =
                    file.bytes.min(PARTS_AT_ONCE as u64 * PART_BYTES).div_ceil(1 << 10) as u32;
                let _room = room.acquire_many(kib).await.expect("it is never closed");
                store.upload(&file.name, &file.path, None, |_| ()).await?
            }
        };
        told(file.bytes, all);
        Ok::<_, Error>((file, hash.unwrap_or_default(), tag, is_unchanged))
    });
    let mut sent = stream::iter(sent).buffer_unordered(FILES_AT_ONCE);
    let mut now = Index::default();
    let mut outcome = Ok(());
    while let Some(one) = sent.next().await {
        match one {
            Ok((file, hash, tag, is_unchanged)) => {
                now.files.insert(file.name.clone(), (hash, tag));
                if is_unchanged {
                    uploaded.unchanged += 1;
                } else {
                    uploaded.sent += 1;
                    uploaded.bytes += file.bytes;
                }
            }
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    drop(sent);
    if is_compared {
        // What was there and is not in the folder is not touched, and neither is what is known of it.
        index.files.extend(now.files);
        store.put(INDEX, crate::manifest::write(&index).into()).await?;
    }
    outcome.map(|()| uploaded)
}

type There = BTreeMap<String, (u64, Option<String>)>;

/// What the last upload noted, and what is there.
async fn before(store: &Store) -> Result<(Index, There), Error> {
    let (index, listed) = futures_util::future::join(store.read(INDEX), store.list("")).await;
    // One that cannot be read is as good as none.
    let index = index?.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let there = listed?.into_iter().map(|(name, stat)| (name, (stat.bytes, stat.tag)));
    Ok((index, there.collect()))
}

/// The files below a folder, by names that a store takes.
fn files(folder: &Path) -> Result<Vec<Plain>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let unreadable = |cause| Error::File { file: next.clone(), cause };
        for entry in fs::read_dir(&next).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let data =
                fs::metadata(&path).map_err(|cause| Error::File { file: path.clone(), cause })?;
            if data.is_dir() {
                folders.push(path);
                continue;
            }
            let below = path.strip_prefix(folder).unwrap_or(&path);
            let name = below.to_str().ok_or_else(|| Error::Name {
                name: below.display().to_string(),
                what: "file, since it is not UTF-8",
            })?;
            if name != INDEX {
                found.push(Plain { name: name.to_owned(), bytes: data.len(), path });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}
