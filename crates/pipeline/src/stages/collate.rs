//! Collates rows into batches and splits batches into rows.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::{Column, longest};
use crate::blocks::gather::gather;
use crate::blocks::rows::{Gatherer, Rows};
use crate::stages::Stage;
use crate::stages::join::joined_with_offsets;
use crate::stages::pad_lists::pad_lists_of_lists;
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::ops::Range;
use std::sync::Arc;

/// Combines rows into a batch, which is a single row whose components have a leading axis.
pub struct Collate {
    /// The names of the columns, for error messages.
    pub names: Vec<String>,
    /// True if the rows are themselves batches.
    pub is_of_batches: bool,
    /// If set, pads batches to this many rows and adds a column that marks which rows are examples.
    pub pad_to: Option<usize>,
    /// If set, pads rows to the size of the largest one. Otherwise, rows of different shapes are
    /// rejected.
    pub padding: Option<Padding>,
    /// How the batch stores each column; empty if all columns are stacked.
    pub layouts: Vec<Layout>,
}

/// How a batch stores the rows of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In one tensor with a leading axis.
    Stacked,
    /// In one tensor, end to end. A column with the offset of each row follows.
    Joined,
    /// Stored as separate tensors of any shape. If rows are added to fill a batch, they are empty
    /// if `adds_empty` is set, and otherwise zeros in the shape of the first row.
    Apart {
        /// True if the first dimension of added rows is 0.
        adds_empty: bool,
    },
}

/// How rows of different shapes are padded.
pub struct Padding {
    /// The padding value of each column, as a scalar.
    pub values: Vec<Tensor>,
    /// For each column whose rows may differ in shape, the multiple to which each dimension is
    /// padded. 0 means that the dimension has a fixed size, and further dimensions may have any
    /// size. Rows are padded no matter how a block stores them and whether they differ within the
    /// batch. `None` for columns whose rows all have the same shape.
    pub multiples: Vec<Option<Vec<usize>>>,
    /// If not empty, the first dimension is padded to one of these sizes, in ascending order,
    /// unless the largest row exceeds the last of them.
    pub boundaries: Vec<usize>,
}

impl Padding {
    fn is_of(&self, index: usize) -> bool {
        self.multiples.get(index).is_some_and(Option::is_some)
    }

    /// The padded size of a dimension of column `index` if the largest row has size `largest`.
    fn width(&self, index: usize, dimension: usize, largest: usize) -> usize {
        let multiples = self.multiples.get(index).and_then(Option::as_ref);
        let multiple = multiples.and_then(|multiples| multiples.get(dimension)).map_or(1, |multiple| *multiple);
        if multiple == 0 {
            return largest;
        }
        let boundary = self.boundaries.iter().find(|boundary| dimension == 0 && **boundary >= largest);
        boundary.copied().unwrap_or(largest).next_multiple_of(multiple)
    }

    /// The padded size of each dimension if the largest row has these sizes.
    fn widths(&self, index: usize, largest: impl IntoIterator<Item = usize>) -> Shape {
        largest.into_iter().enumerate().map(|(dimension, largest)| self.width(index, dimension, largest)).collect()
    }

    /// The padding value of column `index`, which has this dtype.
    fn value(&self, index: usize, dtype: DType) -> Result<&Tensor> {
        match self.values.get(index) {
            Some(value) if value.dtype() == dtype => Ok(value),
            Some(value) => Err(Error::internal(format!("cannot pad lists of {dtype} with {}", value.dtype()))),
            None => Err(Error::internal("no value to pad a list with")),
        }
    }
}

