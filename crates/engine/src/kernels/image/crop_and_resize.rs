//! `CropAndResize`: crops windows from images and resizes them to the same size.
//!
//! Source: `tf.image.crop_and_resize` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::cast::cast;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Maps `(images, boxes, numbers of images, crop size)` to a float32 window for each box.
pub struct CropAndResize {
    is_nearest: bool,
    /// The value of pixels outside the image.
    outside: f32,
}

/// The sizes of one image.
#[derive(Clone, Copy)]
struct Size {
    height: usize,
    width: usize,
    depth: usize,
}

impl CropAndResize {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let is_nearest = match attrs.string("method")? {
            "bilinear" => false,
            "nearest" => true,
            other => {
                return Err(Error::invalid_argument(format!("method must be 'bilinear' or 'nearest', got {other}")));
            }
        };
        Ok(Self { is_nearest, outside: attrs.float("extrapolation_value")? as f32 })
    }

    /// Writes one window to `window`, whose rows are as long as `columns`.
    fn crop(&self, image: &[f32], size: Size, rows: &[f32], columns: &[f32], window: &mut [f32]) {
        let pixel = |y: f32, x: f32| {
            let start = (y as usize * size.width + x as usize) * size.depth;
            &image[start..start + size.depth]
        };
        let positions = rows.iter().flat_map(|y| columns.iter().map(move |x| (*y, *x)));
        for (out, (y, x)) in window.chunks_exact_mut(size.depth).zip(positions) {
            let is_inside =
                (0.0..=(size.height - 1) as f32).contains(&y) && (0.0..=(size.width - 1) as f32).contains(&x);
            if !is_inside {
                out.fill(self.outside);
            } else if self.is_nearest {
                out.copy_from_slice(pixel(y.round(), x.round()));
            } else {
                let (down, along) = (y - y.floor(), x - x.floor());
                let corners = [
                    pixel(y.floor(), x.floor()),
                    pixel(y.floor(), x.ceil()),
                    pixel(y.ceil(), x.floor()),
                    pixel(y.ceil(), x.ceil()),
                ];
                for (channel, out) in out.iter_mut().enumerate() {
                    let [top_left, top_right, bottom_left, bottom_right] = corners.map(|corner| corner[channel]);
                    let top = top_left + (top_right - top_left) * along;
                    let bottom = bottom_left + (bottom_right - bottom_left) * along;
                    *out = top + (bottom - top) * down;
                }
            }
        }
    }
}

impl Kernel for CropAndResize {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images, boxes, numbers, crop_size] = expect_inputs(&inputs)?;
        let [batch, height, width, depth] = images.shape()[..] else {
            return Err(Error::invalid_argument(format!("input image must be 4-D{}", images.shape())));
        };
        if height == 0 || width == 0 {
            return Err(Error::invalid_argument("image dimensions must be positive"));
        }
        let (crop_height, crop_width) = size_of_crops(crop_size)?;
        let sides = boxes_of(boxes, numbers)?;
        let shape = Shape::new(&[sides.len(), crop_height, crop_width, depth]);
        let numbers = numbers.values::<i32>()?;
        let is_one = |number: &i32| usize::try_from(*number).is_ok_and(|number| number < batch);
        if !numbers.iter().all(is_one) {
            return Err(Error::out_of_range("box_index has values outside [0, batch_size)"));
        }
        let mut windows: Vec<f32> = allocate::elements(DType::Float32, &shape).zeros()?;
        let (size, window_size) = (Size { height, width, depth }, crop_height * crop_width * depth);
        if window_size == 0 {
            return Tensor::from_values(shape, windows).map(Step::one);
        }
        let images = cast(images, DType::Float32)?;
        let samples = images.values::<f32>()?;
        let crops = sides.iter().zip(numbers).zip(windows.chunks_exact_mut(window_size));
        for (([top, left, bottom, right], number), window) in crops {
            let start = *number as usize * height * width * depth;
            let image = &samples[start..start + height * width * depth];
            let rows = positions(*top, *bottom, height, crop_height)?;
            let columns = positions(*left, *right, width, crop_width)?;
            self.crop(image, size, &rows, &columns, window);
        }
        Tensor::from_values(shape, windows).map(Step::one)
    }
}

/// Returns the position in the image of each of `count` rows or columns of a window.
fn positions(start: f32, end: f32, size: usize, count: usize) -> Result<Vec<f32>> {
    let last = (size - 1) as f32;
    let mut positions = allocate::room(count).map_err(|refusal| refusal.at("the rows of a window"))?;
    match count {
        1 => positions.push((0.5 * f64::from(start + end) * f64::from(last)) as f32),
        _ => {
            let step = (end - start) * last / (count - 1) as f32;
            positions.extend((0..count).map(|position| start * last + position as f32 * step));
        }
    }
    Ok(positions)
}

