//! `SampleDistortedBoundingBoxV2`: draws a random window of an image that covers enough of its
//! objects.
//!
//! Source: `tf.image.sample_distorted_bounding_box` in TensorFlow 1.15, which draws the same
//! windows for equal seeds. The scheme is from Szegedy et al., "Going Deeper with Convolutions"
//! (2014).

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::{Attr, Attrs};
use crate::kernels::expect_inputs;
use crate::kernels::math::cast::cast;
use crate::kernels::random::distributions::RandomFloat;
use crate::philox::Philox;
use crate::random_generator::RandomGenerator;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use std::sync::Arc;

/// The number of random numbers reserved for each attempt. Most attempts need three.
const NUMBERS_PER_ATTEMPT: usize = 4;

/// Maps `(image_size, boxes, min_object_covered)` to the start of a window, its size (the last
/// number is -1), and the window as a box.
pub struct SampleDistortedBoundingBox {
    generator: Arc<RandomGenerator>,
    aspect_ratios: [f32; 2],
    areas: [f32; 2],
    max_attempts: usize,
    /// True if an image without boxes is treated as a single box.
    may_use_image: bool,
}

/// The pixels from `left` up to `right` and from `top` up to `bottom`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rectangle {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
}

impl SampleDistortedBoundingBox {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs, generator: &Arc<RandomGenerator>) -> Result<Self> {
        let aspect_ratios = range(attrs, "aspect_ratio_range", "Aspect ratio")?;
        let areas = range(attrs, "area_range", "Area")?;
        if areas.iter().any(|area| *area > 1.0) {
            let text = format!("Area range must be less then or equal to 1.0: [{}, {}]", areas[0], areas[1]);
            return Err(Error::invalid_argument(text));
        }
        let max_attempts = attrs.int("max_attempts")?;
        let max_attempts = usize::try_from(max_attempts).ok().filter(|attempts| (1..=1 << 31).contains(attempts));
        let max_attempts = max_attempts.ok_or_else(|| Error::invalid_argument("Max attempts must be positive"))?;
        let may_use_image = attrs.bool("use_image_if_no_bounding_boxes")?;
        Ok(Self { generator: Arc::clone(generator), aspect_ratios, areas, max_attempts, may_use_image })
    }

    fn objects(&self, boxes: &Tensor, height: i32, width: i32) -> Result<Vec<Rectangle>> {
        let rank = boxes.shape().len();
        if rank != 3 {
            let text = format!("input_boxes must be 3-dimensional [batch, num_boxes, coords]: {}", boxes.shape());
            return Err(Error::invalid_argument(text));
        }
        if boxes.shape()[2] != 4 {
            let text = format!("bounding boxes must have shape [4] or [*, 4], got {}", boxes.shape());
            return Err(Error::invalid_argument(text));
        }
        if boxes.num_elements() == 0 && self.may_use_image {
            return Ok(vec![Rectangle { left: 0, top: 0, right: width, bottom: height }]);
        }
        let (boxes, _) = boxes.values::<f32>()?.as_chunks::<4>();
        if boxes.is_empty() {
            return Err(Error::invalid_argument(
                "No bounding boxes provided for input. One must enable use_image_if_no_bounding_boxes if you wish to \
                 not provide any bounding boxes.",
            ));
        }
        if let Some(side) = boxes.as_flattened().iter().find(|side| !(0.0..=1.0).contains(*side)) {
            let text = format!("All bounding box coordinates must be in [0.0, 1.0]: {side}");
            return Err(Error::invalid_argument(text));
        }
        let at = |side: f32, size: i32| (side * size as f32) as i32;
        let object = |[top, left, bottom, right]: &[f32; 4]| Rectangle {
            left: at(*left, width),
            top: at(*top, height),
            right: at(*right, width),
            bottom: at(*bottom, height),
        };
        Ok(boxes.iter().map(object).collect())
    }

    /// Draws a window. Returns `None` if its size does not fit into the image.
    fn attempt(&self, height: i32, width: i32, random: &mut Philox) -> Option<Rectangle> {
        let [low, high] = self.aspect_ratios;
        let ratio = f32::uniform(random) * (high - low) + low;
        let [least, most] = self.areas.map(|area| area * width as f32 * height as f32);
        if least > most || height == 0 || width == 0 {
            return None;
        }
        let width_of = |height: i32| nearest(height as f32 * ratio);
        let mut tallest = nearest((most / ratio).sqrt());
        if width_of(tallest) > width {
            // The largest height whose rounded width is at most the image's width.
            tallest = ((f64::from(width) + 0.5 - f64::from(1e-7_f32)) / f64::from(ratio)) as i32;
            tallest -= i32::from(width_of(tallest) > width);
        }
        let tallest = tallest.min(height);
        let mut tall = nearest((least / ratio).sqrt()).min(tallest);
        if tall < tallest {
            tall = tall.wrapping_add_unsigned(below((tallest - tall + 1).cast_unsigned(), random));
        }
        let area_of = |tall: i32| width_of(tall).wrapping_mul(tall) as f32;
        // Rounding may have made the area slightly too small or too large.
        if area_of(tall) < least {
            tall += 1;
        }
        if area_of(tall) > most {
            tall -= 1;
        }
        let (area, wide) = (area_of(tall), width_of(tall));
        if area < least || area > most || wide > width || tall > height || wide <= 0 || tall <= 0 {
            return None;
        }
        let mut begin = |size: i32, part: i32| match part < size {
            true => below((size - part).cast_unsigned(), random).cast_signed(),
            false => 0,
        };
        let top = begin(height, tall);
        let left = begin(width, wide);
        Some(Rectangle { left, top, right: left + wide, bottom: top + tall })
    }
}