impl Stage for Collate {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let num_columns = self.names.len();
        let pad_to = self.pad_to.map(|size| rows.group().map_or(size, |group| group.size));
        let gatherer = rows.gatherer()?;
        let mut columns = Vec::new();
        for index in 0..num_columns {
            match self.layouts.get(index) {
                Some(Layout::Joined) => {
                    columns.extend(self.named(index, joined_with_offsets(&gatherer.column(index)?, pad_to))?);
                }
                Some(Layout::Apart { adds_empty }) => {
                    let column = gatherer.column(index)?;
                    columns.push(self.named(index, apart(&column, pad_to, *adds_empty))?);
                }
                Some(Layout::Stacked) | None => {
                    let column = self.column(&rows, &gatherer, index)?;
                    columns.push(match pad_to {
                        Some(size) => pad_rows(column, size, self.padding_of(index), index)?,
                        None => column,
                    });
                }
            }
        }
        if let Some(size) = pad_to {
            let is_example = |(block, row): (&Arc<Block>, usize)| {
                u8::from(block.provenance().file(row).is_none_or(|file| !file.is_repeated))
            };
            let mask = rows.iter().map(is_example).chain(std::iter::repeat(0)).take(size);
            let mask = Tensor::from_values(Shape::new(&[size]), mask.collect())?.with_dtype(DType::Bool)?;
            columns.push(Column::Dense(mask));
        }
        let batches = columns.into_iter().map(|column| Column::Batches(Arc::new([column]))).collect();
        let provenance =
            rows.group().map_or(Provenance::Unknown, |group| Provenance::Run(Arc::clone(&group.file), group.number));
        Block::new(batches, 1, provenance).map(Rows::all)
    }

    fn is_row_wise(&self) -> bool {
        false
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

impl Collate {
    fn column(&self, rows: &Rows, gatherer: &Gatherer<'_>, index: usize) -> Result<Column> {
        let column = match self.padding_of(index) {
            Some(padding) => self.padded(rows, gatherer, index, padding),
            None => self.stacked(gatherer.column(index)?),
        };
        self.named(index, column)
    }

    /// How column `index` is padded, or `None` if its rows all have the same shape.
    fn padding_of(&self, index: usize) -> Option<&Padding> {
        self.padding.as_ref().filter(|padding| padding.is_of(index))
    }

    /// Adds the name of column `index` to an error.
    fn named<T>(&self, index: usize, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            Error::new(error.code(), format!("component '{}': {}", self.names[index], error.message()))
        })
    }

    /// Stacks rows of the same shape.
    fn stacked(&self, column: Column) -> Result<Column> {
        match column {
            Column::Text(text) => Ok(Column::Text(text)),
            Column::Batches(_) | Column::Each(_) => self.stacked_each(&tensors_of(&column)?),
            column => column.to_tensor().map(Column::Dense),
        }
    }

    fn stacked_each(&self, rows: &[Tensor]) -> Result<Column> {
        let Some(first) = rows.first() else { return Err(Error::internal("no rows to stack")) };
        let is_alike = |row: &Tensor| row.dtype() == first.dtype() && row.shape() == first.shape();
        match rows.iter().find(|row| !is_alike(row)) {
            Some(other) if self.is_of_batches => Err(unlike(first, other, "the same in all batches", self)),
            // Returns the error for examples.
            _ => Column::Each(rows.into()).to_tensor().map(Column::Dense),
        }
    }

    /// Pads the rows to the same shape and stacks them.
    fn padded(&self, rows: &Rows, gatherer: &Gatherer<'_>, index: usize, padding: &Padding) -> Result<Column> {
        if let Some(lists) = lists(rows, index) {
            return pad_lists(&lists, padding, index).map(Column::Dense);
        }
        let column = gatherer.column(index)?;
        match &column {
            Column::Dense(rows) if padding.widths(index, rows.shape().row().iter().copied()) == rows.shape().row() => {
                Ok(column)
            }
            Column::Text(_) => Ok(column),
            Column::Lists(lists) => {
                let widths = padding.widths(index, longest(&column, 0..lists.len())?);
                let Some(filler) = padding.values.get(index) else {
                    return Err(Error::internal("no value to pad with"));
                };
                pad_lists_of_lists(&column, &widths, filler).map(Column::Dense)
            }
            _ => {
                let rows = tensors_of(&column)?;
                match rows.iter().all(|row| row.shape().is_empty()) {
                    true => self.stacked_each(&rows),
                    false => self.pad_tensors(&rows, padding, index).map(Column::Dense),
                }
            }
        }
    }

    /// Pads tensors of the same rank to the same shape and stacks them.
    fn pad_tensors(&self, rows: &[Tensor], padding: &Padding, index: usize) -> Result<Tensor> {
        let Some(first) = rows.first() else { return Err(Error::internal("no rows to pad")) };
        let is_alike = |row: &Tensor| row.dtype() == first.dtype() && row.shape().len() == first.shape().len();
        if let Some(other) = rows.iter().find(|row| !is_alike(row)) {
            return Err(unlike(first, other, "one type, and as many dimensions in each", self));
        }
        let largest = |dimension| rows.iter().map(|row| row.shape()[dimension]).max().unwrap_or(0);
        let widths = padding.widths(index, (0..first.shape().len()).map(largest));
        Tensor::stack_padded(first.dtype(), &widths, rows.iter(), Some(padding.value(index, first.dtype())?))
    }
}

