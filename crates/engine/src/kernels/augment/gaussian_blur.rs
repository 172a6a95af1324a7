//! Blurs images with a Gaussian. Pixels are mirrored at the edges.

use super::picture::{self, Picture};
use super::sizes;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::allocate;

/// Maps `(image, sigma)` to an image in which each pixel is the mean of its surroundings, weighted
/// by a Gaussian.
pub struct GaussianBlur {
    /// The size of the window along a row and along a column. Both are odd.
    kernel_size: [usize; 2],
}

impl GaussianBlur {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let size = sizes(attrs, "kernel_size")?;
        Ok(Self { kernel_size: [size[0], size[1]] })
    }
}

impl Kernel for GaussianBlur {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, sigma] = expect_inputs(&inputs)?;
        let [height, width, _] = picture::sizes("gaussian_blur", image, &[])?;
        let reach = self.kernel_size.map(|size| size / 2);
        if reach[0] >= width || reach[1] >= height {
            return Err(Error::invalid_argument(format!(
                "gaussian_blur: the image has {height}x{width} pixels, expected more than {}x{} for a kernel of {}x{} \
                 pixels. Use a smaller kernel_size, or resize first",
                reach[1], reach[0], self.kernel_size[1], self.kernel_size[0]
            )));
        }
        let sigma = *sigma.values::<f32>()?.first().ok_or_else(|| Error::internal("no sigma"))?;
        let picture = Picture::copied("gaussian_blur", image, &[])?;
        let weights = |size| weights(size, f64::from(sigma));
        blurred(picture, &weights(self.kernel_size[0])?, &weights(self.kernel_size[1])?)?.into_tensor().map(Step::one)
    }
}

fn weights(size: usize, sigma: f64) -> Result<Vec<f32>> {
    let middle = (size / 2) as f64;
    let weight = |position: usize| (-0.5 * ((position as f64 - middle) / sigma).powi(2)).exp();
    let sum: f64 = (0..size).map(weight).sum();
    let weights = (0..size).map(|position| (weight(position) / sum) as f32);
    allocate::collected(size, weights).map_err(|refusal| refusal.at("gaussian_blur"))
}

/// Blurs along the rows first and then along the columns.
fn blurred(mut picture: Picture, across: &[f32], down: &[f32]) -> Result<Picture> {
    let (channels, length, reach) = (picture.channels, picture.row_length(), across.len() / 2);
    let floats = |count| allocate::zeros::<f32>(count).map_err(|refusal| refusal.at("gaussian_blur"));
    let mut wide = floats((picture.width + 2 * reach) * channels)?;
    let mut rows = floats(picture.pixels.len())?;
    for (row, sums) in picture.pixels.chunks_exact(length).zip(rows.chunks_exact_mut(length)) {
        for (position, pixel) in wide.chunks_exact_mut(channels).enumerate() {
            let source = mirrored(position as isize - reach as isize, picture.width) * channels;
            pixel.iter_mut().zip(&row[source..]).for_each(|(value, byte)| *value = f32::from(*byte));
        }
        for (position, weight) in across.iter().enumerate() {
            add(sums, &wide[position * channels..], *weight);
        }
    }
    let mut sums = floats(length)?;
    let height = picture.height;
    for (y, row) in picture.pixels.chunks_exact_mut(length).enumerate() {
        sums.fill(0.0);
        for (position, weight) in down.iter().enumerate() {
            let source = mirrored(y as isize + position as isize - (down.len() / 2) as isize, height);
            add(&mut sums, &rows[source * length..], *weight);
        }
        row.iter_mut().zip(&sums).for_each(|(byte, sum)| *byte = sum.round_ties_even() as u8);
    }
    Ok(picture)
}

fn add(sums: &mut [f32], values: &[f32], weight: f32) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * weight);
}

/// Mirrors a position beyond the edge. The edge itself is not repeated.
fn mirrored(position: isize, size: usize) -> usize {
    let last = size as isize - 1;
    if position < 0 {
        (-position) as usize
    } else if position > last {
        (2 * last - position) as usize
    } else {
        position as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::Tensor;
    use crate::tensor::shape::Shape;

    fn blur(pixels: &[u8], kernel_size: [usize; 2]) -> Vec<u8> {
        let image = Tensor::from_values(Shape::new(&[1, pixels.len(), 1]), pixels.to_vec()).unwrap();
        run_one(&GaussianBlur { kernel_size }, &[image, Tensor::scalar(1_f32)]).unwrap().bytes().to_vec()
    }

    #[test]
    fn weights_are_gaussian_and_edges_are_mirrored() {
        // exp(-1/2) is 0.6065, so the weights are 0.2741, 0.4519 and 0.2741.
        assert_eq!(blur(&[0, 0, 100, 0, 0], [3, 1]), [0, 27, 45, 27, 0]);
        assert_eq!(blur(&[0, 100, 0], [3, 1]), [55, 45, 55]);
        assert_eq!(blur(&[7, 7, 7, 7], [5, 1]), [7; 4]);
    }

    #[test]
    fn image_smaller_than_the_kernel_is_rejected() {
        let image = Tensor::from_values(Shape::new(&[1, 2, 1]), vec![0_u8; 2]).unwrap();
        let text = error_text(&GaussianBlur { kernel_size: [5, 1] }, &[image, Tensor::scalar(1_f32)]);
        assert!(
            text.contains("gaussian_blur: the image has 1x2 pixels, expected more than 0x2 for a kernel"),
            "{text}"
        );
    }
}
