//! `SparseFillEmptyRows`: adds an element to each empty row of a sparse tensor.

use super::parts::Parts;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Maps `(indices, values, shape, default)` to the filled tensor. The outputs are the indices and
/// values in row order, with the default as the first element of each row that was empty; a bool
/// for each row, which is true if it was empty; and the position of each input element in the
/// result. Only row indices are examined.
///
/// Source: `tf.sparse_fill_empty_rows` in TensorFlow 1.15.
pub struct SparseFillEmptyRows;

impl Kernel for SparseFillEmptyRows {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, values, shape, default] = expect_inputs(&inputs)?;
        let parts = Parts::new(indices, values, shape)?;
        if !default.shape().is_empty() || default.dtype() != values.dtype() {
            let (dtype, got, default_shape) = (values.dtype(), default.dtype(), default.shape());
            return Err(Error::invalid_argument(format!(
                "default_value must be a scalar {dtype}, got {got} of shape {default_shape}"
            )));
        }
        let rows = Rows::new(&parts)?;
        let shape = Shape::new(&[rows.counts.len()]);
        let is_empty = rows.counts.iter().map(|count| u8::from(*count == 0));
        let is_empty = allocate::elements(DType::Bool, &shape).collect(is_empty)?;
        let is_empty = Tensor::from_values(shape, is_empty)?.with_dtype(DType::Bool)?;
        let positions = Shape::new(&[parts.num_values()]);
        if rows.is_done {
            let numbers = allocate::elements(DType::Int64, &positions).collect(0..parts.num_values() as i64)?;
            let positions = Tensor::from_values(positions, numbers)?;
            return Ok(Step::Done(Outputs::from_iter([indices.clone(), values.clone(), is_empty, positions])));
        }
        let order = rows.order(&parts)?;
        let numbers =
            allocate::elements(DType::Int64, &positions).collect(order.iter().map(|position| *position as i64))?;
        let elements = Tensor::from_values(positions, numbers)?;
        let filled = [rows.indices(&parts, &order)?, rows.values(values, default, &order)?, is_empty, elements];
        Ok(Step::Done(Outputs::from_iter(filled)))
    }
}

/// The number of elements in the rows of a sparse tensor.
struct Rows {
    /// The number of elements in each row.
    counts: Vec<usize>,
    /// The number of elements once each row has at least one.
    num_filled: usize,
    /// True if every row has an element and the rows are in order.
    is_done: bool,
}

impl Rows {
    fn new(parts: &Parts<'_>) -> Result<Self> {
        let Some(first) = parts.sizes.first() else {
            return Err(Error::invalid_argument("Dense shape cannot be empty."));
        };
        let num_rows =
            usize::try_from(*first).map_err(|_| Error::invalid_argument(format!("Dimension {first} must be >= 0")))?;
        if num_rows == 0 && parts.num_values() > 0 {
            return Err(Error::invalid_argument(format!(
                "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {}",
                parts.num_values()
            )));
        }
        let shape = Shape::new(&[num_rows]);
        let mut counts: Vec<usize> = allocate::elements(DType::Int64, &shape).copies(0)?;
        let mut is_done = true;
        let mut last = 0;
        for (element, row) in parts.rows().enumerate() {
            let Some(number) = usize::try_from(row[0]).ok().filter(|number| *number < num_rows) else {
                let text = match row[0] {
                    ..0 => format!("indices({element}, 0) is invalid: {} < 0", row[0]),
                    _ => format!("indices({element}, 0) is invalid: {} >= {num_rows}", row[0]),
                };
                return Err(Error::invalid_argument(text));
            };
            counts[number] += 1;
            is_done &= number >= last;
            last = number;
        }
        let num_empty = counts.iter().filter(|count| **count == 0).count();
        Ok(Self { num_filled: parts.num_values() + num_empty, counts, is_done: is_done && num_empty == 0 })
    }

    /// The position of each element in the result.
    fn order(&self, parts: &Parts<'_>) -> Result<Vec<usize>> {
        let begins = self.counts.iter().scan(0, |begin, count| {
            let own = *begin;
            *begin += (*count).max(1);
            Some(own)
        });
        let mut next = allocate::elements(DType::Int64, &Shape::new(&[self.counts.len()])).collect(begins)?;
        let positions = parts.rows().map(|row| {
            let next = &mut next[row[0] as usize];
            *next += 1;
            *next - 1
        });
        allocate::elements(DType::Int64, &Shape::new(&[parts.num_values()])).collect(positions)
    }

