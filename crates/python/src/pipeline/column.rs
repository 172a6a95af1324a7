//! Columns of rows for Python functions, and the components of batches.

use crate::boundary::array::{array_bytes, collected, to_python as array_of, to_python_shared};
use crate::boundary::attrs::dtype;
use crate::boundary::bytes::python_bytes;
use crate::boundary::view::{to_tensor, to_view};
use crate::error::IntoPython;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::{Tensor, allocate};
use headrace_pipeline::blocks::arrow::Strings;
use headrace_pipeline::blocks::column;
use headrace_pipeline::blocks::column::Lists;
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySlice, PyString};
use std::sync::Arc;

/// Arrays of at least this size are copied without the GIL.
pub(crate) const LARGE_BYTES: usize = 256 << 10;

/// One component of some rows.
#[pyclass(frozen, module = "headrace._native")]
pub struct Column(pub(crate) column::Column);

#[pymethods]
impl Column {
    /// Creates a column from an array whose rows are the rows of the column.
    #[staticmethod]
    fn dense(array: &Bound<'_, PyAny>, code: u8) -> PyResult<Self> {
        let tensor = copied(array, dtype(array.py(), code)?)?;
        Ok(Self(column::Column::Dense(tensor)))
    }

    /// Creates a column from one array per row. The arrays may have any shapes.
    #[staticmethod]
    fn each(arrays: &Bound<'_, PyList>, code: u8) -> PyResult<Self> {
        let dtype = dtype(arrays.py(), code)?;
        let tensors = collected(arrays.py(), arrays.iter().map(|array| to_tensor(&array, dtype)))?;
        Ok(Self(column::Column::Each(tensors.into())))
    }

    /// Creates a column of strings: row `i` is `data[offsets[i]:offsets[i + 1]]`. The arrays are
    /// uint8 and int64.
    #[staticmethod]
    fn text(data: &Bound<'_, PyAny>, offsets: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        let (data, offsets) = (to_tensor(data, DType::UInt8)?, to_tensor(offsets, DType::Int64)?);
        text(&data, &offsets).map(column::Column::Text).map(Self).into_python(py)
    }

    /// Creates a column of lists from the values of a vector. `ends`, an int64 array, has the end
    /// of each list.
    #[staticmethod]
    fn ragged(values: &Bound<'_, PyAny>, code: u8, ends: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = values.py();
        let (values, ends) = (to_tensor(values, dtype(py, code)?)?, to_tensor(ends, DType::Int64)?);
        ragged(values, &ends).map(column::Column::Ragged).map(Self).into_python(py)
    }

    /// Creates a column of nested lists: row `i` consists of the rows `ends[i - 1]..ends[i]` of a
    /// column of lists.
    #[staticmethod]
    fn lists(inner: &Bound<'_, Self>, ends: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (py, inner) = (inner.py(), inner.get().0.clone());
        let ends = positions(&to_tensor(ends, DType::Int64)?, inner.len()).into_python(py)?;
        Ok(Self(column::Column::Lists(Lists::new(inner, ends))))
    }

    /// Creates a column of batches. Each is an array, or a list with one array per row.
    #[staticmethod]
    fn batches(batches: &Bound<'_, PyList>, code: u8) -> PyResult<Self> {
        let dtype = dtype(batches.py(), code)?;
        let batch = |batch: Bound<'_, PyAny>| match batch.cast::<PyList>() {
            Ok(arrays) => Self::each(arrays, code).map(|column| column.0),
            Err(_) => copied(&batch, dtype).map(column::Column::Dense),
        };
        let batches = collected(batches.py(), batches.iter().map(batch))?;
        Ok(Self(column::Column::Batches(batches.into())))
    }

    /// Returns strings as two read-only arrays: their bytes, and the offsets at which they begin
    /// and end. Returns None unless each row is a single string.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let strings = Strings::of(&self.0).into_python(py)?;
        let arrays = |Strings { offsets, data }: Strings| {
            (to_python_shared(py, data)?, to_python_shared(py, offsets)?).into_bound_py_any(py)
        };
        strings.map(arrays).transpose()
    }

    /// Returns all rows as an array, or as a list if their shapes differ. The arrays are read-only.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shared(py, &self.0)
    }
}

