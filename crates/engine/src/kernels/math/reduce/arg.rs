//! `ArgMax` and `ArgMin`: return the index of the largest or smallest element along an axis.

use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::accumulate::Accumulate;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Maps `(x, axis)` to the index of the largest or smallest element along the axis, or of the first
/// one if several are equal. NaN counts as the smallest number for the maximum and as the largest
/// for the minimum.
///
/// Source: `tf.argmax` and `tf.argmin` in TensorFlow 1.15.
pub struct ArgExtreme {
    is_max: bool,
    /// True if the indices are int64 rather than int32.
    is_wide: bool,
}

impl ArgExtreme {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(is_max: bool, attrs: &Attrs) -> Result<Self> {
        Ok(Self { is_max, is_wide: attrs.dtype("output_type")? == DType::Int64 })
    }

    fn indices<T: Accumulate>(&self, x: &Tensor, axis: usize) -> Result<Tensor> {
        let (values, shape) = (x.values::<T>()?, x.shape());
        let (before, after) = (&shape[..axis], &shape[axis + 1..]);
        let (size, length): (_, usize) = (shape[axis], after.iter().product());
        let reduced: Shape = before.iter().chain(after).copied().collect();
        let row_starts = (0..before.iter().product()).map(|block: usize| block * size * length);
        let columns = row_starts.flat_map(|start| start..start + length);
        let indices =
            columns.map(|start| self.first_extreme((0..size).map(|position| values[start + position * length])));
        if self.is_wide {
            let indices = allocate::elements(DType::Int64, &reduced).collect(indices.map(|index| index as i64))?;
            return Tensor::from_values(reduced, indices);
        }
        let indices = allocate::elements(DType::Int32, &reduced).collect(indices.map(|index| index as i32))?;
        Tensor::from_values(reduced, indices)
    }

    fn first_extreme<T: Accumulate>(&self, values: impl Iterator<Item = T>) -> usize {
        let loser = if self.is_max { T::LEAST } else { T::GREATEST };
        #[expect(clippy::eq_op, reason = "NaN is not equal to itself")]
        let number = |value: T| if value == value { value } else { loser };
        let mut extreme = None;
        for (index, value) in values.map(number).enumerate() {
            if extreme.is_none_or(|(_, best)| if self.is_max { value > best } else { value < best }) {
                extreme = Some((index, value));
            }
        }
        extreme.map_or(0, |(index, _)| index)
    }
}

impl Kernel for ArgExtreme {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x, axis] = expect_inputs(&inputs)?;
        if !axis.shape().is_empty() {
            let text = format!("dim must be a scalar, but received tensor of shape: {}", axis.shape());
            return Err(Error::invalid_argument(text));
        }
        let (axis, rank) = (axis.integer_scalar("dim")?, x.shape().len() as i64);
        if !(-rank..rank).contains(&axis) {
            let text = format!("Expected dimension in the range [{}, {rank}), but got {axis}", -rank);
            return Err(Error::invalid_argument(text));
        }
        let position = axis.rem_euclid(rank) as usize;
        if x.shape()[position] == 0 {
            return Err(Error::invalid_argument(format!("Reduction axis {axis} is empty in shape {}", x.shape())));
        }
        let unsupported = || Error::unimplemented(format!("argmin and argmax are not supported for {}", x.dtype()));
        let indices = dispatch_numeric!(x.dtype(), T => self.indices::<T>(x, position), else => Err(unsupported()));
        indices.map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};

    fn arg(is_max: bool, output: DType) -> ArgExtreme {
        ArgExtreme::from_attrs(is_max, &attrs([("output_type", Attr::DType(output))])).unwrap()
    }

    fn matrix(values: [f32; 6]) -> Tensor {
        Tensor::from_values(Shape::new(&[2, 3]), values.to_vec()).unwrap()
    }

    #[test]
    fn first_extreme_is_selected() {
        let x = || matrix([1.0, 3.0, 3.0, f32::NAN, -1.0, -1.0]);
        let largest = run_one(&arg(true, DType::Int64), &[x(), Tensor::scalar(1)]).unwrap();
        assert_eq!(largest, Tensor::from_values(Shape::new(&[2]), vec![1_i64, 1]).unwrap());
        let smallest = run_one(&arg(false, DType::Int32), &[x(), Tensor::scalar(-2)]).unwrap();
        assert_eq!(smallest, Tensor::from_values(Shape::new(&[3]), vec![0_i32, 1, 1]).unwrap());
        let nothing = run_one(&arg(true, DType::Int64), &[matrix([f32::NAN; 6]), Tensor::scalar(1)]).unwrap();
        assert_eq!(nothing.values::<i64>().unwrap(), [0, 0]);
    }

    #[test]
    fn invalid_axes_are_rejected() {
        let text = |x: Tensor, axis: Tensor| error_text(&arg(true, DType::Int64), &[x, axis]);
        let expected = "InvalidArgument: Expected dimension in the range [-2, 2), but got 2";
        assert_eq!(text(matrix([0.0; 6]), Tensor::scalar(2)), expected);
        let axes = Tensor::from_values(Shape::new(&[1]), vec![0]).unwrap();
        let expected = "InvalidArgument: dim must be a scalar, but received tensor of shape: [1]";
        assert_eq!(text(matrix([0.0; 6]), axes), expected);
        let nothing = Tensor::empty(DType::Float32, Shape::new(&[2, 0])).unwrap();
        let expected = "InvalidArgument: Reduction axis -1 is empty in shape [2,0]";
        assert_eq!(text(nothing, Tensor::scalar(-1)), expected);
    }
}
