//! Errors as Ruby's: each kind of Rust's is a class of `Sakuin`, with the hint as its last line.

use std::io;

use magnus::{Error, Exception, ExceptionClass, RModule, Ruby, prelude::*};
use sakuin_pack::{BuildError, OpenError, OpenReason, ReadError};

fn ruby() -> Ruby {
    Ruby::get().expect("errors are made where Ruby called")
}

/// Makes an error of a class of `Sakuin`.
fn named(class: &str, message: String, hint: Option<&str>) -> Error {
    let made = || -> Result<Exception, Error> {
        let module: RModule = ruby().class_object().const_get("Sakuin")?;
        let class: ExceptionClass = module.const_get(class)?;
        class.funcall("new", (message, hint))
    };
    made().map_or_else(|error| error, Error::from)
}

fn io_error(error: &io::Error, file: &str) -> Error {
    // What wraps an error of the system keeps its kind and not its number.
    let number = error.raw_os_error().or(match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::StorageFull => Some(28),
        _ => None,
    });
    // With a number, Ruby makes the class that fits: Errno::ENOENT and others.
    let made = || -> Result<Exception, Error> {
        let class: ExceptionClass = ruby().class_object().const_get("SystemCallError")?;
        class.funcall("new", (file.to_owned(), number))
    };
    made().map_or_else(|error| error, Error::from)
}

/// Errors of this crate's dependencies as Ruby raises them.
pub(crate) trait IntoRuby {
    fn into_ruby(self) -> Error;
}

impl IntoRuby for OpenError {
    fn into_ruby(self) -> Error {
        let class = match &self.reason {
            OpenReason::Io(error) => return io_error(error, &self.file.display().to_string()),
            OpenReason::NotATable => "NotATable",
            OpenReason::Newer { .. } => "NewerFormat",
            _ => "Damaged",
        };
        named(class, self.to_string(), self.hint())
    }
}

impl IntoRuby for ReadError {
    fn into_ruby(self) -> Error {
        let class = match &self {
            ReadError::KeysNotStored => "KeysNotStored",
            _ => "Damaged",
        };
        named(class, self.to_string(), self.hint())
    }
}

impl IntoRuby for sakuin_bits::Error {
    fn into_ruby(self) -> Error {
        let class = match &self {
            sakuin_bits::Error::NotBits => "NotBits",
            sakuin_bits::Error::Damaged { .. } => "Damaged",
            _ => return Error::new(ruby().exception_arg_error(), with_hint(&self)),
        };
        named(class, self.to_string(), self.hint())
    }
}

fn with_hint(error: &sakuin_bits::Error) -> String {
    let hint = error.hint().map(|hint| format!("\nhint: {hint}"));
    format!("{error}{}", hint.unwrap_or_default())
}

impl IntoRuby for BuildError {
    fn into_ruby(self) -> Error {
        let (class, hint) = match &self {
            BuildError::Io { file, source, .. } => {
                return io_error(source, &file.display().to_string());
            }
            BuildError::DuplicateKey { .. } => (
                "DuplicateKey",
                Some("say which value to keep: duplicates: :first, :last or :keep"),
            ),
            _ => ("PackError", self.hint()),
        };
        let cause = std::error::Error::source(&self).map(|cause| format!(": {cause}"));
        named(class, format!("{self}{}", cause.unwrap_or_default()), hint)
    }
}

impl IntoRuby for sakuin_publish::Error {
    fn into_ruby(self) -> Error {
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
