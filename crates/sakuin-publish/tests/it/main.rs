//! What publishing and following promise, over tables that are lines of text.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used)]

/// What is deleted, and what stays.
mod collect;
/// Killed, refused, lost, silent: at any request, and in any order.
mod faults;
/// A store that fails on demand.
mod faulty;
/// Followers: news, refusals, damage, a store that is away.
mod follow;
/// Publishing: rules, races, what a killed run leaves.
mod publish;
/// Plain files.
mod upload;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use sakuin_publish::{
    Error, Facts, Follower, Opened, Publication, Published, Query, Repository, Rules,
};
use tempfile::TempDir;

/// A table of lines, `key=value`.
#[derive(Debug)]
struct Lines {
    text: String,
}

impl Lines {
    fn open(file: &Path) -> Result<Lines, String> {
        let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
        match text.lines().all(|line| line.contains('=')) {
            true => Ok(Lines { text }),
            false => Err("a line has no `=`".to_owned()),
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.lines().filter_map(|line| line.split_once('='))
    }
}

impl Opened for Lines {
    fn facts(&self) -> Facts {
        let (bytes, keys) = (self.text.len() as u64, self.text.lines().count() as u64);
        let content_id = self.text.replace('\n', ";").chars().take(40).collect();
        Facts { bytes, keys, content: "text".to_owned(), content_id }
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        Ok(self.pairs().find(|(other, _)| other.as_bytes() == key).map(|(_, value)| value.into()))
    }

    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
        self.pairs().for_each(|(key, value)| take(key.as_bytes(), value.as_bytes()));
        Ok(())
    }
}

/// A repository on the disk, and a folder for what else a test needs.
struct Shop {
    folder: TempDir,
    repository: Repository,
}

fn shop() -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::open(&url(&folder.path().join("bucket"))).unwrap();
    Shop { folder, repository }
}

fn url(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

/// So many lines, `key0=` and on, with this value.
fn lines(count: usize, value: &str) -> String {
    (0..count).map(|at| format!("key{at}={value}\n")).collect()
}

impl Shop {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What is published of tables by name and text.
    fn publication(&self, tables: &[(&str, &str)]) -> Publication {
        let files: BTreeMap<String, PathBuf> = tables
            .iter()
            .map(|(name, text)| {
                let file = self.path(&format!("{name}.{}", file_name(text)));
                fs::write(&file, text).unwrap();
                ((*name).to_owned(), file)
            })
            .collect();
        Publication {
            files,
            channel: "stable".to_owned(),
            rules: Rules::default(),
            allow: BTreeMap::new(),
            by: "a test".to_owned(),
        }
    }

    async fn publish(&self, tables: &[(&str, &str)]) -> Result<Published, Error> {
        let publication = self.publication(tables);
        self.repository.publish(&publication, Lines::open, |_| ()).await
    }

    fn follow(&self, folder: &str) -> Follower<Lines> {
        self.follow_by(folder, Rules::default())
    }

    fn follow_by(&self, folder: &str, rules: Rules) -> Follower<Lines> {
        let folder = self.path(folder);
        Follower::open(self.repository.clone(), "stable", &folder, rules, 2, Lines::open).unwrap()
    }

    /// An object in the bucket.
    fn object(&self, hash: &str) -> PathBuf {
        self.path("bucket").join("objects").join(&hash[..2]).join(hash)
    }
}

/// A file's name for a text, so that equal texts share one.
fn file_name(text: &str) -> String {
    format!(
        "{:016x}",
        text.bytes()
            .fold(7_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    )
}

fn query(table: &str, key: &str) -> Query {
    Query { table: table.to_owned(), key: key.as_bytes().to_vec() }
}

/// The rules that an error names.
fn rules_of(error: &Error) -> Vec<&'static str> {
    match error {
        Error::Refused(refusals) => refusals.iter().map(|one| one.rule).collect(),
        other => panic!("{other}"),
    }
}
