//! Taking away what nobody needs: told, and done if it is said; what is done is written down before.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{
    error::Error,
    layout,
    manifest::{Announcement, Manifest, read, write},
    repository::Repository,
    store::Stat,
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

/// What is written down before it is done.
#[derive(Serialize, Deserialize)]
struct Plan {
    made: Timestamp,
    deletions: Vec<Deletion>,
}

/// A name that goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Deletion {
    /// Its name in the store.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
    /// Why it goes.
    pub why: String,
}

/// A run deletes for so long, and after this time nothing is deleted that was written down before. Who publishes what is
/// about to be deleted waits as long.
const DELETING_MAX: Duration = Duration::from_secs(9 * 60);
pub(crate) const COLLECTING_MAX: Duration = Duration::from_secs(10 * 60);
const DAY: u64 = 24 * 3600;
/// Versions that a channel announced last stay, so many of them, and all that it announced within some time.
const LAST: usize = 10;
const HELD: Duration = Duration::from_secs(30 * DAY);
/// What is younger stays: somebody may be publishing it.
const AGE_MIN: Duration = Duration::from_secs(2 * DAY);

impl Repository {
    /// Says what can be deleted, and deletes it if `run` is set. Ages are by the store's own times.
    ///
    /// What stays: the newest version; the last ten that each channel announced, and those of the last thirty days;
    /// pinned ones; and whatever is younger than two days. Announcements stay for ever.
    ///
    /// What goes is written down first. Then everything is looked at a second time, by the store's clock if that is behind
    /// this machine's, and what somebody needs by now is left. Who begins to publish while this deletes sees what is written
    /// down.
    ///
    /// # Errors
    /// [`Error::Unfinished`] after nine minutes, with more to delete; those of a store.
    pub async fn collect(&self, run: bool) -> Result<Collection, Error> {
        let now = SystemTime::now();
        let mut collection = self.collection(now).await?;
        let begun = Instant::now();
        if run && !collection.deletions.is_empty() {
            let written = self.write_plan(&collection).await?;
            let again = self.collection(now.min(written)).await?;
            collection.stays = again.stays;
            collection.deletions.retain(|one| again.deletions.contains(one));
            for deletion in &collection.deletions {
                if begun.elapsed() > DELETING_MAX {
                    return Err(Error::Unfinished);
                }
                self.store.remove(&deletion.name).await?;
            }
        }
        collection.is_done = run;
        Ok(collection)
    }

    /// What there is to be deleted.
    async fn collection(&self, now: SystemTime) -> Result<Collection, Error> {
        let mut collection = Collection::default();
        let listed = self.store.list(layout::VERSIONS).await?;
        let versions: BTreeMap<u64, Stat> = listed
            .into_iter()
            .filter_map(|(name, stat)| Some((layout::number(&name)?, stat)))
            .collect();
        let is_young = |stat: &Stat| age(stat, now) < AGE_MIN;
        let mut stays = |number: u64, why: String| {
            if versions.contains_key(&number) {
                collection.stays.entry(number).or_insert(why);
            }
        };
        if let Some(newest) = versions.keys().last() {
            stays(*newest, "it is the newest".to_owned());
        }
        for channel in self.channels().await? {
            for (version, why) in self.held(&channel, now).await? {
                stays(version, why);
            }
        }
        for number in self.numbers(layout::PINS).await? {
            stays(number, "it is pinned".to_owned());
        }
        for (number, _) in versions.iter().filter(|(_, stat)| is_young(stat)) {
            stays(*number, "it is young".to_owned());
        }
        let mut needed = BTreeSet::new();
        for (number, stat) in &versions {
            if !collection.stays.contains_key(number) {
                let (name, why) =
                    (layout::version(*number), "no channel serves it any more".to_owned());
                collection.deletions.push(Deletion { name, bytes: stat.bytes, why });
                continue;
            }
            let manifest = self.manifest(*number).await?;
            needed.extend(manifest.tables.into_values().map(|object| object.blake3));
        }
        for (name, stat) in self.store.list(layout::OBJECTS).await? {
            let hash = name.rsplit('/').next().unwrap_or_default();
            if layout::is_hash(hash) && !needed.contains(hash) && !is_young(&stat) {
                let why = "no version that stays has it".to_owned();
                collection.deletions.push(Deletion { name, bytes: stat.bytes, why });
            }
        }
        Ok(collection)
    }

    /// The versions that a channel may still lead to.
    async fn held(&self, channel: &str, now: SystemTime) -> Result<Vec<(u64, String)>, Error> {
        let mut held = Vec::new();
        let listed = self.store.list(&layout::channel(channel)).await?;
        let mut seen = BTreeSet::new();
        for (name, stat) in listed.iter().rev() {
            let Some(number) = layout::number(name) else { continue };
            let Some(bytes) = self.store.read(name).await? else { continue };
            let announcement: Announcement = read(name, number, &bytes)?;
            let why = match () {
                () if seen.is_empty() => format!("`{channel}` serves it"),
                () if seen.len() < LAST => format!("it is one of the last {LAST} of `{channel}`"),
                () if age(stat, now) < HELD => {
                    format!("`{channel}` announced it within {} days", HELD.as_secs() / DAY)
                }
                // All before are older.
                () => break,
            };
            seen.insert(announcement.version);
            held.push((announcement.version, why));
        }
        Ok(held)
    }

    /// Whether a collection that began before a version was there may still take an object of it. One that began later has
    /// seen the version.
    pub(crate) async fn is_being_collected(&self, manifest: &Manifest) -> Result<bool, Error> {
        let plans = self.store.list(layout::PLANS).await?;
        if plans.is_empty() {
            return Ok(false);
        }
        let written = self.store.stat(&layout::version(manifest.number)).await?;
        let written = written.map_or(SystemTime::UNIX_EPOCH, |written| written.modified);
        let is_needed = |deletion: &Deletion| {
            let mut objects = manifest.tables.values();
            objects.any(|object| layout::object(&object.blake3) == deletion.name)
        };
        for (name, stat) in plans.iter().rev() {
            if stat.modified + COLLECTING_MAX < written {
                break;
            }
            let Some(bytes) = self.store.read(name).await? else { continue };
            let plan: Plan = serde_json::from_slice(&bytes)
                .map_err(|error| Error::Damaged { name: name.clone(), what: error.to_string() })?;
            if plan.deletions.iter().any(is_needed) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes down what is deleted, before it is; returns when that was, by the store's clock.
    async fn write_plan(&self, collection: &Collection) -> Result<SystemTime, Error> {
        let newest = self.numbers(layout::PLANS).await?.last().copied().unwrap_or(0);
        let plan = Plan { made: Timestamp::now(), deletions: collection.deletions.clone() };
        let (number, _) = self.create_next(layout::plan, newest, |_| write(&plan)).await?;
        let written = self.store.stat(&layout::plan(number)).await?;
        Ok(written.map_or(SystemTime::UNIX_EPOCH, |written| written.modified))
    }
}

fn age(stat: &Stat, now: SystemTime) -> Duration {
    now.duration_since(stat.modified).unwrap_or_default()
}
