//! Where tensors meet NumPy. The only file with unsafe code: arrays go out over the engine's memory without a copy.
#![allow(unsafe_code)]

use crate::error::IntoPython;
use headrace_engine::dispatch_numeric;
use headrace_engine::dtype::DType;
use headrace_engine::error::Error;
use headrace_engine::shape::Shape;
use headrace_engine::tensor::{Memory, Tensor};
use numpy::ndarray::ArrayViewD;
use numpy::npyffi::{NpyTypes, PY_ARRAY_API, get_type_object};
use numpy::{
    Complex32, Complex64, Element, PyArray1, PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods,
    PyUntypedArray, PyUntypedArrayMethods, ToPyArray,
};
use pyo3::ffi;
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

/// The memory of a C-contiguous array of exactly `dtype` in the machine's byte order; not for strings.
pub fn array_bytes<'a>(array: &'a Bound<'_, PyUntypedArray>, dtype: DType) -> Option<&'a [u8]> {
    if !is_exactly(&array.dtype(), dtype) || !array.is_c_contiguous() {
        return None;
    }
    let length = array.len() * dtype.size();
    if length == 0 {
        return Some(&[]);
    }
    // SAFETY: the array has `length` bytes in a row (it is contiguous and of that element type), which are initialised
    // numbers and stay where they are as long as `array` is borrowed: NumPy moves no memory that has two references.
    // The caller copies them. Who writes to the array meanwhile, in another thread, gets some of both, as with NumPy.
    Some(unsafe { std::slice::from_raw_parts((*array.as_array_ptr()).fields.data.cast::<u8>(), length) })
}

/// A NumPy scalar of exactly `dtype` as a tensor.
pub fn numpy_scalar(value: &Bound<'_, PyAny>, dtype: DType) -> Option<Tensor> {
    let py = value.py();
    // SAFETY: the type object is a live one, and NumPy describes any object that is a scalar of its own.
    let descr = unsafe {
        if ffi::PyObject_TypeCheck(value.as_ptr(), get_type_object(py, NpyTypes::PyGenericArrType_Type)) == 0 {
            return None;
        }
        let descr = PY_ARRAY_API.PyArray_DescrFromScalar(py, value.as_ptr());
        Bound::from_owned_ptr_or_opt(py, descr.cast())?.cast_into_unchecked::<PyArrayDescr>()
    };
    if !is_exactly(&descr, dtype) {
        return None;
    }
    let mut words = [0_u64; 2];
    // SAFETY: the scalar is of a type of at most 16 bytes (`is_exactly`), and `words` has room for them, aligned.
    unsafe { PY_ARRAY_API.PyArray_ScalarAsCtype(py, value.as_ptr(), words.as_mut_ptr().cast()) };
    Tensor::copied(dtype, Shape::scalar(), &bytemuck::bytes_of(&words)[..dtype.size()]).ok()
}

/// Whether NumPy's type is `dtype`, in the machine's byte order; never for strings.
fn is_exactly(descr: &Bound<'_, PyArrayDescr>, dtype: DType) -> bool {
    let kind = match dtype {
        DType::Bool => b'b',
        DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => b'i',
        DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => b'u',
        DType::Float16 | DType::Float32 | DType::Float64 => b'f',
        DType::Complex64 | DType::Complex128 => b'c',
        DType::String => return false,
    };
    descr.kind() == kind && descr.itemsize() == dtype.size() && descr.is_native_byteorder() != Some(false)
}

/// The tensor as an array; a scalar as a NumPy scalar, a scalar string as `bytes`.
///
/// An array is writable and belongs to the caller alone.
pub fn to_python(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    convert(py, tensor, false)
}

/// As [`to_python`], but an array over memory that others read too is not copied: it cannot be written then.
pub fn to_python_shared(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    convert(py, tensor, true)
}

fn convert(py: Python<'_>, tensor: Tensor, may_share: bool) -> PyResult<Bound<'_, PyAny>> {
    match tensor.dtype() {
        DType::String => strings_to_python(py, &tensor),
        DType::Bool => to_array::<bool>(py, tensor, may_share),
        DType::Complex64 => to_array::<Complex32>(py, tensor, may_share),
        DType::Complex128 => to_array::<Complex64>(py, tensor, may_share),
        dtype => dispatch_numeric!(dtype, T => to_array::<T>(py, tensor, may_share), else => {
            Err(Error::internal(format!("no array has elements of type {dtype}"))).into_python(py)
        }),
    }
}

fn to_array<T: Element + Copy>(py: Python<'_>, tensor: Tensor, may_share: bool) -> PyResult<Bound<'_, PyAny>> {
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
        let descr = T::get_dtype(py);
        // SAFETY: `data` points to one element of the type (as above), of which NumPy makes a scalar of its own.
        return unsafe {
            let scalar =
                PY_ARRAY_API.PyArray_Scalar(py, data.cast_mut().cast(), descr.as_dtype_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, scalar)
        };
    }
    let is_unique = memory.is_unique();
    if bytes.len() < COPY_BYTES || !(is_unique || may_share) {
        return Ok(view.to_pyarray(py).into_any());
    }
    let owner = Bound::new(py, Owner(memory))?.into_any();
    // SAFETY: the array's base is `owner`, which keeps the elements for as long as the array lives, at the same place:
    // moving `memory` into it moves no element. Either nobody else has them (`is_unique`), so that the array may be
    // written, or it is made read-only before anybody sees it.
    let array = unsafe { PyArrayDyn::<T>::borrow_from_array(&view, owner) };
    if !is_unique {
        array.readwrite().make_nonwriteable();
    }
    Ok(array.into_any())
}

fn strings_to_python<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let strings = tensor.string_values();
    if tensor.shape().is_empty() {
        return Ok(PyBytes::new(py, strings.first().map_or(&[], |value| &value[..])).into_any());
    }
    let objects = strings.iter().map(|value| PyBytes::new(py, value).into_any().unbind()).collect();
    PyArray1::from_vec(py, objects).reshape(tensor.shape().to_vec()).map(Bound::into_any)
}
