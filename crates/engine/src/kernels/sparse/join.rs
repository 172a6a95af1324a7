//! `SparseConcat`: joins sparse tensors along an axis.

use super::parts::{Parts, vector};
use super::sorted_rows;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::array::join;
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Joins sparse tensors. The inputs are the indices of each tensor, then the values, then the
/// shapes. Returns the three parts of one tensor. Its elements are ordered by index, even if the
/// inputs are not. Indices are not checked against the shapes.
///
/// Source: `tf.sparse_concat` in TensorFlow 1.15.
pub struct SparseConcat {
    axis: i64,
}

impl SparseConcat {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { axis: attrs.int("concat_dim")? })
    }
}

impl Kernel for SparseConcat {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let count = inputs.len() / 3;
        let (indices, rest) = inputs.split_at(count);
        let (values, shapes) = rest.split_at(count);
        let of_each = indices.iter().zip(values).zip(shapes);
        let parts: Vec<_> =
            of_each.map(|((indices, values), shape)| Parts::new(indices, values, shape)).collect::<Result<_>>()?;
        let (axis, sizes) = joined(&parts, self.axis)?;
        let num_values = parts.iter().map(Parts::num_values).sum();
        let shape = Shape::new(&[num_values, sizes.len()]);
        let mut rows: Vec<i64> = allocate::elements(DType::Int64, &shape).room()?;
        let mut offset = 0_i64;
        for part in &parts {
            for row in part.rows() {
                let begin = rows.len();
                rows.extend_from_slice(row);
                rows[begin + axis] = rows[begin + axis].wrapping_add(offset);
            }
            offset += part.sizes[axis];
        }
        let is_sorted = rows.chunks_exact(sizes.len()).is_sorted();
        let order = if is_sorted { None } else { Some(sorted_rows(&rows, num_values)?) };
        let (rows, values) = (Tensor::from_values(shape, rows)?, join::concatenate(values, num_values)?);
        let [rows, values] = match order {
            None => [rows, values],
            Some(order) => [rows.take_rows(&order, &[num_values])?, values.take_rows(&order, &[num_values])?],
        };
        Ok(Step::Done(Outputs::from_iter([rows, values, vector(&sizes)?])))
    }
}

/// Returns the position of the axis and the sizes of the result.
fn joined(parts: &[Parts<'_>], axis: i64) -> Result<(usize, Vec<i64>)> {
    let first = parts.first().ok_or_else(|| Error::internal("expected at least one sparse tensor to join"))?;
    let rank = first.rank();
    let Some(position) = join::position(axis, rank) else {
        let text = format!("Concat dimension must be in range [-{rank}, {rank}), got {axis}");
        return Err(Error::invalid_argument(text));
    };
    let mut sizes = first.sizes.to_vec();
    for (number, part) in parts.iter().enumerate().skip(1) {
        if part.rank() != rank {
            let got = part.rank();
            return Err(Error::invalid_argument(format!(
                "Ranks of all input tensors must match: expected {rank} but got {got} at position {number}"
            )));
        }
        let differing = (0..rank).find(|axis| *axis != position && part.sizes[*axis] != sizes[*axis]);
        if let Some(other) = differing {
            return Err(Error::invalid_argument(format!(
                "Input shapes must match: expected {} for dimension {other} but got {} at position {number}",
                sizes[other], part.sizes[other]
            )));
        }
        let sum = sizes[position].checked_add(part.sizes[position]);
        sizes[position] =
            sum.ok_or_else(|| Error::invalid_argument("The sum of the sizes is larger than any integer"))?;
    }
    match sizes.iter().find(|size| **size < 0) {
        Some(size) => Err(Error::invalid_argument(format!("Dimension {size} must be >= 0"))),
        None => Ok((position, sizes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run};

    fn int64s(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn kernel(axis: i64) -> SparseConcat {
        SparseConcat::from_attrs(&attrs([("concat_dim", Attr::Int(axis))])).unwrap()
    }

    fn inputs(second_sizes: &[i64]) -> [Tensor; 6] {
        let values = |texts: [&'static str; 2]| Tensor::strings(Shape::new(&[2]), texts.map(Into::into).to_vec());
        [
            int64s(&[2, 2], &[0, 1, 1, 0]),
            int64s(&[2, second_sizes.len()], &[1, 1, 0, 0][..2 * second_sizes.len()]),
            values(["a", "b"]).unwrap(),
            values(["c", "d"]).unwrap(),
            int64s(&[2], &[2, 3]),
            int64s(&[second_sizes.len()], second_sizes),
        ]
    }

    #[test]
    fn elements_are_in_order_for_every_axis() {
        let outputs = run(&kernel(0), &inputs(&[4, 3])).unwrap();
        assert_eq!(outputs[0], int64s(&[4, 2], &[0, 1, 1, 0, 2, 0, 3, 1]));
        assert_eq!(outputs[1].string_values(), ["a", "b", "d", "c"]);
        assert_eq!(outputs[2], int64s(&[2], &[6, 3]));
        let outputs = run(&kernel(-1), &inputs(&[2, 4])).unwrap();
        assert_eq!(outputs[0], int64s(&[4, 2], &[0, 1, 0, 3, 1, 0, 1, 4]));
        assert_eq!(outputs[1].string_values(), ["a", "d", "b", "c"]);
        assert_eq!(outputs[2], int64s(&[2], &[2, 7]));
    }

    #[test]
    fn incompatible_shapes_are_rejected() {
        for (axis, sizes, text) in [
            (2, &[2, 3][..], "Concat dimension must be in range [-2, 2), got 2"),
            (1, &[9, 3], "Input shapes must match: expected 2 for dimension 0 but got 9 at position 1"),
            (0, &[9], "Ranks of all input tensors must match: expected 2 but got 1 at position 1"),
            (0, &[i64::MAX, 3], "The sum of the sizes is larger than any integer"),
            (0, &[-9, 3], "Dimension -7 must be >= 0"),
        ] {
            assert_eq!(error_text(&kernel(axis), &inputs(sizes)), format!("InvalidArgument: {text}"));
        }
        let mut parts = inputs(&[2, 3]);
        parts[1] = int64s(&[1, 2], &[0, 0]);
        assert_eq!(
            error_text(&kernel(0), &parts),
            "InvalidArgument: Input indices have shape [1,2], expected a row for each of 2 values with an index for \
             each of 2 dimensions"
        );
    }
}
