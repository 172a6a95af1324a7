//! Converts a Python dict to the attributes of an operation.

use crate::error::IntoPython;
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::PartialShape;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The dtype with TensorFlow's number `code`.
pub fn dtype(py: Python<'_>, code: u8) -> PyResult<DType> {
    DType::from_code(code).into_python(py)
}

/// Creates a shape from its dimensions. `None` means an unknown rank or dimension.
pub fn shape(dims: Option<Vec<Option<usize>>>) -> Option<PartialShape> {
    dims.map(PartialShape::new)
}

/// Converts `{name: value}` to attributes. Dtypes are passed as `("dtype", code)` and shapes as
/// `("shape", dims or None)`. Other values are bools, numbers, strings and lists.
pub fn attrs(dict: &Bound<'_, PyDict>) -> PyResult<Attrs> {
    let mut attrs = Attrs::default();
    for (name, value) in dict {
        attrs.insert(name.extract::<String>()?, attr(&value)?);
    }
    Ok(attrs)
}

fn attr(value: &Bound<'_, PyAny>) -> PyResult<Attr> {
    let py = value.py();
    if let Ok(value) = value.cast::<PyBool>() {
        Ok(Attr::Bool(value.is_true()))
    } else if value.is_instance_of::<PyInt>() {
        Ok(Attr::Int(value.extract()?))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(Attr::Float(value.extract()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(Attr::String(value.extract()?))
    } else if let Ok(value) = value.cast::<PyBytes>() {
        let bytes = value.as_bytes();
        Ok(std::str::from_utf8(bytes)
            .map_or_else(|_| Attr::Bytes(bytes.to_vec()), |text| Attr::String(text.to_owned())))
    } else if let Ok(items) = value.cast::<PyList>() {
        Ok(Attr::List(items.iter().map(|item| attr(&item)).collect::<PyResult<_>>()?))
    } else if let Ok(tagged) = value.cast::<PyTuple>() {
        let tag: String = tagged.get_item(0)?.extract()?;
        match tag.as_str() {
            "dtype" => Ok(Attr::DType(dtype(py, tagged.get_item(1)?.extract()?)?)),
            "shape" => Ok(Attr::Shape(shape(tagged.get_item(1)?.extract()?))),
            _ => Err(PyTypeError::new_err(format!("an attribute cannot be a {tag}"))),
        }
    } else {
        Err(PyTypeError::new_err(format!("an attribute cannot be a {}", value.get_type())))
    }
}
