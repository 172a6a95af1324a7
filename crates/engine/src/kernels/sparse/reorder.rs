//! `SparseReorder`: sorts the elements of a sparse tensor by their indices.

use super::{numbers, sorted_rows};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;

/// Maps `(indices, values, shape)` to the sorted indices and values. Indices are not checked
/// against the shape.
///
/// Source: `tf.sparse_reorder` in TensorFlow 1.15.
pub struct SparseReorder;

impl Kernel for SparseReorder {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, values, shape] = expect_inputs(&inputs)?;
        let positions = numbers(indices, 2, "indices")?;
        numbers(shape, 1, "shape")?;
        if values.shape()[..] != indices.shape()[..1] {
            return Err(Error::invalid_argument(format!(
                "Number of elements in indices and values do not match: they have shapes {} and {}",
                indices.shape(),
                values.shape()
            )));
        }
        let order = sorted_rows(positions, values.num_elements())?;
        let outputs: [Tensor; 2] =
            [indices.take_rows(&order, &[order.len()])?, values.take_rows(&order, &[order.len()])?];
        Ok(Step::Done(Outputs::from_iter(outputs)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run};
    use crate::tensor::shape::Shape;

    fn int64s(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    #[test]
    fn elements_are_sorted_by_their_indices_and_the_sort_is_stable() {
        let indices = int64s(&[4, 2], &[1, 2, 0, 9, 1, -1, 0, 9]);
        let values = Tensor::strings(Shape::new(&[4]), ["a", "b", "c", "d"].map(Into::into).to_vec()).unwrap();
        let outputs = run(&SparseReorder, &[indices, values, int64s(&[2], &[2, 3])]).unwrap();
        assert_eq!(outputs[0], int64s(&[4, 2], &[0, 9, 0, 9, 1, -1, 1, 2]));
        assert_eq!(outputs[1].string_values(), ["b", "d", "c", "a"]);
    }

    #[test]
    fn empty_and_zero_dimensional_tensors_are_accepted() {
        let shape = int64s(&[0], &[]);
        let outputs = run(&SparseReorder, &[int64s(&[1, 0], &[]), int64s(&[1], &[7]), shape.clone()]).unwrap();
        assert_eq!(outputs, [int64s(&[1, 0], &[]), int64s(&[1], &[7])]);
        let outputs = run(&SparseReorder, &[int64s(&[0, 0], &[]), int64s(&[0], &[]), shape]).unwrap();
        assert_eq!(outputs, [int64s(&[0, 0], &[]), int64s(&[0], &[])]);
    }

    #[test]
    fn inconsistent_components_are_rejected() {
        let text = |indices, values, shape| error_text(&SparseReorder, &[indices, values, shape]);
        let (matrix, vector) = (int64s(&[1, 1], &[0]), int64s(&[1], &[0]));
        assert_eq!(
            text(vector.clone(), vector.clone(), vector.clone()),
            "InvalidArgument: Input indices should be a matrix but received shape [1]"
        );
        assert_eq!(
            text(matrix.clone(), vector, matrix.clone()),
            "InvalidArgument: Input shape should be a vector but received shape [1,1]"
        );
        assert_eq!(
            text(matrix, int64s(&[2], &[0, 0]), int64s(&[1], &[1])),
            "InvalidArgument: Number of elements in indices and values do not match: they have shapes [1,1] and [2]"
        );
    }
}
