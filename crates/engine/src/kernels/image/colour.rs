//! Colour conversions and adjustments: HSV, YIQ, YUV, grey, hue, saturation, contrast,
//! standardisation.
//!
//! Source: `tf.image.rgb_to_hsv`, `adjust_hue` and similar functions in TensorFlow 1.15.

use super::bracketed;
use super::sums::{lane_sums, sum};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::kernels::math::cast::cast;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;

type Colour = [f32; 3];

/// A function of each pixel's colour, or of each channel of each image.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Converts red, green and blue to hue, saturation and value.
    RgbToHsv,
    HsvToRgb,
    /// Turns the hue by the second input, where 1 is a full circle.
    AdjustHue,
    /// Multiplies the saturation by the second input.
    AdjustSaturation,
    /// Multiplies the difference from the channel's mean by the second input.
    AdjustContrast,
    /// Multiplies each colour by a matrix with one row per input channel and one column per output
    /// channel.
    Linear([Colour; 3]),
}

/// Convert between RGB and YIQ or YUV. The digits are TensorFlow's.
#[expect(clippy::excessive_precision)]
pub const RGB_TO_YIQ: [Colour; 3] =
    [[0.299, 0.595_900_59, 0.2115], [0.587, -0.274_556_67, -0.522_736_17], [0.114, -0.321_343_92, 0.311_199_55]];
#[expect(clippy::excessive_precision)]
pub const YIQ_TO_RGB: [Colour; 3] =
    [[1.0, 1.0, 1.0], [0.955_986_34, -0.272_012_83, -1.106_740_21], [0.620_824_8, -0.647_204_24, 1.704_230_49]];
#[expect(clippy::excessive_precision)]
pub const RGB_TO_YUV: [Colour; 3] =
    [[0.299, -0.147_141_19, 0.614_975_38], [0.587, -0.288_869_16, -0.514_965_12], [0.114, 0.436_010_35, -0.100_010_26]];
#[expect(clippy::excessive_precision)]
pub const YUV_TO_RGB: [Colour; 3] =
    [[1.0, 1.0, 1.0], [0.0, -0.394_642_334, 2.032_061_85], [1.139_883_03, -0.580_621_85, 0.0]];

impl Kernel for Change {
    /// Half and double precision are computed in single precision.
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let images = inputs.first().ok_or_else(|| Error::internal("no image"))?;
        let amount = inputs.get(1).map_or(Ok(0.0), scalar)?;
        let mut values = cast(images, DType::Float32)?.to_floats()?;
        if let Self::AdjustContrast = self {
            adjust_contrast(images, &mut values, amount)?;
        } else if images.shape().last() != Some(&3) {
            return Err(Error::invalid_argument(format!(
                "input must have 3 channels but instead has shape {}.",
                bracketed(images.shape())
            )));
        }
        let pixels = values.as_chunks_mut::<3>().0.iter_mut();
        match self {
            Self::RgbToHsv => pixels.for_each(|pixel| *pixel = rgb_to_hsv(*pixel)),
            Self::HsvToRgb => pixels.for_each(|pixel| *pixel = hsv_to_rgb(*pixel)),
            Self::AdjustHue => pixels.for_each(|pixel| *pixel = turn_hue(*pixel, amount)),
            Self::AdjustSaturation => pixels.for_each(|pixel| *pixel = saturate(*pixel, amount)),
            Self::Linear(matrix) => pixels.for_each(|pixel| *pixel = transformed(*pixel, matrix)),
            Self::AdjustContrast => (),
        }
        cast(&Tensor::from_values(images.shape().clone(), values)?, images.dtype()).map(Step::one)
    }
}

fn scalar(tensor: &Tensor) -> Result<f32> {
    match (tensor.shape().len(), tensor.values::<f32>()?) {
        (0, [value]) => Ok(*value),
        _ => {
            Err(Error::invalid_argument(format!("the amount must be scalar, got shape {}", bracketed(tensor.shape()))))
        }
    }
}

