//! The lists that are packed: arrays that may differ in their first dimension.

use crate::blocks::block::{Block, RowProvenance};
use crate::blocks::column::{Axes, Column};
use crate::stages::join::joined;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::shape::Shape;
use smallvec::smallvec;
use std::ops::Range;

/// A column of lists.
#[derive(Clone, Debug)]
pub struct ListColumn {
    /// The name, for error messages.
    pub name: String,
    /// The number of dimensions per row, at least 1. Only the first one may vary.
    pub num_axes: usize,
}

/// The rows of a column of lists, end to end.
pub struct PackedLists {
    values: Tensor,
    ends: Vec<usize>,
}

impl PackedLists {
    /// Puts the rows of a column end to end. `row_provenance` returns the origin of a row.
    pub fn of(
        column: &Column,
        list: &ListColumn,
        row_provenance: impl Fn(usize) -> Option<RowProvenance>,
    ) -> Result<Self> {
        let mut ends = allocate::room(column.len()).map_err(|refusal| refusal.at("the ends of lists"))?;
        let (mut end, mut first, mut empty) = (0, None::<Axes>, None::<Axes>);
        for row in 0..column.len() {
            let axes = row_axes(column, row, list).map_err(|text| misfit(text, row_provenance(row)))?;
            end += axes[0];
            ends.push(end);
            match &first {
                _ if axes[0] == 0 => empty = empty.or(Some(axes)),
                Some(first) if first[1..] != axes[1..] => {
                    return Err(misfit(unlike(list, &axes, first), row_provenance(row)));
                }
                _ => first = Some(axes),
            }
        }
        let axes = first.or(empty).into_iter().flatten();
        let mut shape: Axes = axes.chain(std::iter::repeat(0)).take(list.num_axes).collect();
        shape[0] = end;
        let values = values_of(column, list)?;
        let elements = 0..shape.iter().product();
        Ok(Self { values: values.part(elements, Shape::new(&shape))?, ends })
    }

    /// The number of lists.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The values of all lists. Their first dimension is the total length of the lists.
    pub fn values(&self) -> &Tensor {
        &self.values
    }

    /// The position of list `row` in the values.
    pub fn range(&self, row: usize) -> Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    /// The length of list `row`.
    pub fn row_length(&self, row: usize) -> usize {
        self.range(row).len()
    }

    /// The shape of `length` values.
    pub fn shape(&self, length: usize) -> Shape {
        self.values.shape().with_size(0, length)
    }

    /// The size of a value in bytes.
    pub fn value_bytes(&self) -> usize {
        self.shape(1).num_elements() * self.values.dtype().size()
    }

    /// The bytes of the values at these positions.
    pub fn bytes(&self, positions: Range<usize>) -> &[u8] {
        let size = self.value_bytes();
        &self.values.bytes()[positions.start * size..positions.end * size]
    }

    /// The values at these positions.
    pub fn part(&self, positions: Range<usize>) -> Result<Tensor> {
        let size = self.shape(1).num_elements();
        self.values.part(positions.start * size..positions.end * size, self.shape(positions.len()))
    }
}

/// The rows of a column end to end, with any shape.
fn values_of(column: &Column, list: &ListColumn) -> Result<Tensor> {
    match column {
        Column::Lists(lists) => values_of(lists.inner(), list),
        Column::Each(tensors) => {
            let Some(first) = tensors.first() else { return Err(Error::internal("no lists to pack")) };
            if let Some(other) = tensors.iter().find(|tensor| tensor.dtype() != first.dtype()) {
                let (name, one, other) = (&list.name, first.dtype(), other.dtype());
                return Err(Error::internal(format!(
                    "pack: the component '{name}' has lists of {one} and of {other}, expected one type"
                )));
            }
            // Empty lists may have any shape.
            let is_empty = |tensor: &&Tensor| tensor.shape().first() == Some(&0);
            match tensors.iter().any(|tensor| is_empty(&tensor)) {
                false => joined(column),
                true if tensors.iter().all(|tensor| is_empty(&tensor)) => {
                    Tensor::empty(first.dtype(), Shape::new(&[0]))
                }
                true => {
                    let filled: Vec<_> = tensors.iter().filter(|tensor| !is_empty(tensor)).cloned().collect();
                    joined(&Column::Each(filled.into()))
                }
            }
        }
        Column::Dense(_) | Column::Ragged(_) => joined(column),
        _ => Err(Error::internal("a packed component does not consist of numbers")),
    }
}

/// The length of each row in a column of lists.
pub fn list_lengths(
    column: &Column,
    list: &ListColumn,
    row_provenance: impl Fn(usize) -> Option<RowProvenance>,
) -> Result<Vec<usize>> {
    let length = |row| match row_axes(column, row, list) {
        Ok(axes) => Ok(axes[0]),
        Err(text) => Err(misfit(text, row_provenance(row))),
    };
    (0..column.len()).map(length).collect()
}

/// The length of a row in a column of lists.
pub fn list_length(column: &Column, row: usize, list: &ListColumn, block: &Block) -> Result<usize> {
    match row_axes(column, row, list) {
        Ok(axes) => Ok(axes[0]),
        Err(text) => Err(misfit(text, block.row_provenance(row))),
    }
}

