//! What a follower has on this machine: the tables of the version it serves, and a file that says which they are. Any
//! number of programs may read it while one follows.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    layout::is_hash,
    manifest::{Object, Written, read},
};

const STATE: &str = "state.json";
const OBJECTS: &str = "objects";
/// How often a folder is read again when files are gone by the time they are opened.
const TRIES_MAX: u32 = 3;

/// A folder that a version is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    state: State,
}

/// What a folder has, as its file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct State {
    /// The version of the layout.
    pub format: u32,
    /// Where the tables are from.
    pub repository: String,
    /// The channel that is followed.
    pub channel: String,
    /// The number of its announcement.
    pub announcement: u64,
    /// The version that is served.
    pub version: u64,
    /// When it was made.
    pub made: Timestamp,
    /// Its tables.
    pub tables: BTreeMap<String, Object>,
    /// Versions served before that are still here, the newest first: their numbers and objects.
    #[serde(default)]
    pub kept: Vec<(u64, Vec<String>)>,
}

/// A table of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Table {
    /// Its file.
    pub file: PathBuf,
    /// What it is.
    pub object: Object,
}

impl Folder {
    /// What is in a folder. A file may be gone by the time it is opened, when versions follow quickly: then look again.
    ///
    /// # Errors
    /// [`Error::File`] if nothing was followed into it, [`Error::Damaged`], [`Error::Newer`]
    ///
    /// ```no_run
    /// let folder = sakuin_publish::Folder::open("shop".as_ref())?;
    /// println!("version {}: {:?}", folder.state().version, folder.table("words").map(|table| table.file));
    /// # Ok::<(), sakuin_publish::Error>(())
    /// ```
    pub fn open(path: &Path) -> Result<Folder, Error> {
        let file = path.join(STATE);
        let bytes = fs::read(&file).map_err(|cause| Error::File { file: file.clone(), cause })?;
        let state = read(&file.display().to_string(), 0, &bytes)?;
        Ok(Folder { path: path.to_owned(), state })
    }

    /// Opens the version in a folder with all its tables. A follower may remove a file between the two: then what is there
    /// is read again.
    ///
    /// # Errors
    /// What `refused` makes of an error of [`Folder::open`], and what `open` says of a file that is there.
    pub fn open_tables<T, E>(
        path: &Path,
        refused: impl Fn(Error) -> E,
        open: impl Fn(&str, &Path) -> Result<T, E>,
    ) -> Result<(Folder, BTreeMap<String, T>), E> {
        let mut tries = 1;
        'again: loop {
            let folder = Folder::open(path).map_err(&refused)?;
            let mut tables = BTreeMap::new();
            for (name, table) in folder.tables() {
                match open(name, &table.file) {
                    Ok(opened) => drop(tables.insert(name.to_owned(), opened)),
                    Err(_) if tries < TRIES_MAX && !table.file.exists() => {
                        tries += 1;
                        continue 'again;
                    }
                    Err(error) => return Err(error),
                }
            }
            return Ok((folder, tables));
        }
    }

    /// What is there now, if it is another version or another announcement.
    pub fn refresh(&self) -> Result<Option<Folder>, Error> {
        let now = Folder::open(&self.path)?;
        Ok((now.state.announcement != self.state.announcement).then_some(now))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What its file says.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A table.
    pub fn table(&self, name: &str) -> Option<Table> {
        let object = self.state.tables.get(name)?;
        Some(Table { file: object_file(&self.path, &object.blake3), object: object.clone() })
    }

    /// All tables with their names.
    pub fn tables(&self) -> impl Iterator<Item = (&str, Table)> {
        self.state.tables.keys().filter_map(|name| Some((name.as_str(), self.table(name)?)))
    }

    /// Says what a folder has from now on, in one step.
    #[cfg(feature = "stores")]
    pub(crate) fn write(path: &Path, state: State) -> Result<Folder, Error> {
        let file = path.join(STATE);
        let written = || -> std::io::Result<()> {
            let mut new = tempfile::NamedTempFile::new_in(path)?;
            std::io::Write::write_all(&mut new, &crate::manifest::write(&state))?;
            new.as_file().sync_all()?;
            new.persist(&file)?;
            fs::File::open(path)?.sync_all()
        };
        written().map_err(|cause| Error::File { file: file.clone(), cause })?;
        Ok(Folder { path: path.to_owned(), state })
    }
}

/// Where an object is in a folder.
pub(crate) fn object_file(folder: &Path, hash: &str) -> PathBuf {
    folder.join(OBJECTS).join(hash)
}

impl Written for State {
    fn flaw(&self, _: u64) -> Option<&'static str> {
        let is_named = self.tables.values().all(|object| is_hash(&object.blake3));
        (!is_named).then_some("it names an object by no hash")
    }
}

/// The objects that are in a folder.
#[cfg(feature = "stores")]
pub(crate) fn objects(folder: &Path) -> std::io::Result<Vec<String>> {
    let names = fs::read_dir(folder.join(OBJECTS))?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<_> = names.collect::<std::io::Result<_>>()?;
    Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
}

/// Makes the folder and the place of its objects.
#[cfg(feature = "stores")]
pub(crate) fn make(folder: &Path) -> Result<(), Error> {
    let objects = folder.join(OBJECTS);
    fs::create_dir_all(&objects).map_err(|cause| Error::File { file: objects, cause })
}
