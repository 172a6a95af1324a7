//! `SparseMerge`: builds a sparse tensor from a tensor of values and tensors of indices.

use super::{numbers, sorted_rows};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Merges sparse tensors. The inputs are `(indices, values)` of the tensor with the values,
/// followed by the same for one tensor of indices per new dimension. Returns the indices and values
/// of the result, in which the new dimensions replace the last dimension of the first tensor.
///
/// Source: `tf.SparseFeature` and `tf.sparse_merge` in TensorFlow 1.15.
pub struct SparseMerge {
    is_sorted: bool,
    /// The name of the result, for messages.
    what: String,
}

impl SparseMerge {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { is_sorted: attrs.bool("already_sorted")?, what: attrs.string("feature")?.to_owned() })
    }

    fn mismatch(&self, num_indices: usize, num_values: usize) -> Error {
        Error::invalid_argument(format!(
            "Number of elements in indices ({num_indices}) and values ({num_values}) do not match: {} needs as many \
             indices as values in every example",
            self.what
        ))
    }
}

impl Kernel for SparseMerge {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let ([[positions, values], parts @ ..], []) = inputs.as_slice().as_chunks::<2>() else {
            return Err(Error::internal("expected pairs of indices and values"));
        };
        let mut columns = Vec::new();
        for [part_positions, part_values] in parts {
            if part_positions != positions || part_values.num_elements() != values.num_elements() {
                return Err(self.mismatch(part_values.num_elements(), values.num_elements()));
            }
            columns.push(numbers(part_values, 1, "indices")?);
        }
        let num_values = values.num_elements();
        let (positions, rank) = (numbers(positions, 2, "indices")?, positions.shape()[1]);
        let kept = rank.saturating_sub(1);
        if positions.len() != num_values * rank {
            return Err(Error::internal(format!(
                "got {} indices for {num_values} values of rank {rank}",
                positions.len()
            )));
        }
        let width = kept + columns.len();
        let shape = Shape::new(&[num_values, width]);
        let mut indices = allocate::elements(DType::Int64, &shape).room()?;
        for element in 0..num_values {
            indices.extend_from_slice(&positions[element * rank..element * rank + kept]);
            indices.extend(columns.iter().map(|column| column[element]));
        }
        let order = if self.is_sorted { None } else { Some(sorted_rows(&indices, num_values)?) };
        let indices = Tensor::from_values(shape, indices)?;
        Ok(Step::Done(Outputs::from_iter(match order {
            None => [indices, values.clone()],
            Some(order) => [indices.take_rows(&order, &[num_values])?, values.take_rows(&order, &[num_values])?],
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run};

    fn kernel(is_sorted: bool) -> SparseMerge {
        SparseMerge::from_attrs(&attrs([
            ("already_sorted", Attr::Bool(is_sorted)),
            ("feature", Attr::String("'f'".to_owned())),
        ]))
        .unwrap()
    }

    fn int64s(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    #[test]
    fn indices_come_from_the_id_tensors() {
        let positions = int64s(&[3, 2], &[0, 0, 0, 1, 2, 0]);
        let inputs = [
            positions.clone(),
            int64s(&[3], &[70, 80, 90]),
            positions.clone(),
            int64s(&[3], &[5, 1, 4]),
            positions,
            int64s(&[3], &[6, 7, 8]),
        ];
        let outputs = run(&kernel(false), &inputs).unwrap();
        assert_eq!(outputs[0], int64s(&[3, 3], &[0, 1, 7, 0, 5, 6, 2, 4, 8]));
        assert_eq!(outputs[1], int64s(&[3], &[80, 70, 90]));
        let outputs = run(&kernel(true), &inputs).unwrap();
        assert_eq!(outputs[0], int64s(&[3, 3], &[0, 5, 6, 0, 1, 7, 2, 4, 8]));
    }

    #[test]
    fn different_numbers_of_indices_and_values_are_rejected() {
        let one = [int64s(&[1, 1], &[0]), int64s(&[1], &[7])];
        let two = [int64s(&[2, 1], &[0, 1]), int64s(&[2], &[1, 2])];
        assert_eq!(
            error_text(&kernel(true), &[&one[..], &two].concat()),
            "InvalidArgument: Number of elements in indices (2) and values (1) do not match: 'f' needs as many indices \
             as values in every example"
        );
    }
}
