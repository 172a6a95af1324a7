//! Builds columns from the results of a Python function, row by row.

use crate::boundary::array::numpy_scalar;
use crate::boundary::attrs::dtype;
use crate::boundary::view::to_view;
use crate::error::IntoPython;
use crate::pipeline::column::{Column, LARGE_BYTES};
use headrace_engine::error::Result;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use headrace_pipeline::blocks::column;
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// A component of rows that arrive one at a time. Each row is copied only once, to its final
/// position.
///
/// Rows of the same shape share one allocation. Once a row has a different shape, each row gets its
/// own memory.
#[pyclass(frozen, module = "headrace._native")]
pub struct ColumnBuilder {
    dtype: DType,
    /// The number of rows for which memory is reserved at the beginning.
    num_rows: usize,
    /// True if each row is a batch.
    is_batched: bool,
    /// Written by the function's thread.
    rows: Mutex<Rows>,
}

enum Rows {
    None,
    Dense { shape: Shape, bytes: Vec<u8>, num_rows: usize },
    Each(Vec<Tensor>),
}

#[pymethods]
impl ColumnBuilder {
    /// Creates a builder for numbers of a dtype, with memory for about `num_rows` rows.
    #[new]
    fn new(py: Python<'_>, code: u8, num_rows: usize, is_batched: bool) -> PyResult<Self> {
        let dtype = dtype(py, code)?;
        Ok(Self { dtype, num_rows, is_batched, rows: Mutex::new(Rows::None) })
    }

    /// Copies a row, which is a NumPy array or scalar. Returns false unless it is contiguous and of
    /// exactly the right dtype.
    fn push(&self, row: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = row.py();
        if row.cast::<PyUntypedArray>().is_err() {
            let Some(scalar) = numpy_scalar(row, self.dtype) else { return Ok(false) };
            return self.add(scalar.shape(), scalar.bytes()).map(|()| true).into_python(py);
        }
        let Ok(view) = to_view(row, self.dtype) else { return Ok(false) };
        match view.elements() {
            Some((shape, bytes)) if bytes.len() >= LARGE_BYTES => py.detach(|| self.add(shape, bytes)),
            Some((shape, bytes)) => self.add(shape, bytes),
            None => view.into_tensor().and_then(|tensor| self.add(tensor.shape(), tensor.bytes())),
        }
        .map(|()| true)
        .into_python(py)
    }

    /// Drops all rows except the first `num_rows`.
    fn keep(&self, num_rows: usize) {
        match &mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner) {
            Rows::None => {}
            Rows::Dense { shape, bytes, num_rows: had } => {
                *had = num_rows.min(*had);
                bytes.truncate(*had * shape.num_elements() * self.dtype.size());
            }
            Rows::Each(rows) => rows.truncate(num_rows),
        }
    }

    /// Returns the rows as a column. The builder is empty afterwards.
    fn column(&self, py: Python<'_>) -> PyResult<Column> {
        let rows = std::mem::replace(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner), Rows::None);
        let column = match rows {
            Rows::Dense { shape, bytes, num_rows } => stacked(self.dtype, &shape, bytes, num_rows),
            Rows::Each(rows) if self.is_batched => {
                Ok(column::Column::Batches(rows.into_iter().map(column::Column::Dense).collect()))
            }
            Rows::Each(rows) => Ok(column::Column::Each(rows.into())),
            Rows::None => Ok(column::Column::Each(Vec::new().into())),
        };
        column.map(Column).into_python(py)
    }
}

impl ColumnBuilder {
    fn add(&self, shape: &Shape, row: &[u8]) -> Result<()> {
        let rows = &mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Rows::None = rows {
            *rows = match self.is_batched {
                true => Rows::Each(Vec::new()),
                false => Rows::Dense { shape: shape.clone(), bytes: self.room(shape, row.len())?, num_rows: 0 },
            };
        }
        if let Rows::Dense { shape: other, bytes, num_rows } = rows {
            if other == shape {
                allocate::append(bytes, row).map_err(|refusal| refusal.of_tensor(self.dtype, shape))?;
                *num_rows += 1;
                return Ok(());
            }
            *rows = Rows::Each(split_rows(self.dtype, other, bytes, *num_rows)?);
        }
        if let Rows::Each(rows) = rows {
            rows.push(Tensor::copied(self.dtype, shape.clone(), row)?);
        }
        Ok(())
    }

    /// Reserves memory for the expected rows, each with this many bytes.
    fn room(&self, shape: &Shape, row_bytes: usize) -> Result<Vec<u8>> {
        let num_bytes = self.num_rows.saturating_mul(row_bytes);
        allocate::room(num_bytes).map_err(|refusal| refusal.of_tensor(self.dtype, shape))
    }
}

/// Creates a column from rows of the same shape.
fn stacked(dtype: DType, shape: &Shape, bytes: Vec<u8>, num_rows: usize) -> Result<column::Column> {
    let dims: Vec<usize> = std::iter::once(num_rows).chain(shape.iter().copied()).collect();
    Tensor::from_bytes(dtype, Shape::new(&dims), bytes.into()).map(column::Column::Dense)
}

/// Splits rows of the same shape, giving each its own memory.
fn split_rows(dtype: DType, shape: &Shape, bytes: &[u8], num_rows: usize) -> Result<Vec<Tensor>> {
    let length = shape.num_elements() * dtype.size();
    let row = |number: usize| Tensor::copied(dtype, shape.clone(), &bytes[number * length..(number + 1) * length]);
    (0..num_rows).map(row).collect()
}
