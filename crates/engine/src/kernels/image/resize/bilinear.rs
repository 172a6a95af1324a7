//! Bilinear interpolation between the four nearest pixels, in the same order as TensorFlow so
//! that every bit matches.

use super::{Grid, Pixel, collected, zero_row};
use crate::error::Result;
use crate::kernels::image::frame::Frame;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;

/// The two source pixels around a pixel of the result along one axis, and the distance from the
/// first one.
struct Between {
    lower: usize,
    upper: usize,
    fraction: f32,
}

pub fn resize<T: Pixel>(values: &[T], frame: &Frame, target: &Frame, grid: Grid) -> Result<Vec<f32>> {
    match frame.channels {
        1 => resize_channels::<T, 1>(values, frame, target, grid),
        3 => resize_channels::<T, 3>(values, frame, target, grid),
        4 => resize_channels::<T, 4>(values, frame, target, grid),
        _ => resize_channels::<T, 0>(values, frame, target, grid),
    }
}

/// `CHANNELS` is 0 for any number of channels.
fn resize_channels<T: Pixel, const CHANNELS: usize>(
    values: &[T],
    frame: &Frame,
    target: &Frame,
    grid: Grid,
) -> Result<Vec<f32>> {
    let channels = if CHANNELS == 0 { frame.channels } else { CHANNELS };
    let rows = neighbours(frame.height, target.height, grid)?;
    let columns = neighbours(frame.width, target.width, grid)?;
    let row_length = frame.width * channels;
    let new_length = target.width * channels;
    let mut result = allocate::elements(DType::Float32, &target.shape()).room()?;
    // Two rows of the image, already at the new width, and their numbers. The next row of the
    // result may need them again.
    let (mut upper, mut lower) = (zero_row(new_length)?, zero_row(new_length)?);
    for image in values.chunks_exact(frame.height * row_length) {
        let narrow = |number: usize, row: &mut [f32]| match CHANNELS {
            3 => narrow_colours(&image[number * row_length..], &columns, row),
            _ => narrow::<T, CHANNELS>(&image[number * row_length..], channels, &columns, row),
        };
        let (mut upper_number, mut lower_number) = (usize::MAX, usize::MAX);
        for between in &rows {
            if between.lower == lower_number {
                std::mem::swap(&mut upper, &mut lower);
                std::mem::swap(&mut upper_number, &mut lower_number);
            }
            if between.lower != upper_number {
                narrow(between.lower, &mut upper);
                upper_number = between.lower;
            }
            if between.upper != lower_number {
                narrow(between.upper, &mut lower);
                lower_number = between.upper;
            }
            let rows = upper.iter().zip(&lower);
            result.extend(rows.map(|(upper, lower)| upper + (lower - upper) * between.fraction));
        }
    }
    Ok(result)
}

/// Returns a row at the new width.
fn narrow<T: Pixel, const CHANNELS: usize>(row: &[T], channels: usize, columns: &[Between], target: &mut [f32]) {
    let channels = if CHANNELS == 0 { channels } else { CHANNELS };
    for (between, target) in columns.iter().zip(target.chunks_exact_mut(channels)) {
        let left = &row[between.lower * channels..][..channels];
        let right = &row[between.upper * channels..][..channels];
        for ((target, left), right) in target.iter_mut().zip(left).zip(right) {
            let (left, right) = (left.value(), right.value());
            *target = left + (right - left) * between.fraction;
        }
    }
}

/// Like [`narrow`], for three channels. Four values are computed side by side and one is dropped,
/// except for the last pixel.
fn narrow_colours<T: Pixel>(row: &[T], columns: &[Between], target: &mut [f32]) {
    let num_fours = columns.partition_point(|between| between.upper * 3 + 4 <= row.len()).min(columns.len() - 1);
    let (fours, rest) = columns.split_at(num_fours);
    for (number, between) in fours.iter().enumerate() {
        let (left, right) = (four(row, between.lower * 3), four(row, between.upper * 3));
        // Written out as in `four`, because the compiler does not vectorise iterators over arrays
        // here.
        let mixed = |channel: usize| left[channel] + (right[channel] - left[channel]) * between.fraction;
        target[number * 3..][..4].copy_from_slice(&[mixed(0), mixed(1), mixed(2), mixed(3)]);
    }
    narrow::<T, 3>(row, 3, rest, &mut target[num_fours * 3..]);
}

/// Written out, because with `array::from_fn` each value may become a call, which takes longer than
/// everything else.
#[inline(always)]
fn four<T: Pixel>(row: &[T], start: usize) -> [f32; 4] {
    let values = &row[start..start + 4];
    [values[0].value(), values[1].value(), values[2].value(), values[3].value()]
}

fn neighbours(size: usize, new_size: usize, grid: Grid) -> Result<Vec<Between>> {
    let scale = grid.scale(size, new_size);
    let between = |index| {
        let position = grid.position(index, scale);
        let floor = position.floor();
        let upper = (position.ceil() as usize).min(size - 1);
        // Before the first pixel, both are the first pixel.
        Between { lower: (floor as usize).min(upper), upper, fraction: position - floor }
    };
    collected(new_size, (0..new_size).map(between))
}
