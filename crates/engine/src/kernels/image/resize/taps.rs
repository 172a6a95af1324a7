//! Resizes with weighted sums of neighbouring pixels, first along the columns and then along the
//! rows.

use super::windows::{Tap, Windows};
use super::{Filter, Grid, Pixel, refused, zero_row};
use crate::error::Result;
use crate::kernels::image::frame::Frame;
use crate::tensor::allocate;

/// The weighted pixels (taps) of each pixel of the result along one axis.
pub struct Taps {
    taps: Vec<Tap>,
    /// Where each pixel's taps end. They begin where the previous pixel's end.
    ends: Vec<usize>,
}

impl Taps {
    /// Reserves memory for `num_pixels` pixels with four taps each.
    fn new(num_pixels: usize) -> Result<Self> {
        let room =
            || Ok(Self { taps: allocate::room(num_pixels.saturating_mul(4))?, ends: allocate::room(num_pixels)? });
        room().map_err(refused)
    }

    fn push(&mut self, taps: impl Iterator<Item = Tap>) -> Result<()> {
        allocate::grow(&mut self.taps, taps.size_hint().0).map_err(refused)?;
        self.taps.extend(taps);
        self.ends.push(self.taps.len());
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = &[Tap]> + Clone {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.taps[begin..*end])
    }

    /// Moves the taps into an image, in which this part begins at pixel `first`.
    pub fn in_image(mut self, first: usize) -> Self {
        self.taps.iter_mut().for_each(|tap| tap.index += first);
        self
    }