/// The error for rows that cannot be stacked, with a remedy for examples or batches.
fn unlike(one: &Tensor, other: &Tensor, expected: &str, collate: &Collate) -> Error {
    let (word, remedy) = match collate.is_of_batches {
        true => (
            "batch",
            "Call unbatch() first to batch their examples again, or make them equal with remainder='drop' or 'pad' \
             and lists of one length",
        ),
        false => ("example", "Resize or pad them"),
    };
    Error::invalid_argument(format!(
        "one {word} has {} of shape {}, another {} of shape {}, expected {expected}. {remedy}",
        one.dtype(),
        one.shape(),
        other.dtype(),
        other.shape()
    ))
}

/// Stores each row as its own tensor and adds rows up to `pad_to`; see [`Layout::Apart`].
fn apart(column: &Column, pad_to: Option<usize>, adds_empty: bool) -> Result<Column> {
    let mut rows = tensors_of(column)?;
    let Some(first) = rows.first() else { return Err(Error::internal("no rows to keep apart")) };
    if let Some(other) = rows.iter().find(|row| row.dtype() != first.dtype()) {
        return Err(Error::invalid_argument(format!(
            "one example has {}, another {}, expected the same type",
            first.dtype(),
            other.dtype()
        )));
    }
    if let Some(size) = pad_to.filter(|size| *size > rows.len()) {
        let shape = match first.shape().is_empty() || !adds_empty {
            true => first.shape().clone(),
            false => first.shape().with_size(0, 0),
        };
        let added = zeros(first.dtype(), &shape)?;
        rows.extend(std::iter::repeat_n(added, size - rows.len()));
    }
    Ok(Column::Each(rows.into()))
}

/// A tensor of zeros, or of empty strings.
fn zeros(dtype: DType, shape: &Shape) -> Result<Tensor> {
    let room = allocate::elements(dtype, shape);
    match dtype {
        DType::String => Tensor::strings(shape.clone(), room.copies(Bytes::new())?),
        _ => Tensor::from_bytes(dtype, shape.clone(), room.zeros::<u8>()?.into()),
    }
}

/// Converts the rows of a column to tensors.
fn tensors_of(column: &Column) -> Result<Vec<Tensor>> {
    (0..column.len()).map(|row| column.row(row)).collect()
}

/// Returns the position of each list if column `index` of the rows has lists.
fn lists<'a>(rows: &'a Rows, index: usize) -> Option<Vec<List<'a>>> {
    let list = |(block, row): (&'a Arc<Block>, usize)| match &block.columns[index] {
        Column::Ragged(ragged) => Some((ragged.values(), ragged.range(row))),
        _ => None,
    };
    rows.iter().map(list).collect()
}

/// The vector that a list is part of, and its range there.
type List<'a> = (&'a Tensor, Range<usize>);

