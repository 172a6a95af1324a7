//! Where tensors meet NumPy. The only file with unsafe code: arrays go out over the engine's memory without a copy.
#![allow(unsafe_code)]

use crate::error::IntoPython;
use bytes::Bytes;
use headrace_engine::dispatch_numeric;
use headrace_engine::dtype::{DType, Numeric};
use headrace_engine::error::Error;
use headrace_engine::shape::Shape;
use headrace_engine::tensor::{Memory, Tensor};
use numpy::ndarray::ArrayViewD;
use numpy::{Complex32, Complex64, Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Smaller arrays are copied: that costs less than keeping the engine's memory alive.
const COPY_BYTES: usize = 2048;

/// The engine's memory behind an array: the array's base.
#[pyclass(frozen, module = "headrace._native")]
struct Owner(Memory);

#[pymethods]
impl Owner {
    /// How many bytes are kept alive.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.as_ref().len()
    }
}

/// A C-contiguous array of exactly `dtype` (strings: objects that are `bytes`) as a tensor, copied.
pub fn to_tensor(value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Tensor> {
    match dtype {
        DType::String => strings_to_tensor(value),
        DType::Bool => to_values::<bool, u8>(value, u8::from)?.with_dtype(DType::Bool).into_python(value.py()),
        DType::Complex64 => complex_to_tensor(value, dtype, |z: Complex32, bytes| {
            bytes.extend([z.re, z.im].into_iter().flat_map(f32::to_ne_bytes));
        }),
        DType::Complex128 => complex_to_tensor(value, dtype, |z: Complex64, bytes| {
            bytes.extend([z.re, z.im].into_iter().flat_map(f64::to_ne_bytes));
        }),
        _ => dispatch_numeric!(dtype, T => to_values::<T, T>(value, |number| number), else => {
            Err(Error::internal(format!("no array has elements of type {dtype}"))).into_python(value.py())
        }),
    }
}

fn to_values<P: Element + Copy, T: Numeric>(value: &Bound<'_, PyAny>, convert: impl Fn(P) -> T) -> PyResult<Tensor> {
    let array = value.cast::<PyArrayDyn<P>>()?.readonly();
    let values = array.as_slice()?.iter().copied().map(convert).collect();
    Tensor::from_values(Shape::new(array.shape()), values).into_python(value.py())
}

fn complex_to_tensor<P: Element + Copy>(
    value: &Bound<'_, PyAny>,
    dtype: DType,
    write: impl Fn(P, &mut Vec<u8>),
) -> PyResult<Tensor> {
    let array = value.cast::<PyArrayDyn<P>>()?.readonly();
    let mut bytes = Vec::with_capacity(array.len() * dtype.size());
    array.as_slice()?.iter().for_each(|number| write(*number, &mut bytes));
    Tensor::from_bytes(dtype, Shape::new(array.shape()), bytes.into()).into_python(value.py())
}

fn strings_to_tensor(value: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let array = value.cast::<PyArrayDyn<Py<PyAny>>>()?.readonly();
    let strings = array
        .as_slice()?
        .iter()
        .map(|item| Ok(Bytes::copy_from_slice(item.bind(value.py()).cast::<PyBytes>()?.as_bytes())))
        .collect::<PyResult<Vec<_>>>()?;
    Tensor::strings(Shape::new(array.shape()), strings).into_python(value.py())
}

/// The tensor as an array; a scalar as a NumPy scalar, a scalar string as `bytes`.
///
/// An array is writable and belongs to the caller alone.
pub fn to_python(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let array = match tensor.dtype() {
        DType::String => return strings_to_python(py, &tensor),
        DType::Bool => to_array::<bool>(py, tensor)?,
        DType::Complex64 => to_array::<Complex32>(py, tensor)?,
        DType::Complex128 => to_array::<Complex64>(py, tensor)?,
        dtype => dispatch_numeric!(dtype, T => to_array::<T>(py, tensor)?, else => {
            return Err(Error::internal(format!("no array has elements of type {dtype}"))).into_python(py);
        }),
    };
    Ok(array)
}

fn to_array<T: Element + Copy>(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let shape = tensor.shape().clone();
    let length = shape.num_elements();
    let memory = tensor.into_memory();
    let bytes = memory.as_ref();
    assert!(bytes.len() == length * size_of::<T>() && bytes.as_ptr().align_offset(align_of::<T>()) == 0 || length == 0);
    let data = if length == 0 { std::ptr::NonNull::dangling().as_ptr() } else { bytes.as_ptr().cast::<T>() };
    // SAFETY: `data` points to `length` elements of `T`, aligned (asserted above), which are initialised and valid as
    // `T`: the engine writes booleans as 0 and 1 only, and every bit pattern is a number. `memory` keeps them alive.
    let view = unsafe { ArrayViewD::from_shape_ptr(&shape[..], data) };
    if shape.is_empty() {
        return view.to_pyarray(py).get_item(());
    }
    if bytes.len() < COPY_BYTES || !memory.is_unique() {
        return Ok(view.to_pyarray(py).into_any());
    }
    let owner = Bound::new(py, Owner(memory))?.into_any();
    // SAFETY: the array's base is `owner`, which keeps the elements for as long as the array lives, at the same place:
    // moving `memory` into it moves no element. Nobody else has them (`is_unique`), so the array may be written.
    Ok(unsafe { PyArrayDyn::<T>::borrow_from_array(&view, owner) }.into_any())
}

fn strings_to_python<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let strings = tensor.string_values();
    if tensor.shape().is_empty() {
        return Ok(PyBytes::new(py, strings.first().map_or(&[], |value| &value[..])).into_any());
    }
    let objects = strings.iter().map(|value| PyBytes::new(py, value).into_any().unbind()).collect();
    PyArray1::from_vec(py, objects).reshape(tensor.shape().to_vec()).map(Bound::into_any)
}
