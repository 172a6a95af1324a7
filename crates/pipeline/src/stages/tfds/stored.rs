//! One feature, and how `Example`s store it.

use super::column;
use super::convert::{REMEDY, converted, out_of_range};
use crate::blocks::column::{Column, Lists, Ragged};
use crate::blocks::rows::Rows;
use crate::stages::text;
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::{Compression, Inflate};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate::{self, Unread};
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::borrow::Cow;

/// How the values of a feature are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Stored as a list of values.
    Values,
    /// Stored as the bytes of an array.
    Bytes,
    /// Stored as the bytes of an array, compressed with zlib.
    Zlib,
}

impl Encoding {
    /// The encoding with this name, if any.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::Values),
            "bytes" => Some(Self::Bytes),
            "zlib" => Some(Self::Zlib),
            _ => None,
        }
    }
}

/// A feature, and the columns that store it.
#[derive(Clone)]
pub struct StoredFeature {
    /// Its name, for messages.
    pub name: String,
    /// The column of its values.
    pub values: usize,
    /// For sequences within sequences: the columns of the lengths of the inner ones, outermost
    /// first.
    pub lengths: Vec<usize>,
    /// For encoded arrays with several unknown dimensions: the column of their shapes.
    pub sizes: Option<usize>,
    /// The dtype of its elements.
    pub dtype: DType,
    /// Its shape in one example, or in one step. Begins with the lengths of its sequences.
    pub shape: Vec<Option<usize>>,
    /// The nesting depth: the number of sequences that contain this feature.
    pub num_sequences: usize,
    /// How its values are stored.
    pub encoding: Encoding,
    /// True if it has one value for each step.
    pub is_of_steps: bool,
}

impl StoredFeature {
    /// The feature's column, from the parsed columns of `rows`, which may already be split into
    /// steps.
    pub fn restored(&self, columns: &[Column], rows: &Rows) -> Result<Column> {
        let values = column(columns, self.values)?;
        if self.encoding != Encoding::Values {
            return self.decoded(values, columns, rows);
        }
        match values {
            Column::Ragged(lists) if self.lengths.is_empty() => self.arrays(lists, rows),
            Column::Ragged(lists) => self.nested(lists, columns, rows),
            Column::Dense(tensor) => {
                let row_length = tensor.shape().row().num_elements();
                self.converted(tensor, rows, |index| index / row_length.max(1)).map(Column::Dense)
            }
            strings => Ok(strings.clone()),
        }
    }

    /// The number of elements of one innermost item, which has a fixed shape. Unknown dimensions
    /// count as 1.
    fn item_length(&self) -> usize {
        self.shape.iter().flatten().product()
    }

    /// The dimensions within all sequences.
    fn inner(&self) -> &[Option<usize>] {
        &self.shape[self.num_sequences.min(self.shape.len())..]
    }

    /// Converts values. `row_of` returns the row of a value.
    fn converted(&self, values: &Tensor, rows: &Rows, row_of: impl FnOnce(usize) -> usize) -> Result<Tensor> {
        converted(values, self.dtype)?
            .map_err(|wrong| text::at(rows, row_of(wrong.index), &out_of_range(&self.name, self.dtype, wrong.value)))
    }

    fn converted_lists(&self, lists: &Ragged, rows: &Rows) -> Result<Tensor> {
        let row_of = |index| (0..lists.len()).find(|row| lists.range(*row).contains(&index)).unwrap_or(0);
        self.converted(lists.values(), rows, row_of)
    }

    /// Arrays with at most one unknown dimension, from the flat values of each row.
    fn arrays(&self, lists: &Ragged, rows: &Rows) -> Result<Column> {
        let item_length = self.item_length();
        for row in 0..lists.len() {
            let length = lists.row_length(row);
            let fits = match self.shape.contains(&None) {
                true => length.checked_rem(item_length).map_or(length == 0, |rest| rest == 0),
                false => length == item_length,
            };
            if !fits {
                return Err(self.misfit(rows, row, length));
            }
        }
        let values = self.converted_lists(lists, rows)?;
        if self.shape[..] == [None] {
            let ends = (0..lists.len()).map(|row| lists.range(row).end).collect();
            return Ok(Column::Ragged(Ragged::new(values, ends)));
        }
        if let Some(shape) = self.shape.iter().copied().collect::<Option<Vec<_>>>() {
            return values.reshaped(Shape::new(&shape).batched(lists.len())).map(Column::Dense);
        }
        let array = |row| {
            let range = lists.range(row);
            let unknown = range.len().checked_div(item_length).unwrap_or(0);
            let shape: Shape = self.shape.iter().map(|size| size.unwrap_or(unknown)).collect();
            values.part(range, shape)
        };
        (0..lists.len()).map(array).collect::<Result<Vec<_>>>().map(|arrays| Column::Each(arrays.into()))
    }

