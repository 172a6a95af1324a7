//! Accumulates numbers in a type that is wide enough to lose little precision.

use crate::kernels::math::element::Arithmetic;
use half::f16;

/// Sums, products and means of numbers of one type.
pub trait Accumulate: Arithmetic {
    /// The type of sums: double precision for floats, 64 bits for integers.
    type Wide: Copy;

    /// The empty sum.
    const ZERO: Self::Wide;
    /// The empty product.
    const ONE: Self::Wide;
    /// The smallest number of the type.
    const LEAST: Self;
    /// The greatest number of the type.
    const GREATEST: Self;

    /// Adds a number to a sum. Integers wrap.
    fn plus(sum: Self::Wide, number: Self) -> Self::Wide;
    /// Multiplies a product by a number. Integers wrap.
    fn times(product: Self::Wide, number: Self) -> Self::Wide;
    /// Adds two sums. Integers wrap.
    fn sum(one: Self::Wide, other: Self::Wide) -> Self::Wide;
    /// Multiplies two products. Integers wrap.
    fn product(one: Self::Wide, other: Self::Wide) -> Self::Wide;
    /// Converts back to the original type. Integers wrap.
    fn narrow(wide: Self::Wide) -> Self;
    /// The mean of `count` numbers. Integers lose the fraction, and the mean of no numbers is 0.
    fn mean(sum: Self::Wide, count: usize) -> Self;
}

macro_rules! accumulate_integers {
    ($Wide:ty: $($T:ty),*) => {
        $(impl Accumulate for $T {
            type Wide = $Wide;

            const ZERO: $Wide = 0;
            const ONE: $Wide = 1;
            const LEAST: Self = <$T>::MIN;
            const GREATEST: Self = <$T>::MAX;

            #[inline(always)]
            fn plus(sum: $Wide, number: Self) -> $Wide {
                Self::sum(sum, <$Wide>::from(number))
            }

            #[inline(always)]
            fn times(product: $Wide, number: Self) -> $Wide {
                Self::product(product, <$Wide>::from(number))
            }

            #[inline(always)]
            fn sum(one: $Wide, other: $Wide) -> $Wide {
                one.wrapping_add(other)
            }

            #[inline(always)]
            fn product(one: $Wide, other: $Wide) -> $Wide {
                one.wrapping_mul(other)
            }

            fn narrow(wide: $Wide) -> Self {
                wide as $T
            }

            fn mean(sum: $Wide, count: usize) -> Self {
                (sum / (count.max(1) as $Wide)) as $T
            }
        })*
    };
}

accumulate_integers!(u64: u8, u16, u32, u64);
accumulate_integers!(i64: i8, i16, i32, i64);

macro_rules! accumulate_floats {
    ($($T:ty: $narrow:expr;)*) => {
        $(impl Accumulate for $T {
            type Wide = f64;

            const ZERO: f64 = 0.0;
            const ONE: f64 = 1.0;
            const LEAST: Self = <$T>::NEG_INFINITY;
            const GREATEST: Self = <$T>::INFINITY;

            #[inline(always)]
            fn plus(sum: f64, number: Self) -> f64 {
                sum + f64::from(number)
            }

            #[inline(always)]
            fn times(product: f64, number: Self) -> f64 {
                product * f64::from(number)
            }

            #[inline(always)]
            fn sum(one: f64, other: f64) -> f64 {
                one + other
            }

            #[inline(always)]
            fn product(one: f64, other: f64) -> f64 {
                one * other
            }

            fn narrow(wide: f64) -> Self {
                $narrow(wide)
            }

            fn mean(sum: f64, count: usize) -> Self {
                $narrow(sum / count as f64)
            }
        })*
    };
}

accumulate_floats! {
    f16: f16::from_f64;
    f32: |wide| wide as f32;
    f64: |wide| wide;
}
