//! A repository: its versions and channels, and the one way in which either grows.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use jiff::Timestamp;
use object_store::ObjectStore;
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    layout::{self, FORMAT},
    manifest::{Announcement, Kind, Manifest, Object, read, write},
    store::{Created, Store},
    transfer::hash,
};

/// Tables that belong together, in a store.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(crate) store: Store,
    url: String,
}

/// What there is of a repository.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Versions {
    /// Its versions, the oldest first.
    pub manifests: Vec<Manifest>,
    /// What its channels announced last, by their names.
    pub channels: BTreeMap<String, Announcement>,
    /// The versions that are to stay, and why.
    pub pins: BTreeMap<u64, String>,
}

/// How often another's number is stepped over.
const ATTEMPTS_MAX: u64 = 100;

#[derive(Serialize, Deserialize)]
pub(crate) struct Pin {
    pub(crate) why: String,
}

impl Repository {
    /// A repository at `file:///folder`, `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`, which is
    /// not asked yet. Where the store is and who asks, its usual environment variables say.
    ///
    /// # Errors
    /// [`Error::Url`]
    pub fn open(url: &str) -> Result<Repository, Error> {
        Ok(Repository { store: Store::open(url)?, url: url.trim_end_matches('/').to_owned() })
    }

    /// A repository at the root of a store that is set up already: in memory, or with credentials of its own. The
    /// address is what messages and followers' folders call it.
    pub fn with_store(store: Arc<dyn ObjectStore>, url: &str) -> Repository {
        Repository { store: Store::of(store), url: url.to_owned() }
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a channel announced last; none if it has announced nothing. Asks for the next number after `known`: one
    /// question if there is no news, and a few for any number of announcements.
    pub async fn head(&self, channel: &str, known: u64) -> Result<Option<Announcement>, Error> {
        let number = self.newest(channel, known).await?;
        if number == 0 {
            return Ok(None);
        }
        let head = self.announcement(channel, number).await?;
        head.map(Some).ok_or_else(|| Error::Store {
            doing: "reading",
            name: layout::announcement(channel, number),
            cause: "it was there, and is not any more".to_owned(),
            is_denied: false,
        })
    }

    async fn announcement(
        &self,
        channel: &str,
        number: u64,
    ) -> Result<Option<Announcement>, Error> {
        let name = layout::announcement(channel, number);
        let bytes = self.store.read(&name).await?;
        bytes.map(|bytes| read(&name, number, &bytes)).transpose()
    }

    /// The last number of a channel, by doubling steps and then by halves; it needs no right to list.
    async fn newest(&self, channel: &str, known: u64) -> Result<u64, Error> {
        let is_there = async |number| {
            match self.store.stat(&layout::announcement(channel, number)).await {
                // So S3 says of what is not there to whoever may not list: if what is there is answered, nothing is.
                Err(Error::Store { is_denied: true, .. })
                    if known > 0
                        && self.store.stat(&layout::announcement(channel, known)).await.is_ok() =>
                {
                    Ok(false)
                }
                found => found.map(|found| found.is_some()),
            }
        };
        let (mut there, mut step) = (known, 1);
        while is_there(there + step).await? {
            there += step;
            step *= 2;
        }
        let mut absent = there + step;
        while absent - there > 1 {
            let middle = there + (absent - there) / 2;
            if is_there(middle).await? { there = middle } else { absent = middle }
        }
        Ok(there)
    }

    /// A version.
    ///
    /// # Errors
    /// [`Error::NoVersion`], and those of a store.
    pub async fn manifest(&self, number: u64) -> Result<Manifest, Error> {
        self.manifest_bytes(number).await.map(|(manifest, _)| manifest)
    }

    /// A version and the hash of its manifest.
    pub(crate) async fn manifest_bytes(&self, number: u64) -> Result<(Manifest, String), Error> {
        let name = layout::version(number);
        let bytes = self.store.read(&name).await?.ok_or(Error::NoVersion(number))?;
        Ok((read(&name, number, &bytes)?, blake3::hash(&bytes).to_hex().to_string()))
    }

    /// The version that an announcement names, by its hash.
    pub async fn announced(&self, announcement: &Announcement) -> Result<Manifest, Error> {
        let (manifest, hash) = self.manifest_bytes(announcement.version).await?;
        match hash == announcement.manifest {
            true => Ok(manifest),
            false => Err(Error::Damaged {
                name: layout::version(announcement.version),
                what: "it is not the one that was announced".to_owned(),
            }),
        }
    }

    /// All versions, channels and pins.
    pub async fn versions(&self) -> Result<Versions, Error> {
        let mut versions =
            Versions { manifests: Vec::new(), channels: BTreeMap::new(), pins: BTreeMap::new() };
        for number in self.numbers(layout::VERSIONS).await? {
            match self.manifest(number).await {
                // Somebody collects meanwhile.
                Err(Error::NoVersion(_)) => {}
                manifest => versions.manifests.push(manifest?),
            }
        }
        for channel in self.channels().await? {
            if let Some(head) = self.head(&channel, 0).await? {
                versions.channels.insert(channel, head);
            }
        }
        for number in self.numbers(layout::PINS).await? {
            if let Some(bytes) = self.store.read(&layout::pin(number)).await? {
                let pin: Option<Pin> = serde_json::from_slice(&bytes).ok();
                versions.pins.insert(number, pin.map(|pin| pin.why).unwrap_or_default());
            }
        }
        Ok(versions)
    }

    /// The names of channels.
    pub(crate) async fn channels(&self) -> Result<Vec<String>, Error> {
        let listed = self.store.list(layout::CHANNELS).await?;
        let mut names: Vec<String> =
            listed.keys().filter_map(|name| name.split('/').nth(1)).map(str::to_owned).collect();
        names.dedup();
        Ok(names)
    }

    /// The numbers of the files of a folder, in order.
    pub(crate) async fn numbers(&self, folder: &str) -> Result<Vec<u64>, Error> {
        let listed = self.store.list(folder).await?;
        let mut numbers: Vec<u64> = listed.keys().filter_map(|name| layout::number(name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Writes something under the first number after `newest` that nobody has taken; returns both. A number that another
    /// takes meanwhile is theirs, and the next may be ours.
    pub(crate) async fn create_next(
        &self,
        name: fn(u64) -> String,
        newest: u64,
        mut written: impl FnMut(u64) -> Vec<u8>,
    ) -> Result<(u64, Vec<u8>), Error> {
        for number in newest + 1..=newest + ATTEMPTS_MAX {
            let bytes = written(number);
            if let Created::Ours = self.store.create(&name(number), &bytes).await? {
                return Ok((number, bytes));
            }
        }
        let cause = format!("{ATTEMPTS_MAX} others were faster");
        Err(Error::Store { doing: "writing", name: name(newest + 1), cause, is_denied: false })
    }

    /// Appends an announcement to a channel whose last one is number `after`.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another appended first.
    pub(crate) async fn announce(
        &self,
        channel: &str,
        after: u64,
        version: (u64, String),
        kind: Kind,
        by: &str,
        why: Option<String>,
    ) -> Result<Announcement, Error> {
        let announcement = Announcement {
            format: FORMAT,
            number: after + 1,
            version: version.0,
            manifest: version.1,
            kind,
            by: by.to_owned(),
            why,
            made: Timestamp::now(),
            nonce: nonce(),
        };
        let name = layout::announcement(channel, after + 1);
        match self.store.create(&name, &write(&announcement)).await? {
            Created::Ours => Ok(announcement),
            Created::Taken(bytes) => {
                let other: Announcement = read(&name, after + 1, &bytes)?;
                Err(Error::Conflict {
                    channel: channel.to_owned(),
                    version: other.version,
                    by: other.by,
                })
            }
        }
    }

    /// Has a channel serve what another serves.
    ///
    /// # Errors
    /// [`Error::Channel`] if that one has announced nothing, [`Error::Conflict`], and those of a store.
    pub async fn promote(&self, from: &str, to: &str, by: &str) -> Result<Announcement, Error> {
        check_channel(to)?;
        let source = self.head(from, 0).await?.ok_or_else(|| Error::Channel {
            channel: from.to_owned(),
            what: "announced nothing yet".to_owned(),
        })?;
        let after = self.head(to, 0).await?;
        if let Some(head) = after.as_ref().filter(|head| head.version == source.version) {
            return Ok(head.clone());
        }
        let version = (source.version, source.manifest);
        self.announce(to, after.map_or(0, |head| head.number), version, Kind::Promote, by, None)
            .await
    }

    /// Has a channel serve an older version again: the one before, or the one of a number.
    ///
    /// # Errors
    /// [`Error::Channel`] if there is none before, [`Error::NoVersion`], [`Error::Conflict`], and those of a store.
    pub async fn rollback(
        &self,
        channel: &str,
        to: Option<u64>,
        why: &str,
        by: &str,
    ) -> Result<Announcement, Error> {
        let lacks =
            |what: &str| Error::Channel { channel: channel.to_owned(), what: what.to_owned() };
        let head = self.head(channel, 0).await?.ok_or_else(|| lacks("announced nothing yet"))?;
        let to = match to {
            Some(version) => version,
            None => self
                .served_before(channel, &head)
                .await?
                .ok_or_else(|| lacks("served nothing before"))?,
        };
        let (_, hash) = self.manifest_bytes(to).await?;
        self.announce(channel, head.number, (to, hash), Kind::Rollback, by, Some(why.to_owned()))
            .await
    }

    /// The version that a channel served before another, and that was not taken back.
    async fn served_before(
        &self,
        channel: &str,
        head: &Announcement,
    ) -> Result<Option<u64>, Error> {
        let mut number = head.number - 1;
        while number > 0 {
            let Some(one) = self.announcement(channel, number).await? else { break };
            // What a rollback left was bad, and so was all since what it led back to.
            if one.version < head.version {
                return Ok(Some(one.version));
            }
            number -= 1;
        }
        Ok(None)
    }

    /// Fetches a table of a version into a file, and checks its hash. `told` is called with how many more bytes are there.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is not what its manifest says, and those of a store.
    pub async fn fetch(
        &self,
        object: &Object,
        file: &Path,
        told: impl Fn(u64),
    ) -> Result<(), Error> {
        let name = layout::object(&object.blake3);
        self.store.fetch(&name, file, object.facts.bytes, told).await?;
        match hash(file).await? == object.blake3 {
            true => Ok(()),
            false => Err(Error::Damaged { name, what: "its bytes have another hash".to_owned() }),
        }
    }

    /// Keeps a version from being collected.
    ///
    /// # Errors
    /// [`Error::NoVersion`], and those of a store.
    pub async fn pin(&self, version: u64, why: &str) -> Result<(), Error> {
        self.manifest(version).await?;
        let pin = write(&Pin { why: why.to_owned() });
        self.store.put(&layout::pin(version), pin.into()).await.map(drop)
    }

    /// Lets a version be collected again.
    pub async fn unpin(&self, version: u64) -> Result<(), Error> {
        self.store.remove(&layout::pin(version)).await
    }
}

pub(crate) fn check_channel(channel: &str) -> Result<(), Error> {
    match layout::is_name(channel) {
        true => Ok(()),
        false => Err(Error::Name { name: channel.to_owned(), what: "channel" }),
    }
}

/// Says whose something is, should a reply be lost.
pub(crate) fn nonce() -> String {
    uuid::Uuid::new_v4().to_string()
}