/// Pads lists to the same length.
fn pad_lists(lists: &[List<'_>], padding: &Padding, index: usize) -> Result<Tensor> {
    let Some((first, _)) = lists.first() else { return Err(Error::internal("no lists to pad")) };
    let filler = padding.value(index, first.dtype())?;
    for (values, _) in lists {
        padding.value(index, values.dtype())?;
    }
    let longest = lists.iter().map(|(_, range)| range.len()).max().unwrap_or(0);
    let width = padding.width(index, 0, longest);
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
    filler.string_values().first().ok_or_else(|| Error::internal("no string to pad a list with"))
}

/// Appends rows to column `index`. They consist of the padding value, or else of zeros or empty
/// strings.
fn pad_rows(column: Column, num_rows: usize, padding: Option<&Padding>, index: usize) -> Result<Column> {
    if column.len() >= num_rows {
        return Ok(column);
    }
    let tensor = column.to_tensor()?;
    let filler = padding.map(|padding| padding.value(index, tensor.dtype())).transpose()?;
    let shape = tensor.shape().row().batched(num_rows);
    let missing = shape.num_elements() - tensor.num_elements();
    let room = allocate::elements(tensor.dtype(), &shape);
    if tensor.dtype() == DType::String {
        let filler = filler.map(string).transpose()?.cloned().unwrap_or_default();
        let strings = tensor.string_values().iter().cloned().chain(std::iter::repeat_n(filler, missing));
        return Tensor::strings(shape.clone(), room.collect(strings)?).map(Column::Dense);
    }
    let mut bytes: Vec<u8> = room.room()?;
    bytes.extend_from_slice(tensor.bytes());
    match filler {
        Some(filler) => (0..missing).for_each(|_| bytes.extend_from_slice(filler.bytes())),
        None => bytes.extend(std::iter::repeat_n(0, missing * tensor.dtype().size())),
    }
    Tensor::from_bytes(tensor.dtype(), shape.clone(), bytes.into()).map(Column::Dense)
}

/// Splits batches into their rows.
pub struct Unbatch;

impl Stage for Unbatch {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let block = rows.gather()?;
        let mut unbatched = Rows::new();
        for row in 0..block.num_rows() {
            let columns = block.columns.iter().map(|column| unstacked(column, row)).collect::<Result<Vec<_>>>()?;
            let num_rows = columns.first().map_or(0, Column::len);
            if let Some(other) = columns.iter().find(|column| column.len() != num_rows) {
                return Err(Error::invalid_argument(format!(
                    "unbatch: one component has {num_rows} rows, another {}, expected equal leading axes. Drop one with \
                     select(...)",
                    other.len()
                )));
            }
            let provenance = block.provenance().made_of((0..num_rows as u64).map(|number| (row, number)));
            unbatched.append(&Rows::all(Block::new(columns, num_rows, provenance)?));
        }
        Ok(unbatched)
    }
}

