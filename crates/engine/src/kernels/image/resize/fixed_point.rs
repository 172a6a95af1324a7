//! Resizes 8-bit images in fixed point, first along the columns and then along the rows, and rounds
//! to 8 bits each time. The result is exactly the same as in PyTorch and torchvision.
//!
//! Source: `interpolate(mode="bicubic", antialias=True)` of PyTorch for uint8.

use super::refused;
use crate::error::Result;
use crate::kernels::image::frame::Frame;
use crate::tensor::allocate;

/// Pixels further away than this have no weight.
const RADIUS: f64 = 2.0;

/// The neighbours of each pixel of the result along one axis.
struct Weights {
    /// The number of neighbours of each pixel. Some may have weight zero.
    width: usize,
    firsts: Vec<usize>,
    /// The weights of the neighbours, pixel by pixel.
    weights: Vec<i16>,
    /// The number of bits of a weight after the point: as many as fit.
    fraction_bits: u32,
}

impl Weights {
    fn new(size: usize, new_size: usize) -> Result<Self> {
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
    fn half(&self) -> i32 {
        1 << self.fraction_bits >> 1
    }

    fn rounded(&self, sum: i32) -> u8 {
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
    let (pixels, length) = (narrowed.as_deref().unwrap_or(pixels), target.width * 3);
    if frame.height == target.height {
        pixels.chunks_exact(length).for_each(keep);
        return Ok(());
    }
    let mut sum: Vec<i32> = allocate::zeros(length).map_err(refused)?;
    let mut row: Vec<u8> = allocate::zeros(length).map_err(refused)?;
    let rows = Weights::new(frame.height, target.height)?;
    for (first, weights) in rows.iter() {
        sum.fill(rows.half());
        for (pixels, weight) in pixels[first * length..].chunks_exact(length).zip(weights) {
            sum.iter_mut().zip(pixels).for_each(|(sum, pixel)| *sum += i32::from(*pixel) * i32::from(*weight));
        }
        row.iter_mut().zip(&sum).for_each(|(pixel, sum)| *pixel = rows.rounded(*sum));
        keep(&row);
    }
    Ok(())
}

/// Resizes each row of an image with three channels.
fn narrow(pixels: &[u8], width: usize, columns: &Weights) -> Result<Vec<u8>> {
    let (length, new_length) = (width * 3, columns.firsts.len() * 3);
    let num_rows = pixels.len() / length;
    let mut narrowed = allocate::zeros(num_rows.saturating_mul(new_length)).map_err(refused)?;
    // Four values are read for each pixel, so there is one more after the last.
    let mut row: Vec<i16> = allocate::zeros(length + 1).map_err(refused)?;
    for (pixels, new_row) in pixels.chunks_exact(length).zip(narrowed.chunks_exact_mut(new_length)) {
        row.iter_mut().zip(pixels).for_each(|(value, pixel)| *value = i16::from(*pixel));
        // If the number of neighbours is known at compile time, the loop is three times faster.
        match columns.width {
            5 => narrow_row(&row, columns, 5, new_row),
            7 => narrow_row(&row, columns, 7, new_row),
            9 => narrow_row(&row, columns, 9, new_row),
            11 => narrow_row(&row, columns, 11, new_row),
            width => narrow_row(&row, columns, width, new_row),
        }
    }
    Ok(narrowed)
}

/// Resizes a row. `width` is the number of neighbours of a pixel.
#[inline(always)]
fn narrow_row(row: &[i16], columns: &Weights, width: usize, new_row: &mut [u8]) {
    let weights = columns.weights.chunks_exact(width);
    for ((first, weights), pixel) in columns.firsts.iter().zip(weights).zip(new_row.chunks_exact_mut(3)) {
        let neighbours = &row[first * 3..][..width * 3 + 1];
        let mut sum = [columns.half(); 4];
        for (number, weight) in weights.iter().enumerate() {
            let neighbour = &neighbours[number * 3..][..4];
            (0..4).for_each(|lane| sum[lane] += i32::from(neighbour[lane]) * i32::from(*weight));
        }
        (0..3).for_each(|channel| pixel[channel] = columns.rounded(sum[channel]));
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
