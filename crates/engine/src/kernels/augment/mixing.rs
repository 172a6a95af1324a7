//! Mixes two images, or each image of a batch with the previous one, and mixes labels in the same
//! way.

use super::beta;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::image::bracketed;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};
use crate::tensor::shape::Shape;

/// Converts `(draw)`, a uniform random number, to one from a symmetric beta distribution.
pub struct SymmetricBeta {
    alpha: f64,
}

impl SymmetricBeta {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { alpha: attrs.float("alpha")? })
    }
}

impl Kernel for SymmetricBeta {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [draw] = expect_inputs(&inputs)?;
        Ok(Step::one(Tensor::scalar(beta::quantile(self.alpha, first(draw.values::<f64>()?)?))))
    }
}

/// Maps `(images, labels, share)` to mixed images: each image times the share, plus the previous
/// image times the rest.
pub struct MixUp {
    /// 0 if the labels are probabilities.
    num_classes: usize,
}

impl MixUp {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { num_classes: attrs.int("num_classes")? as usize })
    }
}

impl Kernel for MixUp {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images, labels, share] = expect_inputs(&inputs)?;
        let share = first(share.values::<f64>()?)?;
        let labels = mixed_labels("mixup", images, labels, self.num_classes, share)?;
        let mixed = match images.dtype() {
            DType::UInt8 => mixed(images, blend_bytes(share)),
            _ => mixed(images, blend_floats(share)),
        }?;
        Ok(Step::Done([mixed, labels].into_iter().collect()))
    }
}

/// Maps `(image, other image, share)` to the image times the share, plus the other times the rest.
pub struct BlendImages;

impl Kernel for BlendImages {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, other, share] = expect_inputs(&inputs)?;
        if image.shape() != other.shape() {
            return Err(Error::invalid_argument(format!(
                "mixup: the images have shapes {} and {}, expected the same shape. Resize both to the same size first, for \
                 example with letterbox",
                bracketed(image.shape()),
                bracketed(other.shape())
            )));
        }
        let share = first(share.values::<f64>()?)?;
        match image.dtype() {
            DType::UInt8 => blended(image, other, blend_bytes(share)),
            _ => blended(image, other, blend_floats(share)),
        }
        .map(Step::one)
    }
}

fn blended<T: Numeric>(image: &Tensor, other: &Tensor, mix: impl Fn(T, T) -> T) -> Result<Tensor> {
    let pairs = image.values::<T>()?.iter().zip(other.values::<T>()?);
    let pixels = allocate::elements(image.dtype(), image.shape()).collect(pairs.map(|(a, b)| mix(*a, *b)))?;
    Tensor::from_values(image.shape().clone(), pixels)
}

fn blend_bytes(share: f64) -> impl Fn(u8, u8) -> u8 {
    let (own, rest) = (share as f32, (1.0 - share) as f32);
    move |value, other| (f32::from(other) * rest + f32::from(value) * own).round_ties_even() as u8
}

fn blend_floats(share: f64) -> impl Fn(f32, f32) -> f32 {
    let (own, rest) = (share as f32, (1.0 - share) as f32);
    move |value, other| other * rest + value * own
}

/// Maps `(images, labels, share, draws)` to images that contain a rectangle of the previous image.
pub struct CutMix {
    num_classes: usize,
    /// The axes for height, width and channels.
    axes: [usize; 3],
}

impl CutMix {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let axes = super::sizes(attrs, "axes")?;
        Ok(Self { num_classes: attrs.int("num_classes")? as usize, axes: [axes[0], axes[1], axes[2]] })
    }
}

