//! `Sakuin::Table`: a packed table, frozen, for every Ractor and every forked worker.

use std::{path::PathBuf, sync::atomic::AtomicBool};

use magnus::{
    Error, RArray, RModule, RString, Ruby, Value, block::Proc, function, method, prelude::*,
};
use sakuin_pack::{Content, TableOptions, Values};

use crate::{
    error::IntoRuby,
    json,
    lock::{check_interrupts, without_lock},
};

#[derive(Clone)]
#[magnus::wrap(class = "Sakuin::Table", free_immediately, frozen_shareable, size)]
pub(crate) struct Table {
    table: sakuin_pack::Table,
    path: PathBuf,
}

pub(crate) fn define(ruby: &Ruby, module: RModule) -> Result<(), Error> {
    let class = module.define_class("Table", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_singleton_method("_open", function!(Table::open, 2))?;
    class.define_method("[]", method!(Table::get, 1))?;
    class.define_method("key?", method!(Table::is_key, 1))?;
    class.define_method("size", method!(Table::size, 0))?;
    class.define_method("all", method!(Table::all, 1))?;
    class.define_method("raw", method!(Table::raw, 1))?;
    class.define_method("_many", method!(Table::many, 1))?;
    class.define_method("_each", method!(Table::each, 1))?;
    class.define_method("content", method!(Table::content, 0))?;
    class.define_method("content_id", method!(Table::content_id, 0))?;
    class.define_method("path", method!(Table::path, 0))?;
    class.define_method("meta", method!(Table::meta, 0))?;
    class.define_method("verify", method!(Table::verify, 0))?;
    class.define_method("refresh", method!(Table::refresh, 0))?;
    Ok(())
}

/// The bytes of a key, which is a String.
fn with_key<T>(ruby: &Ruby, key: Value, ask: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
    let Some(key) = RString::from_value(key) else {
        // Safety: the name is copied before Ruby runs again.
        let class = unsafe { key.classname() }.into_owned();
        let message = format!("keys are String, not {class}");
        return Err(Error::new(ruby.exception_type_error(), message));
    };
    // Safety: nothing of Ruby runs while the bytes are looked at.
    Ok(ask(unsafe { key.as_slice() }))
}

impl Table {
    pub(crate) fn open(path: PathBuf, verify: bool) -> Result<Table, Error> {
        let opened = TableOptions::new().verify(verify).open(&path);
        Ok(Table { table: opened.map_err(IntoRuby::into_ruby)?, path })
    }

    fn found(&self, ruby: &Ruby, key: Value) -> Result<Option<Values<'_>>, Error> {
        with_key(ruby, key, |key| self.table.get(key))?.map_err(IntoRuby::into_ruby)
    }

    /// A value as Ruby has it: text as a String, JSON as what it says, bytes as a binary String.
    fn value(&self, ruby: &Ruby, bytes: &[u8]) -> Result<Value, Error> {
        match self.table.content() {
            Content::Text => Ok(ruby.enc_str_new(bytes, ruby.utf8_encoding()).as_value()),
            Content::Json => json::read(ruby, bytes),
            Content::Bytes => Ok(ruby.str_from_slice(bytes).as_value()),
        }
    }

    fn get(ruby: &Ruby, this: &Self, key: Value) -> Result<Value, Error> {
        match this.found(ruby, key)? {
            Some(values) => this.value(ruby, values.first().bytes()),
            None => Ok(ruby.qnil().as_value()),
        }
    }

    fn is_key(ruby: &Ruby, this: &Self, key: Value) -> Result<bool, Error> {
        Ok(this.found(ruby, key)?.is_some())
    }

    fn size(&self) -> u64 {
        self.table.len()
    }

    fn all(ruby: &Ruby, this: &Self, key: Value) -> Result<RArray, Error> {
        let values = ruby.ary_new();
        for one in this.found(ruby, key)?.iter().flat_map(Values::iter) {
            values.push(this.value(ruby, one.bytes())?)?;
        }
        Ok(values)
    }

    fn raw(ruby: &Ruby, this: &Self, key: Value) -> Result<Option<RString>, Error> {
        Ok(this.found(ruby, key)?.map(|values| ruby.str_from_slice(values.first().bytes())))
    }

    /// The first values of many keys: nil for those that are absent.
    fn many(ruby: &Ruby, this: &Self, keys: RArray) -> Result<RArray, Error> {
        let each = keys.into_iter().map(|key| with_key(ruby, key, <[u8]>::to_vec));
        let keys: Vec<Vec<u8>> = each.collect::<Result<_, _>>()?;
        let found = this.table.get_many(&keys).map_err(IntoRuby::into_ruby)?;
        let values = ruby.ary_new_capa(found.len());
        for one in found {
            values.push(match one {
                Some(one) => this.value(ruby, one.first().bytes())?,
                None => ruby.qnil().as_value(),
            })?;
        }
        Ok(values)
    }

    fn each(ruby: &Ruby, this: &Self, block: Proc) -> Result<(), Error> {
        for entry in this.table.iter().map_err(IntoRuby::into_ruby)? {
            let (key, values) = entry.map_err(IntoRuby::into_ruby)?;
            let key = match std::str::from_utf8(key) {
                Ok(text) => ruby.str_new(text),
                Err(_) => ruby.str_from_slice(key),
            };
            let value = this.value(ruby, values.first().bytes())?;
            let pair = ruby.ary_new_from_values(&[key.as_value(), value]);
            let _: Value = block.call((pair,))?;
        }
        Ok(())
    }

    fn content(ruby: &Ruby, this: &Self) -> magnus::Symbol {
        ruby.to_symbol(this.table.content().to_string())
    }

    fn content_id(&self) -> String {
        self.table.content_id()
    }

    fn path(&self) -> String {
        self.path.display().to_string()
    }

    fn meta(ruby: &Ruby, this: &Self) -> Result<Value, Error> {
        match this.table.meta().map_err(IntoRuby::into_ruby)? {
            Some(meta) => json::read(ruby, meta.as_bytes()),
            None => Ok(ruby.qnil().as_value()),
        }
    }

    fn verify(&self) -> Result<bool, Error> {
        // It cannot be broken off; what interrupts is raised afterwards.
        let verified = without_lock(&AtomicBool::new(false), || self.table.verify())?;
        verified.map_err(IntoRuby::into_ruby)?;
        check_interrupts().map(|()| true)
    }

    fn refresh(&self) -> Result<Option<Table>, Error> {
        let newer = self.table.refresh().map_err(IntoRuby::into_ruby)?;
        Ok(newer.map(|table| Table { table, path: self.path.clone() }))
    }
}
