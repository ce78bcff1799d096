//! All tables of a configuration, by name.

use std::sync::Arc;

use crate::{Config, OpenError, Table};

/// Tables that were opened together.
pub struct Tables {
    _tables: (),
}

impl Tables {
    /// Opens every table of `config`. Cached tables share two background threads for their origins.
    pub fn open(config: &Config) -> Result<Tables, OpenError> {
        let _ = config;
        unimplemented!()
    }

    /// Opens the tables of a changed configuration. Those whose description and origin are the same go on as
    /// they are; a cached one that only stores or ages differently keeps its entries. Nothing of `self` is
    /// changed, so a failure leaves everything as it was.
    pub fn reopen(&self, config: &Config) -> Result<Tables, OpenError> {
        let _ = config;
        unimplemented!()
    }

    /// The table of a name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        let _ = name;
        unimplemented!()
    }

    /// Every table with its name, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Table>)> {
        std::iter::empty()
    }
}
