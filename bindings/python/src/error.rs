//! Errors as Python's: each kind of Rust's is a class of `sakuin.errors`, with the hint as its last line.

use std::io;

use pyo3::{exceptions::PyOSError, prelude::*, types::PyString};
use sakuin_live::{CommitError, FilterError, ValueError};
use sakuin_pack::{BuildError, OpenError, OpenReason, ReadError};

/// Makes an error of a class of `sakuin.errors`.
pub(crate) fn named(class: &str, message: String, hint: Option<&str>) -> PyErr {
    Python::attach(|py| {
        let made = || {
            let class = py.import("sakuin.errors")?.getattr(class)?;
            let hint = hint.map(|hint| PyString::new(py, hint));
            class.call1((message, hint))
        };
        made().map_or_else(|error| error, PyErr::from_value)
    })
}

/// Errors of this crate's dependencies as Python raises them.
pub(crate) trait IntoPython {
    fn into_python(self) -> PyErr;
}

impl IntoPython for OpenError {
    fn into_python(self) -> PyErr {
        let class = match &self.reason {
            // As Python's own `open` would say.
            OpenReason::Io(error) => {
                let file = self.file.clone();
                return io_error(error, &file.display().to_string());
            }
            OpenReason::NotATable => "NotATable",
            OpenReason::Newer { .. } => "NewerFormat",
            _ => "Damaged",
        };
        named(class, self.to_string(), self.hint())
    }
}

fn io_error(error: &io::Error, file: &str) -> PyErr {
    // What wraps an error of the system keeps its kind and not its number.
    let number = error.raw_os_error().or(match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::StorageFull => Some(28),
        _ => None,
    });
    let Some(number) = number else {
        return PyOSError::new_err(format!("{file}: {error}"));
    };
    // With a number, a message and a file, Python makes the class that fits: FileNotFoundError and others.
    let message = io::Error::from_raw_os_error(number).to_string();
    let message = message.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((number, message, file.to_owned()))
}

impl IntoPython for ReadError {
    fn into_python(self) -> PyErr {
        let class = match &self {
            ReadError::KeysNotStored => "KeysNotStored",
            _ => "Damaged",
        };
        named(class, self.to_string(), self.hint())
    }
}

impl IntoPython for BuildError {
    fn into_python(self) -> PyErr {
        let (class, hint) = match &self {
            BuildError::Io { file, source, .. } => {
                return io_error(source, &file.display().to_string());
            }
            BuildError::DuplicateKey { .. } => (
                "DuplicateKey",
                Some("say which value to keep: duplicates=\"first\", \"last\" or \"keep\""),
            ),
            _ => ("PackError", self.hint()),
        };
        let cause = std::error::Error::source(&self).map(|cause| format!(": {cause}"));
        named(class, format!("{self}{}", cause.unwrap_or_default()), hint)
    }
}

impl IntoPython for sakuin_japanese::dictionary::Error {
    fn into_python(self) -> PyErr {
        use sakuin_japanese::dictionary::Error;
        match self {
            Error::Open(error) => error.into_python(),
            Error::Read(error) => error.into_python(),
            other => named("NotATable", other.to_string(), other.hint()),
        }
    }
}

impl IntoPython for sakuin_bits::Error {
    fn into_python(self) -> PyErr {
        let class = match &self {
            sakuin_bits::Error::NotBits => "NotBits",
            sakuin_bits::Error::Damaged { .. } => "Damaged",
            _ => "InvalidValue",
        };
        named(class, self.to_string(), self.hint())
    }
}

impl IntoPython for sakuin_live::OpenError {
    fn into_python(self) -> PyErr {
        use sakuin_live::OpenError;
        let class = match &self {
            OpenError::InUse { .. } => "InUse",
            OpenError::Damaged { .. } => "Damaged",
            _ => "OpenError",
        };
        named(class, self.to_string(), self.hint())
    }
}

impl IntoPython for ValueError {
    fn into_python(self) -> PyErr {
        named("InvalidValue", self.to_string(), self.hint().as_deref())
    }
}

impl IntoPython for FilterError {
    fn into_python(self) -> PyErr {
        named("InvalidFilter", self.to_string(), Some(&self.hint))
    }
}

impl IntoPython for CommitError {
    fn into_python(self) -> PyErr {
        let retry_at = self.retry_at();
        let class = match &self {
            CommitError::Value(error) => return error.clone().into_python(),
            CommitError::Conflict(_) | CommitError::SnapshotExpired { .. } => "Conflict",
            CommitError::NotFound { .. } => "NotFound",
            CommitError::ReadOnly { .. } => "ReadOnly",
            CommitError::Unknown { .. } => "OutcomeUnknown",
            CommitError::TooLarge { .. } | CommitError::TooManyBytes { .. } => "TooLarge",
            _ => "Error",
        };
        let hint = match class {
            "Conflict" => Some("`for t in store.transaction()` begins again by itself"),
            "TooLarge" => Some("commit it in parts"),
            _ => None,
        };
        let error = named(class, self.to_string(), hint);
        if let Some(sequence) = retry_at {
            Python::attach(|py| drop(error.value(py).setattr("retry_at", sequence)));
        }
        error
    }
}

impl IntoPython for sakuin_publish::Error {
    fn into_python(self) -> PyErr {
        use sakuin_publish::Error;
        let class = match &self {
            Error::File { file, cause } => return io_error(cause, &file.display().to_string()),
            Error::Newer { .. } => "NewerFormat",
            Error::Damaged { .. } => "Damaged",
            _ => "Error",
        };
        named(class, self.to_string(), self.hint().as_deref())
    }
}
