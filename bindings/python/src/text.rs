//! Text as Python's `str`.

use std::sync::{Mutex, PoisonError};

use pyo3::{ffi, prelude::*, types::PyString};

/// Text that is UTF-8, as is checked. Python decodes ASCII quicker as Latin 1, because it copies it as a whole.
pub(crate) fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    if !bytes.is_ascii() {
        return PyString::from_bytes(py, bytes);
    }
    // Safety: the bytes are that many, and what comes back is a new str or null with an error set.
    let made = unsafe {
        let start = bytes.as_ptr().cast();
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyUnicode_DecodeLatin1(start, bytes.len() as isize, std::ptr::null()),
        )
    };
    Ok(made?.cast_into()?)
}

/// Names that objects had lately, each where its hash leads: most come again and again.
static NAMES: Mutex<Vec<Option<Py<PyString>>>> = Mutex::new(Vec::new());
const NAMES_MAX: usize = 1024;
const NAME_BYTES_MAX: usize = 64;

/// The name of an object's member: the same `str` for the same name, whose hash Python then has already.
pub(crate) fn name<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyString>> {
    if name.len() > NAME_BYTES_MAX {
        return text(py, name.as_bytes());
    }
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if names.is_empty() {
        names.resize_with(NAMES_MAX, || None);
    }
    let place = &mut names[hash as usize % NAMES_MAX];
    if let Some(known) = place
        && let known = known.bind(py)
        && known.to_str()? == name
    {
        return Ok(known.clone());
    }
    let made = text(py, name.as_bytes())?;
    // What was there is let go when the names are free again: to let go of it may run anything.
    let before = place.replace(made.clone().unbind());
    drop(names);
    drop(before);
    Ok(made)
}
