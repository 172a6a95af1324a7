//! `DrawBoundingBoxesV2`: draws boxes on images.
//!
//! Source: `tf.image.draw_bounding_boxes` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};
use half::f16;
use std::ops::RangeInclusive;

/// The default colours of boxes in RGBA, used in turn.
const COLOURS: [[f32; 4]; 10] = [
    [1.0, 1.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 1.0],
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.0, 1.0],
    [0.5, 0.0, 0.5, 1.0],
    [0.5, 0.5, 0.0, 1.0],
    [0.5, 0.0, 0.0, 1.0],
    [0.0, 0.0, 0.5, 1.0],
    [0.0, 1.0, 1.0, 1.0],
    [1.0, 0.0, 1.0, 1.0],
];

/// Maps `(images, boxes)`, and optionally colours, to images with lines one pixel wide.
pub struct DrawBoundingBoxes;

impl Kernel for DrawBoundingBoxes {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let (images, boxes, colours) = match inputs.as_slice() {
            [images, boxes] => (images, boxes, None),
            [images, boxes, colours] => (images, boxes, Some(colours)),
            _ => return Err(Error::internal(format!("got {} inputs, expected 2 or 3", inputs.len()))),
        };
        check(images, boxes)?;
        let palette = palette(images.shape()[3], colours)?;
        match images.dtype() {
            DType::Float32 => drawn::<f32>(images, boxes, &palette),
            DType::Float16 => drawn::<f16>(images, boxes, &palette),
            other => Err(Error::internal(format!("images are {other}, expected floats"))),
        }
        .map(Step::one)
    }
}

fn check(images: &Tensor, boxes: &Tensor) -> Result<()> {
    let fail = |text: String| Err(Error::invalid_argument(text));
    if images.shape().len() != 4 {
        return fail(format!("The rank of the images should be 4, got shape {}", images.shape()));
    }
    if boxes.shape().len() != 3 {
        return fail(format!("The rank of the boxes tensor should be 3, got shape {}", boxes.shape()));
    }
    if images.shape()[0] != boxes.shape()[0] {
        return fail(format!(
            "The batch sizes should be the same, got images of shape {} and boxes of shape {}",
            images.shape(),
            boxes.shape()
        ));
    }
    if !matches!(images.shape()[3], 1 | 3 | 4) {
        let text = "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)";
        return fail(format!("{text}, got {}", images.shape()[3]));
    }
    match boxes.shape()[2] {
        4 => Ok(()),
        sides => fail(format!("The size of the last dimension of the boxes should be 4, got {sides}")),
    }
}

/// Returns the colours, each with at least as many channels as the images.
fn palette(depth: usize, colours: Option<&Tensor>) -> Result<Vec<[f32; 4]>> {
    if let Some(colours) = colours {
        let [count, channels] = colours.shape()[..] else {
            return Err(Error::invalid_argument(format!("colors must be a 2-D matrix, got shape {}", colours.shape())));
        };
        if channels < depth {
            return Err(Error::invalid_argument(format!(
                "colors must have equal or more channels than the image provided: {channels} vs. {depth}"
            )));
        }
        if count > 0 {
            let colour = |values: &[f32]| std::array::from_fn(|channel| values.get(channel).copied().unwrap_or(0.0));
            return Ok(colours.values::<f32>()?.chunks_exact(channels).map(colour).collect());
        }
    }
    let mut palette = COLOURS.to_vec();
    if depth == 1 {
        palette.iter_mut().for_each(|colour| colour[0] = 1.0);
    }
    Ok(palette)
}

fn drawn<T: Numeric + Sample>(images: &Tensor, boxes: &Tensor, palette: &[[f32; 4]]) -> Result<Tensor> {
    let [_, height, width, depth] = images.shape()[..] else { return Err(Error::internal("the rank was checked")) };
    let mut samples = allocate::elements(T::DTYPE, images.shape()).collect(images.values::<T>()?.iter().copied())?;
    let image_size = height * width * depth;
    if image_size > 0 {
        let (boxes_of_all, num_boxes) = (boxes.values::<f32>()?, boxes.shape()[1]);
        for (image, boxes) in samples.chunks_exact_mut(image_size).zip(boxes_of_all.chunks(4 * num_boxes.max(1))) {
            for (sides, colour) in boxes.as_chunks::<4>().0.iter().zip(palette.iter().cycle()) {
                let colour: Vec<T> = colour[..depth].iter().map(|channel| T::of(*channel)).collect();
                draw(image, (height as i64, width as i64), sides, &colour);
            }
        }
    }
    Tensor::from_values(images.shape().clone(), samples)
}

