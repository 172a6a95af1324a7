//! Resizes an image to a whole number of patches and cuts it into patches, for vision-language
//! models.
//!
//! Source: `Qwen2VLImageProcessor` of transformers.

use super::codecs::jpeg;
use super::decode::Decode;
use super::frame::Frame;
use super::resize::fixed_point;
use super::{bracketed, contents};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::{Attr, Attrs};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

const CHANNELS: usize = 3;
/// The maximum quotient of the two sides of an image.
const MOST_ASPECT: f64 = 200.0;

/// Maps an image or the contents of a file to its patches and the number of patches along each
/// axis.
pub struct Patches {
    sizes: Sizes,
    /// How often each patch is repeated, once for each frame.
    temporal: usize,
    decode: Decode,
    /// The result for each value of a channel.
    values: [[f32; 256]; CHANNELS],
}

/// Maps the height and width of an image to the number of its patches along each axis.
pub struct PatchGrid {
    sizes: Sizes,
}

impl PatchGrid {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { sizes: Sizes::from_attrs(attrs)? })
    }
}

impl Kernel for PatchGrid {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [size] = expect_inputs(&inputs)?;
        let [height, width] = size.values::<i32>()? else {
            return Err(Error::internal("expected a size with a height and a width"));
        };
        if *height <= 0 || *width <= 0 {
            return Err(Error::invalid_argument(format!(
                "patch_grid: the image has {height}x{width} pixels, expected at least one"
            )));
        }
        let [new_height, new_width] = self.sizes.resized(*height as usize, *width as usize)?;
        self.sizes.grid(new_height, new_width).map(Step::one)
    }
}

/// How the size of an image is changed.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    patch: usize,
    merge: usize,
    min_pixels: f64,
    max_pixels: f64,
}

impl Patches {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let number = |item: &Attr| match item {
            Attr::Float(value) => Some(*value),
            Attr::Int(value) => Some(*value as f64),
            _ => None,
        };
        let floats = |name| {
            let values = attrs.list(name, number)?;
            <[f64; CHANNELS]>::try_from(values).map_err(|_| Error::internal("expected a value for each channel"))
        };
        let (mean, std) = (floats("mean")?, floats("std")?);
        let value = |channel: usize, byte: usize| ((byte as f64 / 255.0 - mean[channel]) / std[channel]) as f32;
        Ok(Self {
            sizes: Sizes::from_attrs(attrs)?,
            temporal: attrs.int("temporal")? as usize,
            decode: Decode::first_frame(CHANNELS, jpeg::Options::new("", true)?),
            values: std::array::from_fn(|channel| std::array::from_fn(|byte| value(channel, byte))),
        })
    }

    /// Cuts an image into patches, which is resized first.
    fn cut(&self, image: &Tensor) -> Result<Outputs> {
        let [height, width, CHANNELS] = image.shape()[..] else {
            return Err(Error::invalid_argument(format!(
                "patches: the image has shape {}, expected one image (height, width, 3). Decode it with channels=3, \
                 and call patches before batch; inside a list of images, use each",
                bracketed(image.shape())
            )));
        };
        let frame = Frame::of(image)?;
        let [new_height, new_width] = self.sizes.resized(height, width)?;
        let Sizes { patch, merge, .. } = self.sizes;
        let (rows, columns) = (new_height / patch, new_width / patch);
        let row_length = patch * self.temporal * patch * CHANNELS;
        let shape = Shape::new(&[rows * columns, row_length]);
        let mut patches: Vec<f32> = allocate::elements(DType::Float32, &shape).room()?;
        let refused = |refusal: Refusal| refusal.at("patches");
        // The rows of a row of blocks, and the values of a patch for one frame.
        let mut band: Vec<u8> = allocate::room(patch * merge * new_width * CHANNELS).map_err(refused)?;
        let mut values: Vec<f32> = allocate::zeros(CHANNELS * patch * patch).map_err(refused)?;
        fixed_point::bicubic_rgb(image.values::<u8>()?, &frame, &frame.resized(new_height, new_width)?, |pixels| {
            band.extend_from_slice(pixels);
            if band.len() < patch * merge * pixels.len() {
                return;
            }
            for block in 0..columns / merge {
                for number in 0..merge * merge {
                    let (y, x) = (number / merge * patch, (block * merge + number % merge) * patch);
                    let rows = band.chunks_exact(pixels.len()).skip(y).take(patch);
                    let rows = rows.map(|row| &row[x * CHANNELS..][..patch * CHANNELS]);
                    self.look_up(rows, &mut values);
                    for plane in values.chunks_exact(patch * patch) {
                        (0..self.temporal).for_each(|_| patches.extend_from_slice(plane));
                    }
                }
            }
            band.clear();
        })?;
        let grid = self.sizes.grid(new_height, new_width)?;
        Ok([Tensor::from_values(shape, patches)?, grid].into_iter().collect())
    }
}

impl Patches {
    /// Looks up the values of a patch, channel by channel.
    fn look_up<'a>(&self, rows: impl Iterator<Item = &'a [u8]>, values: &mut [f32]) {
        let Sizes { patch, .. } = self.sizes;
        let [red, green, blue] = &self.values;
        let (reds, others) = values.split_at_mut(patch * patch);
        let (greens, blues) = others.split_at_mut(patch * patch);
        let planes =
            reds.chunks_exact_mut(patch).zip(greens.chunks_exact_mut(patch)).zip(blues.chunks_exact_mut(patch));
        for (row, ((reds, greens), blues)) in rows.zip(planes) {
            let pixels = row.as_chunks::<CHANNELS>().0.iter();
            for (((pixel, value_red), value_green), value_blue) in pixels.zip(reds).zip(greens).zip(blues) {
                *value_red = red[usize::from(pixel[0])];
                *value_green = green[usize::from(pixel[1])];
                *value_blue = blue[usize::from(pixel[2])];
            }
        }
    }
}