    /// Four pixels with the weights of a cubic, which TensorFlow looks up in steps of 1/1024.
    ///
    /// On the legacy grids, pixels beyond the edge are replaced with the pixel at the edge.
    /// Otherwise they have no weight.
    pub fn bicubic(size: usize, new_size: usize, grid: Grid) -> Result<Self> {
        const STEPS: f32 = 1024.0;
        let is_keys = grid == Grid::HalfPixelCenters;
        let a = if is_keys { -0.5 } else { -0.75 };
        let near = |x: f64| (((a + 2.0) * x - (a + 3.0)) * x * x + 1.0) as f32;
        let far = |x: f64| {
            let x = x + 1.0;
            (((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a) as f32
        };
        let scale = grid.scale(size, new_size);
        let mut taps = Self::new(new_size)?;
        for index in 0..new_size {
            let position = grid.position(index, scale);
            let first = position.floor();
            let step = f64::from(((position - first) * STEPS).round_ties_even() / STEPS);
            let mut weights = [far(step), near(step), near(1.0 - step), far(1.0 - step)];
            let unclamped = [-1, 0, 1, 2].map(|offset| first as i64 + offset);
            let indices = unclamped.map(|index| index.clamp(0, size as i64 - 1));
            if is_keys {
                (0..4).filter(|tap| indices[*tap] != unclamped[*tap]).for_each(|tap| weights[tap] = 0.0);
                let sum = weights[0] + weights[1] + weights[2] + weights[3];
                if sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
                    let inverse = 1.0 / sum;
                    weights.iter_mut().for_each(|weight| *weight *= inverse);
                }
            }
            taps.push(indices.iter().zip(weights).map(|(index, weight)| Tap { index: *index as usize, weight }))?;
        }
        Ok(taps)
    }

    /// All pixels that a pixel of the result covers, weighted by the covered area.
    pub fn area(size: usize, new_size: usize, align_corners: bool) -> Result<Self> {
        let grid = if align_corners { Grid::AlignCorners } else { Grid::Legacy };
        let scale = grid.scale(size, new_size);
        let mut taps = Self::new(new_size)?;
        if scale == 0.0 {
            // All corners of a pixel have the same value.
            (0..new_size).try_for_each(|_| taps.push([Tap { index: 0, weight: 1.0 }].into_iter()))?;
            return Ok(taps);
        }
        for index in 0..new_size {
            let (start, end) = (index as f32 * scale, (index + 1) as f32 * scale);
            let covered = |pixel: i64| {
                let (left, right) = (pixel as f32, (pixel + 1) as f32);
                match (left < start, right > end) {
                    (true, true) => scale,
                    (true, false) => right - start,
                    (false, true) => end - left,
                    (false, false) => 1.0,
                }
            };
            let pixels = start.floor() as i64..end.ceil() as i64;
            taps.push(
                pixels.map(|pixel| Tap {
                    index: pixel.clamp(0, size as i64 - 1) as usize,
                    weight: covered(pixel) / scale,
                }),
            )?;
        }
        Ok(taps)
    }

    /// The pixels within the radius of a filter. With antialiasing, the radius grows with the
    /// scale.
    pub fn filter(size: usize, new_size: usize, filter: Filter, antialias: bool) -> Result<Self> {
        let inverse_scale = 1.0 / (new_size as f32 / size as f32);
        let filter_scale = if antialias { inverse_scale.max(1.0) } else { 1.0 };
        let radius = filter.radius() * filter_scale;
        let mut taps = Self::new(new_size)?;
        for index in 0..new_size {
            let center = (index as f32 + 0.5) * inverse_scale;
            let first = ((center - radius - 0.5).ceil() as i64).clamp(0, size as i64 - 1);
            let last = ((center + radius - 0.5).floor() as i64).clamp(0, size as i64 - 1);
            let weight = |pixel: i64| filter.weight(((pixel as f32 + 0.5 - center) * (1.0 / filter_scale)).abs());
            let sum: f32 = (first..=last).map(weight).sum();
            let inverse = if sum.abs() >= 1000.0 * f32::MIN_POSITIVE { 1.0 / sum } else { 0.0 };
            taps.push((first..=last).map(|pixel| Tap { index: pixel as usize, weight: weight(pixel) * inverse }))?;
        }
        Ok(taps)
    }
}

/// Resizes and calls `keep` with each row of the result.
pub fn resize<T: Pixel>(
    values: &[T],
    frame: &Frame,
    target: &Frame,
    [rows, columns]: [&Taps; 2],
    mut keep: impl FnMut(&[f32]),
) -> Result<()> {
    let channels = frame.channels;
    let row_length = frame.width * channels;
    let windows = |taps, size| if T::IS_FINITE { Windows::of(Taps::iter(taps), size) } else { Ok(None) };
    let (row_windows, column_windows) = (windows(rows, frame.height)?, windows(columns, frame.width)?);
    // One value longer than a row, so that four values can be read at the last three.
    let mut sum = zero_row(row_length + 1)?;
    let mut result = zero_row(target.width * channels)?;
    for image in values.chunks_exact(frame.height * row_length) {
        for (row, taps) in rows.iter().enumerate() {
            match &row_windows {
                Some(windows) => windows.add_rows(row, image, &mut sum[..row_length]),
                None => {
                    sum.fill(0.0);
                    taps.chunks(4).for_each(|taps| add_rows(image, taps, &mut sum[..row_length]));
                }
            }
            match (&column_windows, channels) {
                (Some(windows), 1) => windows.narrow::<1, 1>(&sum, &mut result),
                (Some(windows), 3) => windows.narrow::<3, 4>(&sum, &mut result),
                (Some(windows), 4) => windows.narrow::<4, 4>(&sum, &mut result),
                (_, 1) => narrow::<1, 1>(&sum, columns, &mut result),
                (_, 3) => narrow::<3, 4>(&sum, columns, &mut result),
                (_, 4) => narrow::<4, 4>(&sum, columns, &mut result),
                _ => narrow_any(&sum, channels, columns, &mut result),
            }
            keep(&result);
        }
    }
    Ok(())
}

/// Adds up to four rows of an image, each multiplied by its weight, in order.
fn add_rows<T: Pixel>(image: &[T], taps: &[Tap], sum: &mut [f32]) {
    let length = sum.len();
    let row = |tap: &Tap| &image[tap.index * length..(tap.index + 1) * length];
    match taps {
        [a, b, c, d] => {
            let weights = [a, b, c, d].map(|tap| tap.weight);
            let rows = row(a).iter().zip(row(b)).zip(row(c)).zip(row(d));
            for (sum, (((a, b), c), d)) in sum.iter_mut().zip(rows) {
                *sum += a.value() * weights[0];
                *sum += b.value() * weights[1];
                *sum += c.value() * weights[2];
                *sum += d.value() * weights[3];
            }
        }
        _ => taps.iter().for_each(|tap| {
            sum.iter_mut().zip(row(tap)).for_each(|(sum, value)| *sum += value.value() * tap.weight);
        }),
    }
}

/// For each pixel, `LANES` values are computed side by side and `CHANNELS` of them are kept.
fn narrow<const CHANNELS: usize, const LANES: usize>(row: &[f32], columns: &Taps, result: &mut [f32]) {
    for (taps, result) in columns.iter().zip(result.chunks_exact_mut(CHANNELS)) {
        let mut sum = [0.0; LANES];
        for tap in taps {
            let pixel = &row[tap.index * CHANNELS..][..LANES];
            (0..LANES).for_each(|lane| sum[lane] += pixel[lane] * tap.weight);
        }
        result.copy_from_slice(&sum[..CHANNELS]);
    }
}

fn narrow_any(row: &[f32], channels: usize, columns: &Taps, result: &mut [f32]) {
    for (taps, result) in columns.iter().zip(result.chunks_exact_mut(channels)) {
        for (channel, result) in result.iter_mut().enumerate() {
            let weighted = taps.iter().map(|tap| row[tap.index * channels + channel] * tap.weight);
            *result = weighted.fold(0.0, |sum, value| sum + value);
        }
    }
}
