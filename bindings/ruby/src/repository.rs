//! `Sakuin::Repository`: the tables of a version that `sakuin pull` or a server keeps in a folder, frozen.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use magnus::{Error, RArray, RModule, Ruby, function, method, prelude::*};
use sakuin_publish::Folder;

use crate::{error::IntoRuby, table::Table};

#[magnus::wrap(class = "Sakuin::Repository", free_immediately, frozen_shareable, size)]
struct Repository {
    folder: Folder,
    tables: BTreeMap<String, Table>,
}

pub(crate) fn define(ruby: &Ruby, module: RModule) -> Result<(), Error> {
    let class = module.define_class("Repository", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_singleton_method("_open", function!(Repository::open, 1))?;
    class.define_method("_table", method!(Repository::table, 1))?;
    class.define_method("keys", method!(Repository::keys, 0))?;
    class.define_method("version", method!(Repository::version, 0))?;
    class.define_method("path", method!(Repository::path, 0))?;
    class.define_method("_refresh", method!(Repository::refresh, 0))?;
    Ok(())
}

impl Repository {
    fn open(path: PathBuf) -> Result<Repository, Error> {
        let open = |_: &str, file: &Path| Table::open(file.to_owned(), false);
        let (folder, tables) = Folder::open_tables(&path, IntoRuby::into_ruby, open)?;
        Ok(Repository { folder, tables })
    }

    fn table(&self, name: String) -> Option<Table> {
        self.tables.get(&name).cloned()
    }

    fn keys(ruby: &Ruby, this: &Self) -> RArray {
        ruby.ary_from_iter(this.tables.keys().map(String::as_str))
    }

    fn version(&self) -> u64 {
        self.folder.state().version
    }

    fn path(&self) -> String {
        self.folder.path().display().to_string()
    }

    fn refresh(&self) -> Result<Option<Repository>, Error> {
        match self.folder.refresh().map_err(IntoRuby::into_ruby)? {
            Some(_) => Repository::open(self.folder.path().to_owned()).map(Some),
            None => Ok(None),
        }
    }
}
