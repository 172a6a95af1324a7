//! Converts Python values to tensors. They are viewed first and copied only once.

use crate::boundary::array::{array_bytes, numpy_scalar};
use crate::error::IntoPython;
use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate::{self, Refusal};
use headrace_engine::tensor::dtype::{DType, Numeric};
use headrace_engine::tensor::shape::Shape;
use headrace_tf1::queue::QueueSpec;
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::borrow::Cow;

/// Copies a C-contiguous array of exactly `dtype` to a tensor. An array of strings has objects that
/// are `bytes`.
pub fn to_tensor(value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Tensor> {
    to_view(value, dtype)?.into_tensor().into_python(value.py())
}

/// Like [`to_tensor`], but without the copy.
pub fn to_view<'a>(value: &'a Bound<'_, PyAny>, dtype: DType) -> PyResult<View<'a>> {
    let view = value.cast::<PyUntypedArray>().ok().and_then(|array| View::of_array(array, dtype));
    match view {
        Some(view) => Ok(view),
        None => Err(PyTypeError::new_err(format!("{} is not a contiguous array of {dtype}", value.get_type().name()?))),
    }
}

/// The components of an element: the items of a list or tuple, or the object itself if it is
/// anything else.
pub fn parts<'a, 'py>(element: &'a Bound<'py, PyAny>) -> Cow<'a, [Bound<'py, PyAny>]> {
    if let Ok(tuple) = element.cast::<PyTuple>() {
        Cow::Owned(tuple.iter().collect())
    } else if let Ok(list) = element.cast::<PyList>() {
        Cow::Owned(list.iter().collect())
    } else {
        Cow::Borrowed(std::slice::from_ref(element))
    }
}

/// A value that can be converted to a tensor, or to its rows, without the GIL.
pub enum View<'a> {
    /// Elements in the memory of an array.
    Array { dtype: DType, shape: Shape, bytes: &'a [u8] },
    /// A tensor of Python objects (scalars and strings), which have already been copied.
    Tensor(Tensor),
    /// Not available, because there is no memory for a copy.
    Refused { shape: Shape, refusal: Refusal },
}

impl<'a> View<'a> {
    /// Views component `index` of an element or batch, if it has exactly the dtype and shape of the
    /// queue.
    pub fn of_component(value: &'a Bound<'_, PyAny>, spec: &QueueSpec, index: usize, is_batch: bool) -> Option<Self> {
        let view = Self::of(value, spec.dtypes[index])?;
        let shape = view.shape();
        let dims = if is_batch { shape.get(1..)? } else { shape };
        spec.accepts(index, dims).then_some(view)
    }

    fn of(value: &'a Bound<'_, PyAny>, dtype: DType) -> Option<Self> {
        match value.cast::<PyUntypedArray>() {
            Ok(array) => Self::of_array(array, dtype),
            Err(_) if dtype == DType::String => match value.cast::<PyBytes>() {
                Ok(bytes) => Some(string(bytes.as_bytes())),
                Err(_) => value.cast::<PyString>().ok()?.to_str().ok().map(|text| string(text.as_bytes())),
            },
            Err(_) => number(value, dtype).or_else(|| numpy_scalar(value, dtype)).map(Self::Tensor),
        }
    }

