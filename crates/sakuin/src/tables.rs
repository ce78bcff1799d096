//! All tables of a configuration, by name.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use crate::{Config, OpenError, Packed, Table, config};

/// Tables that were opened together.
pub struct Tables {
    tables: BTreeMap<String, Arc<Table>>,
    config: Config,
}

impl Tables {
    /// Opens every table of `config`. Cached tables share two background threads for their origins.
    pub fn open(config: &Config) -> Result<Tables, OpenError> {
        Tables { tables: BTreeMap::new(), config: Config::default() }.reopen(config)
    }

    /// Opens the tables of a changed configuration. Those whose description and origin are the same go on as
    /// they are; a cached one that only stores or ages differently keeps its entries. Nothing of `self` is
    /// changed, so a failure leaves everything as it was.
    pub fn reopen(&self, config: &Config) -> Result<Tables, OpenError> {
        let mut tables = BTreeMap::new();
        for (name, description) in &config.tables {
            let before = self.tables.get(name);
            let table = match description {
                config::Table::Packed { file, .. } => self.open_packed(name, file, before)?,
                config::Table::Cached(_) => unimplemented!(),
            };
            tables.insert(name.clone(), table);
        }
        Ok(Tables { tables, config: config.clone() })
    }

    /// A packed file; the table before if that has the same content.
    fn open_packed(
        &self,
        name: &str,
        file: &Path,
        before: Option<&Arc<Table>>,
    ) -> Result<Arc<Table>, OpenError> {
        let refused = |source| OpenError::Packed { table: name.to_owned(), source };
        let opened = sakuin_pack::Table::open(file).map_err(refused)?;
        if let Some(before) = before
            && let Table::Packed(packed) = &**before
            && packed.file().content_id() == opened.content_id()
        {
            return Ok(before.clone());
        }
        Ok(Arc::new(Table::Packed(Packed::new(opened))))
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