/// Treats row `row` of a column as a separate column.
pub(super) fn unstacked(column: &Column, row: usize) -> Result<Column> {
    if let Column::Lists(lists) = column {
        return gather(&[lists.inner()], lists.range(row).map(|list| (0, list)));
    }
    match column.batch(row)? {
        Column::Dense(tensor) if tensor.shape().is_empty() => Err(Error::invalid_argument(
            "unbatch: a component is a scalar, expected a leading axis in every component. Call unbatch after batch",
        )),
        rows => Ok(rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::Ragged;

    fn vector(values: &[i32]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn rows(column: Column) -> Rows {
        let num_rows = column.len();
        Rows::all(Block::new(vec![column], num_rows, Provenance::Unknown).unwrap())
    }

    fn padding(multiple_of: usize, boundaries: &[usize]) -> Padding {
        Padding {
            values: vec![Tensor::scalar(-1)],
            multiples: vec![Some(vec![multiple_of])],
            boundaries: boundaries.to_vec(),
        }
    }

    fn collate(is_of_batches: bool, padding: Option<Padding>) -> Collate {
        Collate { names: vec!["x".to_owned()], is_of_batches, pad_to: None, padding, layouts: Vec::new() }
    }

    /// Two lists of equal length, in each way that blocks can store them.
    fn held(length: usize) -> Vec<Rows> {
        let values: Vec<_> = (0..2 * length).map(|value| value as i32).collect();
        let (one, other) = (vector(&values[..length]), vector(&values[length..]));
        let dense = Tensor::from_values(Shape::new(&[2, length]), values.clone()).unwrap();
        let ragged = |values: &[i32], ends: Vec<usize>| rows(Column::Ragged(Ragged::new(vector(values), ends)));
        let mut apart = rows(Column::Each([one.clone()].into()));
        apart.append(&ragged(&values[length..], vec![length]));
        let whole = [Column::Dense(one.clone()), Column::Dense(other.clone())];
        vec![
            rows(Column::Dense(dense)),
            ragged(&values, vec![length, 2 * length]),
            rows(Column::Each([one, other].into())),
            apart,
            rows(Column::Batches(whole.into())),
        ]
    }

    #[test]
    fn lists_are_padded_for_every_block_layout() {
        for (padding, width) in
            [((1, &[][..]), 3), ((8, &[][..]), 8), ((3, &[][..]), 3), ((1, &[2, 5][..]), 5), ((1, &[2][..]), 3)]
        {
            let expected: Vec<_> = [[0, 1, 2], [3, 4, 5]].map(|row| [&row[..], &vec![-1; width - 3]].concat()).concat();
            for rows in held(3) {
                let padded = collate(false, Some(self::padding(padding.0, padding.1))).apply(rows).unwrap();
                let batch = padded.gather().unwrap().columns[0].row(0).unwrap();
                assert_eq!((&batch.shape()[..], batch.values::<i32>().unwrap()), (&[2, width][..], &expected[..]));
            }
        }
    }

    #[test]
    fn different_batches_are_rejected_with_a_remedy() {
        let batches = || rows(Column::Batches([vector(&[1, 2]), vector(&[3])].map(Column::Dense).into()));
        let error = collate(true, None).apply(batches()).unwrap_err();
        assert_eq!(
            error.message(),
            "component 'x': one batch has int32 of shape [2], another int32 of shape [1], expected the same in all \
             batches. Call unbatch() first to batch their examples again, or make them equal with remainder='drop' or \
             'pad' and lists of one length"
        );
        let padded = collate(true, Some(padding(1, &[]))).apply(batches()).unwrap().gather().unwrap();
        assert_eq!(padded.columns[0].row(0).unwrap().values::<i32>().unwrap(), [1, 2, 3, -1]);
        let ranks = rows(Column::Each([vector(&[1]), Tensor::scalar(2)].into()));
        let error = collate(false, Some(padding(1, &[]))).apply(ranks).unwrap_err();
        assert!(error.message().ends_with("one type, and as many dimensions in each. Resize or pad them"), "{error}");
    }

    #[test]
    fn rows_are_padded_in_each_variable_dimension() {
        let row = |shape: &[usize], value: i32| {
            let shape = Shape::new(shape);
            let values = vec![value; shape.num_elements()];
            Tensor::from_values(shape, values).unwrap()
        };
        let batch = |multiples: &[usize], boundaries: &[usize]| {
            let rows = self::rows(Column::Each([row(&[1, 2, 2], 1), row(&[3, 1, 2], 2)].into()));
            let padding = Padding { multiples: vec![Some(multiples.to_vec())], ..padding(1, boundaries) };
            let batch = collate(false, Some(padding)).apply(rows).unwrap();
            batch.gather().unwrap().columns[0].row(0).unwrap()
        };
        let plain = batch(&[], &[]);
        assert_eq!(plain.shape()[..], [2, 3, 2, 2]);
        let expected = [1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 2, -1, -1, 2, 2, -1, -1, 2, 2, -1, -1];
        assert_eq!(plain.values::<i32>().unwrap(), expected);
        assert_eq!(batch(&[4, 8, 0], &[]).shape()[..], [2, 4, 8, 2]);
        assert_eq!(batch(&[1, 1, 0], &[5]).shape()[..], [2, 5, 2, 2]);
        assert_eq!(batch(&[0, 1, 0], &[5]).shape()[..], [2, 3, 2, 2]);
    }

    #[test]
    fn rows_stay_separate_for_every_block_layout() {
        let collate = |pad_to, adds_empty| Collate {
            pad_to,
            layouts: vec![Layout::Apart { adds_empty }],
            ..collate(false, None)
        };
        let lists = |collate: &Collate, rows| {
            let batch = collate.apply(rows).unwrap().gather().unwrap().columns[0].batch(0).unwrap();
            let Column::Each(lists) = batch else { panic!("expected a tensor for each row") };
            lists.iter().map(|list| list.values::<i32>().unwrap().to_vec()).collect::<Vec<_>>()
        };
        for rows in held(3) {
            assert_eq!(lists(&collate(None, true), rows), [[0, 1, 2], [3, 4, 5]]);
        }
        for rows in held(1) {
            assert_eq!(lists(&collate(Some(3), true), rows), [vec![0], vec![1], vec![]]);
        }
        for rows in held(2) {
            assert_eq!(lists(&collate(Some(3), false), rows), [[0, 1], [2, 3], [0, 0]]);
        }
        let mixed = rows(Column::Each([vector(&[1]), Tensor::scalar(2.5_f32)].into()));
        let error = collate(None, true).apply(mixed).unwrap_err();
        assert_eq!(error.message(), "component 'x': one example has int32, another float, expected the same type");
    }

    #[test]
    fn batches_are_split_for_every_block_layout() {
        for rows in held(3) {
            let rows = Unbatch.apply(rows).unwrap().gather().unwrap();
            assert_eq!(rows.columns[0].to_tensor().unwrap().values::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
        }
    }
}
