//! Concatenates the rows of a batch and returns the offset of each one.

use crate::blocks::column::Column;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// Concatenates rows that may differ in their first dimension. Returns one tensor, and one more
/// offset than there are rows, starting with 0. With `pad_to`, empty rows are added up to this
/// number.
pub fn joined_with_offsets(column: &Column, pad_to: Option<usize>) -> Result<[Column; 2]> {
    Ok([Column::Dense(joined(column)?), Column::Dense(offsets(column, pad_to)?)])
}

/// Concatenates rows that may differ in their first dimension.
pub fn joined(column: &Column) -> Result<Tensor> {
    match column {
        Column::Ragged(ragged) => {
            let end = ragged.len().checked_sub(1).map_or(0, |last| ragged.range(last).end);
            ragged.values().part(0..end, Shape::new(&[end]))
        }
        Column::Dense(rows) if rows.shape().len() > 1 => {
            let inner = rows.shape().get(2..).unwrap_or_default();
            let num_values = rows.shape()[0] * rows.shape()[1];
            let shape: Vec<_> = std::iter::once(num_values).chain(inner.iter().copied()).collect();
            rows.clone().reshaped(Shape::new(&shape))
        }
        Column::Lists(_) => Err(Error::internal("cannot join lists of lists")),
        _ => joined_tensors(&(0..column.len()).map(|row| column.row(row)).collect::<Result<Vec<_>>>()?),
    }
}

/// The offset of each row, starting with 0, and the end of the last one; see
/// [`joined_with_offsets`].
pub fn offsets(column: &Column, pad_to: Option<usize>) -> Result<Tensor> {
    let ends = (0..column.len()).scan(0, |end, row| {
        *end += column.row_length(row) as i64;
        Some(*end)
    });
    let mut offsets: Vec<_> = std::iter::once(0).chain(ends).collect();
    if let (Some(size), Some(end)) = (pad_to, offsets.last().copied()) {
        offsets.extend(std::iter::repeat_n(end, (size + 1).saturating_sub(offsets.len())));
    }
    Tensor::from_values(Shape::new(&[offsets.len()]), offsets)
}

/// Concatenates tensors that differ only in their first dimension.
fn joined_tensors(rows: &[Tensor]) -> Result<Tensor> {
    let Some(first) = rows.first() else { return Err(Error::internal("no rows to join")) };
    let Some((_, inner)) = first.shape().split_first() else { return Err(unlike(first, first)) };
    let is_alike = |row: &Tensor| row.dtype() == first.dtype() && row.shape().get(1..) == Some(inner);
    if let Some(other) = rows.iter().find(|row| !is_alike(row)) {
        return Err(unlike(first, other));
    }
    let num_values: usize = rows.iter().map(|row| row.shape()[0]).sum();
    let shape: Vec<_> = std::iter::once(num_values).chain(inner.iter().copied()).collect();
    let shape = Shape::new(&shape);
    let room = allocate::elements(first.dtype(), &shape);
    if first.dtype() == DType::String {
        let strings = rows.iter().flat_map(Tensor::string_values).cloned();
        return Tensor::strings(shape.clone(), room.collect(strings)?);
    }
    let mut bytes: Vec<u8> = room.room()?;
    rows.iter().for_each(|row| bytes.extend_from_slice(row.bytes()));
    Tensor::from_bytes(first.dtype(), shape.clone(), bytes.into())
}

fn unlike(one: &Tensor, other: &Tensor) -> Error {
    let shapes = match one.shape().is_empty() || other.shape().is_empty() {
        true => "at least one axis in all examples",
        false => "shapes that differ only in the first dimension",
    };
    Error::invalid_argument(format!(
        "one example has {} of shape {}, another {} of shape {}, expected {shapes}. Resize or reshape them, or use \
         padded_batch instead of batch(ragged='offsets')",
        one.dtype(),
        one.shape(),
        other.dtype(),
        other.shape()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::Ragged;

    fn numbers(shape: &[usize], values: Vec<i32>) -> Tensor {
        Tensor::from_values(Shape::new(shape), values).unwrap()
    }

    fn joined_rows(column: Column, pad_to: Option<usize>) -> (Vec<usize>, Vec<i32>, Vec<i64>) {
        let [values, offsets] = joined_with_offsets(&column, pad_to).unwrap().map(|column| column.to_tensor().unwrap());
        let shape = values.shape().to_vec();
        (shape, values.values::<i32>().unwrap().to_vec(), offsets.values::<i64>().unwrap().to_vec())
    }

    #[test]
    fn rows_are_joined_from_every_kind_of_column() {
        let ragged = Column::Ragged(Ragged::new(numbers(&[5], vec![1, 2, 3, 4, 5]), vec![1, 1, 3]));
        assert_eq!(joined_rows(ragged, None), (vec![3], vec![1, 2, 3], vec![0, 1, 1, 3]));
        let dense = Column::Dense(numbers(&[2, 2, 1], vec![1, 2, 3, 4]));
        assert_eq!(joined_rows(dense, Some(3)), (vec![4, 1], vec![1, 2, 3, 4], vec![0, 2, 4, 4]));
        let each = Column::Each([numbers(&[1, 2], vec![1, 2]), numbers(&[0, 2], vec![])].into());
        assert_eq!(joined_rows(each, None), (vec![1, 2], vec![1, 2], vec![0, 1, 1]));
    }

    #[test]
    fn incompatible_rows_are_rejected() {
        let each = |one, other| joined_with_offsets(&Column::Each([one, other].into()), None).unwrap_err();
        let error = each(numbers(&[1, 2], vec![1, 2]), numbers(&[1, 1], vec![1]));
        assert!(error.message().contains("[1,2], another int32 of shape [1,1]"), "{error}");
        assert!(error.message().contains("use padded_batch instead"), "{error}");
        let error = each(numbers(&[1], vec![1]), Tensor::scalar(1));
        assert!(error.message().contains("expected at least one axis"), "{error}");
        let scalars = joined_with_offsets(&Column::Dense(numbers(&[2], vec![1, 2])), None).unwrap_err();
        assert!(scalars.message().contains("expected at least one axis"), "{scalars}");
    }
}