impl Kernel for CutMix {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images, labels, share, draws] = expect_inputs(&inputs)?;
        let shape = images.shape();
        if shape.len() != 4 || !(1..=4).contains(&shape[self.axes[2]]) {
            let expected =
                if self.axes[2] == 1 { "(batch, channels, height, width)" } else { "(batch, height, width, channels)" };
            return Err(Error::invalid_argument(format!(
                "cutmix: the images have shape {}, expected {expected} of at most 4 channels. Call it after batch; \
                 layout=\"CHW\" means channels first, \"HWC\" channels last",
                bracketed(shape)
            )));
        }
        let [height, width] = [shape[self.axes[0]], shape[self.axes[1]]];
        let rest = 1.0 - first(share.values::<f64>()?)?;
        let [x, y] = *draws.values::<f32>()? else { return Err(Error::internal("cutmix needs two random numbers")) };
        let (left, right) = span(x, width, rest);
        let (top, bottom) = span(y, height, rest);
        let area = ((right - left) * (bottom - top)) as f64;
        let share = 1.0 - area / (width * height) as f64;
        let labels = mixed_labels("cutmix", images, labels, self.num_classes, share)?;
        let mut bytes = allocate::elements(DType::UInt8, &Shape::new(&[images.stored()?.len()]))
            .collect(images.stored()?.iter().copied())?;
        let size = images.dtype().size();
        let stride: Vec<usize> = (0..4).map(|axis| shape[axis + 1..].iter().product::<usize>() * size).collect();
        // The pixels of a row are adjacent, including their channels if those are the last axis.
        let (pixel_bytes, num_planes) = match self.axes[2] {
            1 => (size, shape[1]),
            _ => (size * shape[3], 1),
        };
        let length = (right - left) * pixel_bytes;
        for image in 0..shape[0] {
            let before = (image + shape[0] - 1) % shape[0];
            for plane in 0..num_planes {
                for row in top..bottom {
                    let position = plane * stride[1] * usize::from(num_planes > 1)
                        + row * stride[self.axes[0]]
                        + left * stride[self.axes[1]];
                    let source = &images.stored()?[before * stride[0] + position..][..length];
                    bytes[image * stride[0] + position..][..length].copy_from_slice(source);
                }
            }
        }
        let mixed = Tensor::from_bytes(images.dtype(), shape.clone(), bytes.into())?;
        Ok(Step::Done([mixed, labels].into_iter().collect()))
    }
}

/// Returns the ends of one side of the rectangle, which is cut off at the edges of the image.
fn span(draw: f32, size: usize, rest: f64) -> (usize, usize) {
    let middle = ((f64::from(draw) * size as f64) as usize).min(size.saturating_sub(1));
    let half = (0.5 * rest.max(0.0).sqrt() * size as f64) as usize;
    (middle.saturating_sub(half), (middle + half).min(size))
}

fn first(values: &[f64]) -> Result<f64> {
    values.first().copied().ok_or_else(|| Error::internal("a number is missing"))
}

/// Mixes each row with the previous one, and the first row with the last.
fn mixed<T: Numeric>(batch: &Tensor, mix: impl Fn(T, T) -> T) -> Result<Tensor> {
    let values = batch.values::<T>()?;
    let row = values.len() / batch.shape().first().copied().unwrap_or(1).max(1);
    let before = values[values.len() - row..].iter().chain(values);
    let mixed = values.iter().zip(before).map(|(value, before)| mix(*value, *before));
    let mixed = allocate::elements(batch.dtype(), batch.shape()).collect(mixed)?;
    Tensor::from_values(batch.shape().clone(), mixed)
}

/// Mixes class probabilities of shape (batch, classes): each row times the share, plus the previous
/// row times the rest.
fn mixed_labels(what: &str, images: &Tensor, labels: &Tensor, num_classes: usize, share: f64) -> Result<Tensor> {
    let num_images = images.shape().first().copied();
    if images.shape().len() < 2 || labels.shape().first().copied() != num_images {
        return Err(Error::invalid_argument(format!(
            "{what}: the images have shape {} and the labels {}, expected as many labels as images. Call it after batch",
            bracketed(images.shape()),
            bracketed(labels.shape())
        )));
    }
    let probabilities = match labels.shape().len() {
        1 => one_hot(what, labels, num_classes)?,
        _ => labels.clone(),
    };
    mixed(&probabilities, blend_floats(share))
}

