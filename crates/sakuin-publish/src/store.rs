//! What is asked of an object store, and what its answers prove.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{
    Error as StoreError, GetOptions, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMode, PutPayload, local::LocalFileSystem, path::Path as Name,
};
use tokio::{task::spawn_blocking, time::timeout};
use url::Url;

use crate::error::Error;

/// What is longer travels in parts of this length, so many at once.
pub(crate) const PART_BYTES: u64 = 8 << 20;
pub(crate) const PARTS_AT_ONCE: usize = 4;
/// Whatever is read whole is no longer.
const READ_BYTES_MAX: u64 = 16 << 20;
/// Whatever is short is answered within this time; of what is long, something comes within it, and a part within the
/// other.
const SHORT: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(300);

/// A place in a store.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// For what is short: one connection carries much at once where the store can.
    short: Arc<dyn ObjectStore>,
    /// For what is long: a connection each, since one is slower the longer its way is.
    long: Arc<dyn ObjectStore>,
    root: Name,
}

/// What came of writing a name once.
#[derive(Debug)]
pub(crate) enum Created {
    /// It has our bytes.
    Ours,
    /// Somebody else's are there.
    Taken(Bytes),
}

/// What a store says of an object.
pub(crate) struct Stat {
    pub(crate) bytes: u64,
    /// When it was written, by the store's clock.
    pub(crate) modified: SystemTime,
    pub(crate) tag: Option<String>,
}

impl From<ObjectMeta> for Stat {
    fn from(meta: ObjectMeta) -> Stat {
        Stat { bytes: meta.size, modified: meta.last_modified.into(), tag: bare(meta.e_tag) }
    }
}

/// A tag without quotation marks: Azure writes them in some answers and not in others.
fn bare(tag: Option<String>) -> Option<String> {
    tag.map(|tag| tag.trim_matches('"').to_owned())
}

impl Store {
    pub(crate) fn open(url: &str) -> Result<Store, Error> {
        let wrong = |cause: String| Error::Url { url: url.to_owned(), cause };
        let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        match parsed.scheme() {
            "file" => {
                let folder =
                    parsed.to_file_path().map_err(|()| wrong("it is no folder here".to_owned()))?;
                let made = fs::create_dir_all(&folder);
                made.map_err(|cause| Error::File { file: folder.clone(), cause })?;
                let store = LocalFileSystem::new_with_prefix(&folder)
                    .map_err(|error| wrong(error.to_string()))?;
                Ok(Store::of(Arc::new(store.with_fsync(true))))
            }
            #[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
            scheme @ ("s3" | "gs" | "az") => {
                let short = remote(scheme, url, false).map_err(|error| wrong(error.to_string()))?;
                let long = remote(scheme, url, true).map_err(|error| wrong(error.to_string()))?;
                let root = Name::from_url_path(parsed.path());
                let root = root.map_err(|error| wrong(error.to_string()))?;
                Ok(Store { short, long, root })
            }
            other => Err(wrong(format!("`{other}` is no store that this program knows"))),
        }
    }

    /// A store that somebody has set up.
    pub(crate) fn of(store: Arc<dyn ObjectStore>) -> Store {
        Store { short: store.clone(), long: store, root: Name::default() }
    }

    /// The same with a connection for whatever is under way: of many files, the bytes that a single new connection may
    /// carry at first would be a round trip more.
    pub(crate) fn by_many_connections(self) -> Store {
        Store { short: self.long.clone(), ..self }
    }

    fn at(&self, name: &str) -> Name {
        self.root.parts().chain(Name::from(name).parts()).collect()
    }

