//! Comparisons and logical operations with NumPy's broadcasting. The results are bools.

use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::kernels::math::broadcast::Broadcast;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};
use half::f16;

/// Compares two values of the same type. NaN is unequal to everything, and neither less nor
/// greater.
#[derive(Clone, Copy, Debug)]
pub enum Compare {
    /// `x == y`
    Equal,
    /// `x != y`
    NotEqual,
    /// `x < y`
    Less,
    /// `x <= y`
    LessEqual,
    /// `x > y`
    Greater,
    /// `x >= y`
    GreaterEqual,
}

/// A function of two bools.
#[derive(Clone, Copy, Debug)]
pub enum Logical {
    /// `x && y`
    And,
    /// `x || y`
    Or,
}

/// A test for special float values.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Neither infinite nor NaN.
    IsFinite,
    /// An infinity.
    IsInf,
    /// NaN.
    IsNan,
}

/// Negates each bool.
pub struct LogicalNot;

impl Compare {
    fn apply<T: PartialOrd>(self, x: &T, y: &T) -> u8 {
        u8::from(match self {
            Self::Equal => x == y,
            Self::NotEqual => x != y,
            Self::Less => x < y,
            Self::LessEqual => x <= y,
            Self::Greater => x > y,
            Self::GreaterEqual => x >= y,
        })
    }
}

impl Kernel for Compare {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x, y] = expect_inputs(&inputs)?;
        let dtype = x.dtype();
        if y.dtype() != dtype {
            return Err(Error::internal(format!("{self:?} of {dtype} and {}, expected the same type", y.dtype())));
        }
        let broadcast = Broadcast::new(x.shape(), y.shape())?;
        let values = match dtype {
            DType::Bool => broadcast.map(DType::Bool, x.bytes(), y.bytes(), |x, y| self.apply(&x, &y))?,
            DType::String => {
                let (x, y) = (slices(x)?, slices(y)?);
                broadcast.map(DType::Bool, &x, &y, |x, y| self.apply(&x, &y))?
            }
            _ => dispatch_numeric!(
                dtype,
                T => broadcast.map(DType::Bool, x.values::<T>()?, y.values::<T>()?, |x, y| self.apply(&x, &y))?,
                else => return Err(Error::unimplemented(format!("{self:?} of {dtype} is not supported")))
            ),
        };
        bools(broadcast, values)
    }
}

/// Returns the strings of a tensor as slices.
fn slices(tensor: &Tensor) -> Result<Vec<&[u8]>> {
    let strings = tensor.string_values();
    let slices = allocate::collected(strings.len(), strings.iter().map(|string| &string[..]));
    slices.map_err(|refusal| refusal.at("strings to compare"))
}

impl Kernel for Logical {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x, y] = expect_inputs(&inputs)?;
        let broadcast = Broadcast::new(x.shape(), y.shape())?;
        let values = broadcast.map(DType::Bool, x.bytes(), y.bytes(), |x, y| match self {
            Self::And => x & y,
            Self::Or => x | y,
        })?;
        bools(broadcast, values)
    }
}

impl Kind {
    fn of<T: Numeric + Into<f64>>(self, x: &Tensor) -> Result<Vec<u8>> {
        let is_kind = |value: &T| {
            let value: f64 = (*value).into();
            u8::from(match self {
                Self::IsFinite => value.is_finite(),
                Self::IsInf => value.is_infinite(),
                Self::IsNan => value.is_nan(),
            })
        };
        allocate::elements(DType::Bool, x.shape()).collect(x.values::<T>()?.iter().map(is_kind))
    }
}

impl Kernel for Kind {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x] = expect_inputs(&inputs)?;
        let values = match x.dtype() {
            DType::Float16 => self.of::<f16>(x)?,
            DType::Float32 => self.of::<f32>(x)?,
            DType::Float64 => self.of::<f64>(x)?,
            dtype => return Err(Error::unimplemented(format!("{self:?} of {dtype} is not supported"))),
        };
        Tensor::from_values(x.shape().clone(), values)?.with_dtype(DType::Bool).map(Step::one)
    }
}

impl Kernel for LogicalNot {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x] = expect_inputs(&inputs)?;
        let values = allocate::elements(DType::Bool, x.shape()).collect(x.bytes().iter().map(|value| 1 - value))?;
        Tensor::from_values::<u8>(x.shape().clone(), values)?.with_dtype(DType::Bool).map(Step::one)
    }
}

fn bools(broadcast: Broadcast, values: Vec<u8>) -> Result<Step> {
    Tensor::from_values(broadcast.shape().clone(), values)?.with_dtype(DType::Bool).map(Step::one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::run_one;
    use crate::tensor::shape::Shape;

    #[test]
    fn floats_are_classified_as_finite_infinite_or_nan() {
        let x = Tensor::from_values(Shape::new(&[3]), vec![1.0_f32, f32::NEG_INFINITY, f32::NAN]).unwrap();
        let kinds = [Kind::IsFinite, Kind::IsInf, Kind::IsNan]
            .map(|kind| run_one(&kind, std::slice::from_ref(&x)).unwrap().bytes().to_vec());
        assert_eq!(kinds, [vec![1, 0, 0], vec![0, 1, 0], vec![0, 0, 1]]);
    }
}
