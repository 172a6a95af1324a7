//! Crops a part of random area and shape from an image and resizes it. Of a JPEG, only that part
//! is decoded.
//!
//! Source: `RandomResizedCrop` of `torchvision.transforms.v2`.

use super::codecs::jpeg;
use super::codecs::sniff::Format;
use super::decode::Decode;
use super::region::{self, NUM_DRAWS, Region, Shares};
use super::{Samples, bracketed, contents, resize};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::{Attr, Attrs};
use crate::kernels::expect_inputs;
use crate::kernels::image::frame::Frame;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use bytes::Bytes;
use headrace_jpeg::Window;

/// An image that consists of some columns: the first one and their number.
struct Part {
    image: Tensor,
    columns: (usize, usize),
    region: Region,
    /// The height and width of the whole image.
    whole: [usize; 2],
}

/// Maps `(image or contents of a file, draws)` to a part of the image, resized to the size in the
/// attributes. The second output is the part's row, column, height and width, followed by the
/// height and width of the image.
pub struct RandomResizedCrop {
    size: [usize; 2],
    shares: Shares,
    decode: Decode,
    channels: usize,
    jpeg: jpeg::Options,
}

impl RandomResizedCrop {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let floats = |name| {
            attrs.list(name, |item| match item {
                Attr::Float(value) => Some(*value),
                Attr::Int(value) => Some(*value as f64),
                _ => None,
            })
        };
        let [height, width, channels] =
            ["height", "width", "channels"].map(|name| attrs.int(name).map(|size| size as usize));
        let channels = channels?;
        let jpeg = jpeg::Options::new(attrs.string("dct_method").unwrap_or(""), true)?;
        Ok(Self {
            size: [height?, width?],
            shares: Shares::new(&floats("scale")?, &floats("ratio")?),
            decode: Decode::first_frame(channels, jpeg),
            channels,
            jpeg,
        })
    }

    fn region(&self, [height, width]: [usize; 2], draws: &[f32]) -> Result<Region> {
        // The ratio is width divided by height, but `draw` expects the reverse.
        let turned = |region: Region| Region { y: region.x, x: region.y, height: region.width, width: region.height };
        let fits = |region: &Region| region.height > 0 && region.width > 0;
        let mut draws =
            <[f32; NUM_DRAWS]>::try_from(draws).map_err(|_| Error::internal("got the wrong number of draws"))?;
        // The last two are for the row and the column.
        draws[NUM_DRAWS - 2..].reverse();
        Ok(match region::draw([width, height], &self.shares, &draws, fits)? {
            Some(region) => turned(region),
            None => middle([height, width], self.shares.ratio()),
        })
    }

    fn crop_pixels(&self, image: &Tensor, draws: &[f32]) -> Result<Part> {
        let [height, width, channels] = image.shape()[..] else {
            return Err(Error::invalid_argument(format!(
                "random_resized_crop: the image has shape {}, expected one image (height, width, channels). Call it \
                 for each image, before batch; decode an animation with expand_animations=False",
                bracketed(image.shape())
            )));
        };
        Frame::of(image)?;
        let region = self.region([height, width], draws)?;
        let shape = Shape::new(&[region.height, region.width, channels]);
        let part = image.window(&[region.y, region.x, 0], shape)?;
        Ok(Part { image: part, columns: (0, region.width), region, whole: [height, width] })
    }

    fn crop_file(&self, file: &Bytes, draws: &[f32]) -> Result<Part> {
        if Format::of(file) != Some(Format::Jpeg) {
            return self.crop_pixels(&self.decode.decode(file, None)?, draws);
        }
        let [height, width, _] = jpeg::shape(file)?;
        super::check_size("random_resized_crop", height, width, 1)?;
        let region = self.region([height, width], draws)?;
        let part = Window { x: region.x, y: region.y, width: region.width, height: region.height };
        let (window, skipped) = jpeg::widened(part, width);
        let pixels = jpeg::decode(file, self.channels, &self.jpeg, Some(window))?;
        let shape = Shape::new(&[pixels.height, pixels.width, pixels.channels]);
        let Samples::Eight(bytes) = pixels.samples else {
            return Err(Error::internal("the JPEG was decoded to 16-bit samples"));
        };
        let image = Tensor::from_values(shape, bytes)?;
        Ok(Part { image, columns: (skipped, region.width), region, whole: [height, width] })
    }
}

