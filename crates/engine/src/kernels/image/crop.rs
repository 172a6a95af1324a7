//! Crops images, pads them with zeros, or does both.
//!
//! Source: `tf.image.crop_to_bounding_box` and similar functions in TensorFlow 1.15.

use super::frame::Frame;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;

fn check(holds: bool, text: &str) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!("assertion failed: [{text}]"))),
    }
}

/// Returns the values of integer scalars.
fn numbers<const N: usize>(inputs: &[Tensor], names: [&str; N]) -> Result<[i64; N]> {
    let mut numbers = [0; N];
    for ((number, tensor), name) in numbers.iter_mut().zip(inputs).zip(names) {
        *number = tensor.integer_scalar(name)?;
    }
    Ok(numbers)
}

const BOX: [&str; 4] = ["offset_height", "offset_width", "target_height", "target_width"];

/// Crops a window from each image.
pub struct CropToBoundingBox;

impl Kernel for CropToBoundingBox {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, window @ ..] = expect_inputs::<5>(&inputs)?;
        let frame = Frame::of(image)?;
        let [y, x, height, width] = numbers(window, BOX)?;
        check(x >= 0, "offset_width must be >= 0.")?;
        check(y >= 0, "offset_height must be >= 0.")?;
        check(width > 0, "target_width must be > 0.")?;
        check(height > 0, "target_height must be > 0.")?;
        check(frame.width as i64 - x >= width, "width must be >= target + offset.")?;
        check(frame.height as i64 - y >= height, "height must be >= target + offset.")?;
        crop(image, &frame, (y as usize, x as usize), (height as usize, width as usize)).map(Step::one)
    }
}

/// Pads each image with zeros.
pub struct PadToBoundingBox;

impl Kernel for PadToBoundingBox {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, window @ ..] = expect_inputs::<5>(&inputs)?;
        let frame = Frame::of(image)?;
        let [y, x, height, width] = numbers(window, BOX)?;
        check(y >= 0, "offset_height must be >= 0")?;
        check(x >= 0, "offset_width must be >= 0")?;
        check(width.saturating_sub(x) >= frame.width as i64, "width must be <= target - offset")?;
        check(height.saturating_sub(y) >= frame.height as i64, "height must be <= target - offset")?;
        pad(image, &frame, (y as usize, x as usize), (height as usize, width as usize)).map(Step::one)
    }
}

/// Crops the centre of each image, and pads it with zeros if it is too small.
pub struct ResizeWithCropOrPad;

impl Kernel for ResizeWithCropOrPad {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, size @ ..] = expect_inputs::<3>(&inputs)?;
        let frame = Frame::of(image)?;
        let [height, width] = numbers(size, ["target_height", "target_width"])?;
        check(width > 0, "target_width must be > 0.")?;
        check(height > 0, "target_height must be > 0.")?;
        let (height, width) = (height as usize, width as usize);
        let surplus = |size: usize, target: usize| size.saturating_sub(target) / 2;
        let begin = (surplus(frame.height, height), surplus(frame.width, width));
        let size = (height.min(frame.height), width.min(frame.width));
        let cropped = crop(image, &frame, begin, size)?;
        let begin = (surplus(height, frame.height), surplus(width, frame.width));
        pad(&cropped, &Frame::of(&cropped)?, begin, (height, width)).map(Step::one)
    }
}

/// Crops the centre of each image to a fraction of its height and width.
pub struct CentralCrop {
    fraction: f64,
}

impl CentralCrop {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { fraction: attrs.float("central_fraction")? })
    }
}

impl Kernel for CentralCrop {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image] = expect_inputs(&inputs)?;
        let frame = Frame::of(image)?;
        let start = |size: usize| ((size as f64 - size as f64 * self.fraction) / 2.0) as usize;
        let begin = (start(frame.height), start(frame.width));
        let size = (frame.height - 2 * begin.0, frame.width - 2 * begin.1);
        crop(image, &frame, begin, size).map(Step::one)
    }
}

/// Returns the window of `size` (height, width) at `begin` (y, x).
fn crop(image: &Tensor, frame: &Frame, begin: (usize, usize), size: (usize, usize)) -> Result<Tensor> {
    if size == (frame.height, frame.width) {
        return Ok(image.clone());
    }
    let part = Frame { height: size.0, width: size.1, ..*frame };
    image.window(&frame.begin(begin.0, begin.1), part.shape())
}

