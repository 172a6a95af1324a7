//! `Tile`: repeats a tensor along its axes.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;
use crate::tensor::view::{Dim, View, steps_of};
use smallvec::SmallVec;

/// Maps `(tensor, multiples)` to the tensor repeated `multiples` times along each axis.
///
/// Source: `tf.tile` in TensorFlow 1.15.
pub struct Tile;

impl Kernel for Tile {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, multiples] = expect_inputs(&inputs)?;
        let (shape, multiples) = (tensor.shape(), checked(multiples, tensor.shape().len())?);
        // If a product overflows, there are too many elements for any tensor.
        let tiled: Shape = shape.iter().zip(&multiples).map(|(size, times)| size.saturating_mul(*times)).collect();
        if tiled.checked_num_elements()? == 0 {
            return Tensor::empty(tensor.dtype(), tiled).map(Step::one);
        }
        let axes = shape.iter().zip(steps_of(shape)).zip(&multiples);
        let dims =
            axes.flat_map(|((size, step), times)| [Dim { length: *times, step: 0 }, Dim { length: *size, step }]);
        View::new(0, dims).of(tensor, tiled).map(Step::one)
    }
}

/// Returns the multiples. Fails unless there is one per axis and all are at least 0.
fn checked(multiples: &Tensor, rank: usize) -> Result<SmallVec<[usize; 4]>> {
    if multiples.num_elements() != rank {
        return Err(Error::invalid_argument(format!(
            "Expected multiples argument to be a vector of length {rank} but got length {}",
            multiples.num_elements()
        )));
    }
    let factor = |(axis, times): (usize, &i64)| {
        let text = || format!("Expected multiples[{axis}] >= 0, but got {times}");
        usize::try_from(*times).map_err(|_| Error::invalid_argument(text()))
    };
    multiples.integers()?.iter().enumerate().map(factor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::kernels::testing::{error_text, run, run_one};

    fn tile(tensor: &Tensor, multiples: &[i64]) -> Tensor {
        run_one(&Tile, &[tensor.clone(), vector(multiples)]).unwrap()
    }

    fn vector(values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    #[test]
    fn tensor_is_repeated_along_each_axis() {
        let matrix = Tensor::from_values(Shape::new(&[2, 2]), vec![1_i32, 2, 3, 4]).unwrap();
        let tiled = Tensor::from_values(Shape::new(&[4, 2]), vec![1_i32, 2, 3, 4, 1, 2, 3, 4]).unwrap();
        assert_eq!(tile(&matrix, &[2, 1]), tiled);
        let tiled = Tensor::from_values(Shape::new(&[2, 4]), vec![1_i32, 2, 1, 2, 3, 4, 3, 4]).unwrap();
        assert_eq!(tile(&matrix, &[1, 2]), tiled);
        let column = Tensor::strings(Shape::new(&[2, 1]), vec!["a".into(), "b".into()]).unwrap();
        assert_eq!(tile(&column, &[1, 3]).string_values(), ["a", "a", "a", "b", "b", "b"]);
        assert_eq!(tile(&Tensor::scalar(7), &[]), Tensor::scalar(7));
        assert_eq!(tile(&vector(&[]), &[1 << 40]).shape()[..], [0]);
        assert_eq!(tile(&vector(&[1]), &[0]).shape()[..], [0]);
    }

    #[test]
    fn invalid_multiples_are_rejected() {
        let text = error_text(&Tile, &[vector(&[1]), vector(&[2, 1])]);
        assert_eq!(text, "InvalidArgument: Expected multiples argument to be a vector of length 1 but got length 2");
        let text = error_text(&Tile, &[vector(&[1]), vector(&[-1])]);
        assert_eq!(text, "InvalidArgument: Expected multiples[0] >= 0, but got -1");
    }

    #[test]
    fn sizes_beyond_the_memory_limit_are_rejected() {
        let code = |times: &[i64]| {
            let square = Tensor::from_values(Shape::new(&[2, 2]), vec![1_u8; 4]).unwrap();
            run(&Tile, &[square, vector(times)]).unwrap_err().code()
        };
        assert_eq!(code(&[1 << 25, 1 << 25]), Code::ResourceExhausted);
        assert_eq!(code(&[1 << 40, 1 << 40]), Code::InvalidArgument);
        assert_eq!(code(&[i64::MAX, 1]), Code::InvalidArgument);
    }
}
