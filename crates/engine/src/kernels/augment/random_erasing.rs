//! Fills a random rectangle with one value or with noise.

use super::{floats, sizes};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::image::bracketed;
use crate::kernels::image::region::{self, Region, Shares};
use crate::kernels::random::distributions::RandomFloat;
use crate::philox::Philox;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};

/// The number of random numbers for a rectangle: ten areas and ratios, a row and a column.
const NUM_PLACE_DRAWS: usize = 22;

/// Maps `(image, draws)` to the image with a rectangle filled with different values. The image may
/// also stay unchanged.
pub struct RandomErasing {
    probability: f64,
    shares: Shares,
    /// One value per channel, or one for all channels. Empty for noise.
    values: Vec<f64>,
    /// The axes for height, width and channels.
    axes: [usize; 3],
}

impl RandomErasing {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let axes = sizes(attrs, "axes")?;
        Ok(Self {
            probability: attrs.float("p")?,
            shares: Shares::new(&floats(attrs, "scale")?, &floats(attrs, "ratio")?),
            values: floats(attrs, "value")?,
            axes: [axes[0], axes[1], axes[2]],
        })
    }

    /// Fills a region with `value(channel)`, channel by channel and row by row.
    fn filled<T: Numeric>(&self, image: &Tensor, region: Region, mut value: impl FnMut(usize) -> T) -> Result<Tensor> {
        let pixels = image.values::<T>()?.iter().copied();
        let mut pixels = allocate::elements(image.dtype(), image.shape()).collect(pixels)?;
        let shape = image.shape();
        let stride = self.axes.map(|axis| shape[axis + 1..].iter().product::<usize>());
        for channel in 0..shape[self.axes[2]] {
            for y in region.y..region.y + region.height {
                for x in region.x..region.x + region.width {
                    pixels[y * stride[0] + x * stride[1] + channel * stride[2]] = value(channel);
                }
            }
        }
        Tensor::from_values(shape.clone(), pixels)
    }
}

impl Kernel for RandomErasing {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, draws] = expect_inputs(&inputs)?;
        let shape = image.shape();
        if shape.len() != 3 || !(1..=4).contains(&shape[self.axes[2]]) {
            let expected = if self.axes[2] == 0 { "(channels, height, width)" } else { "(height, width, channels)" };
            return Err(Error::invalid_argument(format!(
                "random_erasing: the image has shape {}, expected one image {expected} of at most 4 channels. Call it \
                 for each image, before batch; layout=\"CHW\" means channels first, \"HWC\" channels last",
                bracketed(shape)
            )));
        }
        let channels = shape[self.axes[2]];
        if ![0, 1, channels].contains(&self.values.len()) {
            return Err(Error::invalid_argument(format!(
                "random_erasing: got {} values for an image with {channels} channels, expected one value, or one per \
                 channel",
                self.values.len()
            )));
        }
        let draws = draws.values::<f32>()?;
        let Some((first, draws)) = draws.split_first() else {
            return Err(Error::internal("random_erasing needs random numbers"));
        };
        let (height, width) = (shape[self.axes[0]], shape[self.axes[1]]);
        let fits = |region: &Region| region.height < height && region.width < width;
        let (draws_of_region, noise) = draws.split_at(draws.len().min(NUM_PLACE_DRAWS));
        let region = match f64::from(*first) < self.probability {
            true => region::draw([height, width], &self.shares, draws_of_region, fits)?,
            false => None,
        };
        let value = |channel: usize| self.values[if self.values.len() == 1 { 0 } else { channel }];
        match (region, image.dtype(), noise) {
            (None, ..) => Ok(image.clone()),
            (Some(region), DType::Float32, [one, other]) => {
                let mut stream = Philox::new(one.to_bits().into(), other.to_bits().into());
                let mut pair = [0_f32; 2];
                let mut is_second = true;
                self.filled(image, region, |_| {
                    is_second = !is_second;
                    if !is_second {
                        pair = f32::normal_pair(&mut stream);
                    }
                    pair[usize::from(is_second)]
                })
            }
            _ if self.values.is_empty() => {
                Err(Error::internal("random_erasing with noise for float32 needs two random numbers"))
            }
            (Some(region), DType::UInt8, _) => self.filled(image, region, |channel| value(channel) as u8),
            (Some(region), DType::UInt16, _) => self.filled(image, region, |channel| value(channel) as u16),
            (Some(region), ..) => self.filled(image, region, |channel| value(channel) as f32),
        }
        .map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::run_one;
    use crate::tensor::shape::Shape;

    #[test]
    fn rectangle_is_filled_in_either_layout() {
        let draws = |first| {
            let mut draws = vec![0_f32; 23];
            draws[0] = first;
            Tensor::from_values(Shape::new(&[23]), draws).unwrap()
        };
        let kernel = |axes| RandomErasing {
            probability: 0.5,
            shares: Shares::new(&[0.25, 0.25], &[1.0, 1.0]),
            values: vec![7.0, 8.0],
            axes,
        };
        let image = |shape: &[usize]| Tensor::from_values(Shape::new(shape), vec![0_u8; 8]).unwrap();
        let behind = run_one(&kernel([0, 1, 2]), &[image(&[2, 2, 2]), draws(0.4)]).unwrap();
        assert_eq!(behind.bytes(), [7, 8, 0, 0, 0, 0, 0, 0]);
        let before = run_one(&kernel([1, 2, 0]), &[image(&[2, 2, 2]), draws(0.4)]).unwrap();
        assert_eq!(before.bytes(), [7, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(run_one(&kernel([0, 1, 2]), &[image(&[2, 2, 2]), draws(0.5)]).unwrap().bytes(), [0; 8]);
    }
}