impl Kernel for Patches {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image] = expect_inputs(&inputs)?;
        match image.dtype() {
            DType::String => self.cut(&self.decode.decode(contents(image)?, None)?),
            _ => self.cut(image),
        }
        .map(Step::Done)
    }
}

impl Sizes {
    fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let [patch, merge] = ["patch", "merge"].map(|name| attrs.int(name).map(|size| size as usize));
        let [min_pixels, max_pixels] = ["min_pixels", "max_pixels"].map(|name| attrs.int(name).map(|size| size as f64));
        Ok(Self { patch: patch?, merge: merge?, min_pixels: min_pixels?, max_pixels: max_pixels? })
    }

    /// The numbers of frames, of rows of patches, and of patches in a row.
    fn grid(&self, height: usize, width: usize) -> Result<Tensor> {
        Tensor::from_values(Shape::new(&[3]), vec![1, (height / self.patch) as i64, (width / self.patch) as i64])
    }

    /// The size of an image after resizing: multiples of the size of a block of merged patches,
    /// with about the same proportions and a number of pixels within the limits.
    fn resized(&self, height: usize, width: usize) -> Result<[usize; 2]> {
        let sides = [height as f64, width as f64];
        let aspect = sides[0].max(sides[1]) / sides[0].min(sides[1]);
        if aspect > MOST_ASPECT {
            return Err(Error::invalid_argument(format!(
                "patches: the image has {height}x{width} pixels, so one side is {aspect:.0} times as long as the \
                 other, expected at most {MOST_ASPECT}. Crop the image, or drop it with filter"
            )));
        }
        let factor = (self.patch * self.merge) as f64;
        let rounded = sides.map(|side| (side / factor).round_ties_even() * factor);
        let (num_pixels, area) = (rounded[0] * rounded[1], sides[0] * sides[1]);
        let new_sides = if num_pixels > self.max_pixels {
            let shrink = (area / self.max_pixels).sqrt();
            sides.map(|side| factor.max((side / shrink / factor).floor() * factor))
        } else if num_pixels < self.min_pixels {
            let grow = (self.min_pixels / area).sqrt();
            sides.map(|side| (side * grow / factor).ceil() * factor)
        } else {
            rounded
        };
        Ok(new_sides.map(|side| side as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{attrs, error_text, run};

    fn patches(patch: i64, merge: i64, [min_pixels, max_pixels]: [i64; 2], temporal: i64) -> Patches {
        let list = |value| Attr::List(vec![Attr::Float(value); CHANNELS]);
        Patches::from_attrs(&attrs([
            ("patch", Attr::Int(patch)),
            ("merge", Attr::Int(merge)),
            ("min_pixels", Attr::Int(min_pixels)),
            ("max_pixels", Attr::Int(max_pixels)),
            ("temporal", Attr::Int(temporal)),
            ("mean", list(0.0)),
            ("std", list(1.0 / 255.0)),
        ]))
        .unwrap()
    }

    fn image(shape: [usize; 3]) -> Tensor {
        let count = shape.iter().product::<usize>() as u8;
        Tensor::from_values(Shape::new(&shape), (0..count).collect()).unwrap()
    }

    #[test]
    fn patches_of_a_block_are_consecutive() {
        let outputs = run(&patches(1, 2, [1, 100], 1), &[image([2, 4, 3])]).unwrap();
        let first_channels: Vec<_> =
            outputs[0].values::<f32>().unwrap().iter().step_by(3).map(|value| value / 3.0).collect();
        assert_eq!(first_channels, [0.0, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0]);
        assert_eq!(outputs[1].values::<i64>().unwrap(), [1, 2, 4]);
    }

    #[test]
    fn channels_come_before_frames_and_pixels() {
        let outputs = run(&patches(2, 1, [1, 100], 2), &[image([2, 2, 3])]).unwrap();
        assert_eq!(outputs[0].shape()[..], [1, 24]);
        let channel = |first: f32| [0.0, 3.0, 6.0, 9.0, 0.0, 3.0, 6.0, 9.0].map(|value| value + first);
        assert_eq!(outputs[0].values::<f32>().unwrap(), [0.0, 1.0, 2.0].map(channel).concat());
    }

    #[test]
    fn new_sizes_match_transformers() {
        // `smart_resize` of transformers 5.
        let sizes = |min_pixels, max_pixels| Sizes { patch: 14, merge: 2, min_pixels, max_pixels };
        let (usual, small) = (sizes(3136.0, 1_003_520.0), sizes(3136.0, 28.0 * 28.0 * 16.0));
        for (size, expected) in [
            ([480, 640], [476, 644]),
            ([42, 70], [56, 56]),
            ([98, 154], [112, 168]),
            ([1, 1], [56, 56]),
            ([1, 200], [28, 812]),
            ([4000, 3000], [1148, 840]),
        ] {
            assert_eq!(usual.resized(size[0], size[1]).unwrap(), expected, "{size:?}");
        }
        assert_eq!(small.resized(480, 640).unwrap(), [84, 112]);
    }

    #[test]
    fn unsuitable_images_are_rejected() {
        let kernel = patches(14, 2, [3136, 100_000], 2);
        let text = error_text(&kernel, &[image([2, 2, 1])]);
        assert!(text.contains("patches: the image has shape [2,2,1], expected one image (height, width, 3)"), "{text}");
        let long = Tensor::from_values(Shape::new(&[1, 201, 3]), vec![0_u8; 603]).unwrap();
        let text = error_text(&kernel, &[long]);
        assert!(text.contains("1x201 pixels, so one side is 201 times as long as the other"), "{text}");
    }
}
