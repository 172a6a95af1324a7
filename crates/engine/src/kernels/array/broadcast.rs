//! `BroadcastTo`: repeats a tensor along axes of size 1 and along new leading axes.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::kernels::math::broadcast::Broadcast;
use crate::run::Run;
use crate::tensor::shape::Shape;
use crate::tensor::view::{Dim, View, steps_of};

/// Maps `(tensor, shape)` to the tensor broadcast to that shape.
///
/// Source: `tf.broadcast_to` in TensorFlow 1.15.
pub struct BroadcastTo;

impl Kernel for BroadcastTo {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, sizes] = expect_inputs(&inputs)?;
        let size = |size: &i64| {
            usize::try_from(*size).map_err(|_| Error::invalid_argument(format!("Dimension {size} must be >= 0")))
        };
        let (old, new): (_, Shape) = (tensor.shape(), sizes.integers()?.iter().map(size).collect::<Result<_>>()?);
        new.checked_num_elements()?;
        if Broadcast::new(old, &new)?.shape() != &new {
            let text = format!("Unable to broadcast tensor of shape {old} to tensor of shape {new}");
            return Err(Error::invalid_argument(text));
        }
        let num_new = new.len() - old.len();
        let own = old.iter().zip(steps_of(old)).map(|(size, step)| if *size == 1 { 0 } else { step });
        let steps = std::iter::repeat_n(0, num_new).chain(own);
        let dims = new.iter().zip(steps).map(|(length, step)| Dim { length: *length, step });
        View::new(0, dims).of(tensor, new.clone()).map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::kernels::testing::{error_text, run, run_one};
    use crate::tensor::Tensor;

    fn vector(values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    #[test]
    fn axes_of_size_one_are_repeated_and_new_axes_added() {
        let column = vector(&[1, 2]).reshaped(Shape::new(&[2, 1])).unwrap();
        let wide = run_one(&BroadcastTo, &[column, vector(&[2, 2, 3])]).unwrap();
        assert_eq!(wide.shape()[..], [2, 2, 3]);
        assert_eq!(wide.values::<i64>().unwrap(), [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]);
        assert_eq!(run_one(&BroadcastTo, &[Tensor::scalar(7), vector(&[0])]).unwrap().shape()[..], [0]);
        assert_eq!(run_one(&BroadcastTo, &[Tensor::scalar(7), vector(&[])]).unwrap(), Tensor::scalar(7));
    }

    #[test]
    fn incompatible_shapes_are_rejected() {
        let text = |sizes: &[i64]| error_text(&BroadcastTo, &[vector(&[1, 2]), vector(sizes)]);
        assert_eq!(text(&[-1]), "InvalidArgument: Dimension -1 must be >= 0");
        assert_eq!(text(&[3]), "InvalidArgument: Incompatible shapes: [2] vs. [3]");
        let expected = "InvalidArgument: Unable to broadcast tensor of shape [2] to tensor of shape []";
        assert_eq!(text(&[]), expected);
        let code = |sizes: &[i64]| run(&BroadcastTo, &[Tensor::scalar(7), vector(sizes)]).unwrap_err().code();
        assert_eq!((code(&[1 << 50]), code(&[1 << 40, 1 << 40])), (Code::ResourceExhausted, Code::InvalidArgument));
    }
}
