//! Subtracts a mean from pixels and divides by a standard deviation, in either order of axes.

use super::floats;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::image::bracketed;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Maps `(images)` to float32. Images may be floats, or integers of 8 or 16 bits, which are divided
/// by their largest value first.
pub struct NormalizeImage {
    mean: Vec<f32>,
    std: Vec<f32>,
    /// True if the channels come before height and width in the result.
    has_channels_first: bool,
}

impl NormalizeImage {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let list = |name| Ok(floats(attrs, name)?.into_iter().map(|value| value as f32).collect());
        Ok(Self { mean: list("mean")?, std: list("std")?, has_channels_first: attrs.string("layout")? == "CHW" })
    }

    /// The mean and the standard deviation of a channel.
    fn of_channel(&self, channel: usize) -> (f32, f32) {
        let pick = |values: &[f32]| values[if values.len() == 1 { 0 } else { channel }];
        (pick(&self.mean), pick(&self.std))
    }

    /// Writes one image, whose channels are interleaved.
    fn write<T: Copy>(
        &self,
        image: &[T],
        channels: usize,
        result: &mut [f32],
        scaled: impl Fn(T, usize) -> f32 + Copy,
    ) {
        if self.has_channels_first {
            for (channel, plane) in result.chunks_exact_mut(image.len() / channels).enumerate() {
                let pixels = image[channel..].iter().step_by(channels);
                plane.iter_mut().zip(pixels).for_each(|(value, pixel)| *value = scaled(*pixel, channel));
            }
        } else {
            for (pixel, values) in image.chunks_exact(channels).zip(result.chunks_exact_mut(channels)) {
                for (channel, (value, pixel)) in values.iter_mut().zip(pixel).enumerate() {
                    *value = scaled(*pixel, channel);
                }
            }
        }
    }
}

impl Kernel for NormalizeImage {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images] = expect_inputs(&inputs)?;
        let shape = images.shape();
        let [ref leading @ .., height, width, channels] = shape[..] else {
            return Err(Error::invalid_argument(format!(
                "normalize: the image has shape {}, expected (height, width, channels), or batches of it",
                bracketed(shape)
            )));
        };
        for (name, values) in [("mean", &self.mean), ("std", &self.std)] {
            if ![1, channels].contains(&values.len()) {
                return Err(Error::invalid_argument(format!(
                    "normalize: {name} has {} values and the image has shape {}, expected one value, or one per \
                     channel of (height, width, channels). Decode with channels={}",
                    values.len(),
                    bracketed(shape),
                    values.len()
                )));
            }
        }
        let sizes = if self.has_channels_first { [channels, height, width] } else { [height, width, channels] };
        let result_shape: Shape = leading.iter().copied().chain(sizes).collect();
        let mut result = allocate::elements(DType::Float32, &result_shape).zeros::<f32>()?;
        let num_values = height * width * channels;
        if num_values == 0 {
            return Tensor::from_values(result_shape, result).map(Step::one);
        }
        let parts = result.chunks_exact_mut(num_values);
        match images.dtype() {
            DType::UInt8 => {
                let tables = allocate::collected(
                    channels,
                    (0..channels).map(|channel| {
                        let (mean, std) = self.of_channel(channel);
                        std::array::from_fn::<f32, 256, _>(|byte| (byte as f32 / 255.0 - mean) / std)
                    }),
                )
                .map_err(|refusal| refusal.at("normalize"))?;
                let images = images.values::<u8>()?.chunks_exact(num_values);
                let scaled = |byte: u8, channel: usize| tables[channel][usize::from(byte)];
                images.zip(parts).for_each(|(image, part)| self.write(image, channels, part, scaled));
            }
            DType::UInt16 => {
                let images = images.values::<u16>()?.chunks_exact(num_values);
                let scaled = |value: u16, channel: usize| {
                    let (mean, std) = self.of_channel(channel);
                    (f32::from(value) / f32::from(u16::MAX) - mean) / std
                };
                images.zip(parts).for_each(|(image, part)| self.write(image, channels, part, scaled));
            }
            _ => {
                let images = images.values::<f32>()?.chunks_exact(num_values);
                let scaled = |value: f32, channel: usize| {
                    let (mean, std) = self.of_channel(channel);
                    (value - mean) / std
                };
                images.zip(parts).for_each(|(image, part)| self.write(image, channels, part, scaled));
            }
        }
        Tensor::from_values(result_shape, result).map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};

    fn kernel(has_channels_first: bool) -> NormalizeImage {
        NormalizeImage { mean: vec![0.0, 1.0], std: vec![1.0, 0.5], has_channels_first }
    }

    #[test]
    fn integers_are_divided_by_their_largest_value_and_floats_are_not() {
        let image = Tensor::from_values(Shape::new(&[1, 2, 2]), vec![0_u8, 255, 51, 0]).unwrap();
        let first = run_one(&kernel(true), std::slice::from_ref(&image)).unwrap();
        assert_eq!((&first.shape()[..], first.values::<f32>().unwrap()), (&[2, 1, 2][..], &[0.0, 0.2, 0.0, -2.0][..]));
        let last = run_one(&kernel(false), &[image]).unwrap();
        assert_eq!((&last.shape()[..], last.values::<f32>().unwrap()), (&[1, 2, 2][..], &[0.0, 0.0, 0.2, -2.0][..]));
        let wide = Tensor::from_values(Shape::new(&[1, 1, 2]), vec![65_535_u16, 13_107]).unwrap();
        assert_eq!(run_one(&kernel(true), &[wide]).unwrap().values::<f32>().unwrap(), [1.0, -1.6]);
        let floats = Tensor::from_values(Shape::new(&[1, 1, 1, 2]), vec![3_f32, 2.0]).unwrap();
        assert_eq!(run_one(&kernel(true), &[floats]).unwrap().values::<f32>().unwrap(), [3.0, 2.0]);
    }

    #[test]
    fn wrong_number_of_channels_is_rejected() {
        let image = Tensor::from_values(Shape::new(&[2, 1, 3]), vec![0_u8; 6]).unwrap();
        let text = error_text(&kernel(true), &[image]);
        assert!(text.contains("normalize: mean has 2 values and the image has shape [2,1,3]"), "{text}");
    }
}
