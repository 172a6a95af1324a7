//! The size and position of an image that is resized to fit a size while keeping its proportions.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;

/// Maps `(shape, target height, target width)` to the new height and width, the number of zero rows
/// above and of zero columns on the left.
///
/// Like `tf.image.resize_image_with_pad` of TensorFlow 1.15, it computes in single precision.
pub struct FitImage;

impl Kernel for FitImage {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [shape, height, width] = expect_inputs(&inputs)?;
        let [.., image_height, image_width, _] = *shape.values::<i32>()? else {
            return Err(Error::invalid_argument("an image has at least three dimensions"));
        };
        let size = [image_height as f32, image_width as f32];
        let target = [height.integer_scalar("target_height")? as f32, width.integer_scalar("target_width")? as f32];
        let ratio = (size[1] / target[1]).max(size[0] / target[0]);
        let fitted = size.map(|size| size / ratio);
        let zeros = [0, 1].map(|axis| ((target[axis] - fitted[axis]) / 2.0).floor().max(0.0));
        Ok(Step::Done(
            [fitted[0], fitted[1], zeros[0], zeros[1]].map(|size| Tensor::scalar(size as i32)).into_iter().collect(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run};
    use crate::tensor::shape::Shape;

    fn fit(shape: &[i32], height: i32, width: i32) -> Vec<Tensor> {
        let shape = Tensor::from_values(Shape::new(&[shape.len()]), shape.to_vec()).unwrap();
        vec![shape, Tensor::scalar(height), Tensor::scalar(width)]
    }

    #[test]
    fn longer_side_fills_the_target_size() {
        for (image, height, width, expected) in [
            ([10, 5, 1], 8, 8, [8, 4, 0, 2]),
            ([5, 10, 1], 9, 4, [2, 4, 3, 0]),
            ([4, 4, 1], 4, 4, [4, 4, 0, 0]),
            ([100, 1, 1], 10, 10, [10, 0, 0, 4]),
        ] {
            let outputs = run(&FitImage, &fit(&image, height, width)).unwrap();
            assert_eq!(outputs, expected.map(|size: i32| Tensor::scalar(size)));
        }
        assert!(error_text(&FitImage, &fit(&[2], 1, 1)).contains("at least three dimensions"));
    }
}
