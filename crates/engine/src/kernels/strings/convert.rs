//! `StringToNumber`: parses strings as numbers.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::text::excerpt::excerpt;
use crate::text::number::FromText;
use smallvec::SmallVec;

/// Converts strings to numbers, keeping the shape.
///
/// Source: `tf.string_to_number` in TensorFlow 1.15.
pub enum StringToNumber {
    /// To float32.
    Float32,
    /// To float64.
    Float64,
    /// To int32.
    Int32,
    /// To int64.
    Int64,
}

impl StringToNumber {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        match attrs.dtype("out_type")? {
            DType::Float32 => Ok(Self::Float32),
            DType::Float64 => Ok(Self::Float64),
            DType::Int32 => Ok(Self::Int32),
            DType::Int64 => Ok(Self::Int64),
            other => Err(Error::internal(format!("StringToNumber to {other} is not supported"))),
        }
    }
}

impl Kernel for StringToNumber {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings] = expect_inputs(&inputs)?;
        match self {
            Self::Float32 => numbers::<f32>(strings),
            Self::Float64 => numbers::<f64>(strings),
            Self::Int32 => numbers::<i32>(strings),
            Self::Int64 => numbers::<i64>(strings),
        }
        .map(Step::one)
    }
}

fn numbers<T: FromText>(strings: &Tensor) -> Result<Tensor> {
    let number = |(index, text): (usize, &bytes::Bytes)| {
        T::from_text(text).ok_or_else(|| match strings.shape().is_empty() {
            true => misfit(text),
            false => misfit(text).at_element(index),
        })
    };
    let numbers: SmallVec<[T; 1]> =
        allocate::try_gathered_small("numbers of strings", strings.string_values().iter().enumerate().map(number))?;
    Tensor::from_small_vec(strings.shape().clone(), numbers)
}

fn misfit(text: &[u8]) -> Error {
    let text = excerpt(text);
    Error::invalid_argument(format!("StringToNumberOp could not correctly convert string: {text}. Correct the record"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::shape::Shape;

    #[test]
    fn strings_become_numbers_of_the_same_shape() {
        let strings = Tensor::strings(Shape::new(&[1, 2]), vec![" 1".into(), "-2".into()]).unwrap();
        let numbers = run_one(&StringToNumber::Int64, &[strings]).unwrap();
        assert_eq!(numbers, Tensor::from_values(Shape::new(&[1, 2]), vec![1_i64, -2]).unwrap());
        assert_eq!(run_one(&StringToNumber::Float32, &[Tensor::string("0x8")]).unwrap(), Tensor::scalar(8_f32));
    }

    #[test]
    fn error_shows_the_text_that_is_not_a_number() {
        assert_eq!(
            error_text(&StringToNumber::Float64, &[Tensor::string("1 2")]),
            "InvalidArgument: StringToNumberOp could not correctly convert string: 1 2. Correct the record"
        );
    }
}
