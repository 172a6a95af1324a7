//! Converts tensors to NumPy arrays, and maps files as bytes. Apart from the allocator, this is the
//! only file in the crate with unsafe code: arrays view the engine's memory without a copy, and
//! files are memory-mapped.
#![allow(unsafe_code)]

use crate::boundary::bytes::python_bytes;
use crate::error::{IntoPython, to_python as to_exception};
use bytes::Bytes;
use headrace_engine::dispatch_numeric;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::memory::Memory;
use headrace_engine::tensor::shape::Shape;
use headrace_engine::tensor::{Tensor, allocate};
use numpy::npyffi::{
    NPY_ARRAY_CARRAY, NPY_ARRAY_CARRAY_RO, NpyTypes, PY_ARRAY_API, PyArrayObject, get_type_object, npy_intp,
};
use numpy::{
    Complex32, Complex64, PyArray1, PyArrayDescr, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::fs::File;

/// Smaller arrays are copied, because that costs less than keeping the engine's memory alive.
const COPY_BYTES: usize = 2048;

/// The engine's memory behind an array, which is the array's base.
#[pyclass(frozen, module = "headrace._native")]
struct Owner(Memory);

#[pymethods]
impl Owner {
    /// The number of bytes kept alive.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.as_ref().len()
    }
}

/// Returns the memory of a C-contiguous array of exactly `dtype` in the machine's byte order. Not
/// for strings.
pub fn array_bytes<'a>(array: &'a Bound<'_, PyUntypedArray>, dtype: DType) -> Option<&'a [u8]> {
    if !is_exactly(&array.dtype(), dtype) || !array.is_c_contiguous() {
        return None;
    }
    let length = array.len() * dtype.size();
    if length == 0 {
        return Some(&[]);
    }
    // SAFETY: the array has `length` bytes in a row (it is contiguous and of that element type),
    // which are initialised numbers and stay where they are as long as `array` is borrowed: NumPy
    // does not move memory that has two references. The caller copies them. If another thread
    // writes to the array at the same time, the copy has some old and some new elements, as with
    // NumPy.
    Some(unsafe { std::slice::from_raw_parts((*array.as_array_ptr()).fields.data.cast::<u8>(), length) })
}

/// The memory of an array, which the bytes over it keep alive. It starts at the address of the
/// elements.
struct Lent {
    _array: Py<PyUntypedArray>,
    address: usize,
    length: usize,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: as in `array_bytes`: `length` initialised bytes, which stay where they are as
        // long as `_array` is referenced here, since NumPy does not move memory that has two
        // references. Holders of the bytes only read. If Python writes to the array at the same
        // time, they see some old and some new elements, as with NumPy.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.length) }
    }
}

/// Returns the shape and the memory of an array without a copy, under the conditions of
/// [`array_bytes`].
pub fn lent_bytes(array: &Bound<'_, PyUntypedArray>, dtype: DType) -> Option<(Shape, Bytes)> {
    // A bool that is neither 0 nor 1 has to be copied.
    if dtype == DType::Bool {
        return None;
    }
    let bytes = array_bytes(array, dtype)?;
    let lent = Lent { address: bytes.as_ptr() as usize, length: bytes.len(), _array: array.clone().unbind() };
    Some((Shape::new(array.shape()), Bytes::from_owner(lent)))
}

/// Returns the memory of a non-contiguous array without a copy, from its first byte to its last,
/// and the position at which the array begins. Not for strings or for arrays without elements.
pub fn lent_span(array: &Bound<'_, PyUntypedArray>, dtype: DType) -> Option<(Bytes, usize)> {
    if !is_exactly(&array.dtype(), dtype) || array.is_empty() {
        return None;
    }
    let mut ends = (0_isize, dtype.size() as isize);
    for (stride, length) in array.strides().iter().zip(array.shape()) {
        let way = stride.checked_mul(*length as isize - 1)?;
        let end = if way < 0 { &mut ends.0 } else { &mut ends.1 };
        *end = end.checked_add(way)?;
    }
    // SAFETY: the array is alive, so its fields may be read.
    let begin = unsafe { (*array.as_array_ptr()).fields.data } as usize;
    // A view lies within one allocation, from its lowest element to its highest, as `Lent`
    // requires. The bytes in between belong to other elements of that allocation.
    let lent = Lent {
        address: begin.checked_add_signed(ends.0)?,
        length: usize::try_from(ends.1.checked_sub(ends.0)?).ok()?,
        _array: array.clone().unbind(),
    };
    Some((Bytes::from_owner(lent), ends.0.unsigned_abs()))
}

/// Maps a file that nobody writes in place, without a copy. Its pages are shared by all processes.
/// An index file is only ever replaced with another one.
pub fn mapped(file: &File) -> std::io::Result<Bytes> {
    // SAFETY: the map is only read, as bytes, of which each value is valid. Everything read from it
    // is checked, so another writer would cost a scan. Truncating the file would end the process
    // (SIGBUS), as with any mapped file.
    let map = unsafe { memmap2::Mmap::map(file) }?;
    Ok(Bytes::from_owner(map))
}

