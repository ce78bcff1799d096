//! Sakuin for Python: the compiled part of the package `sakuin`, a file for each module of it.

mod arrow;
mod bits;
mod error;
mod fork;
mod japanese;
mod json;
mod live;
mod pack;
mod remote;
mod repository;
mod schema;
mod table;
mod text;
mod transaction;
mod value;

use pyo3::prelude::*;

#[pymodule]
fn _sakuin(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(table::open, module)?)?;
    module.add_function(wrap_pyfunction!(pack::pack, module)?)?;
    module.add_class::<japanese::Scanner>()?;
    module.add_class::<japanese::Scan>()?;
    module.add_class::<japanese::Entries>()?;
    module.add_function(wrap_pyfunction!(japanese::deinflect, module)?)?;
    module.add_class::<bits::Bits>()?;
    module.add("ATTEMPTS_MAX", sakuin_live::ATTEMPTS_MAX)?;
    module.add_class::<live::Store>()?;
    module.add("LiveTable", module.py().get_type::<live::Table>())?;
    module.add_class::<transaction::Transaction>()?;
    module.add_class::<repository::Repository>()?;
    module.add_class::<remote::Connection>()?;
    module.add_class::<remote::RemoteTable>()?;
    module.add_class::<remote::RemoteTransaction>()?;
    module.add_function(wrap_pyfunction!(remote::connect, module)?)?;
    fork::watch(module.py())
}
