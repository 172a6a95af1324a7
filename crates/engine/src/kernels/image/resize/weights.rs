//! The weights of a bicubic, antialiased filter in fixed point.
//!
//! Source: `interpolate(mode="bicubic", antialias=True)` of PyTorch for uint8.

use super::refused;
use crate::error::Result;
use crate::tensor::allocate;

/// The number of channels in an image.
pub(super) const CHANNELS: usize = 3;
/// Pixels further away than this have no weight.
const RADIUS: f64 = 2.0;

/// The neighbours of each pixel of the result along one axis.
pub(super) struct Weights {
    /// The number of neighbours per pixel. Some may have weight zero.
    pub width: usize,
    pub firsts: Vec<usize>,
    /// The weights of the neighbours, pixel by pixel.
    pub weights: Vec<i16>,
    /// The number of fraction bits in a weight: as many as fit.
    pub fraction_bits: u32,
}

impl Weights {
    pub fn new(size: usize, new_size: usize) -> Result<Self> {
        let scale = size as f64 / new_size as f64;
        let (radius, per_pixel) = if scale < 1.0 { (RADIUS, 1.0) } else { (RADIUS * scale, 1.0 / scale) };
        let width = (radius.ceil() as usize * 2 + 1).min(size);
        let mut firsts = allocate::room(new_size).map_err(refused)?;
        let mut exact: Vec<f64> = allocate::zeros(new_size.saturating_mul(width)).map_err(refused)?;
        for (index, weights) in exact.chunks_exact_mut(width).enumerate() {
            let center = scale * (index as f64 + 0.5);
            let begin = (center - radius + 0.5).max(0.0) as usize;
            let end = ((center + radius + 0.5) as usize).min(size).min(begin + width);
            // Windows have the same width. At the end of the image they begin earlier.
            let first = begin.min(size - width);
            let weights = &mut weights[begin - first..end - first];
            for (pixel, weight) in (begin..).zip(weights.iter_mut()) {
                *weight = bicubic(((pixel as f64 - center + 0.5) * per_pixel).abs());
            }
            let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
            weights.iter_mut().for_each(|weight| *weight /= sum);
            firsts.push(first);
        }
        let most = exact.iter().fold(0.0, |most: f64, weight| most.max(*weight));
        let fits = |bits: &u32| (most * f64::from(1 << bits) + 0.5) < f64::from(1 << 15);
        let fraction_bits = (1..=22).take_while(fits).last().unwrap_or(0);
        let one = f64::from(1 << fraction_bits);
        let rounded = exact.iter().map(|weight| (weight * one + 0.5_f64.copysign(*weight)) as i16);
        let weights = allocate::collected(exact.len(), rounded).map_err(refused)?;
        Ok(Self { width, firsts, weights, fraction_bits })
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &[i16])> {
        self.firsts.iter().copied().zip(self.weights.chunks_exact(self.width))
    }

    /// The value at which a sum of weighted pixels starts, so that it is rounded to the nearest.
    #[inline(always)]
    pub fn half(&self) -> i32 {
        1 << self.fraction_bits >> 1
    }

    #[inline(always)]
    pub fn rounded(&self, sum: i32) -> u8 {
        (sum >> self.fraction_bits).clamp(0, 255) as u8
    }
}

/// The weight at a distance, which must not be negative.
fn bicubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < RADIUS {
        ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A
    } else {
        0.0
    }
}
