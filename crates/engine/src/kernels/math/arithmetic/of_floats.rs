//! Element-wise functions of floats: roots, exponentials, logarithms, rounding.

use crate::error::Result;
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use half::f16;
use std::fmt::Debug;

/// A function of a float tensor. float16 is computed in float32.
#[derive(Clone, Copy, Debug)]
pub enum OfFloats {
    /// The smallest integer not less than x.
    Ceil,
    /// e to the power of x.
    Exp,
    /// e to the power of x, minus 1.
    Expm1,
    /// The largest integer not greater than x.
    Floor,
    /// The natural logarithm.
    Log,
    /// The natural logarithm of 1 + x.
    Log1p,
    /// 1 / x
    Reciprocal,
    /// The nearest integer; ties go to the even one.
    Rint,
    /// 1 divided by the square root.
    Rsqrt,
    /// 1 / (1 + exp(-x))
    Sigmoid,
    /// The square root.
    Sqrt,
    /// The hyperbolic tangent.
    Tanh,
}

macro_rules! function_of {
    ($name:ident, $T:ty) => {
        fn $name(self) -> fn($T) -> $T {
            match self {
                Self::Ceil => <$T>::ceil,
                Self::Exp => <$T>::exp,
                Self::Expm1 => <$T>::exp_m1,
                Self::Floor => <$T>::floor,
                Self::Log => <$T>::ln,
                Self::Log1p => <$T>::ln_1p,
                Self::Reciprocal => <$T>::recip,
                Self::Rint => <$T>::round_ties_even,
                Self::Rsqrt => |x| 1.0 / x.sqrt(),
                Self::Sigmoid => |x| 1.0 / (1.0 + (-x).exp()),
                Self::Sqrt => <$T>::sqrt,
                Self::Tanh => <$T>::tanh,
            }
        }
    };
}

impl OfFloats {
    function_of!(single, f32);
    function_of!(double, f64);
}

impl Kernel for OfFloats {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x] = expect_inputs(&inputs)?;
        map_floats(self, x, self.single(), self.double()).map(Step::one)
    }
}

/// Applies a function to each element, in the precision of its dtype. float16 is computed in
/// float32.
pub(in crate::kernels::math) fn map_floats(
    what: &impl Debug,
    x: &Tensor,
    single: fn(f32) -> f32,
    double: fn(f64) -> f64,
) -> Result<Tensor> {
    match x.dtype() {
        DType::Float16 => super::map(x, |x: f16| f16::from_f32(single(x.to_f32()))),
        DType::Float32 => super::map(x, single),
        DType::Float64 => super::map(x, double),
        dtype => Err(super::unsupported(what, dtype)),
    }
}

/// Like [`map_floats`], for two tensors with broadcasting.
pub(in crate::kernels::math) fn map_pairs_of_floats(
    what: &impl Debug,
    x: &Tensor,
    y: &Tensor,
    single: fn(f32, f32) -> f32,
    double: fn(f64, f64) -> f64,
) -> Result<Tensor> {
    match x.dtype() {
        DType::Float16 => super::map_pairs(x, y, |x: f16, y: f16| f16::from_f32(single(x.to_f32(), y.to_f32()))),
        DType::Float32 => super::map_pairs(x, y, single),
        DType::Float64 => super::map_pairs(x, y, double),
        dtype => Err(super::unsupported(what, dtype)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::shape::Shape;

    #[test]
    fn functions_match_known_values() {
        for (function, expected) in [
            (OfFloats::Ceil, [0.0, 3.0]),
            (OfFloats::Exp, [1.0, 12.182_494]),
            (OfFloats::Expm1, [0.0, 11.182_494]),
            (OfFloats::Floor, [0.0, 2.0]),
            (OfFloats::Log, [f32::NEG_INFINITY, 0.916_290_7]),
            (OfFloats::Log1p, [0.0, 1.252_763]),
            (OfFloats::Reciprocal, [f32::INFINITY, 0.4]),
            (OfFloats::Rint, [0.0, 2.0]),
            (OfFloats::Rsqrt, [f32::INFINITY, 0.632_455_5]),
            (OfFloats::Sigmoid, [0.5, 0.924_141_8]),
            (OfFloats::Sqrt, [0.0, 1.581_138_8]),
            (OfFloats::Tanh, [0.0, 0.986_614_3]),
        ] {
            let x = [0.0_f32, 2.5];
            let single = Tensor::from_values(Shape::new(&[2]), x.to_vec()).unwrap();
            let double = Tensor::from_values(Shape::new(&[2]), x.map(f64::from).to_vec()).unwrap();
            let half = Tensor::from_values(Shape::new(&[2]), x.map(f16::from_f32).to_vec()).unwrap();
            let single = run_one(&function, &[single]).unwrap().values::<f32>().unwrap().to_vec();
            let double = run_one(&function, &[double]).unwrap().values::<f64>().unwrap().to_vec();
            let half = run_one(&function, &[half]).unwrap().values::<f16>().unwrap().to_vec();
            for position in 0..2 {
                let is_close = |result: f64, error: f64| {
                    let expected = f64::from(expected[position]);
                    result == expected || (result - expected).abs() <= error * expected.abs()
                };
                assert!(is_close(f64::from(single[position]), 1e-6), "{function:?}: {single:?}");
                assert!(is_close(double[position], 1e-6), "{function:?}: {double:?}");
                assert!(is_close(half[position].to_f64(), 1e-3), "{function:?}: {half:?}");
            }
        }
    }

    #[test]
    fn integers_are_rejected() {
        let text = error_text(&OfFloats::Sqrt, &[Tensor::scalar(4)]);
        assert_eq!(text, "Unimplemented: Sqrt of int32 is not supported");
    }
}
