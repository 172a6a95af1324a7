//! `SparseReshape`: changes the shape of a sparse tensor.

use super::numbers;
use super::parts::vector;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::sparse::bracketed;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Maps `(indices, shape, new shape)` to the indices in the new shape, and the new shape with its
/// -1 replaced. Indices are not checked against the shape.
///
/// Source: `tf.sparse_reshape` in TensorFlow 1.15.
pub struct SparseReshape;

impl Kernel for SparseReshape {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, shape, new_shape] = expect_inputs(&inputs)?;
        let (rows, old) = (numbers(indices, 2, "indices")?, numbers(shape, 1, "shape")?);
        let num_rows = indices.shape()[0];
        if indices.shape()[1] != old.len() {
            let (got, rank) = (indices.shape(), old.len());
            return Err(Error::invalid_argument(format!("Input indices have shape {got}, expected {rank} columns")));
        }
        let new = completed(old, numbers(new_shape, 1, "new_shape")?)?;
        if new == old {
            return Ok(Step::Done(Outputs::from_iter([indices.clone(), vector(&new)?])));
        }
        if num_rows > 0 && new.contains(&0) {
            let sizes = bracketed(old);
            return Err(Error::invalid_argument(format!(
                "the shape {sizes} is empty, but the tensor has {num_rows} elements"
            )));
        }
        let steps = steps_of(&new);
        let positions = Shape::new(&[num_rows, new.len()]);
        let mut moved: Vec<i64> = allocate::elements(DType::Int64, &positions).room()?;
        for number in 0..num_rows {
            let row = &rows[number * old.len()..(number + 1) * old.len()];
            let mut position =
                row.iter().zip(old).fold(0_i64, |position, (at, size)| position.wrapping_mul(*size).wrapping_add(*at));
            for step in &steps {
                moved.push(position / step);
                position %= step;
            }
        }
        Ok(Step::Done(Outputs::from_iter([Tensor::from_values(positions, moved)?, vector(&new)?])))
    }
}

/// The number of elements between two neighbours along each axis. Sizes must not be 0.
fn steps_of(sizes: &[i64]) -> Vec<i64> {
    let mut steps = sizes.to_vec();
    let mut step = 1_i64;
    for (position, size) in steps.iter_mut().zip(sizes).rev() {
        *position = step;
        step = step.wrapping_mul(*size);
    }
    steps
}

/// Replaces the -1 in the new sizes. Fails if the product of the sizes changes.
fn completed(old: &[i64], new: &[i64]) -> Result<Vec<i64>> {
    let fail = |text: String| Err(Error::invalid_argument(text));
    let mut open = None;
    for (axis, size) in new.iter().enumerate() {
        match (size, open) {
            (-1, None) => open = Some(axis),
            (-1, Some(first)) => {
                return fail(format!("only one output dimension may be -1, not both {first} and {axis}"));
            }
            (..0, _) => return fail(format!("size {axis} must be non-negative, not {size}")),
            _ => {}
        }
    }
    let count = product(old.iter())?;
    let known_product = product(new.iter().filter(|size| **size != -1))?;
    let shown = || format!("input_shape={} output_shape={}", bracketed(old), bracketed(new));
    let mut sizes = new.to_vec();
    match open {
        Some(_) if known_product == 0 => {
            return fail(
                "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are \
                 non-zero"
                    .to_owned(),
            );
        }
        Some(_) if count % known_product != 0 => {
            return fail(format!(
                "Input to reshape is a SparseTensor with {count} dense values, but the requested shape requires a \
                 multiple of {known_product}. {}",
                shown()
            ));
        }
        Some(axis) => sizes[axis] = count / known_product,
        None if known_product != count => {
            return fail(format!(
                "Input to reshape is a tensor with {count} dense values, but the requested shape has {known_product}. {}",
                shown()
            ));
        }
        None => {}
    }
    Ok(sizes)
}

fn product<'s>(sizes: impl Iterator<Item = &'s i64>) -> Result<i64> {
    let mut product = 1_i64;
    let mut is_empty = false;
    for size in sizes {
        if *size < 0 {
            return Err(Error::invalid_argument(format!("Dimension {size} must be >= 0")));
        }
        is_empty |= *size == 0;
        product = match product.checked_mul((*size).max(1)) {
            Some(product) => product,
            None => return Err(Error::invalid_argument("The shape would have more than 2**63 - 1 elements")),
        };
    }
    Ok(if is_empty { 0 } else { product })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run};
    use proptest::prelude::*;

    fn int64s(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn inputs(shape: &[i64], new_shape: &[i64]) -> [Tensor; 3] {
        let last: Vec<_> = shape.iter().map(|size| size - 1).collect();
        [int64s(&[1, last.len()], &last), int64s(&[shape.len()], shape), int64s(&[new_shape.len()], new_shape)]
    }

    #[test]
    fn last_element_stays_last() {
        for (new, whole) in [(&[6, 4][..], [6, 4]), (&[3, -1], [3, 8]), (&[-1, 24], [1, 24]), (&[2, 12], [2, 12])] {
            let outputs = run(&SparseReshape, &inputs(&[2, 3, 4], new)).unwrap();
            assert_eq!(outputs, [int64s(&[1, 2], &whole.map(|size| size - 1)), int64s(&[2], &whole)]);
        }
        let outputs = run(&SparseReshape, &inputs(&[1, 1], &[])).unwrap();
        assert_eq!(outputs, [int64s(&[1, 0], &[]), int64s(&[0], &[])]);
    }

    #[test]
    fn incompatible_shapes_are_rejected() {
        let shown = "input_shape=[2,3] output_shape=";
        for (new, text) in [
            (&[-1, 2, -1][..], "only one output dimension may be -1, not both 0 and 2".to_owned()),
            (&[-2, 3], "size 0 must be non-negative, not -2".to_owned()),
            (
                &[4, -1],
                format!(
                    "Input to reshape is a SparseTensor with 6 dense values, but the requested shape requires a \
                     multiple of 4. {shown}[4,-1]"
                ),
            ),
            (
                &[5],
                format!("Input to reshape is a tensor with 6 dense values, but the requested shape has 5. {shown}[5]"),
            ),
            (&[i64::MAX, 2], "The shape would have more than 2**63 - 1 elements".to_owned()),
        ] {
            assert_eq!(error_text(&SparseReshape, &inputs(&[2, 3], new)), format!("InvalidArgument: {text}"));
        }
        assert_eq!(
            error_text(&SparseReshape, &inputs(&[0, 3], &[0, -1])),
            "InvalidArgument: reshape cannot infer the missing input size for an empty tensor unless all specified \
             input sizes are non-zero"
        );
        assert_eq!(
            error_text(&SparseReshape, &inputs(&[0, 3], &[3, -1])),
            "InvalidArgument: the shape [0,3] is empty, but the tensor has 1 elements"
        );
    }

    proptest! {
        #[test]
        fn reshaping_back_restores_the_indices(at in 0..60_i64) {
            let row = [at / 20, at / 5 % 4, at % 5];
            let there = run(&SparseReshape, &[int64s(&[1, 3], &row), int64s(&[3], &[3, 4, 5]), int64s(&[2], &[6, -1])]);
            let [indices, shape] = <[Tensor; 2]>::try_from(there.unwrap()).unwrap();
            prop_assert_eq!(indices.values::<i64>().unwrap(), [at / 10, at % 10]);
            let back = run(&SparseReshape, &[indices, shape, int64s(&[3], &[3, 4, 5])]).unwrap();
            prop_assert_eq!(back[0].values::<i64>().unwrap(), row);
        }
    }
}
