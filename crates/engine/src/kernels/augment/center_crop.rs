//! Crops the centre of an image, padding with zeros if the image is smaller.

use super::sizes;
use crate::error::Result;
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::image::frame::Frame;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;

/// Crops the centre of an image, or of each image in a batch, to the size in the attributes.
pub struct CenterCrop {
    size: [usize; 2],
}

impl CenterCrop {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let size = sizes(attrs, "size")?;
        Ok(Self { size: [size[0], size[1]] })
    }
}

/// Returns the first copied position in the image and in the result along one axis, and the number
/// of positions.
fn span(whole: usize, target: usize) -> [usize; 3] {
    if target > whole {
        return [0, (target - whole) / 2, whole];
    }
    // Half positions are rounded to an even number, as in Python.
    [((whole - target) as f64 / 2.0).round_ties_even() as usize, 0, target]
}

impl Kernel for CenterCrop {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image] = expect_inputs(&inputs)?;
        let frame = Frame::of(image)?;
        if [frame.height, frame.width] == self.size {
            return Ok(Step::one(image.clone()));
        }
        let target = frame.resized(self.size[0], self.size[1])?;
        let pixel_bytes = frame.channels * image.dtype().size();
        let mut bytes = allocate::elements(image.dtype(), &target.shape()).zeros::<u8>()?;
        let [from_y, to_y, num_rows] = span(frame.height, target.height);
        let [from_x, to_x, num_columns] = span(frame.width, target.width);
        let images = image.stored()?.chunks_exact(frame.height * frame.width * pixel_bytes);
        let targets = bytes.chunks_exact_mut(target.height * target.width * pixel_bytes);
        for (source, target_bytes) in images.zip(targets) {
            let rows = source.chunks_exact(frame.width * pixel_bytes).skip(from_y).take(num_rows);
            for (row, target_row) in rows.zip(target_bytes.chunks_exact_mut(target.width * pixel_bytes).skip(to_y)) {
                let length = num_columns * pixel_bytes;
                target_row[to_x * pixel_bytes..][..length].copy_from_slice(&row[from_x * pixel_bytes..][..length]);
            }
        }
        Tensor::from_bytes(image.dtype(), target.shape(), bytes.into()).map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::run_one;
    use crate::tensor::shape::Shape;

    #[test]
    fn center_is_kept_and_missing_pixels_are_zero() {
        let image = Tensor::from_values(Shape::new(&[3, 4, 1]), (1..=12_u8).collect()).unwrap();
        let cropped = |size| run_one(&CenterCrop { size }, std::slice::from_ref(&image)).unwrap().bytes().to_vec();
        assert_eq!(cropped([1, 2]), [6, 7]);
        // Half positions: (3 - 2) / 2 and (4 - 1) / 2 become 0 and 2.
        assert_eq!(cropped([2, 1]), [3, 7]);
        assert_eq!(cropped([4, 2]), [2, 3, 6, 7, 10, 11, 0, 0]);
        assert_eq!(cropped([1, 7]), [0, 5, 6, 7, 8, 0, 0]);
    }
}
