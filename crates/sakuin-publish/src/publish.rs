//! Publishing: check, upload, write the manifest, announce. Whatever it is killed at, only whole versions are announced;
//! done again, it goes on with what is there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use futures_util::future::try_join_all;
use jiff::Timestamp;
use tokio::time::sleep;

use crate::{
    collect::COLLECTING_MAX,
    error::Error,
    layout::{self, FORMAT},
    manifest::{Announcement, Kind, Manifest, Object, write},
    repository::{Repository, check_channel, nonce},
    rules::{ALLOWABLE, Facts, Opened, Rules},
    transfer::hash,
};

/// What is to be published, and how.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The file of each table.
    pub files: BTreeMap<String, PathBuf>,
    /// Where it is announced.
    pub channel: String,
    /// What is refused.
    pub rules: Rules,
    /// Rules that may be broken, and why.
    pub allow: BTreeMap<String, String>,
    /// Who publishes.
    pub by: String,
}

/// What came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Published {
    /// The version.
    pub version: u64,
    /// What was announced.
    pub announcement: Announcement,
    /// Whether the channel served the very same already, so that nothing was announced.
    pub is_unchanged: bool,
    /// Tables that were uploaded, and those whose objects were there. Of what is unchanged, objects that had gone are
    /// uploaded again.
    pub uploaded: Vec<String>,
    /// See `uploaded`.
    pub reused: Vec<String>,
}

