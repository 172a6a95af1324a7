//! Affine and perspective transforms of images.
//!
//! Source: `affine` and `perspective` of `torchvision.transforms.v2.functional`.

use super::homography::Homography;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::image::frame::Frame;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};

/// Maps `(angle, translation, scale, shear, centre, size of the image)` to the homography from the
/// result to the image, and to its inverse. Angles are in degrees.
pub struct AffineHomographies;

impl Kernel for AffineHomographies {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [angle, translation, scale, shear, centre, size] = expect_inputs(&inputs)?;
        let ([angle], [scale]) = (numbers(angle)?, numbers(scale)?);
        let ([right, down], [shear_x, shear_y]) = (numbers(translation)?, numbers(shear)?);
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Error::invalid_argument(format!("affine: scale is {scale}, expected a positive number")));
        }
        let [x, y] = match *size.values::<i32>()? {
            // Without a centre, the middle of the image stays where it is.
            [height, width] if centre.num_elements() == 0 => [f64::from(width) / 2.0, f64::from(height) / 2.0],
            _ => numbers(centre)?,
        };
        // Rotates by the angle, after shearing along both axes.
        let (angle, shear_x, shear_y) = (angle.to_radians(), shear_x.to_radians(), shear_y.to_radians());
        let (sin, cos) = (angle - shear_y).sin_cos();
        let a = cos / shear_y.cos();
        let b = -a * shear_x.tan() - angle.sin();
        let d = sin / shear_y.cos();
        let e = -d * shear_x.tan() + angle.cos();
        let [a, b, d, e] = [a, b, d, e].map(|number| number * scale);
        let to_result = Homography::affine([a, b, x + right - a * x - b * y, d, e, y + down - d * x - e * y]);
        both_ways("affine", to_result.inverse(), "the shear is too large")
    }
}

/// Maps `(start points, end points)`, each with four corners, to the homography from the result to
/// the image, and to its inverse.
pub struct PerspectiveHomographies;

impl Kernel for PerspectiveHomographies {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [start, end] = expect_inputs(&inputs)?;
        let (start, end) = (numbers::<8>(start)?, numbers::<8>(end)?);
        let mut equations = [[0.0; 9]; 8];
        for (index, (from, to)) in start.as_chunks::<2>().0.iter().zip(end.as_chunks::<2>().0).enumerate() {
            let ([x, y], [u, v]) = (*to, *from);
            equations[2 * index] = [x, y, 1.0, 0.0, 0.0, 0.0, -u * x, -u * y, u];
            equations[2 * index + 1] = [0.0, 0.0, 0.0, x, y, 1.0, -v * x, -v * y, v];
        }
        let why = "three of the four points lie on one line";
        match solved(equations) {
            // torchvision stores the coefficients in single precision.
            Some(solution) => {
                let mut coefficients = [1.0; 9];
                coefficients.iter_mut().zip(solution).for_each(|(target, value)| *target = f64::from(value as f32));
                both_ways("perspective", Some(Homography(coefficients)), why)
            }
            None => both_ways("perspective", None, why),
        }
    }
}

fn both_ways(what: &str, to_image: Option<Homography>, why: &str) -> Result<Step> {
    match to_image.and_then(|to_image| Some((to_image, to_image.inverse()?))) {
        Some((to_image, to_result)) => {
            Ok(Step::Done([to_image.into_tensor()?, to_result.into_tensor()?].into_iter().collect()))
        }
        None => Err(Error::invalid_argument(format!("{what}: the transform cannot be inverted, because {why}"))),
    }
}

fn numbers<const N: usize>(tensor: &Tensor) -> Result<[f64; N]> {
    <[f64; N]>::try_from(tensor.values::<f64>()?).map_err(|_| Error::internal(format!("expected {N} numbers")))
}

/// Solves linear equations, whose last column is the right side, by elimination.
fn solved<const N: usize, const COLUMNS: usize>(mut rows: [[f64; COLUMNS]; N]) -> Option<[f64; N]> {
    for column in 0..N {
        let pivot = (column..N).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        let row = rows[column];
        if row[column].abs() < 1e-12 {
            return None;
        }
        for (_, other) in rows.iter_mut().enumerate().filter(|(number, _)| *number != column) {
            let factor = other[column] / row[column];
            other.iter_mut().zip(row).for_each(|(target, value)| *target -= factor * value);
        }
    }
    Some(std::array::from_fn(|index| rows[index][COLUMNS - 1] / rows[index][index]))
}

