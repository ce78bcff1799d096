//! Sakuin for Ruby: the compiled part of the gem, a file for each class of it. What needs no speed is in `lib/`.

mod bits;
mod builder;
mod error;
mod json;
mod lock;
mod repository;
mod table;

use magnus::{Error, Ruby};

#[magnus::init]
fn init(ruby: &Ruby) -> Result<(), Error> {
    // Tables are frozen, and nothing else is shared: other Ractors may call all of this.
    // Safety: it only notes that the extension is safe to be used so.
    unsafe { rb_sys::rb_ext_ractor_safe(true) };
    let module = ruby.define_module("Sakuin")?;
    table::define(ruby, module)?;
    builder::define(ruby, module)?;
    bits::define(ruby, module)?;
    repository::define(ruby, module)
}
