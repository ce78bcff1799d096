//! `sakuin.Bits`: arrays of integers in as few bits as they need.

use pyo3::{
    exceptions::{PyIndexError, PyOverflowError, PyTypeError},
    prelude::*,
    types::PyBytes,
};

use crate::{error::IntoPython, value};

/// Integers from 0 to 2**64 - 1 in as few bits as they need, each readable by itself: an immutable sequence.
#[pyclass(frozen, sequence, module = "sakuin")]
pub(crate) struct Bits(sakuin_bits::Bits);

#[pymethods]
impl Bits {
    /// Packs integers. `sorted` keeps only how much each exceeds the one before it, which none may be less than.
    #[staticmethod]
    #[pyo3(signature = (integers, *, sorted=false))]
    fn pack(py: Python<'_>, integers: &Bound<'_, PyAny>, sorted: bool) -> PyResult<Bits> {
        let mut numbers = Vec::with_capacity(integers.len().unwrap_or(0));
        for (at, integer) in integers.try_iter()?.enumerate() {
            let integer = integer?;
            numbers.push(integer.extract::<u64>().map_err(|error| {
                if error.is_instance_of::<PyTypeError>(py) {
                    return error;
                }
                let shown = integer.repr().map(|text| text.to_string()).unwrap_or_default();
                PyOverflowError::new_err(format!(
                    "integer {at} is {shown}, and not from 0 to 2**64 - 1"
                ))
            })?);
        }
        let packed = py.detach(|| match sorted {
            true => sakuin_bits::Bits::pack_sorted(&numbers),
            false => sakuin_bits::Bits::pack(&numbers),
        });
        packed.map(Bits).map_err(IntoPython::into_python)
    }

    /// Takes the bytes of another.
    #[new]
    fn new(data: &[u8]) -> PyResult<Bits> {
        sakuin_bits::Bits::from_bytes(data).map(Bits).map_err(IntoPython::into_python)
    }

    fn __getitem__(&self, at: isize) -> PyResult<u64> {
        let from_start = if at < 0 { at.checked_add_unsigned(self.0.len()) } else { Some(at) };
        let found = from_start.and_then(|at| self.0.get(usize::try_from(at).ok()?));
        found.ok_or_else(|| PyIndexError::new_err("there is no integer at this place"))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// All integers, as an `array.array`, which numpy takes without a copy.
    fn unpack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let numbers = py.detach(|| self.0.unpack());
        value::ids(py, numbers)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_bytes())
    }

    fn __eq__(&self, other: &Bits) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.0.as_bytes().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
        (slf.get_type().into_any(), (slf.get().__bytes__(slf.py()),))
    }

    fn __repr__(&self) -> String {
        format!("<sakuin.Bits {} integers, {} bytes>", self.0.len(), self.0.as_bytes().len())
    }
}
