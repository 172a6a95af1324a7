//! Arithmetic on single elements. Integers wrap, and float16 is computed in float32.

use crate::tensor::dtype::Numeric;
use half::f16;

/// The functions that [`Binary`](crate::kernels::math::arithmetic::Binary) and
/// [`Unary`](crate::kernels::math::arithmetic::Unary) apply to elements.
pub trait Arithmetic: Numeric + PartialOrd {
    /// True if dividing by 0 is an error rather than infinity.
    const IS_INTEGER: bool;

    /// The sum; integers wrap.
    fn add(self, other: Self) -> Self;
    /// The difference; integers wrap.
    fn sub(self, other: Self) -> Self;
    /// The product; integers wrap.
    fn mul(self, other: Self) -> Self;

    /// The quotient, rounded towards minus infinity. An integer divisor must not be 0.
    fn floor_div(self, other: Self) -> Self;

    /// The remainder of [`Arithmetic::floor_div`], with the divisor's sign.
    fn floor_mod(self, other: Self) -> Self;

    /// The larger number, or NaN if either is NaN.
    fn larger(self, other: Self) -> Self;

    /// The smaller number, or NaN if either is NaN.
    fn smaller(self, other: Self) -> Self;

    /// The negative; integers wrap.
    fn neg(self) -> Self;
    /// The absolute value; integers wrap.
    fn abs(self) -> Self;
}

macro_rules! integer_arithmetic {
    ($($T:ty: { $($own:tt)* })*) => {
        $(impl Arithmetic for $T {
            const IS_INTEGER: bool = true;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }

            $($own)*
        })*
    };
}

macro_rules! unsigned_arithmetic {
    ($($T:ty),*) => {
        integer_arithmetic! { $($T: {
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                self / other
            }

            #[inline(always)]
            fn floor_mod(self, other: Self) -> Self {
                self % other
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self
            }
        })* }
    };
}

macro_rules! signed_arithmetic {
    ($($T:ty),*) => {
        integer_arithmetic! { $($T: {
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                let remainder = self.wrapping_rem(other);
                self.wrapping_div(other) - Self::from(remainder != 0 && (remainder < 0) != (other < 0))
            }

            #[inline(always)]
            fn floor_mod(self, other: Self) -> Self {
                let remainder = self.wrapping_rem(other);
                if remainder != 0 && (remainder < 0) != (other < 0) { remainder + other } else { remainder }
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
        })* }
    };
}

unsigned_arithmetic!(u8, u16, u32, u64);
signed_arithmetic!(i8, i16, i32, i64);

macro_rules! float_arithmetic {
    ($($T:ty),*) => {
        $(impl Arithmetic for $T {
            const IS_INTEGER: bool = false;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                (self / other).floor()
            }

            #[inline(always)]
            fn floor_mod(self, other: Self) -> Self {
                let remainder = self % other;
                if remainder == 0.0 {
                    (0.0 as $T).copysign(other)
                } else if (remainder < 0.0) != (other < 0.0) {
                    remainder + other
                } else {
                    remainder
                }
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self < other || other.is_nan() { other } else { self }
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                if other < self || other.is_nan() { other } else { self }
            }

            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }

            #[inline(always)]
            fn abs(self) -> Self {
                <$T>::abs(self)
            }
        })*
    };
}

float_arithmetic!(f32, f64);

impl Arithmetic for f16 {
    const IS_INTEGER: bool = false;

    fn add(self, other: Self) -> Self {
        self + other
    }

    fn sub(self, other: Self) -> Self {
        self - other
    }

    fn mul(self, other: Self) -> Self {
        self * other
    }

    fn floor_div(self, other: Self) -> Self {
        f16::from_f32((self / other).to_f32().floor())
    }

    fn floor_mod(self, other: Self) -> Self {
        f16::from_f32(self.to_f32().floor_mod(other.to_f32()))
    }

    fn larger(self, other: Self) -> Self {
        if self < other || other.is_nan() { other } else { self }
    }

    fn smaller(self, other: Self) -> Self {
        if other < self || other.is_nan() { other } else { self }
    }

    fn neg(self) -> Self {
        -self
    }

    fn abs(self) -> Self {
        if self.is_sign_negative() { -self } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap() {
        assert_eq!(Arithmetic::add(250_u8, 10), 4);
        assert_eq!(Arithmetic::mul(i32::MAX, 2), -2);
        assert_eq!(Arithmetic::abs(i8::MIN), i8::MIN);
        assert_eq!(i64::MIN.floor_div(-1), i64::MIN);
        assert_eq!(i64::MIN.floor_mod(-1), 0);
    }

    #[test]
    fn division_rounds_down_for_every_sign() {
        for (x, y, quotient, remainder) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -2, -3, 0)]
        {
            assert_eq!((x.floor_div(y), x.floor_mod(y)), (quotient, remainder), "{x} by {y}");
            let (x, y) = (f64::from(x), f64::from(y));
            assert_eq!((x.floor_div(y), x.floor_mod(y)), (f64::from(quotient), f64::from(remainder)), "{x} by {y}");
            let (half_x, half_y) = (f16::from_f64(x), f16::from_f64(y));
            assert_eq!(half_x.floor_div(half_y).to_f64(), f64::from(quotient));
            assert_eq!(half_x.floor_mod(half_y).to_f64(), f64::from(remainder));
        }
        assert_eq!(7_u16.floor_div(2), 3);
        assert_eq!((-1.0_f32).floor_mod(f32::INFINITY), f32::INFINITY);
        assert!(1.0_f32.floor_mod(0.0).is_nan());
    }

    #[test]
    fn maximum_and_minimum_propagate_nan() {
        for (x, y) in [(f32::NAN, 1.0), (1.0, f32::NAN)] {
            assert!(x.larger(y).is_nan() && x.smaller(y).is_nan());
            let (x, y) = (f16::from_f32(x), f16::from_f32(y));
            assert!(x.larger(y).is_nan() && x.smaller(y).is_nan());
        }
        assert_eq!(Arithmetic::larger(1.0_f32, 2.0), 2.0);
        assert_eq!(Arithmetic::smaller(1.0_f32, 2.0), 1.0);
    }

    #[test]
    fn half_precision_rounds_after_each_operation() {
        let one = f16::from_f32(1.0);
        assert_eq!(Arithmetic::add(one, f16::from_f32(0.0001)), one);
        assert_eq!(Arithmetic::abs(-one), one);
    }
}