/// Places the image at `begin` (y, x) in zeros of `size` (height, width).
fn pad(image: &Tensor, frame: &Frame, begin: (usize, usize), size: (usize, usize)) -> Result<Tensor> {
    if size == (frame.height, frame.width) {
        return Ok(image.clone());
    }
    let whole = frame.resized(size.0, size.1)?;
    let pixel_bytes = frame.channels * image.dtype().size();
    let (row_bytes, whole_row_bytes) = (frame.width * pixel_bytes, whole.width * pixel_bytes);
    let mut bytes = allocate::elements(image.dtype(), &whole.shape()).zeros::<u8>()?;
    for (index, row) in image.stored()?.chunks_exact(row_bytes).enumerate() {
        let (number, y) = (index / frame.height, index % frame.height);
        let start = (number * whole.height + begin.0 + y) * whole_row_bytes + begin.1 * pixel_bytes;
        bytes[start..start + row_bytes].copy_from_slice(row);
    }
    Tensor::from_bytes(image.dtype(), whole.shape(), bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::shape::Shape;

    /// An image with one channel and the pixels 0, 1, 2, ….
    fn image(height: usize, width: usize) -> Tensor {
        let values = (0..(height * width) as i32).collect();
        Tensor::from_values(Shape::new(&[height, width, 1]), values).unwrap()
    }

    fn with_numbers(image: Tensor, numbers: &[i32]) -> Vec<Tensor> {
        [image].into_iter().chain(numbers.iter().map(|number| Tensor::scalar(*number))).collect()
    }

    #[test]
    fn each_image_of_a_batch_is_cropped() {
        let batch = image(6, 4).reshaped(Shape::new(&[2, 3, 4, 1])).unwrap();
        let part = run_one(&CropToBoundingBox, &with_numbers(batch, &[1, 2, 2, 1])).unwrap();
        assert_eq!((&part.shape()[..], part.values::<i32>().unwrap()), (&[2, 2, 1, 1][..], &[6, 10, 18, 22][..]));
    }

    #[test]
    fn each_image_of_a_batch_is_padded_with_zeros() {
        let batch = image(2, 2).reshaped(Shape::new(&[2, 1, 2, 1])).unwrap();
        let padded = run_one(&PadToBoundingBox, &with_numbers(batch, &[1, 0, 2, 3])).unwrap();
        assert_eq!(padded.shape()[..], [2, 2, 3, 1]);
        assert_eq!(padded.values::<i32>().unwrap(), [0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 3, 0]);
    }

    #[test]
    fn central_crop_keeps_the_center() {
        let resized = run_one(&ResizeWithCropOrPad, &with_numbers(image(4, 2), &[1, 5])).unwrap();
        assert_eq!(resized.values::<i32>().unwrap(), [0, 2, 3, 0, 0]);
        let half = CentralCrop::from_attrs(&attrs([("central_fraction", Attr::Float(0.5))])).unwrap();
        assert_eq!(run_one(&half, &[image(4, 5)]).unwrap().values::<i32>().unwrap(), [6, 7, 8, 11, 12, 13]);
    }

    #[test]
    fn invalid_windows_are_rejected_with_tensorflow_messages() {
        let crop = |numbers: &[i32]| error_text(&CropToBoundingBox, &with_numbers(image(3, 3), numbers));
        assert!(crop(&[0, 0, 4, 1]).contains("[height must be >= target + offset.]"));
        assert!(crop(&[0, 1, 1, 3]).contains("[width must be >= target + offset.]"));
        assert!(crop(&[-1, 0, 1, 1]).contains("[offset_height must be >= 0.]"));
        assert!(crop(&[0, 0, 0, 1]).contains("[target_height must be > 0.]"));
        let pad = |numbers: &[i32]| error_text(&PadToBoundingBox, &with_numbers(image(3, 3), numbers));
        assert!(pad(&[1, 0, 3, 3]).contains("[height must be <= target - offset]"));
        let huge = pad(&[0, 0, 1 << 30, 1 << 30]);
        assert!(
            huge.contains("OOM when allocating tensor with shape[1073741824,1073741824,1] and type int32"),
            "{huge}"
        );
        assert!(error_text(&CropToBoundingBox, &with_numbers(image(0, 3), &[0, 0, 1, 1])).contains("must be > 0.]"));
        let flat = image(3, 3).reshaped(Shape::new(&[9])).unwrap();
        assert!(error_text(&CropToBoundingBox, &with_numbers(flat, &[0; 4])).contains("(shape [9]) must have either"));
    }
}