impl Kernel for SampleDistortedBoundingBox {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let [size, boxes, min_covered] = expect_inputs(&inputs)?;
        let (height, width) = image_size(size)?;
        let objects = self.objects(boxes, height, width)?;
        let ([min_covered], true) = (min_covered.values::<f32>()?, min_covered.shape().is_empty()) else {
            let text = format!("min_object_covered must be 0-D, got shape {}", min_covered.shape());
            return Err(Error::invalid_argument(text));
        };
        if *min_covered < 0.0 || min_covered.is_nan() {
            let text = format!("Min object covered must be non-negative: {min_covered}");
            return Err(Error::invalid_argument(text));
        }
        let mut random = self.generator.take(run, NUMBERS_PER_ATTEMPT * self.max_attempts)?;
        let covers = |window: &Rectangle| objects.iter().any(|object| window.covers(object, *min_covered));
        let window = (0..self.max_attempts)
            .find_map(|_| self.attempt(height, width, &mut random).filter(covers))
            .unwrap_or(Rectangle { left: 0, top: 0, right: width, bottom: height });
        let begin = [window.top, window.left, 0];
        let extent = [window.bottom - window.top, window.right - window.left, -1];
        let part = |at: i32, size: i32| at as f32 / size as f32;
        let relative = vec![
            part(window.top, height),
            part(window.left, width),
            part(window.bottom, height),
            part(window.right, width),
        ];
        let relative = Tensor::from_values(Shape::new(&[1, 1, 4]), relative)?;
        Ok(Step::Done(Outputs::from_iter([integers(size.dtype(), begin)?, integers(size.dtype(), extent)?, relative])))
    }
}

impl Rectangle {
    fn area(&self) -> f32 {
        (self.right - self.left).wrapping_mul(self.bottom - self.top) as f32
    }

    /// Returns true if this window covers at least the fraction `part` of an object. Neither may be
    /// empty.
    fn covers(&self, object: &Self, part: f32) -> bool {
        if self.area() < 1.0 || object.area() < 1.0 {
            return false;
        }
        let shared = Self {
            left: self.left.max(object.left),
            top: self.top.max(object.top),
            right: self.right.min(object.right),
            bottom: self.bottom.min(object.bottom),
        };
        let area = if shared.left > shared.right || shared.top > shared.bottom { 0.0 } else { shared.area() };
        area / object.area() >= part
    }
}

/// Returns the nearest integer. Ties go to the even one.
fn nearest(value: f32) -> i32 {
    value.round_ties_even() as i32
}

/// Draws a uniform random integer below `limit`, which must not be 0.
fn below(limit: u32, random: &mut Philox) -> u32 {
    if limit.is_power_of_two() {
        return random.next_u32() & (limit - 1);
    }
    // Accepting random numbers below this would make small results more likely.
    let rejected = u32::MAX % limit + 1;
    loop {
        let number = random.next_u32();
        if number >= rejected {
            return number % limit;
        }
    }
}

/// Reads the two ends of a range of positive numbers.
fn range(attrs: &Attrs, name: &str, what: &str) -> Result<[f32; 2]> {
    let float = |attr: &Attr| match attr {
        Attr::Float(value) => Some(*value as f32),
        Attr::Int(value) => Some(*value as f32),
        _ => None,
    };
    let ends = attrs.list(name, float)?;
    let Ok([low, high]) = <[f32; 2]>::try_from(ends) else {
        return Err(Error::invalid_argument(format!("{what} range field must specify 2 dimensions")));
    };
    match low > 0.0 && high > 0.0 {
        true => Ok([low, high]),
        false => Err(Error::invalid_argument(format!("{what} range must be non-negative: [{low}, {high}]"))),
    }
}

