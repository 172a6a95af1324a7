//! Changes brightness, contrast, saturation and hue in a specified order.

use super::picture::{GREY_OR_RGB, Picture};
use super::tone;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;

/// Changes an image from `(image, factors, keys)`. Brightness, contrast and saturation are
/// multiplied by factors, and the hue is turned by a fraction of the circle, in the order of the
/// four keys. A factor of 1, or no turn, changes nothing.
pub struct ColorJitter;

impl Kernel for ColorJitter {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, factors, keys] = expect_inputs(&inputs)?;
        let (Ok(factors), Ok(keys)) =
            (<[f32; 4]>::try_from(factors.values::<f32>()?), <[f32; 4]>::try_from(keys.values::<f32>()?))
        else {
            return Err(Error::internal("color_jitter needs four factors and four keys"));
        };
        let mut order = [0, 1, 2, 3];
        order.sort_by(|one, other| keys[*one].total_cmp(&keys[*other]));
        let mut picture = Picture::copied("color_jitter", image, GREY_OR_RGB)?;
        for change in order {
            let factor = f64::from(factors[change]);
            match change {
                0 if factor != 1.0 => tone::brightness(&mut picture, factor),
                1 if factor != 1.0 => tone::contrast(&mut picture, factor),
                2 if factor != 1.0 => tone::saturation(&mut picture, factor),
                3 if factor != 0.0 => tone::hue(&mut picture, factor),
                _ => {}
            }
        }
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
    fn random_keys_determine_the_order_of_operations() {
        let image = Tensor::from_values(Shape::new(&[1, 2, 1]), vec![100_u8, 200]).unwrap();
        let numbers = |values: [f32; 4]| Tensor::from_values(Shape::new(&[4]), values.to_vec()).unwrap();
        let jittered = |keys| {
            let inputs = [image.clone(), numbers([2.0, 0.5, 1.0, 0.0]), numbers(keys)];
            run_one(&ColorJitter, &inputs).unwrap().bytes().to_vec()
        };
        // Brightness first: 200 and 255, with a mean of 227.5.
        assert_eq!(jittered([0.1, 0.2, 0.3, 0.4]), [213, 241]);
        // Contrast first: 125 and 175.
        assert_eq!(jittered([0.2, 0.1, 0.3, 0.4]), [250, 255]);
    }
}