fn one_hot(what: &str, labels: &Tensor, num_classes: usize) -> Result<Tensor> {
    let labels = labels.values::<i64>()?;
    let shape = Shape::new(&[labels.len(), num_classes]);
    let mut rows = allocate::elements(DType::Float32, &shape).zeros::<f32>()?;
    for (number, label) in labels.iter().enumerate() {
        let class = usize::try_from(*label).ok().filter(|class| *class < num_classes).ok_or_else(|| {
            Error::invalid_argument(format!(
                "{what}: label {label} of row {number}, expected 0 to {} (num_classes={num_classes})",
                num_classes as i64 - 1
            ))
        })?;
        rows[number * num_classes + class] = 1.0;
    }
    Tensor::from_values(shape, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run, run_one};

    fn labels(values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    #[test]
    fn image_is_mixed_with_the_previous_one() {
        let images = Tensor::from_values(Shape::new(&[2, 2]), vec![0_u8, 100, 200, 51]).unwrap();
        let outputs = run(&MixUp { num_classes: 3 }, &[images, labels(&[2, 0]), Tensor::scalar(0.75)]).unwrap();
        assert_eq!(outputs[0].bytes(), [50, 88, 150, 63]);
        assert_eq!(outputs[1].values::<f32>().unwrap(), [0.25, 0.0, 0.75, 0.75, 0.0, 0.25]);
    }

    #[test]
    fn two_images_are_blended_if_they_have_the_same_shape() {
        let image = |values: &[u8]| Tensor::from_values(Shape::new(&[1, values.len(), 1]), values.to_vec()).unwrap();
        let inputs = [image(&[0, 100]), image(&[200, 51]), Tensor::scalar(0.75)];
        assert_eq!(run_one(&BlendImages, &inputs).unwrap().bytes(), [50, 88]);
        let text = error_text(&BlendImages, &[image(&[0, 100]), image(&[200]), Tensor::scalar(0.75)]);
        assert!(text.contains("mixup: the images have shapes [1,2,1] and [1,1,1], expected the same shape"), "{text}");
    }

    #[test]
    fn label_outside_the_classes_is_an_error() {
        let images = Tensor::from_values(Shape::new(&[2, 1]), vec![0_u8, 1]).unwrap();
        let mix = |labels| error_text(&MixUp { num_classes: 3 }, &[images.clone(), labels, Tensor::scalar(0.5)]);
        assert!(mix(labels(&[0, 3])).contains("mixup: label 3 of row 1, expected 0 to 2 (num_classes=3)"));
        assert!(mix(labels(&[-1, 0])).contains("label -1 of row 0"));
        assert!(mix(labels(&[0])).contains("expected as many labels as images"));
    }

    #[test]
    fn rectangle_is_copied_from_the_previous_image_in_either_layout() {
        let draws = Tensor::from_values(Shape::new(&[2]), vec![0.25_f32, 0.5]).unwrap();
        // The rest is 1/4. A quarter of the area has half of each side, around row 2 and column 1.
        let share = Tensor::scalar(0.75);
        for (axes, shape) in [([1, 2, 3], [2, 4, 4, 1]), ([2, 3, 1], [2, 1, 4, 4])] {
            let values = (0..32).map(|position| u8::from(position >= 16)).collect();
            let images = Tensor::from_values(Shape::new(&shape), values).unwrap();
            let kernel = CutMix { num_classes: 2, axes };
            let outputs = run(&kernel, &[images, labels(&[0, 1]), share.clone(), draws.clone()]).unwrap();
            let expected = [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0];
            assert_eq!(outputs[0].bytes()[..16], expected);
            assert_eq!(outputs[1].values::<f32>().unwrap(), [0.75, 0.25, 0.25, 0.75]);
        }
    }
}
