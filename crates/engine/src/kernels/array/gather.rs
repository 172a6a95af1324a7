//! `GatherV2` along the first dimension.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use smallvec::SmallVec;

/// `(tensor, indices, axis)`: the rows of `tensor` with these indices. The axis is 0.
pub struct Gather;

impl Kernel for Gather {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, indices, _axis] = expect_inputs(&inputs)?;
        let Some(limit) = tensor.shape().first().copied() else {
            return Err(Error::invalid_argument("params must be at least 1 dimensional, got a scalar"));
        };
        tensor.take_rows(&checked(indices, limit)?, indices.shape()).map(Step::one)
    }
}

fn checked(indices: &Tensor, limit: usize) -> Result<SmallVec<[usize; 8]>> {
    let within = |(place, index): (usize, i64)| match usize::try_from(index) {
        Ok(row) if row < limit => Ok(row),
        _ => Err(out_of_range(indices.shape(), place, index, limit)),
    };
    match indices.dtype() {
        DType::Int32 => {
            indices.values::<i32>()?.iter().map(|index| i64::from(*index)).enumerate().map(within).collect()
        }
        DType::Int64 => indices.values::<i64>()?.iter().copied().enumerate().map(within).collect(),
        dtype => Err(Error::invalid_argument(format!("indices must be int32 or int64, got {dtype}"))),
    }
}

fn out_of_range(shape: &Shape, mut place: usize, index: i64, limit: usize) -> Error {
    let mut coordinates: Vec<String> = Vec::new();
    for size in shape.iter().rev() {
        coordinates.insert(0, (place % size).to_string());
        place /= size;
    }
    let at = if coordinates.is_empty() { String::new() } else { format!("[{}]", coordinates.join(",")) };
    Error::invalid_argument(format!("indices{at} = {index} is not in [0, {limit})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};

    fn rows() -> Tensor {
        Tensor::from_values(Shape::new(&[3, 2]), vec![0_i32, 1, 10, 11, 20, 21]).unwrap()
    }

    #[test]
    fn rows_are_taken_in_the_order_of_the_indices() {
        let indices = Tensor::from_values(Shape::new(&[2, 1]), vec![2_i64, 0]).unwrap();
        let taken = run_one(&Gather, &[rows(), indices, Tensor::scalar(0_i32)]).unwrap();
        assert_eq!((taken.shape(), taken.values::<i32>().unwrap()), (&Shape::new(&[2, 1, 2]), &[20, 21, 0, 1][..]));
        let one = run_one(&Gather, &[rows(), Tensor::scalar(1_i32), Tensor::scalar(0_i32)]).unwrap();
        assert_eq!((one.shape(), one.values::<i32>().unwrap()), (&Shape::new(&[2]), &[10, 11][..]));
    }

    #[test]
    fn an_index_out_of_range_is_named_with_its_place() {
        let indices = Tensor::from_values(Shape::new(&[2, 2]), vec![0_i32, 1, 3, 0]).unwrap();
        let text = error_text(&Gather, &[rows(), indices, Tensor::scalar(0_i32)]);
        assert_eq!(text, "InvalidArgument: indices[1,0] = 3 is not in [0, 3)");
        let text = error_text(&Gather, &[rows(), Tensor::scalar(-1_i64), Tensor::scalar(0_i32)]);
        assert_eq!(text, "InvalidArgument: indices = -1 is not in [0, 3)");
    }
}
