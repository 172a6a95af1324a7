//! Converts random bits to distributions, bit for bit as TensorFlow does.
//!
//! Source: `random_distributions.h` in TensorFlow 1.15; normal numbers follow Box and Muller, "A
//! Note on the Generation of Random Normal Deviates" (1958).

use crate::philox::Philox;
use crate::tensor::dtype::Numeric;
use half::f16;
use std::f64::consts::TAU;

/// Smaller numbers are replaced with this one before taking the logarithm.
const EPSILON: f64 = 1.0e-7;

/// A float type that random numbers can have.
pub trait RandomFloat: Numeric {
    /// The type in which normal numbers are computed.
    type Wide: Copy + Into<f64>;

    /// How many numbers one block of the stream provides.
    const PER_BLOCK: usize;

    /// Draws the next number from the uniform distribution over [0, 1).
    fn uniform(random: &mut Philox) -> Self;

    /// Draws the next two numbers from the standard normal distribution.
    fn normal_pair(random: &mut Philox) -> [Self::Wide; 2];

    /// Converts the number to the dtype of the tensor.
    fn narrow(wide: Self::Wide) -> Self;
}

impl RandomFloat for f32 {
    type Wide = f32;
    const PER_BLOCK: usize = 4;

    /// Uses 23 bits as the mantissa of a number in [1, 2).
    #[inline]
    fn uniform(random: &mut Philox) -> Self {
        f32::from_bits(127 << 23 | random.next_u32() & 0x7f_ffff) - 1.0
    }

    #[inline]
    fn normal_pair(random: &mut Philox) -> [f32; 2] {
        let radius = (-2.0 * f32::uniform(random).max(EPSILON as f32).ln()).sqrt();
        let angle = (TAU * f64::from(f32::uniform(random))) as f32;
        [angle.sin() * radius, angle.cos() * radius]
    }

    #[inline]
    fn narrow(wide: f32) -> Self {
        wide
    }
}

impl RandomFloat for f64 {
    type Wide = f64;
    const PER_BLOCK: usize = 2;

    /// Uses 52 bits as the mantissa of a number in [1, 2). The first of two words has the high
    /// bits.
    #[inline]
    fn uniform(random: &mut Philox) -> Self {
        let high = u64::from(random.next_u32() & 0xf_ffff) << 32;
        f64::from_bits(1023 << 52 | high | u64::from(random.next_u32())) - 1.0
    }

    #[inline]
    fn normal_pair(random: &mut Philox) -> [f64; 2] {
        let radius = (-2.0 * f64::uniform(random).max(EPSILON).ln()).sqrt();
        let angle = TAU * f64::uniform(random);
        [angle.sin() * radius, angle.cos() * radius]
    }

    #[inline]
    fn narrow(wide: f64) -> Self {
        wide
    }
}

impl RandomFloat for f16 {
    type Wide = f32;
    const PER_BLOCK: usize = 4;

    /// Uses 10 bits as the mantissa of a number in [1, 2).
    #[inline]
    fn uniform(random: &mut Philox) -> Self {
        f16::from_bits(15 << 10 | random.next_u32() as u16 & 0x3ff) - f16::ONE
    }

    #[inline]
    fn normal_pair(random: &mut Philox) -> [f32; 2] {
        f32::normal_pair(random)
    }

    #[inline]
    fn narrow(wide: f32) -> Self {
        f16::from_f32(wide)
    }
}

/// An integer type that random numbers can have.
pub trait RandomInteger: Numeric + PartialOrd + std::fmt::Display {
    /// Draws the next number in [low, high), which must not be empty. As in TensorFlow, no numbers
    /// are rejected, so small results are slightly more likely if the range is large.
    fn uniform(random: &mut Philox, low: Self, high: Self) -> Self;
}

impl RandomInteger for i32 {
    #[inline]
    fn uniform(random: &mut Philox, low: Self, high: Self) -> Self {
        low.wrapping_add_unsigned(random.next_u32() % high.wrapping_sub(low) as u32)
    }
}

impl RandomInteger for i64 {
    #[inline]
    fn uniform(random: &mut Philox, low: Self, high: Self) -> Self {
        let bits = u64::from(random.next_u32()) | u64::from(random.next_u32()) << 32;
        low.wrapping_add_unsigned(bits % high.wrapping_sub(low) as u64)
    }
}
