//! Rows put together into one batch, and batches taken apart.

use crate::error::{Error, Result};
use crate::pipeline::block::{Block, Origins};
use crate::pipeline::column::Column;
use crate::pipeline::nodes::map::Stage;
use crate::pipeline::rows::Rows;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use bytes::Bytes;
use std::ops::Range;
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
    /// The lengths of some columns are one of these, rising; one beyond the last stays.
    pub boundaries: Vec<usize>,
    /// The numbers of those columns.
    pub bounded: Vec<usize>,
}

impl Padding {
    fn is_bounded(&self, index: usize) -> bool {
        self.bounded.contains(&index)
    }

    /// How long the rows of column `index` become, the longest of which is `longest`.
    fn width(&self, index: usize, longest: usize) -> usize {
        let boundary = self.boundaries.iter().find(|boundary| self.is_bounded(index) && **boundary >= longest);
        boundary.copied().unwrap_or(longest).next_multiple_of(self.multiple_of.max(1))
    }

    fn value(&self, index: usize) -> Result<&Tensor> {
        self.values.get(index).ok_or_else(|| Error::internal("no value to fill a list up with"))
    }
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

    fn keeps_count(&self) -> bool {
        true
    }
}

impl Collate {
    fn column(&self, rows: &Rows, index: usize) -> Result<Column> {
        let name =
            |error: Error| Error::new(error.code(), format!("component '{}': {}", self.names[index], error.message()));
        if let Some(padding) = &self.padding
            && let Some(lists) = lists(rows, index)
        {
            return pad_lists(&lists, padding, index).map(Column::Dense).map_err(name);
        }
        let column = match (rows.gather_column(index)?, &self.padding) {
            (Column::Each(rows), Some(padding)) => pad_tensors(&rows, padding, index).map(Column::Dense),
            (Column::Dense(rows), Some(padding)) if padding.is_bounded(index) && rows.shape().len() > 1 => {
                let rows = (0..rows.shape()[0]).map(|row| rows.row(row)).collect::<Result<Vec<_>>>()?;
                pad_tensors(&rows, padding, index).map(Column::Dense)
            }
            (Column::Text(text), _) => Ok(Column::Text(text)),
            (column, _) => column.to_tensor().map(Column::Dense),
        };
        column.map_err(name)
    }
}

/// Column `index` of the rows, if they are lists: where each of them is.
fn lists<'a>(rows: &'a Rows, index: usize) -> Option<Vec<List<'a>>> {
    let list = |(block, row): (&'a Arc<Block>, usize)| match &block.columns[index] {
        Column::Ragged(ragged) => Some((ragged.values(), ragged.range(row))),
        _ => None,
    };
    rows.iter().map(list).collect()
}

/// The values of some lists, and which of them are those of one.
type List<'a> = (&'a Tensor, Range<usize>);

/// The lists as rows of one length.
fn pad_lists(lists: &[List<'_>], padding: &Padding, index: usize) -> Result<Tensor> {
    let filler = padding.value(index)?;
    if let Some((other, _)) = lists.iter().find(|(values, _)| values.dtype() != filler.dtype()) {
        return Err(Error::internal(format!("lists of {} are filled up with {}", other.dtype(), filler.dtype())));
    }
    let longest = lists.iter().map(|(_, range)| range.len()).max().unwrap_or(0);
    let width = padding.width(index, longest);
    let shape = Shape::new(&[lists.len(), width]);
    let room = allocate::elements(filler.dtype(), &shape);
    if filler.dtype() == DType::String {
        let filler = string(filler)?;
        let strings = lists.iter().flat_map(|(values, range)| {
            let list = &values.string_values()[range.clone()];
            list.iter().chain(std::iter::repeat_n(filler, width - list.len()))
        });
        return Tensor::strings(shape.clone(), room.collect(strings.cloned())?);
    }
    let size = filler.dtype().size();
    let mut bytes: Vec<u8> = room.room()?;
    for (values, list) in lists {
        bytes.extend_from_slice(&values.bytes()[list.start * size..list.end * size]);
        (list.len()..width).for_each(|_| bytes.extend_from_slice(filler.bytes()));
    }
    Tensor::from_bytes(filler.dtype(), shape.clone(), bytes.into())
}

fn string(filler: &Tensor) -> Result<&Bytes> {
    filler.string_values().first().ok_or_else(|| Error::internal("no string to fill a list up with"))
}

/// Tensors that differ in their first dimension as rows of one shape.
fn pad_tensors(rows: &[Tensor], padding: &Padding, index: usize) -> Result<Tensor> {
    let Some(first) = rows.first() else { return Err(Error::internal("no rows to pad")) };
    let Some((_, inner)) = first.shape().split_first() else { return Column::Each(rows.into()).to_tensor() };
    let is_alike = |row: &Tensor| row.dtype() == first.dtype() && row.shape().get(1..) == Some(inner);
    if let Some(other) = rows.iter().find(|row| !is_alike(row)) {
        return Err(Error::invalid_argument(format!(
            "one example has {} of shape {}, another {} of shape {}, expected shapes that differ in the first dimension              alone. Resize or pad them",
            first.dtype(),
            first.shape(),
            other.dtype(),
            other.shape()
        )));
    }
    let width = padding.width(index, rows.iter().map(|row| row.shape()[0]).max().unwrap_or(0));
    let shape: Vec<_> = [rows.len(), width].into_iter().chain(inner.iter().copied()).collect();
    let shape = Shape::new(&shape);
    let room = allocate::elements(first.dtype(), &shape);
    let row_elements = shape.row().num_elements();
    let filler = padding.value(index)?;
    if first.dtype() == DType::String {
        let filler = string(filler)?;
        let strings = rows.iter().flat_map(|row| {
            let missing = row_elements - row.num_elements();
            row.string_values().iter().chain(std::iter::repeat_n(filler, missing))
        });
        return Tensor::strings(shape.clone(), room.collect(strings.cloned())?);
    }
    let mut bytes: Vec<u8> = room.room()?;
    for row in rows {
        bytes.extend_from_slice(row.bytes());
        (row.num_elements()..row_elements).for_each(|_| bytes.extend_from_slice(filler.bytes()));
    }
    Tensor::from_bytes(first.dtype(), shape.clone(), bytes.into())
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
