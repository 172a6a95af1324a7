//! Trigonometric and hyperbolic functions of floats, element-wise.
//!
//! Source: `tf.math` in TensorFlow 1.15.

use super::arithmetic::of_floats::{map_floats, map_pairs_of_floats};
use crate::error::Result;
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;

/// A function of a float tensor. Angles are in radians.
#[derive(Clone, Copy, Debug)]
pub enum Trigonometry {
    /// The inverse cosine.
    Acos,
    /// The inverse sine.
    Asin,
    /// The inverse tangent.
    Atan,
    /// The cosine of an angle.
    Cos,
    /// The hyperbolic cosine.
    Cosh,
    /// The sine of an angle.
    Sin,
    /// The hyperbolic sine.
    Sinh,
    /// The tangent of an angle.
    Tan,
}

/// Maps `(y, x)` to the angle of the point (x, y).
#[derive(Debug)]
pub struct Atan2;

macro_rules! function_of {
    ($name:ident, $T:ty) => {
        fn $name(self) -> fn($T) -> $T {
            match self {
                Self::Acos => <$T>::acos,
                Self::Asin => <$T>::asin,
                Self::Atan => <$T>::atan,
                Self::Cos => <$T>::cos,
                Self::Cosh => <$T>::cosh,
                Self::Sin => <$T>::sin,
                Self::Sinh => <$T>::sinh,
                Self::Tan => <$T>::tan,
            }
        }
    };
}

impl Trigonometry {
    function_of!(single, f32);
    function_of!(double, f64);
}

impl Kernel for Trigonometry {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x] = expect_inputs(&inputs)?;
        map_floats(self, x, self.single(), self.double()).map(Step::one)
    }
}

impl Kernel for Atan2 {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [y, x] = expect_inputs(&inputs)?;
        map_pairs_of_floats(self, y, x, f32::atan2, f64::atan2).map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::Tensor;
    use half::f16;
    use std::f64::consts::{FRAC_PI_3, FRAC_PI_4, FRAC_PI_6};

    #[test]
    fn functions_match_known_values() {
        for (function, expected) in [
            (Trigonometry::Acos, FRAC_PI_3),
            (Trigonometry::Asin, FRAC_PI_6),
            (Trigonometry::Atan, 0.463_647_609_000_806_1),
            (Trigonometry::Cos, 0.877_582_561_890_372_8),
            (Trigonometry::Cosh, 1.127_625_965_206_380_7),
            (Trigonometry::Sin, 0.479_425_538_604_203),
            (Trigonometry::Sinh, 0.521_095_305_493_747_4),
            (Trigonometry::Tan, 0.546_302_489_843_790_5),
        ] {
            let single = run_one(&function, &[Tensor::scalar(0.5_f32)]).unwrap().values::<f32>().unwrap()[0];
            let double = run_one(&function, &[Tensor::scalar(0.5_f64)]).unwrap().values::<f64>().unwrap()[0];
            let half = run_one(&function, &[Tensor::scalar(f16::from_f32(0.5))]).unwrap().values::<f16>().unwrap()[0];
            assert!((f64::from(single) - expected).abs() < 1e-6, "{function:?}: {single}");
            assert!((double - expected).abs() < 1e-15, "{function:?}: {double}");
            assert!((half.to_f64() - expected).abs() < 1e-3, "{function:?}: {half}");
        }
        let angles = run_one(&Atan2, &[Tensor::scalar(-1.0_f64), Tensor::scalar(-1.0_f64)]).unwrap();
        assert_eq!(angles, Tensor::scalar(-3.0 * FRAC_PI_4));
    }

    #[test]
    fn integers_are_rejected() {
        assert_eq!(
            error_text(&Trigonometry::Sin, &[Tensor::scalar(4)]),
            "Unimplemented: Sin of int32 is not supported"
        );
        let text = error_text(&Atan2, &[Tensor::scalar(4), Tensor::scalar(4)]);
        assert_eq!(text, "Unimplemented: Atan2 of int32 is not supported");
    }
}