fn largest(colour: Colour) -> f32 {
    colour[0].max(colour[1]).max(colour[2])
}

fn smallest(colour: Colour) -> f32 {
    colour[0].min(colour[1]).min(colour[2])
}

fn rgb_to_hsv(colour: Colour) -> Colour {
    hue_saturation_value(colour, |range| 1.0 / range * (1.0 / 6.0), |part, thirds| part + thirds / 3.0)
}

/// TensorFlow computes the inverse of six times the range, and adds thirds, in two different ways.
/// Both are reproduced, so that every bit matches.
fn hue_saturation_value(
    colour: Colour,
    inverse_sixth: impl Fn(f32) -> f32,
    add_thirds: impl Fn(f32, f32) -> f32,
) -> Colour {
    let [red, green, blue] = colour;
    let value = largest(colour);
    let range = value - smallest(colour);
    let saturation = if value > 0.0 { range / value } else { 0.0 };
    if range <= 0.0 {
        return [0.0, saturation, value];
    }
    let step = inverse_sixth(range);
    let hue = if red == value {
        step * (green - blue)
    } else if green == value {
        add_thirds(step * (blue - red), 1.0)
    } else {
        add_thirds(step * (red - green), 2.0)
    };
    [if hue < 0.0 { hue + 1.0 } else { hue }, saturation, value]
}

fn hsv_to_rgb([hue, saturation, value]: Colour) -> Colour {
    let sixth = hue * 6.0;
    let ramps = [(sixth - 3.0).abs() - 1.0, 2.0 - (sixth - 2.0).abs(), 2.0 - (sixth - 4.0).abs()];
    ramps.map(|ramp| ((1.0 - saturation) + saturation * ramp.clamp(0.0, 1.0)) * value)
}

/// Converts to HSV and back in a different way than `rgb_to_hsv` and `hsv_to_rgb`, so that every
/// bit matches TensorFlow's.
fn saturate(colour: Colour, factor: f32) -> Colour {
    let add_thirds = |part, thirds| (f64::from(part) + f64::from(thirds) / 3.0) as f32;
    let [hue, saturation, value] = hue_saturation_value(colour, |range| 1.0 / (6.0 * range), add_thirds);
    let chroma = (saturation * factor).clamp(0.0, 1.0) * value;
    let sixth = hue * 6.0;
    let middle = chroma * (1.0 - (sixth % 2.0 - 1.0).abs());
    let shares = match sixth as u8 {
        0 => [chroma, middle, 0.0],
        1 => [middle, chroma, 0.0],
        2 => [0.0, chroma, middle],
        3 => [0.0, middle, chroma],
        4 => [middle, 0.0, chroma],
        5 => [chroma, 0.0, middle],
        _ => [0.0; 3],
    };
    shares.map(|share| share + (value - chroma))
}

fn transformed(colour: Colour, matrix: &[Colour; 3]) -> Colour {
    let [red, green, blue] = colour;
    [0, 1, 2].map(|to| red * matrix[0][to] + green * matrix[1][to] + blue * matrix[2][to])
}

/// Keeps the largest and the smallest channel, so that it works for values of any range.
fn turn_hue(colour: Colour, turns: f32) -> Colour {
    let (low, high) = (smallest(colour), largest(colour));
    if low == high {
        return colour;
    }
    // The colour circle has six sections. One channel rises in even sections, and one falls in odd
    // sections.
    let [red, green, blue] = colour;
    let (part, middle) = match (red < green, blue < green, blue < red) {
        (false, true, _) => (0, green),
        (true, _, true) => (1, red),
        (true, true, false) => (2, blue),
        (true, false, false) => (3, green),
        (false, false, false) => (4, red),
        (false, false, true) => (5, blue),
    };
    let share = (middle - low) / (high - low);
    let fraction = if part % 2 == 0 { share } else { 1.0 - share };
    let hue = match part as f32 + fraction + turns * 6.0 {
        hue @ 0.0..6.0 => hue,
        hue @ 6.0..12.0 => hue - 6.0,
        hue @ -6.0..0.0 => hue + 6.0,
        hue => hue.rem_euclid(6.0), // the general case, which is slower
    };
    let part = (hue as u8).min(5);
    let fraction = hue - f32::from(part);
    let share = if part.is_multiple_of(2) { fraction } else { 1.0 - fraction };
    let middle = low + share * (high - low);
    match part {
        0 => [high, middle, low],
        1 => [middle, high, low],
        2 => [low, high, middle],
        3 => [low, middle, high],
        4 => [middle, low, high],
        _ => [high, low, middle],
    }
}

