//! Taking away what nobody needs: told, and done if it is said; what is done is written down before.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use jiff::Timestamp;

use crate::{
    error::Error,
    layout,
    manifest::{Announcement, read},
    repository::Repository,
};

/// What is to be deleted, and why; what stays, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collection {
    /// In the order in which it is done: manifests before objects.
    pub deletions: Vec<Deletion>,
    /// Versions that stay, and why.
    pub stays: BTreeMap<u64, String>,
    /// Whether it was done.
    pub is_done: bool,
}

/// A name that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deletion {
    /// Its name in the store.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
    /// Why it goes.
    pub why: String,
}

/// Versions that a channel announced last stay, so many of them, and all that it announced within some days.
const LAST: usize = 10;
const DAYS: u64 = 30;
/// What is younger stays: somebody may be publishing it.
const AGE_MIN: Duration = Duration::from_secs(48 * 3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Repository {
    /// Says what can be deleted, and deletes it if `run` is set. Ages are by the store's own times.
    ///
    /// What stays: the newest version; the last ten that each channel announced, and those of the last thirty days;
    /// pinned ones; and whatever is younger than two days. Announcements stay for ever.
    pub async fn collect(&self, run: bool, now: SystemTime) -> Result<Collection, Error> {
        let mut collection = Collection::default();
        let listed = self.store.list(layout::VERSIONS).await?;
        let mut versions: BTreeMap<u64, (u64, SystemTime)> = BTreeMap::new();
        for one in &listed {
            versions.extend(
                layout::number(&one.name).map(|number| (number, (one.bytes, one.modified))),
            );
        }
        let age = |modified: SystemTime| now.duration_since(modified).unwrap_or_default();
        if let Some(newest) = versions.keys().last() {
            collection.stays.insert(*newest, "it is the newest".to_owned());
        }
        for channel in self.channels().await? {
            for (version, why) in self.held(&channel, now).await? {
                collection.stays.entry(version).or_insert(why);
            }
        }
        for number in self.numbers(layout::PINS).await? {
            collection.stays.entry(number).or_insert_with(|| "it is pinned".to_owned());
        }
        for (number, (_, modified)) in &versions {
            if age(*modified) < AGE_MIN {
                collection.stays.entry(*number).or_insert_with(|| "it is young".to_owned());
            }
        }
        let mut needed = BTreeSet::new();
        for (number, (bytes, _)) in &versions {
            if collection.stays.contains_key(number) {
                let manifest = self.manifest(*number).await?;
                needed.extend(manifest.tables.into_values().map(|object| object.blake3));
            } else {
                let (name, why) =
                    (layout::version(*number), "no channel serves it any more".to_owned());
                collection.deletions.push(Deletion { name, bytes: *bytes, why });
            }
        }
        for one in self.store.list(layout::OBJECTS).await? {
            let hash = one.name.rsplit('/').next().unwrap_or_default();
            if layout::is_hash(hash) && !needed.contains(hash) && age(one.modified) >= AGE_MIN {
                let why = "no version that stays has it".to_owned();
                collection.deletions.push(Deletion { name: one.name, bytes: one.bytes, why });
            }
        }
        if run && !collection.deletions.is_empty() {
            self.write_plan(&collection).await?;
            for deletion in &collection.deletions {
                self.store.remove(&deletion.name).await?;
            }
        }
        collection.is_done = run;
        Ok(collection)
    }

    /// The versions that a channel may still lead to.
    async fn held(&self, channel: &str, now: SystemTime) -> Result<Vec<(u64, String)>, Error> {
        let mut held = Vec::new();
        let Some(head) = self.head(channel, 0).await? else { return Ok(held) };
        let mut seen = BTreeSet::new();
        for number in (1..=head.number).rev() {
            let name = layout::announcement(channel, number);
            let Some(bytes) = self.store.read(&name).await? else { continue };
            let announcement: Announcement = read(&name, number, &bytes)?;
            let age = now.duration_since(announcement.made.into()).unwrap_or_default();
            let why = match () {
                () if number == head.number => format!("`{channel}` serves it"),
                () if seen.len() < LAST => format!("it is one of the last {LAST} of `{channel}`"),
                () if age < DAY * DAYS as u32 => {
                    format!("`{channel}` announced it within {DAYS} days")
                }
                // All before are older.
                () => break,
            };
            seen.insert(announcement.version);
            held.push((announcement.version, why));
        }
        Ok(held)
    }

    /// Writes down what is deleted, before it is.
    async fn write_plan(&self, collection: &Collection) -> Result<(), Error> {
        let number = self.numbers(layout::PLANS).await?.last().copied().unwrap_or(0) + 1;
        let deletions: Vec<_> =
            collection.deletions.iter().map(|one| (&one.name, one.bytes, &one.why)).collect();
        let plan = serde_json::json!({ "made": Timestamp::now(), "deletions": deletions });
        let bytes = crate::manifest::write(&plan);
        self.store.create(&layout::plan(number), &bytes).await.map(drop)
    }
}
