//! `Fill` and `ZerosLike`: create tensors in which all elements are equal.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use bytes::Bytes;

/// Maps `(dims, value)` to a tensor with these sizes in which each element is `value`.
///
/// Source: `tf.fill` in TensorFlow 1.15.
pub struct Fill;

/// Returns zeros in the shape of a tensor, or empty strings or false for those dtypes.
///
/// Source: `tf.zeros_like` in TensorFlow 1.15.
pub struct ZerosLike;

impl Kernel for Fill {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [dims, value] = expect_inputs(&inputs)?;
        if dims.shape().len() != 1 {
            let text = format!("dims must represent a vector, got shape {}", dims.shape());
            return Err(Error::invalid_argument(text));
        }
        if !value.shape().is_empty() {
            let text = format!("value must represent a scalar, got shape {}", value.shape());
            return Err(Error::invalid_argument(text));
        }
        let size = |size: &i64| {
            usize::try_from(*size).map_err(|_| Error::invalid_argument(format!("Dimension {size} must be >= 0")))
        };
        let shape = dims.integers()?.iter().map(size).collect::<Result<_>>()?;
        filled(value.dtype(), shape, Some(value)).map(Step::one)
    }
}

impl Kernel for ZerosLike {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor] = expect_inputs(&inputs)?;
        filled(tensor.dtype(), tensor.shape().clone(), None).map(Step::one)
    }
}

/// Creates a tensor in which each element is `value`, or zero without one.
fn filled(dtype: DType, shape: Shape, value: Option<&Tensor>) -> Result<Tensor> {
    let elements = allocate::elements(dtype, &shape);
    if dtype == DType::String {
        let value = value.map_or(Ok(Bytes::new()), |value| value.string_scalar("value").cloned())?;
        return Tensor::strings(shape.clone(), elements.copies(value)?);
    }
    let bytes = elements.filled(value.map_or(&[], Tensor::bytes))?;
    Tensor::from_bytes(dtype, shape, bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::kernels::testing::{error_text, run, run_one};

    fn vector(values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    #[test]
    fn fill_repeats_the_value() {
        let filled = run_one(&Fill, &[vector(&[2, 3]), Tensor::scalar(1.5_f64)]).unwrap();
        assert_eq!(filled, Tensor::from_values(Shape::new(&[2, 3]), vec![1.5_f64; 6]).unwrap());
        let filled = run_one(&Fill, &[vector(&[2]), Tensor::string("a")]).unwrap();
        assert_eq!(filled.string_values(), ["a", "a"]);
        assert_eq!(run_one(&Fill, &[vector(&[]), Tensor::bool(true)]).unwrap(), Tensor::bool(true));
        assert_eq!(run_one(&Fill, &[vector(&[0]), Tensor::scalar(7)]).unwrap().shape()[..], [0]);
    }

    #[test]
    fn zeros_like_has_the_shape_of_its_input() {
        assert_eq!(run_one(&ZerosLike, &[vector(&[2, 3])]).unwrap(), vector(&[0, 0]));
        assert_eq!(run_one(&ZerosLike, &[Tensor::string("a")]).unwrap(), Tensor::string(""));
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        let text = |dims: Tensor, value: Tensor| error_text(&Fill, &[dims, value]);
        let expected = "InvalidArgument: dims must represent a vector, got shape []";
        assert_eq!(text(Tensor::scalar(2), Tensor::scalar(7)), expected);
        let expected = "InvalidArgument: value must represent a scalar, got shape [1]";
        assert_eq!(text(vector(&[2]), vector(&[7])), expected);
        assert_eq!(text(vector(&[2, -1]), Tensor::scalar(7)), "InvalidArgument: Dimension -1 must be >= 0");
        let code = |sizes: &[i64]| run(&Fill, &[vector(sizes), Tensor::scalar(7)]).unwrap_err().code();
        assert_eq!((code(&[1 << 50]), code(&[1 << 40, 1 << 40])), (Code::ResourceExhausted, Code::InvalidArgument));
    }
}
