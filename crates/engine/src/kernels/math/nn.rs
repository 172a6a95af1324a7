//! `Relu`: an element-wise function for neural networks.

use super::arithmetic::map;
use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use bytemuck::Zeroable;

/// Replaces negative numbers with 0.
///
/// Source: `tf.nn.relu` in TensorFlow 1.15.
pub struct Relu;

impl Kernel for Relu {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x] = expect_inputs(&inputs)?;
        let unsupported = || Error::unimplemented(format!("Relu of {} is not supported", x.dtype()));
        // NaN is not below 0, so it stays.
        let positive = dispatch_numeric!(
            x.dtype(),
            T => map(x, |value: T| if value < T::zeroed() { T::zeroed() } else { value }),
            else => Err(unsupported())
        );
        positive.map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::Tensor;
    use crate::tensor::shape::Shape;

    #[test]
    fn negative_numbers_become_zero() {
        let vector = |values: [f32; 4]| Tensor::from_values(Shape::new(&[4]), values.to_vec()).unwrap();
        let positive = run_one(&Relu, &[vector([-1.5, -0.0, f32::NAN, 2.0])]).unwrap();
        assert_eq!(positive, vector([0.0, -0.0, f32::NAN, 2.0]));
        assert_eq!(run_one(&Relu, &[Tensor::scalar(-3_i8)]).unwrap(), Tensor::scalar(0_i8));
        assert_eq!(error_text(&Relu, &[Tensor::string("a")]), "Unimplemented: Relu of string is not supported");
    }
}
