//! Rows put together into one batch, and batches taken apart.

use crate::error::{Error, Result};
use crate::pipeline::block::{Block, Origins, Rows};
use crate::pipeline::column::{Column, Ragged};
use crate::pipeline::nodes::map::Stage;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use std::sync::Arc;

/// Makes a batch of the rows: one row, whose components have a leading axis.
pub struct Collate {
    /// The names of the columns, for errors.
    pub names: Vec<String>,
    /// Fill batches up to so many rows, and add a column that says which rows are examples.
    pub pad_to: Option<usize>,
    /// How lists are filled up to the longest one; without it they are refused.
    pub padding: Option<Padding>,
}

/// How lists of different lengths become rows of one length.
pub struct Padding {
    /// What each column is filled up with, a scalar.
    pub values: Vec<Tensor>,
    /// The length is a multiple of this.
    pub multiple_of: usize,
}

impl Stage for Collate {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let num_columns = self.names.len();
        let mut columns = (0..num_columns).map(|index| self.column(&rows, index)).collect::<Result<Vec<_>>>()?;
        if let Some(size) = self.pad_to {
            columns = columns.into_iter().map(|column| pad_rows(column, size)).collect::<Result<_>>()?;
            let mask = (0..size).map(|row| u8::from(row < rows.len()));
            let mask = Tensor::from_values(Shape::new(&[size]), mask.collect())?.with_dtype(DType::Bool)?;
            columns.push(Column::Dense(mask));
        }
        let batches = columns.into_iter().map(|column| Column::Batches(Arc::new([column]))).collect();
        let origins =
            rows.group().map_or(Origins::Unknown, |(batches, number)| Origins::Run(Arc::clone(batches), *number));
        Block::new(batches, 1, origins).map(Rows::all)
    }

    fn is_row_wise(&self) -> bool {
        false
    }
}

impl Collate {
    fn column(&self, rows: &Rows, index: usize) -> Result<Column> {
        let column = match (rows.gather_column(index)?, &self.padding) {
            (Column::Ragged(ragged), Some(padding)) => pad_lists(&ragged, padding, index).map(Column::Dense),
            (Column::Text(text), _) => Ok(Column::Text(text)),
            (column, _) => column.to_tensor().map(Column::Dense),
        };
        let name =
            |error: Error| Error::new(error.code(), format!("component '{}': {}", self.names[index], error.message()));
        column.map_err(name)
    }
}

/// The lists as rows of one length.
fn pad_lists(ragged: &Ragged, padding: &Padding, index: usize) -> Result<Tensor> {
    let missing = || Error::internal("no value to fill a list up with");
    let filler = padding.values.get(index).ok_or_else(missing)?;
    let num_rows = ragged.len();
    let longest = (0..num_rows).map(|row| ragged.row_length(row)).max().unwrap_or(0);
    let width = longest.next_multiple_of(padding.multiple_of.max(1));
    let shape = Shape::new(&[num_rows, width]);
    let values = ragged.values();
    let room = allocate::elements(values.dtype(), &shape);
    if values.dtype() == DType::String {
        let filler = filler.string_values().first().ok_or_else(missing)?;
        let strings = (0..num_rows).flat_map(|row| {
            let list = &values.string_values()[ragged.range(row)];
            list.iter().chain(std::iter::repeat_n(filler, width - list.len()))
        });
        return Tensor::strings(shape.clone(), room.collect(strings.cloned())?);
    }
    let size = values.dtype().size();
    let mut bytes: Vec<u8> = room.room()?;
    for row in 0..num_rows {
        let list = ragged.range(row);
        bytes.extend_from_slice(&values.bytes()[list.start * size..list.end * size]);
        (list.len()..width).for_each(|_| bytes.extend_from_slice(filler.bytes()));
    }
    Tensor::from_bytes(values.dtype(), shape.clone(), bytes.into())
}

/// The column with rows of zeros, or of empty strings, behind it.
fn pad_rows(column: Column, num_rows: usize) -> Result<Column> {
    if column.len() >= num_rows {
        return Ok(column);
    }
    let tensor = column.to_tensor()?;
    let shape = tensor.shape().row().batched(num_rows);
    let room = allocate::elements(tensor.dtype(), &shape);
    if tensor.dtype() == DType::String {
        let missing = shape.num_elements() - tensor.num_elements();
        let strings = tensor.string_values().iter().cloned().chain(std::iter::repeat_n(Default::default(), missing));
        return Tensor::strings(shape.clone(), room.collect(strings)?).map(Column::Dense);
    }
    let mut bytes: Vec<u8> = room.room()?;
    bytes.extend_from_slice(tensor.bytes());
    let missing = shape.num_elements() * tensor.dtype().size() - bytes.len();
    bytes.extend(std::iter::repeat_n(0, missing));
    Tensor::from_bytes(tensor.dtype(), shape.clone(), bytes.into()).map(Column::Dense)
}

/// Takes batches apart: each row of a batch becomes a row.
pub struct Unbatch;

impl Stage for Unbatch {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let block = rows.gather()?;
        let mut unbatched = Rows::new();
        for row in 0..block.num_rows() {
            let columns = block.columns.iter().map(|column| match column {
                Column::Batches(batches) => Ok(batches[row].clone()),
                other => unstacked(other, row),
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let num_rows = columns.first().map_or(0, Column::len);
            if let Some(other) = columns.iter().find(|column| column.len() != num_rows) {
                return Err(Error::invalid_argument(format!(
                    "unbatch: one component has {num_rows} rows, another {}, expected equal leading axes. Drop one with \
                     select(...)",
                    other.len()
                )));
            }
            let origins = block.origins().made_of((0..num_rows as u64).map(|number| (row, number)));
            unbatched.append(&Rows::all(Block::new(columns, num_rows, origins)?));
        }
        Ok(unbatched)
    }
}

/// Row `row` of a column, taken for rows itself.
fn unstacked(column: &Column, row: usize) -> Result<Column> {
    let tensor = column.row(row)?;
    match tensor.shape().is_empty() {
        false => Ok(Column::Dense(tensor)),
        true => Err(Error::invalid_argument(
            "unbatch: a component is a scalar, expected a leading axis in all. Use it after batch",
        )),
    }
}