/// Returns the height and width of the image. The number of channels does not matter.
fn image_size(size: &Tensor) -> Result<(i32, i32)> {
    if size.shape().len() != 1 {
        return Err(Error::invalid_argument(format!("image_size must be 1-dimensional{}", size.shape())));
    }
    if size.num_elements() != 3 {
        return Err(Error::invalid_argument(format!("image_size must contain 3 elements{}", size.shape())));
    }
    let size = cast(size, DType::Int64)?;
    let sizes = size.values::<i64>()?;
    let pixels = |size: i64| i32::try_from(size).ok().filter(|size| *size >= 0);
    match (pixels(sizes[0]), pixels(sizes[1])) {
        (Some(height), Some(width)) => Ok((height, width)),
        _ => {
            let text = format!("Image height and width must not be negative, got: {}x{}", sizes[0], sizes[1]);
            Err(Error::invalid_argument(text))
        }
    }
}

fn integers(dtype: DType, values: [i32; 3]) -> Result<Tensor> {
    cast(&Tensor::from_values(Shape::new(&[3]), values.to_vec())?, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{attrs, error_text, run};

    fn kernel(areas: [f64; 2], max_attempts: i64, may_use_image: bool) -> Result<SampleDistortedBoundingBox> {
        let floats = |values: [f64; 2]| Attr::List(values.into_iter().map(Attr::Float).collect());
        let attrs = attrs([
            ("aspect_ratio_range", floats([0.75, 1.33])),
            ("area_range", floats(areas)),
            ("max_attempts", Attr::Int(max_attempts)),
            ("use_image_if_no_bounding_boxes", Attr::Bool(may_use_image)),
        ]);
        SampleDistortedBoundingBox::from_attrs(&attrs, &Arc::new(RandomGenerator::new(7, 8)))
    }

    fn inputs(boxes: &[f32], min_covered: f32) -> [Tensor; 3] {
        [
            Tensor::from_values(Shape::new(&[3]), vec![40, 60, 3]).unwrap(),
            Tensor::from_values(Shape::new(&[1, boxes.len() / 4, 4]), boxes.to_vec()).unwrap(),
            Tensor::scalar(min_covered),
        ]
    }

    #[test]
    fn windows_are_inside_the_image_and_cover_enough() {
        let kernel = kernel([0.1, 1.0], 100, false).unwrap();
        for _ in 0..50 {
            let outputs = run(&kernel, &inputs(&[0.25, 0.25, 0.75, 0.75], 0.5)).unwrap();
            let (begin, size) = (outputs[0].values::<i32>().unwrap(), outputs[1].values::<i32>().unwrap());
            assert!(begin[0] >= 0 && size[0] > 0 && begin[0] + size[0] <= 40, "{begin:?} {size:?}");
            assert!(begin[1] >= 0 && size[1] > 0 && begin[1] + size[1] <= 60, "{begin:?} {size:?}");
            assert_eq!((begin[2], size[2]), (0, -1));
            let object = Rectangle { left: 15, top: 10, right: 45, bottom: 30 };
            let window =
                Rectangle { left: begin[1], top: begin[0], right: begin[1] + size[1], bottom: begin[0] + size[0] };
            assert!(window.covers(&object, 0.5), "{window:?}");
        }
    }

    #[test]
    fn whole_image_is_used_if_no_window_fits() {
        let outputs = run(&kernel([1.0, 1.0], 3, true).unwrap(), &inputs(&[], 1.0)).unwrap();
        assert_eq!(outputs[1].values::<i32>().unwrap(), [40, 60, -1]);
        assert_eq!(outputs[2].values::<f32>().unwrap(), [0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        let text = |result: Result<SampleDistortedBoundingBox>| result.map(drop).unwrap_err().message().to_owned();
        assert_eq!(text(kernel([0.5, 1.5], 9, true)), "Area range must be less then or equal to 1.0: [0.5, 1.5]");
        assert_eq!(text(kernel([0.0, 1.0], 9, true)), "Area range must be non-negative: [0, 1]");
        assert_eq!(text(kernel([0.5, 1.0], 0, true)), "Max attempts must be positive");
        let kernel = kernel([0.5, 1.0], 9, false).unwrap();
        assert!(error_text(&kernel, &inputs(&[], 1.0)).contains("No bounding boxes provided for input."));
        let outside = inputs(&[0.0, 0.0, 1.5, 1.0], 1.0);
        assert!(error_text(&kernel, &outside).contains("All bounding box coordinates must be in [0.0, 1.0]: 1.5"));
        let [_, boxes, covered] = inputs(&[0.0, 0.0, 1.0, 1.0], 1.0);
        let text = error_text(&kernel, &[Tensor::scalar(3), boxes.clone(), covered.clone()]);
        assert_eq!(text, "InvalidArgument: image_size must be 1-dimensional[]");
        let negative = Tensor::from_values(Shape::new(&[3]), vec![-1, 60, 3]).unwrap();
        assert!(error_text(&kernel, &[negative, boxes, covered]).contains("must not be negative, got: -1x60"));
        assert!(error_text(&kernel, &inputs(&[0.0, 0.0, 1.0, 1.0], -1.0)).contains("must be non-negative: -1"));
    }
}
