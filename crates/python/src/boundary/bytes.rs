//! Creates Python bytes from data that may not fit into memory.

use crate::error::to_python;
use headrace_engine::error::{Code, Error};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Copies `bytes` for Python.
pub fn python_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let copy = |room: &mut [u8]| {
        room.copy_from_slice(bytes);
        Ok(())
    };
    PyBytes::new_with(py, bytes.len(), copy).map_err(|_| {
        let text = format!(
            "a string for Python: the system cannot allocate {} bytes. Use less memory, or a machine or control group \
             with more of it",
            bytes.len()
        );
        to_python(py, &Error::new(Code::ResourceExhausted, text))
    })
}
