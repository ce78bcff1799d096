//! What is asked of an object store, and what its answers prove.

use std::{
    collections::BTreeMap,
    fs,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::{
    Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
    local::LocalFileSystem, path::Path as Name,
};
use tokio::time::timeout;
use url::Url;

use crate::error::Error;

/// Whatever is read whole is no longer.
const READ_BYTES_MAX: u64 = 16 << 20;
/// Whatever is short is answered within this time; of what is long, something comes within it, and a part within the
/// other.
pub(crate) const SHORT: Duration = Duration::from_secs(30);
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// A place in a store.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// For what is short: one connection carries much at once where the store can.
    pub(crate) short: Arc<dyn ObjectStore>,
    /// For what is long: a connection each, since one is slower the longer its way is.
    pub(crate) long: Arc<dyn ObjectStore>,
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
pub(crate) fn bare(tag: Option<String>) -> Option<String> {
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

    pub(crate) fn at(&self, name: &str) -> Name {
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
pub(crate) async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(limit, asked).await.unwrap_or_else(|_| Err(silent(limit)))
}

pub(crate) fn silent(limit: Duration) -> StoreError {
    let source = format!("no answer within {limit:?}").into();
    StoreError::Generic { store: "store", source }
}

fn too_long(bytes: u64) -> StoreError {
    let source = format!("{bytes} bytes are more than {READ_BYTES_MAX}").into();
    StoreError::Generic { store: "store", source }
}

pub(crate) fn failed(doing: &'static str, name: &str, error: &StoreError) -> Error {
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