    fn indices(&self, parts: &Parts<'_>, order: &[usize]) -> Result<Tensor> {
        let rank = parts.rank();
        let shape = Shape::new(&[self.num_filled, rank]);
        let mut indices: Vec<i64> = allocate::elements(DType::Int64, &shape).zeros()?;
        for (row, position) in parts.rows().zip(order) {
            indices[position * rank..(position + 1) * rank].copy_from_slice(row);
        }
        let mut position = 0;
        for (row, count) in self.counts.iter().enumerate() {
            if *count == 0 {
                indices[position * rank] = row as i64;
            }
            position += (*count).max(1);
        }
        Tensor::from_values(shape, indices)
    }

    fn values(&self, values: &Tensor, default: &Tensor, order: &[usize]) -> Result<Tensor> {
        let shape = Shape::new(&[self.num_filled]);
        let elements = allocate::elements(values.dtype(), &shape);
        if values.dtype() == DType::String {
            let mut strings = elements.copies(default.string_values()[0].clone())?;
            values.string_values().iter().zip(order).for_each(|(value, position)| strings[*position] = value.clone());
            return Tensor::strings(shape, strings);
        }
        let size = values.dtype().size();
        let mut bytes = elements.filled(default.bytes())?;
        for (value, position) in values.stored()?.chunks_exact(size).zip(order) {
            bytes[position * size..(position + 1) * size].copy_from_slice(value);
        }
        Tensor::from_bytes(values.dtype(), shape, bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run};

    fn int64s(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn inputs(rows: &[i64], num_rows: i64) -> [Tensor; 4] {
        let indices: Vec<_> = rows.iter().zip([7, 8, 9]).flat_map(|(row, column)| [*row, column]).collect();
        let values: Vec<_> = ["a", "b", "c"][..rows.len()].iter().map(|text| (*text).into()).collect();
        let values = Tensor::strings(Shape::new(&[rows.len()]), values).unwrap();
        [int64s(&[rows.len(), 2], &indices), values, int64s(&[2], &[num_rows, 9]), Tensor::string("z")]
    }

    fn bools(values: &[u8]) -> Tensor {
        let values = Tensor::from_values(Shape::new(&[values.len()]), values.to_vec());
        values.unwrap().with_dtype(DType::Bool).unwrap()
    }

    #[test]
    fn empty_rows_are_filled_with_the_default() {
        let outputs = run(&SparseFillEmptyRows, &inputs(&[2, 0, 2], 4)).unwrap();
        assert_eq!(outputs[0], int64s(&[5, 2], &[0, 8, 1, 0, 2, 7, 2, 9, 3, 0]));
        assert_eq!(outputs[1].string_values(), ["b", "z", "a", "c", "z"]);
        assert_eq!(outputs[2], bools(&[0, 1, 0, 1]));
        assert_eq!(outputs[3], int64s(&[3], &[2, 0, 3]));
    }

    #[test]
    fn rows_of_numbers_are_filled() {
        let inputs = [int64s(&[1, 1], &[1]), int64s(&[1], &[5]), int64s(&[1], &[3]), Tensor::scalar(-1_i64)];
        let outputs = run(&SparseFillEmptyRows, &inputs).unwrap();
        assert_eq!(outputs[..2], [int64s(&[3, 1], &[0, 1, 2]), int64s(&[3], &[-1, 5, -1])]);
    }

    #[test]
    fn tensor_without_empty_rows_is_unchanged() {
        let arguments = inputs(&[0, 1, 1], 2);
        let outputs = run(&SparseFillEmptyRows, &arguments).unwrap();
        assert_eq!(outputs[..2], arguments[..2]);
        assert_eq!(outputs[2..], [bools(&[0, 0]), int64s(&[3], &[0, 1, 2])]);
        let outputs = run(&SparseFillEmptyRows, &inputs(&[], 0)).unwrap();
        assert_eq!(outputs[2..], [bools(&[]), int64s(&[0], &[])]);
    }

    #[test]
    fn rows_out_of_range_are_rejected() {
        let text = |rows: &[i64], num_rows| error_text(&SparseFillEmptyRows, &inputs(rows, num_rows));
        assert_eq!(text(&[0, 2], 2), "InvalidArgument: indices(1, 0) is invalid: 2 >= 2");
        assert_eq!(text(&[-1], 2), "InvalidArgument: indices(0, 0) is invalid: -1 < 0");
        assert_eq!(
            text(&[1], 0),
            "InvalidArgument: Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = 1"
        );
        assert_eq!(text(&[1], -3), "InvalidArgument: Dimension -3 must be >= 0");
        let mut arguments = inputs(&[1], 3);
        arguments[3] = int64s(&[1], &[0]);
        assert_eq!(
            error_text(&SparseFillEmptyRows, &arguments),
            "InvalidArgument: default_value must be a scalar string, got int64 of shape [1]"
        );
    }
}