fn adjust_contrast(images: &Tensor, values: &mut [f32], factor: f32) -> Result<()> {
    let shape = images.shape();
    let [.., height, width, channels] = shape[..] else {
        return Err(Error::invalid_argument(format!("input must be at least 3-D, got shape{}", bracketed(shape))));
    };
    for image in values.chunks_exact_mut((height * width * channels).max(1)) {
        match channels {
            1 => scale_contrast::<1, 16>(image, factor),
            3 => scale_contrast::<3, 24>(image, factor),
            4 => scale_contrast::<4, 16>(image, factor),
            _ => {
                for channel in 0..channels {
                    let values = image.iter().skip(channel).step_by(channels).copied();
                    let values = allocate::collected(height * width, values);
                    let mut values = values.map_err(|refusal| refusal.at("AdjustContrastv2"))?;
                    scale_contrast::<1, 16>(&mut values, factor);
                    image.iter_mut().skip(channel).step_by(channels).zip(values).for_each(|(old, new)| *old = new);
                }
            }
        }
    }
    Ok(())
}

/// `LANES` is a multiple of `CHANNELS`, so that each lane has values of a single channel.
fn scale_contrast<const CHANNELS: usize, const LANES: usize>(image: &mut [f32], factor: f32) {
    let mut totals = [0.0; CHANNELS];
    let sums = lane_sums::<LANES>(image, |value| value);
    sums.iter().enumerate().for_each(|(lane, sum)| totals[lane % CHANNELS] += sum);
    let num_pixels = (image.len() / CHANNELS) as f64;
    let means: [f32; LANES] = std::array::from_fn(|lane| (totals[lane % CHANNELS] / num_pixels) as f32);
    let (rows, rest) = image.as_chunks_mut::<LANES>();
    let scale = |value: &mut f32, mean: f32| *value = (*value - mean) * factor + mean;
    for row in rows {
        (0..LANES).for_each(|lane| scale(&mut row[lane], means[lane]));
    }
    rest.iter_mut().zip(means).for_each(|(value, mean)| scale(value, mean));
}

/// Converts RGB floats to one grey channel.
pub struct RgbToGrey;

impl Kernel for RgbToGrey {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images] = expect_inputs(&inputs)?;
        let mut shape = images.shape().to_vec();
        if shape.pop() != Some(3) {
            return Err(Error::invalid_argument(format!(
                "rgb_to_grayscale: the image has shape {}, expected 3 channels",
                bracketed(images.shape())
            )));
        }
        shape.push(1);
        let pixels = images.values::<f32>()?.as_chunks::<3>().0.iter();
        let greys = pixels.map(|[red, green, blue]| red * 0.2989 + green * 0.587 + blue * 0.114);
        let shape = shape.into_iter().collect();
        let greys = allocate::elements(DType::Float32, &shape).collect(greys)?;
        Tensor::from_values(shape, greys).map(Step::one)
    }
}

/// Repeats the grey channel three times.
pub struct GreyToRgb;