/// Maps `(image or images, homography from the result to the image)` to images of the same size.
pub struct WarpImage {
    is_bilinear: bool,
    /// The values outside the image: one for all channels, or one per channel. If empty, pixels at
    /// the edge are mixed with zeros.
    fill: Vec<f32>,
}

impl WarpImage {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let fill = super::floats(attrs, "fill")?.into_iter().map(|value| value as f32).collect();
        Ok(Self { is_bilinear: attrs.string("interpolation")? == "bilinear", fill })
    }

    fn warped<T: Channel>(&self, images: &Tensor, frame: &Frame, to_image: &Homography) -> Result<Tensor> {
        let fill: Vec<f32> = (0..frame.channels).map(|channel| self.outside(channel)).collect();
        let mut pixels = allocate::elements(images.dtype(), images.shape()).room::<T>()?;
        for image in images.values::<T>()?.chunks_exact(frame.height * frame.width * frame.channels) {
            let picture = Source { pixels: image, frame };
            for row in 0..frame.height {
                for column in 0..frame.width {
                    let [x, y] = to_image.moved([column as f64 + 0.5, row as f64 + 0.5]);
                    match self.is_bilinear {
                        true => picture.push_between([x - 0.5, y - 0.5], &fill, !self.fill.is_empty(), &mut pixels),
                        false => match picture.at([(x - 0.5).round_ties_even(), (y - 0.5).round_ties_even()]) {
                            Some(pixel) => pixels.extend_from_slice(pixel),
                            None => pixels.extend(fill.iter().map(|value| T::rounded(*value))),
                        },
                    }
                }
            }
        }
        Tensor::from_values(images.shape().clone(), pixels)
    }

    fn outside(&self, channel: usize) -> f32 {
        self.fill.get(channel).or(self.fill.first()).copied().unwrap_or(0.0)
    }
}

impl Kernel for WarpImage {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images, to_image] = expect_inputs(&inputs)?;
        let (frame, to_image) = (Frame::of(images)?, Homography::of(to_image)?);
        if self.fill.len() > 1 && self.fill.len() != frame.channels {
            return Err(Error::invalid_argument(format!(
                "fill has {} numbers, but the image has {} channels, expected one number, or one for each channel",
                self.fill.len(),
                frame.channels
            )));
        }
        match images.dtype() {
            DType::UInt8 => self.warped::<u8>(images, &frame, &to_image),
            DType::UInt16 => self.warped::<u16>(images, &frame, &to_image),
            _ => self.warped::<f32>(images, &frame, &to_image),
        }
        .map(Step::one)
    }
}

/// An image whose pixels are read.
struct Source<'a, T> {
    pixels: &'a [T],
    frame: &'a Frame,
}

impl<T: Channel> Source<'_, T> {
    /// Returns the pixel at an integer position, if it is inside the image.
    fn at(&self, [x, y]: [f64; 2]) -> Option<&[T]> {
        let Frame { height, width, channels, .. } = *self.frame;
        let is_inside = x >= 0.0 && y >= 0.0 && x < width as f64 && y < height as f64;
        is_inside.then(|| &self.pixels[(y as usize * width + x as usize) * channels..][..channels])
    }

    /// Appends the weighted mean of the four pixels around a position. Pixels outside the image
    /// are 0. If there is a fill value, it is mixed in for the part that is outside.
    fn push_between(&self, [x, y]: [f64; 2], fill: &[f32], has_fill: bool, result: &mut Vec<T>) {
        let (left, top) = (x.floor(), y.floor());
        let (right_part, bottom_part) = ((x - left) as f32, (y - top) as f32);
        let taps = [
            ([left, top], (1.0 - right_part) * (1.0 - bottom_part)),
            ([left + 1.0, top], right_part * (1.0 - bottom_part)),
            ([left, top + 1.0], (1.0 - right_part) * bottom_part),
            ([left + 1.0, top + 1.0], right_part * bottom_part),
        ]
        .map(|(position, weight)| (self.at(position), weight));
        let inside: f32 = taps.iter().filter(|(pixel, _)| pixel.is_some()).map(|(_, weight)| weight).sum();
        result.extend(fill.iter().enumerate().map(|(channel, fill)| {
            let part =
                |(pixel, weight): &(Option<&[T]>, f32)| pixel.map_or(0.0, |pixel| pixel[channel].value() * weight);
            let sum: f32 = taps.iter().map(part).sum();
            T::rounded(if has_fill { (sum - fill) * inside + fill } else { sum })
        }));
    }
}

