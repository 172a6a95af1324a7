//! The weight of a pixel depending on its distance, for antialiased resizing.
//!
//! Source: the sampling kernels of `tf.raw_ops.ScaleAndTranslate` in TensorFlow 1.15.

use crate::error::{Error, Result};
use std::f32::consts::PI;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filter {
    Lanczos {
        radius: f32,
    },
    /// With a radius of 1.5 and a standard deviation of a third of that.
    Gaussian,
    Triangle,
    /// Cubics with B = 0, C = 1/2.
    KeysCubic,
    /// Cubics with B = C = 1/3.
    MitchellCubic,
}

impl Filter {
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "lanczos3" => Self::Lanczos { radius: 3.0 },
            "lanczos5" => Self::Lanczos { radius: 5.0 },
            "gaussian" => Self::Gaussian,
            "triangle" => Self::Triangle,
            "keyscubic" => Self::KeysCubic,
            "mitchellcubic" => Self::MitchellCubic,
            _ => return Err(Error::invalid_argument(format!("Unrecognized kernel type: {name}"))),
        })
    }

    /// Pixels further away than this have no weight.
    pub fn radius(self) -> f32 {
        match self {
            Self::Lanczos { radius } => radius,
            Self::Gaussian => 1.5,
            Self::Triangle => 1.0,
            Self::KeysCubic | Self::MitchellCubic => 2.0,
        }
    }

    /// The weight at a distance, which must not be negative.
    pub fn weight(self, x: f32) -> f32 {
        if x >= self.radius() {
            return 0.0;
        }
        match self {
            Self::Lanczos { radius } => lanczos(x, radius),
            Self::Gaussian => {
                let deviation = self.radius() / 3.0;
                (-x * x / (2.0 * deviation * deviation)).exp()
            }
            Self::Triangle => 1.0 - x,
            Self::KeysCubic if x >= 1.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Self::KeysCubic => (1.5 * x - 2.5) * x * x + 1.0,
            Self::MitchellCubic if x >= 1.0 => ((-7.0 / 18.0 * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0,
            Self::MitchellCubic => (7.0 / 6.0 * x - 2.0) * x * x + 8.0 / 9.0,
        }
    }
}

fn lanczos(x: f32, radius: f32) -> f32 {
    // Near 0 the quotient of two small numbers is inexact. The weight is 1.
    if x <= 1e-3 {
        return 1.0;
    }
    radius * (PI * x).sin() * (PI * x / radius).sin() / (PI * PI * x * x)
}