    /// A short object; none if there is none.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<Bytes>, Error> {
        let asked = async {
            let found = self.short.get(&self.at(name)).await?;
            if found.meta.size > READ_BYTES_MAX {
                return Err(too_long(found.meta.size));
            }
            found.bytes().await
        };
        match within(SHORT, asked).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed("reading", name, &error)),
        }
    }

    /// What the store says of an object; none if there is none.
    pub(crate) async fn stat(&self, name: &str) -> Result<Option<Stat>, Error> {
        match within(SHORT, self.short.head(&self.at(name))).await {
            Ok(found) => Ok(Some(Stat::from(found))),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed("looking for", name, &error)),
        }
    }

    /// Writes a name that nobody has written. That it is there already proves nothing, nor does a reply that is lost: the
    /// bytes do.
    pub(crate) async fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, Error> {
        let payload = PutPayload::from(bytes.to_vec());
        let at = self.at(name);
        let put = self.short.put_opts(&at, payload, PutMode::Create.into());
        let Err(error) = within(SHORT, put).await else { return Ok(Created::Ours) };
        match self.read(name).await {
            Ok(Some(found)) if found == bytes => Ok(Created::Ours),
            Ok(Some(found)) => Ok(Created::Taken(found)),
            _ => Err(failed("writing", name, &error)),
        }
    }

    /// Writes a short object, whatever was there; returns the store's tag of it.
    pub(crate) async fn put(&self, name: &str, bytes: Bytes) -> Result<Option<String>, Error> {
        let put = within(SHORT, self.short.put(&self.at(name), bytes.into())).await;
        put.map(|put| bare(put.e_tag)).map_err(|error| failed("writing", name, &error))
    }

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
        let damaged = |what: String| Error::Damaged { name: name.to_owned(), what };
        let out = Arc::new(fs::File::create(file).map_err(unwritable)?);
        let at = self.at(name);
        let head = within(SHORT, self.short.head(&at)).await;
        let found = head.map_err(|error| failed("fetching", name, &error))?.size;
        if found != length {
            return Err(damaged(format!("it has {found} bytes, and its manifest says {length}")));
        }
        let starts = stream::iter((0..length).step_by(PART_BYTES as usize));
        let mut parts = starts
            .map(|start| {
                let range = start..(start + PART_BYTES).min(length);
                let at = &at;
                async move {
                    let got = within(LONG, self.range(at, range.clone())).await;
                    (range, got)
                }
            })
            .buffer_unordered(PARTS_AT_ONCE);
        while let Some((range, bytes)) = parts.next().await {
            let bytes = bytes.map_err(|error| failed("fetching", name, &error))?;
            if bytes.len() as u64 != range.end - range.start {
                return Err(damaged(
                    "a part of it has another length than was asked for".to_owned(),
                ));
            }
            let (out, count) = (out.clone(), bytes.len() as u64);
            let written = spawn_blocking(move || out.write_all_at(&bytes, range.start));
            written.await.map_err(|error| unwritable(error.into()))?.map_err(unwritable)?;
            told(count);
        }
        let synced = spawn_blocking(move || out.sync_all());
        synced.await.map_err(|error| unwritable(error.into()))?.map_err(unwritable)
    }

    /// A part of an object, or more than that if the store sends more. Gives up once nothing comes any more.
    async fn range(&self, at: &Name, range: Range<u64>) -> Result<Bytes, StoreError> {
        let length = (range.end - range.start) as usize;
        let options = GetOptions::new().with_range(Some(range));
        let got = within(SHORT, self.long.get_opts(at, options)).await?;
        let GetResultPayload::Stream(mut chunks) = got.payload else { return got.bytes().await };
        let mut bytes = BytesMut::with_capacity(length);
        while let Some(chunk) = within(SHORT, chunks.try_next()).await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > length {
                break;
            }
        }
        Ok(bytes.freeze())
    }

    /// Everything below a folder, by name.
    pub(crate) async fn list(&self, folder: &str) -> Result<BTreeMap<String, Stat>, Error> {
        let below = self.at(folder);
        let prefix = Some(&below).filter(|below| below.parts().next().is_some());
        let skipped = self.root.parts().count();
        let mut listed = self.short.list(prefix);
        let mut all = BTreeMap::new();
        loop {
            match within(SHORT, listed.try_next()).await {
                Ok(Some(meta)) => {
                    let name: Name = meta.location.parts().skip(skipped).collect();
                    all.insert(name.to_string(), Stat::from(meta));
                }
                Ok(None) | Err(StoreError::NotFound { .. }) => return Ok(all),
                Err(error) => return Err(failed("listing", folder, &error)),
            }
        }
    }

    /// Takes an object away; that it is not there is no error.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), Error> {
        match within(SHORT, self.short.delete(&self.at(name))).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed("removing", name, &error)),
        }
    }
}

