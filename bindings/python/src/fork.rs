//! Which process this is. A fork leaves threads and connections behind, and what needs them must say so.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyCFunction, PyDict},
};

/// Forks since the first of this process's ancestors that had this module.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Has Python count forks.
pub(crate) fn watch(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    if os.hasattr("register_at_fork")? {
        let count = |_: &Bound<'_, _>, _: Option<&Bound<'_, PyDict>>| {
            FORKS.fetch_add(1, Relaxed);
        };
        let hooks = PyDict::new(py);
        hooks.set_item("after_in_child", PyCFunction::new_closure(py, None, None, count)?)?;
        os.call_method("register_at_fork", (), Some(&hooks))?;
    }
    Ok(())
}

/// The process that something was made in.
#[derive(Clone, Copy)]
pub(crate) struct Process(u64);

impl Process {
    pub(crate) fn current() -> Process {
        Process(FORKS.load(Relaxed))
    }

    pub(crate) fn is_current(self) -> bool {
        self.0 == FORKS.load(Relaxed)
    }

    /// Refuses what belongs to the process before a fork.
    pub(crate) fn check(self, what: &str, cure: &str) -> PyResult<()> {
        match self.is_current() {
            true => Ok(()),
            false => {
                let message =
                    format!("{what} belongs to the process before the fork\nhint: {cure}");
                Err(PyRuntimeError::new_err(message))
            }
        }
    }
}