/// What is being done, for progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Step<'s> {
    /// A table is opened and hashed.
    Checking(&'s str),
    /// So many more bytes of a table, of so many, are uploaded.
    Uploading(&'s str, u64, u64),
    /// A collection is under way that may take an object of the version, and comes to its end.
    Waiting,
    /// Everything is there, and is announced.
    Announcing,
}

impl Repository {
    /// Publishes a version of all the repository's tables: those of `files` are new, and no others are left.
    ///
    /// # Errors
    /// [`Error::Refused`] names every rule that is broken; [`Error::Conflict`] who was faster. Nothing is announced then.
    pub async fn publish<T: Opened>(
        &self,
        publication: &Publication,
        open: impl Fn(&Path) -> Result<T, String>,
        told: impl Fn(Step<'_>) + Sync,
    ) -> Result<Published, Error> {
        check(publication)?;
        let head = self.head(&publication.channel, 0).await?;
        let parent = match &head {
            Some(head) => Some(self.announced(head).await?),
            None => None,
        };
        let (objects, tables) = objects(publication, &open, &told).await?;
        if let (Some(head), Some(parent)) = (&head, &parent)
            && parent.tables == objects
        {
            let uploaded = self.complete(publication, &objects, &told).await?;
            let reused = objects.into_keys().filter(|name| !uploaded.contains(name)).collect();
            let (version, announcement) = (head.version, head.clone());
            return Ok(Published { version, announcement, is_unchanged: true, uploaded, reused });
        }
        let mut manifest = Manifest {
            format: FORMAT,
            number: 0,
            parent: parent.as_ref().map(|parent| parent.number),
            nonce: nonce(),
            made: Timestamp::now(),
            by: publication.by.clone(),
            tables: objects,
            allowed: publication.allow.clone(),
        };
        self.refuse(publication, &manifest, parent.as_ref(), &tables, &open).await?;
        drop(tables);
        let uploaded = self.complete(publication, &manifest.tables, &told).await?;
        let hash = self.write_manifest(&mut manifest).await?;
        if self.is_being_collected(&manifest).await? {
            told(Step::Waiting);
            sleep(COLLECTING_MAX).await;
            self.complete(publication, &manifest.tables, &told).await?;
        }
        told(Step::Announcing);
        let after = head.map_or(0, |head| head.number);
        let version = (manifest.number, hash);
        let announcement = self
            .announce(&publication.channel, after, version, Kind::Publish, &publication.by, None)
            .await?;
        let version = manifest.number;
        let reused = manifest.tables.into_keys().filter(|name| !uploaded.contains(name)).collect();
        Ok(Published { version, announcement, is_unchanged: false, uploaded, reused })
    }

    /// Sends the objects that are not there; returns their tables.
    async fn complete(
        &self,
        publication: &Publication,
        tables: &BTreeMap<String, Object>,
        told: &(impl Fn(Step<'_>) + Sync),
    ) -> Result<Vec<String>, Error> {
        let asked = tables.iter().map(async |(name, object)| {
            Ok::<_, Error>((!self.is_there(object).await?).then(|| name.clone()))
        });
        let missing: Vec<String> = try_join_all(asked).await?.into_iter().flatten().collect();
        for name in &missing {
            self.send(publication, name, &tables[name], told).await?;
        }
        Ok(missing)
    }

    /// Sends a table's file.
    async fn send(
        &self,
        publication: &Publication,
        name: &str,
        object: &Object,
        told: &(impl Fn(Step<'_>) + Sync),
    ) -> Result<(), Error> {
        let Object { blake3: hash, facts: Facts { bytes, .. } } = object;
        let told = |sent| told(Step::Uploading(name, sent, *bytes));
        let (at, file) = (layout::object(hash), &publication.files[name]);
        let Err(error) = self.store.upload(&at, file, Some(hash), told).await else {
            return Ok(());
        };
        // A reply may be lost. What has this name is these bytes, and a store has all of them or none.
        if self.is_there(object).await.unwrap_or(false) { Ok(()) } else { Err(error) }
    }

    /// Whether an object is there: a run that was killed has left it, or another version has it.
    async fn is_there(&self, object: &Object) -> Result<bool, Error> {
        let found = self.store.stat(&layout::object(&object.blake3)).await?;
        Ok(found.is_some_and(|found| found.bytes == object.facts.bytes))
    }

    /// Applies the rules; those that ask questions need the tables of before.
    async fn refuse<T: Opened>(
        &self,
        publication: &Publication,
        manifest: &Manifest,
        parent: Option<&Manifest>,
        tables: &BTreeMap<String, T>,
        open: &impl Fn(&Path) -> Result<T, String>,
    ) -> Result<(), Error> {
        let rules = &publication.rules;
        let mut refusals = rules.of_manifest(manifest, parent);
        let folder = tempfile::tempdir()
            .map_err(|cause| Error::File { file: std::env::temp_dir(), cause })?;
        let mut before = BTreeMap::new();
        let asked: std::collections::BTreeSet<&String> =
            rules.rehearse.iter().map(|query| &query.table).collect();
        for (name, object) in parent.iter().flat_map(|parent| &parent.tables) {
            if asked.contains(name) {
                let file = folder.path().join(name);
                self.fetch(object, &file, |_| ()).await?;
                before.insert(name.clone(), opened(name, &file, open)?);
            }
        }
        let unreadable = |(table, cause)| Error::Table { table, cause };
        refusals.extend(rules.of_tables(tables, &before, &publication.allow).map_err(unreadable)?);
        if refusals.is_empty() { Ok(()) } else { Err(Error::Refused(refusals)) }
    }

    /// Writes a manifest under the next number; returns its hash. One that a killed run left, with the same tables after
    /// the same parent, is taken for it.
    async fn write_manifest(&self, manifest: &mut Manifest) -> Result<String, Error> {
        let newest = self.numbers(layout::VERSIONS).await?.last().copied().unwrap_or(0);
        if newest > manifest.parent.unwrap_or(0) {
            let (left, hash) = self.manifest_bytes(newest).await?;
            if left.tables == manifest.tables
                && left.parent == manifest.parent
                && left.allowed == manifest.allowed
            {
                *manifest = left;
                return Ok(hash);
            }
        }
        let (_, bytes) = self
            .create_next(layout::version, newest, |number| {
                manifest.number = number;
                write(manifest)
            })
            .await?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    }
}

fn check(publication: &Publication) -> Result<(), Error> {
    check_channel(&publication.channel)?;
    if let Some(name) = publication.files.keys().find(|name| !layout::is_name(name)) {
        return Err(Error::Name { name: name.clone(), what: "table" });
    }
    match publication.allow.keys().find(|rule| !ALLOWABLE.contains(&rule.as_str())) {
        Some(rule) => Err(Error::Name { name: rule.clone(), what: "rule" }),
        None => Ok(()),
    }
}

type Tables<T> = (BTreeMap<String, Object>, BTreeMap<String, T>);

/// Opens every file, and says what it is.
async fn objects<T: Opened>(
    publication: &Publication,
    open: &impl Fn(&Path) -> Result<T, String>,
    told: &impl Fn(Step<'_>),
) -> Result<Tables<T>, Error> {
    let (mut objects, mut tables) = (BTreeMap::new(), BTreeMap::new());
    for (name, file) in &publication.files {
        told(Step::Checking(name));
        let table = opened(name, file, open)?;
        let object = Object { blake3: hash(file).await?, facts: table.facts() };
        objects.insert(name.clone(), object);
        tables.insert(name.clone(), table);
    }
    Ok((objects, tables))
}

pub(crate) fn opened<T>(
    table: &str,
    file: &Path,
    open: impl Fn(&Path) -> Result<T, String>,
) -> Result<T, Error> {
    open(file).map_err(|cause| Error::Table { table: table.to_owned(), cause })
}
