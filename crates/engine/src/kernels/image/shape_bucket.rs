//! Assigns image files to buckets by their aspect ratio, and crops images to the shape of their
//! bucket.

use super::decode::Decode;
use super::file_size::{decoder, file_size};
use super::{contents, resize};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::{Attr, Attrs};
use crate::kernels::expect_inputs;
use crate::kernels::image::frame::Frame;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;

/// The height and width of each bucket.
struct Buckets(Vec<[usize; 2]>);

impl Buckets {
    fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let sizes = |name| {
            attrs.list(name, |item| match item {
                Attr::Int(size) => usize::try_from(*size).ok().filter(|size| *size > 0),
                _ => None,
            })
        };
        Ok(Self(sizes("heights")?.into_iter().zip(sizes("widths")?).map(|(height, width)| [height, width]).collect()))
    }

    /// The bucket whose aspect ratio is nearest to the image's: the first one with the smallest
    /// quotient of the two ratios.
    fn nearest(&self, [height, width]: [usize; 2]) -> Option<usize> {
        let quotient = |[other_height, other_width]: [usize; 2]| {
            let (one, other) = (height as u128 * other_width as u128, width as u128 * other_height as u128);
            (one.max(other), one.min(other))
        };
        // Cross products are exact: sizes have far fewer than 32 bits.
        let is_less = |one: (u128, u128), other: (u128, u128)| one.0 * other.1 < other.0 * one.1;
        let quotients = self.0.iter().map(|shape| quotient(*shape)).enumerate();
        quotients.reduce(|best, next| if is_less(next.1, best.1) { next } else { best }).map(|(index, _)| index)
    }

    fn get(&self, index: &Tensor) -> Result<[usize; 2]> {
        let index = index.values::<i32>()?.first().and_then(|index| self.0.get(usize::try_from(*index).ok()?));
        index.copied().ok_or_else(|| Error::internal("the bucket of an image does not exist"))
    }
}

/// Maps the contents of a file to the number of its bucket, int32, according to its header.
pub struct ShapeBucket {
    buckets: Buckets,
    decode: Decode,
    is_oriented: bool,
}

impl ShapeBucket {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let is_oriented = attrs.bool("orientation")?;
        Ok(Self { buckets: Buckets::from_attrs(attrs)?, decode: decoder()?, is_oriented })
    }
}

impl Kernel for ShapeBucket {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [file] = expect_inputs(&inputs)?;
        let shape = file_size("bucket_by_shape", contents(file)?, &self.decode, self.is_oriented)?;
        let bucket = self.buckets.nearest(shape).ok_or_else(|| Error::internal("there are no buckets"))?;
        Tensor::from_values(Shape::new(&[]), vec![bucket as i32]).map(Step::one)
    }
}

/// Maps the contents of a file and the number of its bucket to pixels of the bucket's shape. The
/// image is scaled until it covers the shape, and then cropped in the centre.
pub struct CropToBucket {
    buckets: Buckets,
    decode: Decode,
}

impl CropToBucket {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let decode = decoder()?.with_orientation(attrs.bool("orientation")?);
        Ok(Self { buckets: Buckets::from_attrs(attrs)?, decode })
    }
}

impl Kernel for CropToBucket {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [file, bucket] = expect_inputs(&inputs)?;
        let target = self.buckets.get(bucket)?;
        let image = self.decode.decode(contents(file)?, None)?;
        let [height, width, channels] = image.shape()[..] else {
            return Err(Error::internal("an image has no height, width and channels"));
        };
        let [new_height, new_width] = covered([height, width], target);
        let first = [(height - new_height) / 2, (width - new_width) / 2, 0];
        let part = image.window(&first, Shape::new(&[new_height, new_width, channels]))?;
        let frame = Frame::of(&part)?;
        let output = frame.resized(target[0], target[1])?;
        resize::antialiased(&part, (0, new_width), &output).map(Step::one)
    }
}

/// The height and width of the largest part of an image that has the aspect ratio of `target`.
fn covered([height, width]: [usize; 2], [target_height, target_width]: [usize; 2]) -> [usize; 2] {
    // `length * numerator / denominator`, rounded to the nearest.
    let scaled = |length: usize, numerator: usize, denominator: usize| {
        let product = length as u128 * numerator as u128;
        ((product * 2 + denominator as u128) / (denominator as u128 * 2)).max(1) as usize
    };
    if width as u128 * target_height as u128 > height as u128 * target_width as u128 {
        [height, scaled(height, target_width, target_height).min(width)]
    } else {
        [scaled(width, target_height, target_width).min(height), width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_aspect_ratio_is_chosen() {
        let buckets = Buckets(vec![[64, 256], [128, 128], [256, 64]]);
        for (shape, bucket) in [([100, 100], 1), ([100, 199], 1), ([100, 201], 0), ([1000, 1], 2), ([1, 1], 1)] {
            assert_eq!(buckets.nearest(shape), Some(bucket), "{shape:?}");
        }
        // The first of two that are equally near.
        assert_eq!(buckets.nearest([100, 200]), Some(0));
    }

    #[test]
    fn largest_part_with_the_aspect_ratio_covers_the_bucket() {
        assert_eq!(covered([100, 300], [64, 64]), [100, 100]);
        assert_eq!(covered([300, 100], [64, 128]), [50, 100]);
        assert_eq!(covered([64, 128], [64, 128]), [64, 128]);
        assert_eq!(covered([1, 1000], [128, 64]), [1, 1]);
        assert_eq!(covered([3, 5], [2, 3]), [3, 5]);
    }
}