    /// Sequences within sequences.
    fn nested(&self, lists: &Ragged, columns: &[Column], rows: &Rows) -> Result<Column> {
        let lengths = self.lengths.iter().map(|number| match column(columns, *number)? {
            Column::Ragged(lengths) => Ok(lengths),
            _ => Err(Error::internal("the lengths of sequences are not lists")),
        });
        let lengths = lengths.collect::<Result<Vec<_>>>()?;
        let inner: Vec<_> = self.inner().iter().map(|size| size.unwrap_or(0)).collect();
        let item_length: usize = inner.iter().product();
        for row in 0..lists.len() {
            let mut expected = lengths.first().map_or(0, |outer| outer.row_length(row));
            for lengths in &lengths {
                if lengths.row_length(row) != expected {
                    return Err(self.uneven(rows, row, lengths.row_length(row), expected));
                }
                expected = sum_of(lengths, row).ok_or_else(|| self.negative(rows, row))?;
            }
            if Some(lists.row_length(row)) != expected.checked_mul(item_length) {
                return Err(self.misfit(rows, row, lists.row_length(row)));
            }
        }
        let values = self.converted_lists(lists, rows)?;
        let mut nested = Nested::Values(values);
        for (axis, size) in inner.iter().enumerate().rev() {
            let num_lists: usize = inner[..axis].iter().product();
            let num_items: usize = lengths.last().map_or(0, |lengths| total(lengths));
            nested = nested.split((1..=num_items * num_lists).map(|number| number * size).collect())?;
        }
        for lengths in lengths.iter().rev() {
            let mut end = 0;
            let ends = lengths.values().values::<i64>()?.iter().map(|length| {
                end += usize::try_from(*length).unwrap_or(0);
                end
            });
            nested = nested.split(ends.collect())?;
        }
        let outer = lengths.first().ok_or_else(|| Error::internal("the lengths of sequences are missing"))?;
        match nested.split((0..outer.len()).map(|row| outer.range(row).end).collect())? {
            Nested::Column(column) => Ok(column),
            Nested::Values(_) => Err(Error::internal("sequences were not split into lists")),
        }
    }

    /// Arrays from their bytes.
    fn decoded(&self, values: &Column, columns: &[Column], rows: &Rows) -> Result<Column> {
        let sizes = self.sizes.map(|number| column(columns, number)).transpose()?;
        let array = |row| {
            let tensor = values.row(row)?;
            let shape = sizes.map(|sizes| sizes.row(row)).transpose()?;
            self.decoded_row(tensor.string_values(), shape.as_ref()).map_err(|error| text::at(rows, row, &error))
        };
        let arrays = (0..values.len()).map(array).collect::<Result<Vec<_>>>()?;
        Ok(Column::Each(arrays.into()))
    }