/// The type of a channel.
trait Channel: Numeric + Copy {
    fn value(self) -> f32;

    /// Rounds a value to the type.
    fn rounded(value: f32) -> Self;
}

impl Channel for u8 {
    fn value(self) -> f32 {
        f32::from(self)
    }

    fn rounded(value: f32) -> Self {
        value.round_ties_even() as Self
    }
}

impl Channel for u16 {
    fn value(self) -> f32 {
        f32::from(self)
    }

    fn rounded(value: f32) -> Self {
        value.round_ties_even() as Self
    }
}

impl Channel for f32 {
    fn value(self) -> f32 {
        self
    }

    fn rounded(value: f32) -> Self {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run, run_one};
    use crate::tensor::shape::Shape;

    fn floats(values: &[f64]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn affine(angle: f64, translation: [f64; 2], scale: f64) -> Vec<Tensor> {
        let size = Tensor::from_values(Shape::new(&[2]), vec![3_i32, 3]).unwrap();
        vec![floats(&[angle]), floats(&translation), floats(&[scale]), floats(&[0.0; 2]), floats(&[]), size]
    }

    fn warped(homography: Tensor, is_bilinear: bool, fill: &[f32]) -> Vec<u8> {
        let image = Tensor::from_values(Shape::new(&[3, 3, 1]), (1..=9_u8).collect()).unwrap();
        run_one(&WarpImage { is_bilinear, fill: fill.to_vec() }, &[image, homography]).unwrap().bytes().to_vec()
    }

    #[test]
    fn pixels_are_moved_around_the_centre() {
        let moved = |angle, translation, fill: &[f32]| {
            warped(run(&AffineHomographies, &affine(angle, translation, 1.0)).unwrap().remove(0), false, fill)
        };
        assert_eq!(moved(90.0, [0.0; 2], &[]), [7, 4, 1, 8, 5, 2, 9, 6, 3]);
        assert_eq!(moved(0.0, [1.0, 0.0], &[200.0]), [200, 1, 2, 200, 4, 5, 200, 7, 8]);
    }

    #[test]
    fn pixels_at_the_border_are_blended_with_the_fill_value() {
        let half = run(&AffineHomographies, &affine(0.0, [0.5, 0.0], 1.0)).unwrap().remove(0);
        assert_eq!(warped(half.clone(), true, &[])[..3], [0, 2, 2]);
        assert_eq!(warped(half, true, &[100.0])[0], 50);
    }

    #[test]
    fn perspective_maps_start_points_to_end_points() {
        let start = [0.0, 0.0, 4.0, 0.0, 4.0, 3.0, 0.0, 3.0];
        let end = [1.0, 0.5, 4.0, 0.0, 3.5, 3.0, 0.0, 2.0];
        let outputs = run(&PerspectiveHomographies, &[floats(&start), floats(&end)]).unwrap();
        let to_result = Homography::of(&outputs[1]).unwrap();
        for (from, to) in start.as_chunks::<2>().0.iter().zip(end.as_chunks::<2>().0) {
            let [x, y] = to_result.moved(*from);
            assert!((x - to[0]).abs() < 1e-4 && (y - to[1]).abs() < 1e-4);
        }
    }

    #[test]
    fn transforms_without_an_inverse_are_rejected() {
        let line = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0];
        let error = error_text(&PerspectiveHomographies, &[floats(&line), floats(&line)]);
        assert!(error.contains("perspective: the transform cannot be inverted"), "{error}");
        let error = error_text(&AffineHomographies, &affine(0.0, [0.0; 2], 0.0));
        assert!(error.contains("affine: scale is 0, expected a positive number"), "{error}");
    }
}
