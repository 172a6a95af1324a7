//! Resizes 8-bit images in fixed point, first along the columns and then along the rows, and rounds
//! to 8 bits each time. The result is exactly the same as in PyTorch and torchvision.
//!
//! Source: `interpolate(mode="bicubic", antialias=True)` of PyTorch for uint8.

use super::columns::narrow;
use super::refused;
use crate::error::Result;
use crate::kernels::image::frame::Frame;
use crate::tensor::allocate;

/// The number of channels of an image.
pub(super) const CHANNELS: usize = 3;
/// Pixels further away than this have no weight.
const RADIUS: f64 = 2.0;
/// The number of values that are computed together.
const BLOCK: usize = 32;

/// The neighbours of each pixel of the result along one axis.
pub(super) struct Weights {
    /// The number of neighbours of each pixel. Some may have weight zero.
    pub width: usize,
    pub firsts: Vec<usize>,
    /// The weights of the neighbours, pixel by pixel.
    pub weights: Vec<i16>,
    /// The number of bits of a weight after the point: as many as fit.
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

    fn iter(&self) -> impl Iterator<Item = (usize, &[i16])> {
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

/// Resizes an image with three channels and passes each row of the result to `keep`, from top to
/// bottom. The filter is bicubic and antialiased.
pub fn bicubic_rgb(pixels: &[u8], frame: &Frame, target: &Frame, mut keep: impl FnMut(&[u8])) -> Result<()> {
    let narrowed = match frame.width == target.width {
        true => None,
        false => Some(narrow(pixels, frame.width, &Weights::new(frame.width, target.width)?)?),
    };
    let (pixels, length) = (narrowed.as_deref().unwrap_or(pixels), target.width * CHANNELS);
    if frame.height == target.height {
        pixels.chunks_exact(length).for_each(keep);
        return Ok(());
    }
    let mut row: Vec<u8> = allocate::zeros(length).map_err(refused)?;
    let rows = Weights::new(frame.height, target.height)?;
    for (first, weights) in rows.iter() {
        let neighbours = &pixels[first * length..][..rows.width * length];
        pulp::Arch::new().dispatch(Shortening { neighbours, weights, rows: &rows, row: &mut row });
        keep(&row);
    }
    Ok(())
}

/// Computes a row of the result from its neighbours, with the widest vectors that the machine has.
struct Shortening<'a> {
    /// The neighbouring rows.
    neighbours: &'a [u8],
    weights: &'a [i16],
    rows: &'a Weights,
    row: &'a mut [u8],
}

impl pulp::WithSimd for Shortening<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let length = self.row.len();
        let (blocks, rest) = self.row.as_chunks_mut::<BLOCK>();
        let first_of_rest = blocks.len() * BLOCK;
        let columns = |first: usize| self.neighbours[first..].chunks(length).zip(self.weights);
        for (number, block) in blocks.iter_mut().enumerate() {
            // The sums of a block stay in registers.
            let mut sum = [self.rows.half(); BLOCK];
            for (pixels, weight) in columns(number * BLOCK) {
                let (weight, pixels) = (i32::from(*weight), &pixels[..BLOCK]);
                (0..BLOCK).for_each(|lane| sum[lane] += i32::from(pixels[lane]) * weight);
            }
            (0..BLOCK).for_each(|lane| block[lane] = self.rows.rounded(sum[lane]));
        }
        for (number, pixel) in rest.iter_mut().enumerate() {
            let weighted =
                columns(first_of_rest + number).map(|(pixels, weight)| i32::from(pixels[0]) * i32::from(*weight));
            *pixel = self.rows.rounded(self.rows.half() + weighted.sum::<i32>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resized(pixels: &[u8], [height, width]: [usize; 2], [new_height, new_width]: [usize; 2]) -> Vec<u8> {
        let frame = Frame { batch: None, height, width, channels: 3 };
        let mut result = Vec::new();
        let target = frame.resized(new_height, new_width).unwrap();
        bicubic_rgb(pixels, &frame, &target, |row| result.extend_from_slice(row)).unwrap();
        result
    }

    /// Three equal channels.
    fn grey(pixels: &[u8]) -> Vec<u8> {
        pixels.iter().flat_map(|pixel| [*pixel; 3]).collect()
    }

    #[test]
    fn pixels_are_those_of_torchvision() {
        // `resize(row, [1, width], InterpolationMode.BICUBIC, antialias=True)` of torchvision 0.29.
        let expected: [&[u8]; 6] = [
            &[116],
            &[111, 124],
            &[108, 115, 134],
            &[61, 157, 116, 121],
            &[0, 113, 253, 71, 47, 196, 143, 82],
            &[0, 35, 181, 250, 120, 10, 84, 192, 174, 106, 80],
        ];
        let row = grey(&[0, 255, 10, 200, 90]);
        for expected in expected {
            let (width, expected) = (expected.len(), grey(expected));
            assert_eq!(resized(&row, [1, 5], [1, width]), expected);
            assert_eq!(resized(&row, [5, 1], [width, 1]), expected);
        }
    }

    #[test]
    fn image_of_the_same_size_stays_the_same() {
        let pixels: Vec<u8> = (0..60).map(|value| value * 4).collect();
        assert_eq!(resized(&pixels, [4, 5], [4, 5]), pixels);
        assert_eq!(resized(&[77; 60], [4, 5], [9, 2]), [77; 54]);
    }
}
