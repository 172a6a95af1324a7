//! Resizes 8-bit images in fixed point, first along the columns and then along the rows, and rounds
//! to 8 bits each time. The result is exactly the same as in PyTorch and torchvision.
//!
//! Source: `interpolate(mode="bicubic", antialias=True)` of PyTorch for uint8.

use super::columns::narrow;
use super::refused;
use super::weights::{CHANNELS, Weights};
use crate::error::Result;
use crate::kernels::image::frame::Frame;
use crate::tensor::allocate;

/// The number of values that are computed together.
const BLOCK: usize = 32;

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
    fn pixels_match_torchvision() {
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
    fn resizing_to_the_same_size_changes_nothing() {
        let pixels: Vec<u8> = (0..60).map(|value| value * 4).collect();
        assert_eq!(resized(&pixels, [4, 5], [4, 5]), pixels);
        assert_eq!(resized(&[77; 60], [4, 5], [9, 2]), [77; 54]);
    }
}