/// Like [`to_tensor`], but large arrays are copied without the GIL.
fn copied(array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Tensor> {
    let py = array.py();
    let view = to_view(array, dtype)?;
    let tensor = match view.num_bytes() < LARGE_BYTES {
        true => view.into_tensor(),
        false => py.detach(|| view.into_tensor()),
    };
    tensor.into_python(py)
}

/// Checks that offsets are ascending and at most `limit`.
fn positions(tensor: &Tensor, limit: usize) -> Result<Vec<usize>> {
    let wrong = || Error::internal("the positions of strings or lists are outside their data");
    let positions = tensor.values::<i64>()?.iter().map(|position| usize::try_from(*position).map_err(|_| wrong()));
    let positions = allocate::try_gathered(positions, |refusal| refusal.at("positions of strings or lists"))?;
    let is_within = positions.is_sorted() && positions.last().is_none_or(|last| *last <= limit);
    is_within.then_some(positions).ok_or_else(wrong)
}

fn text(data: &Tensor, offsets: &Tensor) -> Result<column::Text> {
    let bytes = bytes::Bytes::copy_from_slice(data.bytes());
    let offsets = positions(offsets, bytes.len())?;
    let span = |(start, end): (&usize, &usize)| column::Span { start: *start, length: end - start };
    let count = offsets.len().saturating_sub(1);
    let spans = allocate::collected(count, offsets.iter().zip(offsets.iter().skip(1)).map(span));
    let spans = spans.map_err(|refusal| refusal.at("positions of strings"))?;
    Ok(column::Text::new(bytes, spans))
}

fn ragged(values: Tensor, ends: &Tensor) -> Result<column::Ragged> {
    let ends = positions(ends, values.num_elements())?;
    Ok(column::Ragged::new(values, ends))
}

fn shared<'py>(py: Python<'py>, column: &column::Column) -> PyResult<Bound<'py, PyAny>> {
    match column {
        column::Column::Dense(tensor) => to_python_shared(py, tensor.clone()),
        column::Column::Packed(_) | column::Column::Opaque(_) => {
            to_python_shared(py, column.to_tensor().into_python(py)?)
        }
        column::Column::Text(text) => objects(py, text),
        column::Column::Ragged(_) | column::Column::Each(_) => {
            let rows = (0..column.len()).map(|row| to_python_shared(py, column.row(row).into_python(py)?));
            Ok(PyList::new(py, collected(py, rows)?)?.into_any())
        }
        column::Column::Lists(lists) => {
            let inner = shared(py, lists.inner())?;
            let row = |row: usize| {
                let range = lists.range(row);
                inner.get_item(PySlice::new(py, range.start as isize, range.end as isize, 1))
            };
            let rows = collected(py, (0..lists.len()).map(row))?;
            Ok(PyList::new(py, rows)?.into_any())
        }
        column::Column::Batches(batches) => {
            let batches = collected(py, batches.iter().map(|batch| shared(py, batch)))?;
            Ok(PyList::new(py, batches)?.into_any())
        }
    }
}

/// Like [`owned`], but single strings become a pair as in [`arrow`]; see [`string_objects`].
pub(crate) fn transported<'py>(py: Python<'py>, column: column::Column) -> PyResult<Bound<'py, PyAny>> {
    match &column {
        // Their objects would be an array, too, and not a list.
        column::Column::Text(_) | column::Column::Dense(_) => arrow(py, column),
        _ => owned(py, column),
    }
}

/// Converts a pair of arrays, strings and the offsets at which they begin and end, to an array of
/// `bytes` objects.
#[pyfunction]
pub fn string_objects<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyUntypedArray>,
    offsets: &Bound<'py, PyUntypedArray>,
) -> PyResult<Bound<'py, PyAny>> {
    let wrong = || PyValueError::new_err("the strings are not a uint8 and an int64 vector with matching offsets");
    let data = array_bytes(data, DType::UInt8).ok_or_else(wrong)?;
    let offsets = array_bytes(offsets, DType::Int64).ok_or_else(wrong)?;
    let offsets = offsets.chunks_exact(8).map(|bytes| i64::from_ne_bytes(bytes.try_into().unwrap_or_default()));
    let row = |(start, end): (i64, i64)| {
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok()).map(|(start, end)| start..end);
        let row = range.and_then(|range| data.get(range)).ok_or_else(wrong)?;
        python_bytes(py, row).map(|row| row.into_any().unbind())
    };
    let rows = collected(py, offsets.clone().zip(offsets.skip(1)).map(row))?;
    Ok(PyArray1::<Py<PyAny>>::from_vec(py, rows).into_any())
}

/// Decodes an array of `bytes` objects as UTF-8. Returns an array of `str` objects.
#[pyfunction]
pub fn decoded_strings<'py>(strings: &Bound<'py, PyArrayDyn<Py<PyAny>>>) -> PyResult<Bound<'py, PyAny>> {
    let py = strings.py();
    let decoded = |string: &Py<PyAny>| {
        let text = PyString::from_bytes(py, string.bind(py).cast::<PyBytes>()?.as_bytes())?;
        Ok(text.into_any().unbind())
    };
    let texts = collected(py, strings.try_readonly()?.as_array().iter().map(decoded))?;
    PyArray1::from_vec(py, texts).reshape(strings.shape()).map(Bound::into_any)
}

/// Converts strings to an array of `bytes` objects.
fn objects<'py>(py: Python<'py>, text: &column::Text) -> PyResult<Bound<'py, PyAny>> {
    let objects = text.rows().map(|row| python_bytes(py, row).map(|row| row.into_any().unbind()));
    Ok(PyArray1::<Py<PyAny>>::from_vec(py, collected(py, objects)?).into_any())
}

/// Converts the component of a batch, or of some examples, for the user, who owns it and may write
/// to it.
pub(crate) fn owned<'py>(py: Python<'py>, column: column::Column) -> PyResult<Bound<'py, PyAny>> {
    match column {
        column::Column::Dense(tensor) => array_of(py, tensor),
        column::Column::Each(mut tensors) => {
            let arrays = match Arc::get_mut(&mut tensors) {
                // Moved, so that nobody else holds their memory and it isn't copied.
                Some(tensors) => {
                    let taken = tensors.iter_mut().map(|tensor| std::mem::replace(tensor, Tensor::scalar(0_u8)));
                    collected(py, taken.map(|tensor| array_of(py, tensor)))
                }
                None => collected(py, tensors.iter().map(|tensor| array_of(py, tensor.clone()))),
            };
            Ok(PyList::new(py, arrays?)?.into_any())
        }
        column => shared(py, &column),
    }
}

/// Like [`owned`], but strings become a pair of read-only arrays: their bytes and their offsets.
pub(crate) fn arrow<'py>(py: Python<'py>, column: column::Column) -> PyResult<Bound<'py, PyAny>> {
    match Strings::of(&column).into_python(py)? {
        Some(Strings { offsets, data }) => {
            (to_python_shared(py, data)?, to_python_shared(py, offsets)?).into_bound_py_any(py)
        }
        None => owned(py, column),
    }
}