impl Kernel for GreyToRgb {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images] = expect_inputs(&inputs)?;
        let mut shape = images.shape().to_vec();
        if shape.len() < 2 || shape.pop() != Some(1) || images.dtype() == DType::String {
            return Err(Error::invalid_argument(format!(
                "assertion failed: [Last dimension of a grayscale image should be size 1.] [{}]",
                bracketed(images.shape())
            )));
        }
        shape.push(3);
        let shape = shape.into_iter().collect();
        let mut bytes = allocate::elements(images.dtype(), &shape).room()?;
        for sample in images.stored()?.chunks_exact(images.dtype().size()) {
            (0..3).for_each(|_| bytes.extend_from_slice(sample));
        }
        Tensor::from_bytes(images.dtype(), shape, bytes.into()).map(Step::one)
    }
}

/// Scales each image to a mean of 0 and a variance of 1, or less if the image is nearly uniform.
pub struct PerImageStandardization;

impl Kernel for PerImageStandardization {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images] = expect_inputs(&inputs)?;
        let shape = images.shape();
        let num_samples = match shape[..] {
            [.., height, width, channels] if height * width * channels > 0 => height * width * channels,
            _ => {
                return Err(Error::invalid_argument(format!(
                    "assertion failed: [inner 3 dims of 'image.shape' must be > 0.] [{}]",
                    bracketed(shape)
                )));
            }
        };
        let mut values = images.to_floats()?;
        for image in values.chunks_exact_mut(num_samples) {
            let count = num_samples as f64;
            let mean = (sum(image, |value| value) / count) as f32;
            let variance = sum(image, |value| (value - mean) * (value - mean)) / count;
            let deviation = variance.sqrt().max(1.0 / count.sqrt()) as f32;
            image.iter_mut().for_each(|value| *value = (*value - mean) / deviation);
        }
        Tensor::from_values(shape.clone(), values).map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::shape::Shape;

    fn image(values: &[f32], shape: &[usize]) -> Tensor {
        Tensor::from_values(Shape::new(shape), values.to_vec()).unwrap()
    }

    fn change(change: Change, colour: Colour, amount: Option<f32>) -> Vec<f32> {
        let inputs = [Some(image(&colour, &[1, 1, 3])), amount.map(Tensor::scalar)];
        run_one(&change, &inputs.into_iter().flatten().collect::<Vec<_>>()).unwrap().values::<f32>().unwrap().to_vec()
    }

    fn assert_close(a: &[f32], b: &[f32]) {
        assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?} {b:?}");
    }

    const COLOURS: [Colour; 9] = [
        [1.0, 0.0, 0.0],
        [0.2, 0.7, 0.4],
        [0.2, 0.4, 0.7],
        [0.7, 0.2, 0.4],
        [0.7, 0.4, 0.2],
        [0.4, 0.2, 0.7],
        [0.4, 0.7, 0.2],
        [0.5, 0.5, 0.5],
        [0.0, 0.0, 0.0],
    ];

    #[test]
    fn rgb_to_hsv_round_trips() {
        for colour in COLOURS {
            let hsv = change(Change::RgbToHsv, colour, None);
            assert_close(&change(Change::HsvToRgb, [hsv[0], hsv[1], hsv[2]], None), &colour);
        }
        assert_close(&change(Change::RgbToHsv, [0.2, 0.7, 0.4], None), &[0.4, 5.0 / 7.0, 0.7]);
    }

    #[test]
    fn rgb_to_yuv_round_trips() {
        for (there, back) in [(RGB_TO_YIQ, YIQ_TO_RGB), (RGB_TO_YUV, YUV_TO_RGB)] {
            for colour in COLOURS {
                let apart = change(Change::Linear(there), colour, None);
                assert!((apart[0] - (0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2])).abs() < 1e-6);
                let together = change(Change::Linear(back), [apart[0], apart[1], apart[2]], None);
                // To four digits, the published matrices are each other's inverses.
                assert!(together.iter().zip(colour).all(|(a, b)| (a - b).abs() < 1e-3), "{together:?} {colour:?}");
            }
        }
    }

    #[test]
    fn hue_is_rotated() {
        for colour in COLOURS {
            for turns in [0.0, 1.0, -1.0] {
                assert_close(&change(Change::AdjustHue, colour, Some(turns)), &colour);
            }
            let hsv = change(Change::RgbToHsv, colour, None);
            let turned = change(Change::HsvToRgb, [(hsv[0] + 0.3) % 1.0, hsv[1], hsv[2]], None);
            assert_close(&change(Change::AdjustHue, colour, Some(0.3)), &turned);
        }
        assert_close(&change(Change::AdjustHue, [10.0, 20.0, 40.0], Some(-1.0 / 3.0)), &[20.0, 40.0, 10.0]);
    }

    #[test]
    fn saturation_is_scaled_and_clipped() {
        assert_close(&change(Change::AdjustSaturation, [0.4, 0.6, 0.8], Some(0.0)), &[0.8, 0.8, 0.8]);
        assert_close(&change(Change::AdjustSaturation, [0.4, 0.6, 0.8], Some(9.0)), &[0.0, 0.4, 0.8]);
    }

    #[test]
    fn contrast_is_scaled_for_each_channel_of_each_image() {
        let images = image(&[1.0, 10.0, 3.0, 20.0, 5.0, 5.0, 5.0, 7.0], &[2, 1, 2, 2]);
        let adjusted = run_one(&Change::AdjustContrast, &[images, Tensor::scalar(2.0_f32)]).unwrap();
        assert_close(adjusted.values().unwrap(), &[0.0, 5.0, 4.0, 25.0, 5.0, 4.0, 5.0, 8.0]);
    }

    #[test]
    fn rgb_and_grey_are_converted() {
        let grey = run_one(&RgbToGrey, &[image(&[1.0, 0.0, 0.0, 0.0, 1.0, 1.0], &[2, 3])]).unwrap();
        assert_eq!(grey.shape()[..], [2, 1]);
        assert_close(grey.values().unwrap(), &[0.2989, 0.701]);
        let rgb = run_one(&GreyToRgb, &[image(&[0.5, 0.25], &[2, 1])]).unwrap();
        assert_eq!(rgb.values::<f32>().unwrap(), [0.5, 0.5, 0.5, 0.25, 0.25, 0.25]);
    }

    #[test]
    fn each_image_is_standardized_separately() {
        let images = image(&[1.0, 2.0, 3.0, 4.0, 7.0, 7.0, 7.0, 7.0], &[2, 2, 2, 1]);
        let standard = run_one(&PerImageStandardization, &[images]).unwrap();
        let unit = 1.25_f32.sqrt().recip();
        assert_close(
            standard.values().unwrap(),
            &[-1.5 * unit, -0.5 * unit, 0.5 * unit, 1.5 * unit, 0.0, 0.0, 0.0, 0.0],
        );
    }

    #[test]
    fn tensors_other_than_colour_images_are_rejected() {
        let grey = image(&[1.0], &[1, 1, 1]);
        let error = error_text(&Change::RgbToHsv, std::slice::from_ref(&grey));
        assert!(error.contains("input must have 3 channels but instead has shape [1,1,1]."), "{error}");
        let error = error_text(&Change::AdjustContrast, &[image(&[1.0], &[1]), Tensor::scalar(1.0_f32)]);
        assert!(error.contains("input must be at least 3-D, got shape[1]"), "{error}");
        assert!(error_text(&RgbToGrey, &[grey]).contains("has shape [1,1,1], expected 3 channels"));
        let error = error_text(&GreyToRgb, &[image(&[1.0, 2.0], &[1, 2])]);
        assert!(error.contains("Last dimension of a grayscale image should be size 1."), "{error}");
        assert!(error_text(&PerImageStandardization, &[image(&[], &[0, 1, 1])]).contains("must be > 0"));
        let amounts = image(&[1.0, 2.0], &[2]);
        let error = error_text(&Change::AdjustHue, &[image(&[0.0; 3], &[1, 1, 3]), amounts]);
        assert!(error.contains("the amount must be scalar, got shape [2]"), "{error}");
    }
}