/// The centre of an image whose shape is too extreme for every rectangle.
fn middle([height, width]: [usize; 2], [least, most]: [f64; 2]) -> Region {
    let side = |length: f64, limit: usize| (length.round_ties_even() as usize).clamp(1, limit);
    let ratio = width as f64 / height as f64;
    let (new_height, new_width) = if ratio < least {
        (side(width as f64 / least, height), width)
    } else if ratio > most {
        (height, side(height as f64 * most, width))
    } else {
        (height, width)
    };
    Region { y: (height - new_height) / 2, x: (width - new_width) / 2, height: new_height, width: new_width }
}

impl Kernel for RandomResizedCrop {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, draws] = expect_inputs(&inputs)?;
        let draws = draws.values::<f32>()?;
        let part = match image.dtype() {
            DType::String => self.crop_file(contents(image)?, draws)?,
            _ => self.crop_pixels(image, draws)?,
        };
        let frame = Frame::of(&part.image)?;
        let target = frame.resized(self.size[0], self.size[1])?;
        let resized = resize::antialiased(&part.image, part.columns, &target)?;
        let Region { y, x, height, width } = part.region;
        let sizes: Vec<i32> = [y, x, height, width].into_iter().chain(part.whole).map(|size| size as i32).collect();
        let sizes = Tensor::from_values(Shape::new(&[sizes.len()]), sizes)?;
        Ok(Step::Done([resized, sizes].into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{attrs, error_text, run};

    fn kernel(size: [i64; 2], scale: [f64; 2]) -> RandomResizedCrop {
        let list = |values: [f64; 2]| Attr::List(values.map(Attr::Float).to_vec());
        RandomResizedCrop::from_attrs(&attrs([
            ("height", Attr::Int(size[0])),
            ("width", Attr::Int(size[1])),
            ("scale", list(scale)),
            ("ratio", list([1.0, 1.0])),
            ("channels", Attr::Int(0)),
        ]))
        .unwrap()
    }

    fn draws(row: f32, column: f32) -> Tensor {
        let mut draws = vec![0.0_f32; NUM_DRAWS];
        draws[20] = row;
        draws[21] = column;
        Tensor::from_values(Shape::new(&[draws.len()]), draws).unwrap()
    }

    #[test]
    fn crop_is_resized() {
        let image = Tensor::from_values(Shape::new(&[4, 4, 1]), (0..16_u8).collect()).unwrap();
        let outputs =
            |size, row, column| run(&kernel(size, [0.25, 0.25]), &[image.clone(), draws(row, column)]).unwrap();
        let crop = |size, row, column| outputs(size, row, column)[0].bytes().to_vec();
        assert_eq!(crop([2, 2], 0.0, 0.99), [2, 3, 6, 7]);
        assert_eq!(crop([2, 2], 0.5, 0.0), [4, 5, 8, 9]);
        assert_eq!(crop([1, 1], 0.0, 0.0), [3]); // The mean of 0, 1, 4 and 5, with a half rounded up.
        assert_eq!(outputs([2, 2], 0.0, 0.99)[1].values::<i32>().unwrap(), [0, 2, 2, 2, 4, 4]);
    }

    #[test]
    fn center_is_cropped_if_no_rectangle_fits() {
        assert_eq!(middle([10, 30], [0.5, 2.0]), Region { y: 0, x: 5, height: 10, width: 20 });
        assert_eq!(middle([30, 10], [0.5, 2.0]), Region { y: 5, x: 0, height: 20, width: 10 });
        assert_eq!(middle([10, 15], [0.5, 2.0]), Region { y: 0, x: 0, height: 10, width: 15 });
        assert_eq!(middle([1, 1], [3.0, 4.0]), Region { y: 0, x: 0, height: 1, width: 1 });
    }

    #[test]
    fn batch_is_rejected() {
        let image = Tensor::from_values(Shape::new(&[1, 1, 1, 1]), vec![0_u8]).unwrap();
        let text = error_text(&kernel([1, 1], [1.0, 1.0]), &[image, draws(0.0, 0.0)]);
        assert!(text.contains("random_resized_crop: the image has shape [1,1,1,1], expected one image"), "{text}");
    }
}
