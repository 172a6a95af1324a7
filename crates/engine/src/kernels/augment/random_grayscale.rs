//! Converts images to grey at random.

use super::picture::{GREY_OR_RGB, Picture};
use super::tone;
use crate::error::Result;
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;

/// Maps `(image, draw)` to a grey image with the same number of channels, if the random number is
/// below the probability.
pub struct RandomGrayscale {
    probability: f64,
}

impl RandomGrayscale {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { probability: attrs.float("p")? })
    }
}

impl Kernel for RandomGrayscale {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, draws] = expect_inputs(&inputs)?;
        super::picture::sizes("random_grayscale", image, GREY_OR_RGB)?;
        if draws.values::<f32>()?.iter().all(|draw| f64::from(*draw) >= self.probability) {
            return Ok(Step::one(image.clone()));
        }
        let mut picture = Picture::copied("random_grayscale", image, GREY_OR_RGB)?;
        tone::greys(&mut picture);
        picture.into_tensor().map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::run_one;
    use crate::tensor::Tensor;
    use crate::tensor::shape::Shape;

    #[test]
    fn draw_below_the_probability_converts_to_grey() {
        let image = Tensor::from_values(Shape::new(&[1, 1, 3]), vec![255_u8, 0, 0]).unwrap();
        let kernel = RandomGrayscale { probability: 0.5 };
        let drawn = |draw: f32| run_one(&kernel, &[image.clone(), Tensor::scalar(draw)]).unwrap().bytes().to_vec();
        assert_eq!(drawn(0.49), [76, 76, 76]);
        assert_eq!(drawn(0.5), [255, 0, 0]);
    }
}