fn size_of_crops(crop_size: &Tensor) -> Result<(usize, usize)> {
    let [height, width] = crop_size.values::<i32>()? else {
        let text = format!("crop_size must have two elements{}", crop_size.shape());
        return Err(Error::invalid_argument(text));
    };
    if crop_size.shape().len() != 1 {
        return Err(Error::invalid_argument(format!("crop_size must be 1-D{}", crop_size.shape())));
    }
    match *height > 0 && *width > 0 {
        true => Ok((*height as usize, *width as usize)),
        false => Err(Error::invalid_argument("crop dimensions must be positive")),
    }
}

fn boxes_of<'a>(boxes: &'a Tensor, numbers: &Tensor) -> Result<&'a [[f32; 4]]> {
    if boxes.num_elements() == 0 && numbers.num_elements() == 0 {
        return Ok(&[]);
    }
    let [num_boxes, sides] = boxes.shape()[..] else {
        return Err(Error::invalid_argument(format!("boxes must be 2-D{}", boxes.shape())));
    };
    if sides != 4 {
        return Err(Error::invalid_argument(format!("boxes must have 4 columns, got {sides}")));
    }
    if numbers.shape().len() != 1 {
        return Err(Error::invalid_argument(format!("box_index must be 1-D{}", numbers.shape())));
    }
    if numbers.num_elements() != num_boxes {
        return Err(Error::invalid_argument(format!("box_index has incompatible shape {}", numbers.shape())));
    }
    let (sides, _) = boxes.values::<f32>()?.as_chunks();
    match sides.as_flattened().iter().all(|side: &f32| side.is_finite()) {
        true => Ok(sides),
        false => Err(Error::invalid_argument("boxes contains at least one element that is not finite")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};

    const BILINEAR: CropAndResize = CropAndResize { is_nearest: false, outside: -1.0 };
    const NEAREST: CropAndResize = CropAndResize { is_nearest: true, outside: -1.0 };

    fn floats(dims: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn integers(values: &[i32]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    #[test]
    fn crops_are_interpolated_and_padded() {
        let image = floats(&[1, 2, 2, 1], &[1.0, 2.0, 3.0, 4.0]);
        let crop = |kernel: &CropAndResize, sides: [f32; 4], size: [i32; 2]| {
            let inputs = [image.clone(), floats(&[1, 4], &sides), integers(&[0]), integers(&size)];
            run_one(kernel, &inputs).unwrap().values::<f32>().unwrap().to_vec()
        };
        assert_eq!(crop(&BILINEAR, [0., 0., 1., 1.], [3, 3]), [1., 1.5, 2., 2., 2.5, 3., 3., 3.5, 4.]);
        assert_eq!(crop(&NEAREST, [0., 0., 1., 1.], [1, 2]), [3.0, 4.0]);
        assert_eq!(crop(&BILINEAR, [1., 0., 0., 1.], [2, 2]), [3.0, 4.0, 1.0, 2.0]);
        assert_eq!(crop(&BILINEAR, [0., 0., 2., 1.], [2, 1]), [1.5, -1.0]);
    }

    #[test]
    fn small_integer_types_are_accepted() {
        let image = Tensor::from_values(Shape::new(&[1, 1, 2, 1]), vec![10_u8, 20]).unwrap();
        let inputs = [image, floats(&[1, 4], &[0., 0., 1., 1.]), integers(&[0]), integers(&[1, 3])];
        assert_eq!(run_one(&BILINEAR, &inputs).unwrap().values::<f32>().unwrap(), [10.0, 15.0, 20.0]);
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        let (image, sides) = (floats(&[1, 1, 1, 1], &[0.0]), floats(&[1, 4], &[0.0; 4]));
        let (zero, size) = (integers(&[0]), integers(&[1, 1]));
        let text = |inputs: [&Tensor; 4]| error_text(&BILINEAR, &inputs.map(Clone::clone));
        assert!(text([&sides, &sides, &zero, &size]).contains("input image must be 4-D"));
        assert!(text([&image, &image, &zero, &size]).contains("boxes must be 2-D"));
        assert!(text([&image, &sides, &size, &size]).contains("box_index has incompatible shape"));
        assert!(text([&image, &sides, &integers(&[1]), &size]).contains("OutOfRange: box_index has values outside"));
        assert!(text([&image, &sides, &zero, &zero]).contains("crop_size must have two elements"));
        assert!(text([&image, &sides, &zero, &integers(&[0, 1])]).contains("crop dimensions must be positive"));
        let nan = floats(&[1, 4], &[f32::NAN; 4]);
        assert!(text([&image, &nan, &zero, &size]).contains("not finite"));
    }
}