/// A client of a store of the network: for what is short, or for what is long.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn remote(scheme: &str, url: &str, is_long: bool) -> Result<Arc<dyn ObjectStore>, StoreError> {
    use object_store::{ClientOptions, RetryConfig};
    const CONNECT: Duration = Duration::from_secs(5);
    /// A store that fails is asked so often again, for so long.
    const RETRIES: usize = 3;
    const RETRY_TIME: Duration = Duration::from_secs(20);
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let endpoint = match scheme {
        "s3" => variable("AWS_ENDPOINT_URL_S3")
            .or(variable("AWS_ENDPOINT_URL"))
            .or(variable("AWS_ENDPOINT")),
        "gs" => variable("STORAGE_EMULATOR_HOST"),
        _ => variable("AZURE_STORAGE_ENDPOINT"),
    };
    let is_plain = endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
    let options = ClientOptions::new()
        .with_allow_http(is_plain)
        .with_connect_timeout(CONNECT)
        .with_timeout(if is_long { LONG } else { SHORT });
    let options = if is_long { options } else { options.with_allow_http2() };
    let retry =
        RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_TIME, ..RetryConfig::default() };
    Ok(match scheme {
        #[cfg(feature = "s3")]
        "s3" => {
            let builder = object_store::aws::AmazonS3Builder::from_env();
            let builder = builder.with_url(url).with_client_options(options).with_retry(retry);
            Arc::new(match endpoint {
                Some(endpoint) => builder.with_endpoint(endpoint).build()?,
                None => builder.build()?,
            })
        }
        #[cfg(feature = "gcs")]
        "gs" => {
            let builder = object_store::gcp::GoogleCloudStorageBuilder::from_env();
            let builder = builder.with_url(url).with_client_options(options).with_retry(retry);
            Arc::new(match endpoint {
                Some(endpoint) => {
                    builder.with_base_url(&endpoint).with_bearer_token("nobody").build()?
                }
                None => builder.build()?,
            })
        }
        #[cfg(feature = "azure")]
        "az" => {
            let builder = object_store::azure::MicrosoftAzureBuilder::from_env();
            Arc::new(builder.with_url(url).with_client_options(options).with_retry(retry).build()?)
        }
        _ => {
            return Err(StoreError::NotImplemented {
                operation: "open".to_owned(),
                implementer: format!("`{scheme}`, which was left out of this program"),
            });
        }
    })
}

/// What a store does within a time.
async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(limit, asked).await.unwrap_or_else(|_| {
        let source = format!("no answer within {limit:?}").into();
        Err(StoreError::Generic { store: "store", source })
    })
}

fn too_long(bytes: u64) -> StoreError {
    let source = format!("{bytes} bytes are more than {READ_BYTES_MAX}").into();
    StoreError::Generic { store: "store", source }
}

fn failed(doing: &'static str, name: &str, error: &StoreError) -> Error {
    let is_denied =
        matches!(error, StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. });
    let mut cause = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(source) = next {
        let told = source.to_string();
        if !cause.contains(&told) {
            cause = format!("{cause}: {told}");
        }
        next = source.source();
    }
    Error::Store { doing, name: name.to_owned(), cause, is_denied }
}

/// A part of a file.
async fn part(file: &Arc<fs::File>, start: u64, length: u64) -> io::Result<Bytes> {
    let file = file.clone();
    let read = spawn_blocking(move || {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, start).map(|()| bytes.into())
    });
    read.await?
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
    let file = file.to_owned();
    let hashed = spawn_blocking(move || {
        let hashed = hash_now(&file);
        hashed.map_err(|cause| Error::File { file, cause })
    });
    hashed.await.map_err(|error| Error::File { file: PathBuf::new(), cause: error.into() })?
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
