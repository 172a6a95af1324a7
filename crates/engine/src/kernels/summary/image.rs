//! `ImageSummary`: images as PNG files, each with its own tag.
//!
//! ```text
//! Image = { height = 1, width = 2, colorspace (the number of channels) = 3, encoded_image_string: bytes = 4 }
//! ```
//!
//! Source: `tf.summary.image` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::image::bracketed;
use crate::kernels::image::encode::{DEFAULT_COMPRESSION, encode_png};
use crate::kernels::math::cast::cast;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::wire::Message;
use half::f16;

/// The colour of pixels that are not finite, truncated to the channels of the image.
const BAD_COLOUR: [u8; 4] = [255, 0, 0, 255];
/// Images whose largest value is less than this are not scaled.
const SMALLEST_RANGE: f32 = 1e-6;

/// Maps `(tag, batch of images)` to a summary of the first images.
pub struct ImageSummary {
    max_images: usize,
}

impl ImageSummary {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { max_images: attrs.int("max_images")? as usize })
    }
}

impl Kernel for ImageSummary {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tag, images] = expect_inputs(&inputs)?;
        let tag = String::from_utf8_lossy(tag.string_scalar("tag")?).into_owned();
        let [_, height, width, channels @ (1 | 3 | 4)] = images.shape()[..] else {
            let text = format!("Tensor must be 4-D with last dim 1, 3, or 4, not {}", bracketed(images.shape()));
            return Err(Error::invalid_argument(text));
        };
        let mut summary = Message::default();
        for number in 0..images.shape()[0].min(self.max_images) {
            let tag = if self.max_images == 1 { format!("{tag}/image") } else { format!("{tag}/image/{number}") };
            let pixels = pixels(&images.row(number)?, channels)?;
            let image = Message::default()
                .varint(1, height as u64)
                .varint(2, width as u64)
                .varint(3, channels as u64)
                .bytes(4, &encode_png(&pixels, DEFAULT_COMPRESSION)?);
            summary = summary.message(1, Message::default().bytes(1, tag.as_bytes()).message(4, image));
        }
        Ok(Step::one(Tensor::string(summary.into_bytes())))
    }
}

/// Scales an image with values of any range to bytes.
fn pixels(image: &Tensor, channels: usize) -> Result<Tensor> {
    if image.dtype() == DType::UInt8 {
        return Ok(image.clone());
    }
    // As in TensorFlow, the scale is computed in single precision and each step is rounded to the
    // image's dtype.
    let round: fn(f64) -> f64 = match image.dtype() {
        DType::Float16 => |value| f64::from(f16::from_f64(value)),
        DType::Float32 => |value| f64::from(value as f32),
        _ => |value| value,
    };
    let doubles = cast(image, DType::Float64)?;
    let pixels = doubles.values::<f64>()?.chunks_exact(channels);
    let is_finite = |pixel: &[f64]| pixel.iter().all(|value| value.is_finite());
    let finite = pixels.clone().filter(|pixel| is_finite(pixel)).flatten();
    let (low, high) = finite.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    let largest = high.max(-low) as f32;
    // If there are negative values, 0 becomes 128. Otherwise it stays 0.
    let (range, offset) = if low < 0.0 { (127.0_f32, 128.0) } else { (255.0, 0.0) };
    let scale = if largest < SMALLEST_RANGE { 0.0 } else { round(f64::from(range / largest)) };
    let mut bytes = allocate::elements(DType::UInt8, doubles.shape()).room()?;
    for pixel in pixels {
        match is_finite(pixel) {
            true => bytes.extend(pixel.iter().map(|value| round(round(value * scale) + offset) as u8)),
            false => bytes.extend_from_slice(&BAD_COLOUR[..channels]),
        }
    }
    Tensor::from_values(image.shape().clone(), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::shape::Shape;

    fn bytes_of(values: &[f32], channels: usize) -> Vec<u8> {
        let shape = Shape::new(&[1, values.len() / channels, channels]);
        let image = Tensor::from_values(shape, values.to_vec()).unwrap();
        pixels(&image, channels).unwrap().bytes().to_vec()
    }

    #[test]
    fn values_are_scaled_to_bytes() {
        assert_eq!(bytes_of(&[0.0, 1.0, 2.0, 4.0], 1), [0, 63, 127, 255]);
        assert_eq!(bytes_of(&[0.0, 1.0, -2.0, 0.5], 1), [128, 191, 1, 159]);
        assert_eq!(bytes_of(&[1e-7, 0.0], 1), [0, 0]);
        assert_eq!(bytes_of(&[-1e-7, 0.0], 1), [128, 128]);
    }

    #[test]
    fn non_finite_pixel_is_red() {
        assert_eq!(bytes_of(&[1.0, 0.5, f32::NAN, 1.0, 0.5, 0.0], 3), [255, 0, 0, 255, 127, 0]);
        assert_eq!(bytes_of(&[f32::INFINITY, 2.0, f32::NEG_INFINITY], 1), [255, 255, 255]);
        assert_eq!(bytes_of(&[f32::NAN; 4], 4), BAD_COLOUR);
    }
}
