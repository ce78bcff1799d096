//! Sakuin for Python: the compiled part of the package `sakuin`, a file for each module of it.

mod error;
mod japanese;
mod json;
mod pack;
mod table;

use pyo3::prelude::*;

#[pymodule]
fn _sakuin(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(table::open, module)?)?;
    module.add_function(wrap_pyfunction!(pack::pack, module)?)?;
    module.add_class::<japanese::Scanner>()?;
    module.add_function(wrap_pyfunction!(japanese::deinflect, module)?)?;
    Ok(())
}