/// The dimensions of a row, or the message of an error if it is no list with the expected number of
/// dimensions.
fn row_axes(column: &Column, row: usize, list: &ListColumn) -> std::result::Result<Axes, String> {
    let axes = match column {
        Column::Dense(tensor) => tensor.shape().row().iter().copied().collect(),
        Column::Packed(packed) => packed.axes().iter().copied().collect(),
        Column::Each(tensors) => tensors[row].shape().iter().copied().collect(),
        Column::Lists(_) => even_axes(column, row).ok_or_else(|| uneven(list))?,
        _ => smallvec![column.row_length(row)],
    };
    match axes.first() {
        Some(0) => Ok(axes),
        Some(_) if axes.len() == list.num_axes => Ok(axes),
        _ => Err(wrong_rank(list, &axes)),
    }
}

/// The dimensions of a row of nested lists, if it could be an array.
fn even_axes(column: &Column, row: usize) -> Option<Axes> {
    let Column::Lists(lists) = column else { return Some(smallvec![column.row_length(row)]) };
    let range = lists.range(row);
    let mut axes: Axes = smallvec![range.len()];
    let Some(first) = range.clone().next() else { return Some(axes) };
    let inner = even_axes(lists.inner(), first)?;
    if range.skip(1).any(|row| even_axes(lists.inner(), row).as_ref() != Some(&inner)) {
        return None;
    }
    axes.extend(inner);
    Some(axes)
}

fn wrong_rank(list: &ListColumn, axes: &[usize]) -> String {
    let (name, shape) = (&list.name, Shape::new(axes));
    let expected = match list.num_axes {
        1 => "a vector. Flatten it in map with reshape(-1), or filter the example out".to_owned(),
        num_axes => format!("{num_axes} axes. Reshape it in map, or filter the example out"),
    };
    format!("pack: the component '{name}' of an example has shape {shape}, expected {expected}")
}

fn uneven(list: &ListColumn) -> String {
    format!(
        "pack: the component '{}' of an example has inner lists of different lengths, expected equal lengths. Pad them \
         in map, or filter the example out",
        list.name
    )
}

fn unlike(list: &ListColumn, axes: &[usize], other: &[usize]) -> String {
    format!(
        "pack: the component '{}' of an example has shape {}, but an example in the same row has shape {}, expected \
         shapes that differ only in the first axis. Pad or cut it in map, or filter the example out",
        list.name,
        Shape::new(axes),
        Shape::new(other)
    )
}

/// The error for components of an example that are packed together and differ in length.
pub fn unequal(length: usize, other: usize, row_provenance: Option<RowProvenance>) -> Error {
    let text = format!(
        "pack: one component of an example has {length} elements, another {other}, expected equal lengths. Pack them \
         separately, or make them equal in map"
    );
    misfit(text, row_provenance)
}

/// An error for an example, with its origin.
pub fn misfit(text: String, row_provenance: Option<RowProvenance>) -> Error {
    let error = Error::invalid_argument(text);
    match row_provenance {
        Some(row_provenance) => error.while_reading(&row_provenance),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::{Lists, Ragged};

    fn numbers(shape: &[usize]) -> Tensor {
        let shape = Shape::new(shape);
        let values = (0..shape.num_elements()).map(|value| value as i32).collect();
        Tensor::from_values(shape, values).unwrap()
    }

    fn packed(column: &Column, num_axes: usize) -> Result<PackedLists> {
        PackedLists::of(column, &ListColumn { name: "x".into(), num_axes }, |_| None)
    }

    fn message(column: &Column, num_axes: usize) -> String {
        match packed(column, num_axes) {
            Ok(_) => panic!("expected an error"),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn lists_are_packed_for_every_block_layout() {
        let inner = Column::Ragged(Ragged::new(numbers(&[6]), vec![2, 4, 6]));
        let columns = [
            Column::Each([numbers(&[2, 2]), numbers(&[0]), numbers(&[1, 2])].into()),
            Column::Lists(Lists::new(inner, vec![2, 2, 3])),
        ];
        for column in columns {
            let lists = packed(&column, 2).unwrap();
            assert_eq!((&lists.values().shape()[..], lists.len()), (&[3, 2][..], 3));
            assert_eq!([lists.range(0), lists.range(1), lists.range(2)], [0..2, 2..2, 2..3]);
            assert_eq!((lists.value_bytes(), lists.bytes(1..2).len()), (8, 8));
            assert_eq!(lists.part(1..3).unwrap().shape()[..], [2, 2]);
        }
        let dense = packed(&Column::Dense(numbers(&[2, 3, 4])), 2).unwrap();
        assert_eq!((&dense.values().shape()[..], dense.row_length(1)), (&[6, 4][..], 3));
        let empty = packed(&Column::Each([numbers(&[0, 3])].into()), 2).unwrap();
        assert_eq!(empty.values().shape()[..], [0, 3]);
    }

    #[test]
    fn rows_of_mismatched_shapes_are_rejected() {
        let each = |one: &[usize], other: &[usize]| Column::Each([numbers(one), numbers(other)].into());
        let text = message(&each(&[2, 3], &[1, 4]), 2);
        assert!(text.contains("shape [1,4], but an example in the same row has shape [2,3]"), "{text}");
        assert!(message(&each(&[2, 3], &[2]), 2).contains("shape [2], expected 2 axes. Reshape it"));
        assert!(message(&each(&[2], &[2, 3]), 1).contains("shape [2,3], expected a vector. Flatten it"));
        let inner = Column::Ragged(Ragged::new(numbers(&[3]), vec![1, 3]));
        let text = message(&Column::Lists(Lists::new(inner, vec![2])), 2);
        assert!(text.contains("inner lists of different lengths"), "{text}");
    }
}
