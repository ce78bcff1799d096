//! Repositories whose tables are packed: how publishers and followers open one, and a folder that is followed into, read
//! in-process.

use std::{collections::BTreeMap, ops::Index, path::Path, sync::Arc};

use sakuin_pack::TableOptions;
use sakuin_publish::{Error, Facts, Folder, Opened, State};

/// A packed file that was checked as a whole.
#[derive(Clone)]
pub struct PackedFile {
    table: sakuin_pack::Table,
    bytes: u64,
}

impl PackedFile {
    /// Opens a file and checks every block of it; or says why that cannot be.
    pub fn open(file: &Path) -> Result<PackedFile, String> {
        let table = TableOptions::new().verify(true).open(file).map_err(|error| {
            let hint = error.hint().map(|hint| format!("; {hint}"));
            format!("{error}{}", hint.unwrap_or_default())
        })?;
        let bytes = table.stats().file_bytes;
        Ok(PackedFile { table, bytes })
    }

    /// The table.
    pub fn table(&self) -> &sakuin_pack::Table {
        &self.table
    }
}

impl Opened for PackedFile {
    fn facts(&self) -> Facts {
        Facts {
            bytes: self.bytes,
            keys: self.table.len(),
            content: self.table.content().to_string(),
            content_id: self.table.content_id(),
        }
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let found = self.table.get(key).map_err(|error| error.to_string())?;
        Ok(found.map(|values| whole(&values)))
    }

    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
        for entry in self.table.iter().map_err(|error| error.to_string())? {
            let (key, values) = entry.map_err(|error| error.to_string())?;
            take(key, &whole(&values));
        }
        Ok(())
    }
}

/// The values of a key as one, so that two are equal if they are.
fn whole(values: &sakuin_pack::Values<'_>) -> Vec<u8> {
    let all: Vec<&[u8]> = values.iter().map(|value| value.bytes()).collect();
    all.join(&b"\0"[..])
}

/// The tables of a version, out of the folder that `sakuin pull` or a server keeps. `shop["words"]` panics if there is no
/// such table, as a map's index does; [`Repository::table`] does not.
///
/// ```no_run
/// let mut shop = sakuin::Repository::open("shop".as_ref())?;
/// println!("version {}: {} keys", shop.version(), shop["words"].len());
/// shop = shop.refresh()?.unwrap_or(shop);
/// # Ok::<(), sakuin_publish::Error>(())
/// ```
#[derive(Clone)]
pub struct Repository {
    folder: Folder,
    tables: Arc<BTreeMap<String, sakuin_pack::Table>>,
}

impl Repository {
    /// Opens all tables of the version that is in a folder. A follower may replace them at any time; what is open stays.
    ///
    /// # Errors
    /// [`Error::File`] if nothing is there, [`Error::Table`] if a table is damaged.
    pub fn open(folder: &Path) -> Result<Repository, Error> {
        let open = |name: &str, file: &Path| {
            let opened = sakuin_pack::Table::open(file);
            opened
                .map_err(|error| Error::Table { table: name.to_owned(), cause: error.to_string() })
        };
        let (folder, tables) = Folder::open_tables(folder, |error| error, open)?;
        Ok(Repository { folder, tables: Arc::new(tables) })
    }

    /// A table.
    pub fn table(&self, name: &str) -> Option<&sakuin_pack::Table> {
        self.tables.get(name)
    }

    /// All tables with their names.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &sakuin_pack::Table)> {
        self.tables.iter().map(|(name, table)| (name.as_str(), table))
    }

    /// The version's number.
    pub fn version(&self) -> u64 {
        self.folder.state().version
    }

    /// What the folder says of itself.
    pub fn state(&self) -> &State {
        self.folder.state()
    }

    /// The version that is there now, if it is another.
    pub fn refresh(&self) -> Result<Option<Repository>, Error> {
        match self.folder.refresh()? {
            Some(_) => Repository::open(self.folder.path()).map(Some),
            None => Ok(None),
        }
    }
}

impl Index<&str> for Repository {
    type Output = sakuin_pack::Table;

    fn index(&self, name: &str) -> &sakuin_pack::Table {
        self.table(name).unwrap_or_else(|| panic!("no table `{name}` is published"))
    }
}