    /// The array of one row: the arrays of `items`, end to end.
    fn decoded_row(&self, items: &[Bytes], sizes: Option<&Tensor>) -> Result<Tensor> {
        let name = &self.name;
        let refused = |refusal: allocate::Refusal| refusal.at(format_args!("the feature '{name}'"));
        let mut bytes = Vec::new();
        let mut length = None;
        for item in items {
            let decoded = match self.encoding {
                Encoding::Zlib => Cow::Owned(inflated(item, name)?),
                _ => Cow::Borrowed(&item[..]),
            };
            if length.replace(decoded.len()).is_some_and(|length| length != decoded.len()) {
                return Err(self.undecodable(decoded.len()));
            }
            allocate::append(&mut bytes, &decoded).map_err(refused)?;
        }
        let shape = self.decoded_shape(items.len(), bytes.len(), sizes)?;
        if self.dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
            return Err(Error::data_loss(format!("the feature '{name}' has bytes above 1, expected bool. {REMEDY}")));
        }
        Tensor::from_bytes(self.dtype, shape, bytes.into())
    }

    /// The shape of an array of `num_bytes` bytes.
    fn decoded_shape(&self, num_items: usize, num_bytes: usize, sizes: Option<&Tensor>) -> Result<Shape> {
        let num_elements = num_bytes / self.dtype.size().max(1);
        let mut shape = self.shape.clone();
        if self.num_sequences > 0
            && let Some(first) = shape.first_mut()
        {
            *first = Some(num_items);
        }
        if let Some(sizes) = sizes {
            let sizes = sizes.integers()?;
            let mut dims = shape.iter_mut().zip(&sizes);
            let fits = |(dim, size): (&mut Option<usize>, &i64)| {
                let size = usize::try_from(*size).ok();
                let fits = size.is_some() && (dim.is_none() || *dim == size);
                *dim = size;
                fits
            };
            if sizes.len() != self.shape.len() || !dims.all(fits) {
                let sizes: Vec<_> = sizes.iter().map(i64::to_string).collect();
                return Err(Error::data_loss(format!(
                    "the feature '{}' has the shape ({}), expected {}. {REMEDY}",
                    self.name,
                    sizes.join(", "),
                    shown(&self.shape)
                )));
            }
        }
        let known = shape.iter().flatten().try_fold(1_usize, |product, size| product.checked_mul(*size));
        let unknown = known.and_then(|known| num_elements.checked_div(known)).unwrap_or(0);
        let shape: Shape = shape.iter().map(|size| size.unwrap_or(unknown)).collect();
        match shape.checked_num_elements()?.checked_mul(self.dtype.size()) == Some(num_bytes) {
            true => Ok(shape),
            false => Err(self.undecodable(num_bytes)),
        }
    }

    #[cold]
    fn undecodable(&self, num_bytes: usize) -> Error {
        Error::data_loss(format!(
            "the feature '{}' has {num_bytes} bytes, expected {} of shape {}. {REMEDY}",
            self.name,
            self.dtype,
            shown(&self.shape)
        ))
    }

    #[cold]
    fn misfit(&self, rows: &Rows, row: usize, length: usize) -> Error {
        let shape = shown(&self.shape);
        let text = format!("the feature '{}' has {length} values, expected the shape {shape}. {REMEDY}", self.name);
        text::at(rows, row, &Error::data_loss(text))
    }

    #[cold]
    fn uneven(&self, rows: &Rows, row: usize, length: usize, expected: usize) -> Error {
        let text = format!(
            "the feature '{}' has {length} inner sequences, expected {expected} according to the lengths of the outer \
             ones. {REMEDY}",
            self.name
        );
        text::at(rows, row, &Error::data_loss(text))
    }

    #[cold]
    fn negative(&self, rows: &Rows, row: usize) -> Error {
        let text = format!("the feature '{}' has a sequence of negative length. {REMEDY}", self.name);
        text::at(rows, row, &Error::data_loss(text))
    }
}

/// Lists that are built from the inside.
enum Nested {
    Values(Tensor),
    Column(Column),
}

impl Nested {
    /// Splits the items into lists that end at `ends`.
    fn split(self, ends: Vec<usize>) -> Result<Self> {
        Ok(Self::Column(match self {
            Self::Values(values) => Column::Ragged(Ragged::new(values, ends)),
            Self::Column(column @ (Column::Ragged(_) | Column::Lists(_))) => Column::Lists(Lists::new(column, ends)),
            Self::Column(_) => return Err(Error::internal("the items of a sequence are not lists")),
        }))
    }
}

/// The sum of the lengths in a row, or `None` if one is negative.
pub(super) fn sum_of(lengths: &Ragged, row: usize) -> Option<usize> {
    let lengths = lengths.values().values::<i64>().ok()?.get(lengths.range(row))?;
    lengths.iter().try_fold(0_usize, |sum, length| sum.checked_add(usize::try_from(*length).ok()?))
}

fn total(lengths: &Ragged) -> usize {
    (0..lengths.len()).filter_map(|row| sum_of(lengths, row)).sum()
}

fn inflated(bytes: &[u8], name: &str) -> Result<Vec<u8>> {
    let mut inflated = Vec::new();
    let read = allocate::read_to_end(&mut Inflate::whole(bytes, Compression::Zlib), &mut inflated);
    read.map_err(|unread| match unread {
        Unread::Refused(refusal) => refusal.at(format_args!("the feature '{name}'")),
        Unread::Failed(error) => {
            Error::data_loss(format!("the feature '{name}' cannot be inflated: {error}. {REMEDY}"))
        }
    })?;
    Ok(inflated)
}

/// A shape as in Python, with None for unknown dimensions.
pub(super) fn shown(shape: &[Option<usize>]) -> String {
    let sizes: Vec<_> = shape.iter().map(|size| size.map_or("None".to_owned(), |size| size.to_string())).collect();
    match &sizes[..] {
        [size] => format!("({size},)"),
        sizes => format!("({})", sizes.join(", ")),
    }
}