/// Draws the sides of a box that are inside the image. Skips boxes with swapped sides, and boxes
/// outside the image.
fn draw<T: Numeric>(image: &mut [T], (height, width): (i64, i64), sides: &[f32; 4], colour: &[T]) {
    let at = |side: f32, size: i64| (side * (size - 1) as f32) as i64;
    let [top, left, bottom, right] =
        [at(sides[0], height), at(sides[1], width), at(sides[2], height), at(sides[3], width)];
    let is_outside = top >= height || bottom < 0 || left >= width || right < 0;
    if top > bottom || left > right || is_outside {
        return;
    }
    let mut fill = |rows: RangeInclusive<i64>, columns: RangeInclusive<i64>| {
        for row in rows {
            for column in columns.clone() {
                let start = (row * width + column) as usize * colour.len();
                image[start..start + colour.len()].copy_from_slice(colour);
            }
        }
    };
    let rows = top.max(0)..=bottom.min(height - 1);
    let columns = left.max(0)..=right.min(width - 1);
    if top >= 0 {
        fill(top..=top, columns.clone());
    }
    if bottom < height {
        fill(bottom..=bottom, columns);
    }
    if left >= 0 {
        fill(rows.clone(), left..=left);
    }
    if right < width {
        fill(rows, right..=right);
    }
}

/// A float type that pixels can have.
trait Sample {
    fn of(value: f32) -> Self;
}

impl Sample for f32 {
    fn of(value: f32) -> Self {
        value
    }
}

impl Sample for f16 {
    fn of(value: f32) -> Self {
        f16::from_f32(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::shape::Shape;

    fn floats(dims: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    #[test]
    fn only_sides_inside_an_image_are_drawn() {
        let image = floats(&[1, 3, 4, 1], &[0.0; 12]);
        let colours = floats(&[1, 1], &[9.0]);
        let drawn = |sides: [f32; 4]| {
            let inputs = [image.clone(), floats(&[1, 1, 4], &sides), colours.clone()];
            run_one(&DrawBoundingBoxes, &inputs).unwrap().values::<f32>().unwrap().to_vec()
        };
        assert_eq!(drawn([0.0, 0.0, 1.0, 0.7]), [9., 9., 9., 0., 9., 0., 9., 0., 9., 9., 9., 0.]);
        assert_eq!(drawn([0.5, 0.4, 2.0, 2.0]), [0., 0., 0., 0., 0., 9., 9., 9., 0., 9., 0., 0.]);
        assert_eq!(drawn([1.0, 0.0, 0.0, 1.0]), [0.0; 12]);
        assert_eq!(drawn([2.0, 2.0, 3.0, 3.0]), [0.0; 12]);
    }

    #[test]
    fn boxes_cycle_through_the_colours() {
        let boxes = floats(&[1, 2, 4], &[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        let drawn = run_one(&DrawBoundingBoxes, &[floats(&[1, 2, 2, 3], &[0.5; 12]), boxes.clone()]).unwrap();
        assert_eq!(drawn.values::<f32>().unwrap(), [1., 1., 0., 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0., 0., 1.]);
        let grey = run_one(&DrawBoundingBoxes, &[floats(&[1, 2, 2, 1], &[0.5; 4]), boxes]).unwrap();
        assert_eq!(grey.values::<f32>().unwrap(), [1.0, 0.5, 0.5, 1.0]);
    }

    #[test]
    fn incompatible_shapes_are_rejected() {
        let (image, boxes) = (floats(&[1, 1, 1, 3], &[0.0; 3]), floats(&[1, 1, 4], &[0.0; 4]));
        let text = |inputs: &[Tensor]| error_text(&DrawBoundingBoxes, inputs);
        assert!(text(&[boxes.clone(), boxes.clone()]).contains("The rank of the images should be 4"));
        assert!(text(&[image.clone(), image.clone()]).contains("The rank of the boxes tensor should be 3"));
        let two = floats(&[2, 1, 4], &[0.0; 8]);
        assert!(text(&[image.clone(), two]).contains("The batch sizes should be the same"));
        let deep = floats(&[1, 1, 1, 2], &[0.0; 2]);
        assert!(text(&[deep, boxes.clone()]).contains("Channel depth should be either 1"));
        let flat = floats(&[1], &[0.0]);
        assert!(text(&[image.clone(), boxes.clone(), flat]).contains("colors must be a 2-D matrix"));
        let thin = floats(&[1, 1], &[0.0]);
        assert!(
            text(&[image.clone(), boxes, thin]).contains("equal or more channels than the image provided: 1 vs. 3")
        );
        assert!(text(&[image, floats(&[1, 1, 3], &[0.0; 3])]).contains("last dimension of the boxes should be 4"));
    }
}
