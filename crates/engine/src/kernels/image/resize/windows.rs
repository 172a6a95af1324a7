//! Weighted sums of neighbouring pixels, with the same number of neighbours for each pixel.
//!
//! If the number of taps is known at compile time, the loops are three times faster.

use super::{Pixel, refused};
use crate::error::Result;
use crate::tensor::allocate;

/// The maximum number of neighbours, for an image that is reduced to between a third and a quarter
/// of its size.
const MOST: usize = 8;

/// A pixel and its weight.
#[derive(Clone, Copy)]
pub struct Tap {
    pub index: usize,
    pub weight: f32,
}

/// The neighbours of each pixel of the result along one axis. Some may have weight zero.
pub struct Windows {
    /// The number of neighbours.
    width: usize,
    firsts: Vec<usize>,
    /// The weights of the neighbours, pixel by pixel.
    weights: Vec<f32>,
}

/// Calls a function with the number of neighbours as a constant.
macro_rules! with_width {
    ($width:expr, $name:ident::<$($generic:ident),*>($($argument:expr),*)) => {
        match $width {
            1 => $name::<$($generic,)* 1>($($argument),*),
            2 => $name::<$($generic,)* 2>($($argument),*),
            3 => $name::<$($generic,)* 3>($($argument),*),
            4 => $name::<$($generic,)* 4>($($argument),*),
            5 => $name::<$($generic,)* 5>($($argument),*),
            6 => $name::<$($generic,)* 6>($($argument),*),
            7 => $name::<$($generic,)* 7>($($argument),*),
            8 => $name::<$($generic,)* 8>($($argument),*),
            _ => unreachable!("there are from 1 to {MOST} neighbours"),
        }
    };
}

impl Windows {
    /// Converts the taps of each pixel to windows. Returns `None` if a pixel's taps are not
    /// adjacent or there are too many.
    ///
    /// If all pixels are finite, the sums are the same bit for bit, because windows only add zeros
    /// to them.
    pub fn of<'a>(pixels: impl Iterator<Item = &'a [Tap]> + Clone, size: usize) -> Result<Option<Self>> {
        let width = pixels.clone().map(<[_]>::len).max().unwrap_or(0);
        let are_neighbours = pixels.clone().all(|taps| taps.windows(2).all(|pair| pair[1].index == pair[0].index + 1));
        if !(1..=MOST.min(size)).contains(&width) || !are_neighbours {
            return Ok(None);
        }
        let count = pixels.clone().count();
        let mut windows = Self {
            width,
            firsts: allocate::room(count).map_err(refused)?,
            weights: allocate::zeros(count.saturating_mul(width)).map_err(refused)?,
        };
        for (taps, weights) in pixels.zip(windows.weights.chunks_exact_mut(width)) {
            let first = taps.first().map_or(0, |tap| tap.index).min(size - width);
            taps.iter().for_each(|tap| weights[tap.index - first] = tap.weight);
            windows.firsts.push(first);
        }
        Ok(Some(windows))
    }

    /// Sets `sum` to the weighted sum of the image rows for pixel `number` of a column.
    pub fn add_rows<T: Pixel>(&self, number: usize, image: &[T], sum: &mut [f32]) {
        let weights = &self.weights[number * self.width..][..self.width];
        let rows = &image[self.firsts[number] * sum.len()..];
        with_width!(self.width, add_rows::<T>(rows, weights, sum));
    }

    /// Computes the pixels of a row of the result. `LANES` values are computed side by side and
    /// `CHANNELS` of them are kept.
    pub fn narrow<const CHANNELS: usize, const LANES: usize>(&self, row: &[f32], result: &mut [f32]) {
        with_width!(self.width, narrow::<CHANNELS, LANES>(self, row, result));
    }
}

fn add_rows<T: Pixel, const WIDTH: usize>(image: &[T], weights: &[f32], sum: &mut [f32]) {
    let length = sum.len();
    let weights: [f32; WIDTH] = std::array::from_fn(|row| weights[row]);
    let rows: [&[T]; WIDTH] = std::array::from_fn(|row| &image[row * length..][..length]);
    for (column, sum) in sum.iter_mut().enumerate() {
        *sum = (0..WIDTH).fold(0.0, |sum, row| sum + rows[row][column].value() * weights[row]);
    }
}

fn narrow<const CHANNELS: usize, const LANES: usize, const WIDTH: usize>(
    windows: &Windows,
    row: &[f32],
    result: &mut [f32],
) {
    let weights = windows.weights.chunks_exact(WIDTH);
    let pixels = result.chunks_exact_mut(CHANNELS);
    for ((first, weights), pixel) in windows.firsts.iter().zip(weights).zip(pixels) {
        let neighbours = &row[first * CHANNELS..][..(WIDTH - 1) * CHANNELS + LANES];
        let mut sum = [0.0; LANES];
        for (tap, weight) in weights.iter().enumerate() {
            (0..LANES).for_each(|lane| sum[lane] += neighbours[tap * CHANNELS + lane] * weight);
        }
        pixel.copy_from_slice(&sum[..CHANNELS]);
    }
}