    fn of_array(array: &'a Bound<'_, PyUntypedArray>, dtype: DType) -> Option<Self> {
        let shape = Shape::new(array.shape());
        if dtype == DType::String {
            return match strings(array)? {
                Ok(strings) => Tensor::strings(shape, strings).ok().map(Self::Tensor),
                Err(refusal) => Some(Self::Refused { shape, refusal }),
            };
        }
        let bytes = array_bytes(array, dtype)?;
        if dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
            return match allocate::collected(bytes.len(), bytes.iter().map(|byte| u8::from(*byte != 0))) {
                Ok(bools) => Tensor::from_bytes(dtype, shape, bools.into()).ok().map(Self::Tensor),
                Err(refusal) => Some(Self::Refused { shape, refusal }),
            };
        }
        Some(Self::Array { dtype, shape, bytes })
    }

    pub fn shape(&self) -> &Shape {
        match self {
            Self::Array { shape, .. } | Self::Refused { shape, .. } => shape,
            Self::Tensor(tensor) => tensor.shape(),
        }
    }

    /// The shape and the bytes of elements in the memory of an array.
    pub fn elements(&self) -> Option<(&Shape, &'a [u8])> {
        match self {
            Self::Array { shape, bytes, .. } => Some((shape, bytes)),
            Self::Tensor(_) | Self::Refused { .. } => None,
        }
    }

    /// The number of bytes that remain to be copied.
    pub fn num_bytes(&self) -> usize {
        match self {
            Self::Array { bytes, .. } => bytes.len(),
            Self::Tensor(_) | Self::Refused { .. } => 0,
        }
    }

    pub fn into_tensor(self) -> Result<Tensor> {
        match self {
            Self::Array { dtype, shape, bytes } => Tensor::copied(dtype, shape, bytes),
            Self::Tensor(tensor) => Ok(tensor),
            Self::Refused { refusal, .. } => Err(refusal.at("values of Python")),
        }
    }

    /// Copies row `index` of the first dimension.
    pub fn row(&self, index: usize) -> Result<Tensor> {
        match self {
            Self::Array { dtype, shape, bytes } => {
                let row = shape.row();
                let length = row.num_elements() * dtype.size();
                Tensor::copied(*dtype, row, &bytes[index * length..(index + 1) * length])
            }
            Self::Tensor(tensor) => tensor.row(index),
            Self::Refused { refusal, .. } => Err(refusal.at("values of Python")),
        }
    }
}

/// Returns the strings of an array, or `None` if it contains anything else. Fails if there is no
/// memory.
fn strings(array: &Bound<'_, PyUntypedArray>) -> Option<std::result::Result<Vec<Bytes>, Refusal>> {
    let array = array.cast::<PyArrayDyn<Py<PyAny>>>().ok()?.readonly();
    let items = array.as_slice().ok()?;
    let mut strings = match allocate::room(items.len()) {
        Ok(strings) => strings,
        Err(refusal) => return Some(Err(refusal)),
    };
    for item in items {
        match allocate::copied(item.bind(array.py()).cast::<PyBytes>().ok()?.as_bytes()) {
            Ok(string) => strings.push(string),
            Err(refusal) => return Some(Err(refusal)),
        }
    }
    Some(Ok(strings))
}

/// A string as a tensor.
fn string(bytes: &[u8]) -> View<'static> {
    match allocate::copied(bytes) {
        Ok(copy) => View::Tensor(Tensor::string(copy)),
        Err(refusal) => View::Refused { shape: Shape::scalar(), refusal },
    }
}

/// Converts a Python number, bool or string. An integer may become a float.
fn number(value: &Bound<'_, PyAny>, dtype: DType) -> Option<Tensor> {
    match dtype {
        DType::Int64 => integer::<i64>(value),
        DType::Int32 => integer::<i32>(value),
        DType::Int16 => integer::<i16>(value),
        DType::Int8 => integer::<i8>(value),
        DType::UInt64 => integer::<u64>(value),
        DType::UInt32 => integer::<u32>(value),
        DType::UInt16 => integer::<u16>(value),
        DType::UInt8 => integer::<u8>(value),
        DType::Float64 => float(value).map(Tensor::scalar),
        #[allow(clippy::cast_possible_truncation, reason = "rounding is what the type asks for")]
        DType::Float32 => float(value).map(|value| Tensor::scalar(value as f32)),
        DType::Bool => value.cast_exact::<PyBool>().ok().map(|value| Tensor::bool(value.is_true())),
        DType::String | DType::Float16 | DType::Complex64 | DType::Complex128 => None,
    }
}

fn integer<T: Numeric + TryFrom<i128>>(value: &Bound<'_, PyAny>) -> Option<Tensor> {
    let value = value.cast_exact::<PyInt>().ok()?;
    let wide = value.extract().map(i64::into).or_else(|_| value.extract().map(u64::into)).ok()?;
    T::try_from(wide).ok().map(Tensor::scalar)
}

fn float(value: &Bound<'_, PyAny>) -> Option<f64> {
    let is_number = value.is_exact_instance_of::<PyFloat>() || value.is_exact_instance_of::<PyInt>();
    is_number.then(|| value.extract().ok()).flatten()
}
