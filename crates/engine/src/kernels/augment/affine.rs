//! Shears, shifts and rotations, which take each pixel from another position in the image.

use super::picture::Picture;
use crate::error::Result;

/// How pixels are interpolated, and the values outside the image.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// True to weight the four surrounding pixels; false to use the nearest one.
    pub is_bilinear: bool,
    /// The values outside, either one for all channels or one each. If it is empty, pixels at the
    /// edge are mixed with zeros.
    pub fill: Vec<f32>,
}

/// Maps positions in the result to positions in the image, both relative to the centre: x' = a x +
/// b y + c.
#[derive(Clone, Copy, Debug)]
pub struct Affine {
    pub x: [f64; 3],
    pub y: [f64; 3],
}

impl Affine {
    /// Shears rows and columns along the axes, around the upper left corner.
    pub fn shear(level_x: f64, level_y: f64, picture: &Picture) -> Self {
        let (half_width, half_height) = (picture.width as f64 / 2.0, picture.height as f64 / 2.0);
        // The pixel at x, y in the result comes from x + level_x * y, y + level_y * x in the image,
        // counted from the corner.
        Self { x: [1.0, level_x, level_x * half_height], y: [level_y, 1.0, level_y * half_width] }
    }

    /// Moves the picture to the right and down.
    pub fn shift(right: f64, down: f64) -> Self {
        Self { x: [1.0, 0.0, -right], y: [0.0, 1.0, -down] }
    }

    /// Rotates the picture counter-clockwise around its centre.
    pub fn rotation(degrees: f64) -> Self {
        let (sin, cos) = degrees.to_radians().sin_cos();
        Self { x: [cos, -sin, 0.0], y: [sin, cos, 0.0] }
    }

    /// Transforms the image, keeping its size.
    pub fn apply(&self, picture: &Picture, sampling: &Sampling) -> Result<Picture> {
        let mut result = picture.empty_like()?;
        match picture.channels {
            1 => self.sample::<1>(picture, sampling, &mut result),
            _ => self.sample::<3>(picture, sampling, &mut result),
        }
        Ok(result)
    }

    fn sample<const CHANNELS: usize>(&self, picture: &Picture, sampling: &Sampling, result: &mut Picture) {
        let pixels = picture.pixels.as_chunks::<CHANNELS>().0;
        let fill: [f32; CHANNELS] =
            std::array::from_fn(|channel| sampling.fill.get(channel).or(sampling.fill.first()).copied().unwrap_or(0.0));
        let outside = fill.map(|value| value.round_ties_even() as u8);
        let (last_x, last_y) = ((picture.width - 1) as f64 / 2.0, (picture.height - 1) as f64 / 2.0);
        let rows = result.pixels.as_chunks_mut::<CHANNELS>().0.chunks_exact_mut(picture.width);
        for (row, target) in rows.enumerate() {
            let y = row as f64 - last_y;
            let start = [self.x, self.y].map(|[_, by_y, shift]| by_y * y + shift);
            for (column, target) in target.iter_mut().enumerate() {
                let x = column as f64 - last_x;
                let position = [self.x[0] * x + start[0] + last_x, self.y[0] * x + start[1] + last_y];
                *target = match sampling.is_bilinear {
                    true => between(pixels, picture, position, &fill, !sampling.fill.is_empty()),
                    false => nearest(pixels, picture, position).unwrap_or(outside),
                };
            }
        }
    }
}

/// Returns the pixel nearest to a position, if it is inside the image. Half pixels are rounded to
/// an even number.
fn nearest<const CHANNELS: usize>(
    pixels: &[[u8; CHANNELS]],
    picture: &Picture,
    position: [f64; 2],
) -> Option<[u8; CHANNELS]> {
    let [x, y] = position.map(f64::round_ties_even);
    let is_inside = x >= 0.0 && y >= 0.0 && x < picture.width as f64 && y < picture.height as f64;
    is_inside.then(|| pixels[y as usize * picture.width + x as usize])
}

/// Returns the weighted mean of the four pixels around a position. Pixels outside the image are 0.
/// If there is a fill value, it is mixed in for the part that is outside, as in torchvision.
fn between<const CHANNELS: usize>(
    pixels: &[[u8; CHANNELS]],
    picture: &Picture,
    [x, y]: [f64; 2],
    fill: &[f32; CHANNELS],
    has_fill: bool,
) -> [u8; CHANNELS] {
    let (left, top) = (x.floor(), y.floor());
    let (right_part, bottom_part) = ((x - left) as f32, (y - top) as f32);
    let (mut sums, mut inside) = ([0.0_f32; CHANNELS], 0.0);
    for (down, weight_y) in [(0.0, 1.0 - bottom_part), (1.0, bottom_part)] {
        for (across, weight_x) in [(0.0, 1.0 - right_part), (1.0, right_part)] {
            if let Some(pixel) = nearest(pixels, picture, [left + across, top + down]) {
                let weight = weight_x * weight_y;
                inside += weight;
                (0..CHANNELS).for_each(|channel| sums[channel] += f32::from(pixel[channel]) * weight);
            }
        }
    }
    std::array::from_fn(|channel| {
        let value = match has_fill {
            true => (sums[channel] - fill[channel]) * inside + fill[channel],
            false => sums[channel],
        };
        value.round_ties_even() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(affine: impl Fn(&Picture) -> Affine, is_bilinear: bool, fill: &[f32]) -> Vec<u8> {
        let picture = Picture { height: 3, width: 3, channels: 1, pixels: (1..=9).collect() };
        affine(&picture).apply(&picture, &Sampling { is_bilinear, fill: fill.to_vec() }).unwrap().pixels
    }

    #[test]
    fn pixels_are_read_at_the_mapped_positions() {
        assert_eq!(moved(|_| Affine::shift(1.0, 0.0), false, &[]), [0, 1, 2, 0, 4, 5, 0, 7, 8]);
        assert_eq!(moved(|_| Affine::shift(0.0, -1.0), false, &[200.0]), [4, 5, 6, 7, 8, 9, 200, 200, 200]);
        assert_eq!(moved(|_| Affine::rotation(90.0), false, &[]), [3, 6, 9, 2, 5, 8, 1, 4, 7]);
        assert_eq!(moved(|picture| Affine::shear(0.5, 0.0, picture), false, &[]), [1, 2, 3, 5, 6, 0, 8, 9, 0]);
    }

    #[test]
    fn bilinear_interpolation_weights_four_pixels() {
        assert_eq!(moved(|_| Affine::shift(0.5, 0.0), true, &[]), [0, 2, 2, 2, 4, 6, 4, 8, 8]);
        // Half of each edge pixel is outside: (1 / 2 - 100) / 2 + 100.
        assert_eq!(moved(|_| Affine::shift(0.5, 0.0), true, &[100.0])[0], 50);
    }
}