/// Converts a NumPy scalar of exactly `dtype` to a tensor.
pub fn numpy_scalar(value: &Bound<'_, PyAny>, dtype: DType) -> Option<Tensor> {
    let py = value.py();
    // SAFETY: the type object is a live one, and NumPy describes any object that is a scalar of its
    // own.
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
    // SAFETY: the scalar is of a type of at most 16 bytes (`is_exactly`), and `words` has room for
    // them, aligned.
    unsafe { PY_ARRAY_API.PyArray_ScalarAsCtype(py, value.as_ptr(), words.as_mut_ptr().cast()) };
    Tensor::copied(dtype, Shape::scalar(), &bytemuck::bytes_of(&words)[..dtype.size()]).ok()
}

/// Returns true if NumPy's dtype is `dtype` in the machine's byte order. Always false for strings.
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

/// Converts a tensor to an array, a scalar to a NumPy scalar, and a scalar string to `bytes`.
///
/// The array is writable and only belongs to the caller.
pub fn to_python(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    convert(py, tensor, false)
}

/// Like [`to_python`], but an array over shared memory is read-only rather than a copy.
pub fn to_python_shared(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    convert(py, tensor, true)
}

fn convert(py: Python<'_>, tensor: Tensor, may_share: bool) -> PyResult<Bound<'_, PyAny>> {
    if tensor.dtype() == DType::String {
        return strings_to_python(py, &tensor);
    }
    let descr = descr(py, tensor.dtype());
    let shape = tensor.shape().clone();
    if shape.is_empty() {
        let data = tensor.bytes().as_ptr().cast_mut().cast();
        // SAFETY: `data` points to one element of that type, which NumPy copies into a scalar.
        return unsafe {
            let scalar = PY_ARRAY_API.PyArray_Scalar(py, data, descr.as_dtype_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, scalar)
        };
    }
    if tensor.stored().into_python(py)?.len() < COPY_BYTES {
        return copied_array(descr, &shape, tensor.bytes());
    }
    let memory = tensor.into_memory().into_python(py)?;
    let is_unique = memory.is_unique();
    if !is_unique && !may_share {
        return copied_array(descr, &shape, memory.as_ref());
    }
    let owner = Bound::new(py, Owner(memory))?;
    let data = owner.get().0.as_ref().as_ptr().cast_mut();
    // SAFETY: `data` points to the elements of a tensor of that type and shape: initialised,
    // aligned, and valid for their type, since booleans are 0 or 1. The array's base is `owner`,
    // which keeps them at the same address for as long as the array lives. Either they have no
    // other holder (`is_unique`), or the array is read-only.
    unsafe {
        let array = new_array(descr, &shape, data, if is_unique { NPY_ARRAY_CARRAY } else { NPY_ARRAY_CARRAY_RO })?;
        match PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.into_ptr()) {
            0 => Ok(array),
            _ => Err(PyErr::fetch(py)),
        }
    }
}

/// Creates an array with a copy of the elements.
fn copied_array<'py>(descr: Bound<'py, PyArrayDescr>, shape: &Shape, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: without given memory, NumPy allocates as much as the shape needs, and `bytes` are the
    // bytes of a tensor of that type and shape. No other code has a reference to the array yet.
    unsafe {
        let array = new_array(descr, shape, std::ptr::null_mut(), 0)?;
        let data = (*array.as_ptr().cast::<PyArrayObject>()).fields.data.cast::<u8>();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
        Ok(array)
    }
}

/// Creates a C-contiguous array over `data`, or over new uninitialised memory if `data` is null.
///
/// # Safety
///
/// `data` must be null, or point to aligned elements of that type and shape that live as long as
/// the array and, if `flags` make the array writable, have no other holder.
unsafe fn new_array<'py>(
    descr: Bound<'py, PyArrayDescr>,
    shape: &Shape,
    data: *mut u8,
    flags: i32,
) -> PyResult<Bound<'py, PyAny>> {
    let py = descr.py();
    let mut dims: SmallVec<[npy_intp; 8]> = shape.iter().map(|dim| dim.cast_signed()).collect();
    let num_dims = i32::try_from(dims.len()).unwrap_or(i32::MAX);
    // SAFETY: guaranteed by the caller; NumPy takes over the reference to `descr` and fails if
    // there are too many dimensions.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            descr.into_dtype_ptr(),
            num_dims,
            dims.as_mut_ptr(),
            std::ptr::null_mut(),
            data.cast(),
            flags,
            std::ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)
    }
}

/// NumPy's dtype for a numeric, boolean or complex dtype.
fn descr(py: Python<'_>, dtype: DType) -> Bound<'_, PyArrayDescr> {
    match dtype {
        DType::Bool => numpy::dtype::<bool>(py),
        DType::Complex64 => numpy::dtype::<Complex32>(py),
        DType::Complex128 => numpy::dtype::<Complex64>(py),
        dtype => dispatch_numeric!(dtype, T => numpy::dtype::<T>(py), else => PyArrayDescr::object(py)),
    }
}

fn strings_to_python<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let strings = tensor.string_values();
    if tensor.shape().is_empty() {
        return python_bytes(py, strings.first().map_or(&[], |value| &value[..])).map(Bound::into_any);
    }
    let objects = strings.iter().map(|value| python_bytes(py, value).map(|value| value.into_any().unbind()));
    PyArray1::from_vec(py, collected(py, objects)?).reshape(tensor.shape().to_vec()).map(Bound::into_any)
}

/// Collects an iterator that yields one value per row of a component or element of a tensor, or
/// returns its first error.
pub(crate) fn collected<T>(py: Python<'_>, values: impl Iterator<Item = PyResult<T>>) -> PyResult<Vec<T>> {
    allocate::try_gathered(values, |refusal| to_exception(py, &refusal.at("values for Python")))
}
