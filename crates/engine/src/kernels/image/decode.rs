//! Decodes images. Each operation accepts several formats, regardless of its name.

use super::codecs::sniff::{Format, describe_unknown, undecoded};
use super::codecs::{bmp, exif, gif, jpeg, png, tiff, webp};
use super::flip;
use super::{Pixels, Samples, bracketed, contents};
use crate::error::{Error, Result};
use crate::files::content::content;
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use headrace_jpeg::Window;

/// The maximum number of channels of a TIFF.
const MOST_CHANNELS: i64 = u16::MAX as i64;

/// Decodes an image in any format that the operation accepts.
pub struct Decode {
    op: Op,
    /// The number of channels; 0 means the same as in the file.
    channels: usize,
    dtype: DType,
    jpeg: jpeg::Options,
    /// True for pipelines, which follow the specifications of the formats and support more of them.
    /// False for TensorFlow 1, whose pixels are reproduced exactly.
    for_pipeline: bool,
    /// True if the EXIF orientation is applied.
    is_oriented: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Op {
    /// If `is_cropping`, the second input is the window.
    Jpeg {
        is_cropping: bool,
    },
    Png,
    Gif,
    Bmp,
    Any {
        expand_animations: bool,
    },
}

impl Decode {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(op_type: &str, attrs: &Attrs) -> Result<Self> {
        let op = match op_type {
            "DecodeJpeg" => Op::Jpeg { is_cropping: false },
            "DecodeAndCropJpeg" => Op::Jpeg { is_cropping: true },
            "DecodePng" => Op::Png,
            "DecodeGif" => Op::Gif,
            "DecodeBmp" => Op::Bmp,
            _ => Op::Any { expand_animations: attrs.bool("expand_animations")? },
        };
        let channels = if op == Op::Gif { 3 } else { attrs.int("channels")? };
        let for_pipeline = attrs.bool("for_pipeline").unwrap_or(false);
        let can_have_bands = for_pipeline && matches!(op, Op::Any { .. }) && (0..=MOST_CHANNELS).contains(&channels);
        if !matches!(channels, 0 | 1 | 3 | 4) && !can_have_bands {
            let comma = if op == Op::Bmp { "" } else { "," };
            return Err(Error::invalid_argument(format!("channels must be 0, 1, 3{comma} or 4, got {channels}")));
        }
        let has_dtype = matches!(op, Op::Png | Op::Any { .. });
        Ok(Self {
            op,
            channels: channels as usize,
            dtype: if has_dtype { attrs.dtype("dtype")? } else { DType::UInt8 },
            jpeg: match op {
                Op::Jpeg { .. } => jpeg::Options::from_attrs(attrs, for_pipeline)?,
                _ => jpeg::Options::new(attrs.string("dct_method").unwrap_or(""), for_pipeline)?,
            },
            for_pipeline,
            is_oriented: attrs.bool("orientation").unwrap_or(false),
        })
    }

    /// The decoder that `decode_image` uses for the first frame of an animation.
    pub fn first_frame(channels: usize, jpeg: jpeg::Options) -> Self {
        let op = Op::Any { expand_animations: false };
        Self { op, channels, dtype: DType::UInt8, jpeg, for_pipeline: true, is_oriented: false }
    }

    /// Applies the EXIF orientation, or ignores it.
    pub fn with_orientation(self, is_oriented: bool) -> Self {
        Self { is_oriented, ..self }
    }

    /// The name of the operation for users of a pipeline or of TensorFlow 1.
    fn named(&self, operation: &str) -> String {
        format!("{}.{operation}", if self.for_pipeline { "hr.ops" } else { "tf.image" })
    }

    /// The dtype of the pixels.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Decodes an image, or a part of it.
    pub fn decode(&self, contents: &[u8], window: Option<Window>) -> Result<Tensor> {
        let is_any = matches!(self.op, Op::Any { .. });
        let format = self.format_of(contents)?;
        self.check_channels(format)?;
        if self.op == Op::Png && self.dtype == DType::UInt16 && format != Format::Png {
            return Err(Error::invalid_argument(format!("{format} does not support uint16 output")));
        }
        let image = match format {
            Format::Jpeg => self.finish(match window {
                None => jpeg::decode(contents, self.channels, &self.jpeg, None)?,
                Some(window) => jpeg::decode_window(contents, self.channels, &self.jpeg, window)?,
            }),
            Format::Png => {
                let is_wide = self.dtype != DType::UInt8;
                self.finish(png::decode(contents, self.channels, is_wide, self.for_pipeline)?)
            }
            Format::Bmp => self.finish(bmp::decode(contents, self.channels, self.for_pipeline)?),
            Format::Gif => self.decode_gif(contents),
            Format::Tiff => self.finish(tiff::decode(contents, self.channels, self.dtype, self.is_first_only())?),
            Format::Webp => self.decode_webp(contents),
        }?;
        match self.is_oriented && is_any {
            true => flip::oriented(image, orientation(contents, format)),
            false => Ok(image),
        }
    }

    /// Detects the format. Fails unless the operation accepts it.
    pub fn format_of(&self, contents: &[u8]) -> Result<Format> {
        match (self.op, Format::of(contents)) {
            (Op::Bmp, _) => Ok(Format::Bmp),
            (Op::Any { .. }, Some(format)) if self.for_pipeline || !format.is_of_pipelines() => Ok(format),
            (_, Some(format @ (Format::Jpeg | Format::Png | Format::Gif))) => Ok(format),
            (op, format) => {
                let prefix = match op {
                    Op::Any { .. } if self.for_pipeline => {
                        "Unable to decode bytes as JPEG, PNG, GIF, BMP, TIFF or WebP: "
                    }
                    Op::Any { .. } => "Unable to decode bytes as JPEG, PNG, GIF, or BMP: ",
                    _ => "",
                };
                let remedy = match format {
                    Some(format) if format.is_of_pipelines() => {
                        format!("The file is a {format}: decode it with hr.ops.decode_image, in a native function")
                    }
                    Some(format) => format!("The file is a {format}: decode it with {}", self.named("decode_image")),
                    None if contents.is_empty() => "Check the program that wrote it".to_owned(),
                    None => match (undecoded(contents), content(contents)) {
                        (Some(name), _) => format!(
                            "It is {name}, which is not supported: convert it to WebP or PNG, or decode it in a \
                             Python function, for example with Pillow"
                        ),
                        (None, Some(detected)) => format!("It is {detected}. {}", detected.remedy()),
                        (None, None) => "Check the source of the contents".to_owned(),
                    },
                };
                let got = describe_unknown(contents);
                let text = format!("{prefix}Expected image (JPEG, PNG, or GIF), got {got}. {remedy}");
                Err(Error::invalid_argument(text))
            }
        }
    }

    fn is_first_only(&self) -> bool {
        self.op == Op::Any { expand_animations: false }
    }

    fn decode_webp(&self, contents: &[u8]) -> Result<Tensor> {
        let webp::Decoded { pixels, num_frames } = webp::decode(contents, self.channels, self.is_first_only())?;
        let sizes = [pixels.height, pixels.width, pixels.channels];
        let shape: Shape = num_frames.into_iter().chain(sizes).collect();
        self.tensor(shape, pixels.samples)
    }

    fn check_channels(&self, format: Format) -> Result<()> {
        let allowed: &[usize] = match format {
            Format::Jpeg => &[0, 1, 3],
            Format::Gif => &[0, 3],
            Format::Bmp if matches!(self.op, Op::Any { .. }) && !self.for_pipeline => &[0, 3, 4],
            Format::Webp => &[0, 3, 4],
            Format::Png => &[0, 1, 2, 3, 4],
            Format::Bmp => &[0, 1, 3, 4],
            Format::Tiff => return Ok(()),
        };
        if allowed.contains(&self.channels) {
            return Ok(());
        }
        let channels = self.channels;
        Err(Error::invalid_argument(match (self.op, format) {
            (Op::Any { .. }, _) => {
                let list: Vec<String> = allowed.iter().map(usize::to_string).collect();
                format!("Channels must be in (None, {}) when decoding {format} images, got {channels}", list.join(", "))
            }
            (_, Format::Jpeg) => format!("channels must be 0, 1, or 3 for JPEG, got {channels}"),
            _ => format!("channels must be 0 or 3 for GIF, got {channels}"),
        }))
    }

    fn decode_gif(&self, contents: &[u8]) -> Result<Tensor> {
        let frames = gif::decode(contents, if self.is_first_only() { 1 } else { usize::MAX }, self.for_pipeline)?;
        let mut shape = vec![frames.height, frames.width, 3];
        if matches!(self.op, Op::Gif | Op::Any { expand_animations: true }) {
            shape.insert(0, frames.num_frames);
        } else if frames.num_frames > 1 {
            return Err(Error::invalid_argument(format!(
                "Got {} frames, but animated gifs can only be decoded by {} or {}",
                frames.num_frames,
                self.named("decode_gif"),
                self.named("decode_image")
            )));
        }
        self.tensor(Shape::new(&shape), Samples::Eight(frames.samples))
    }

    fn finish(&self, pixels: Pixels) -> Result<Tensor> {
        let mut shape = vec![pixels.height, pixels.width, pixels.channels];
        if self.op == Op::Gif {
            shape.insert(0, 1);
        }
        self.tensor(Shape::new(&shape), pixels.samples)
    }

    /// Converts samples to the output dtype. Integers are scaled by a power of two. Floats range
    /// from 0 to 1.
    fn tensor(&self, shape: Shape, samples: Samples) -> Result<Tensor> {
        const SCALE_8: f32 = 1.0 / u8::MAX as f32;
        const SCALE_16: f32 = 1.0 / u16::MAX as f32;
        match (samples, self.dtype) {
            (Samples::Eight(values), DType::UInt8) => Tensor::from_values(shape, values),
            (Samples::Eight(values), DType::UInt16) => {
                let values = values.iter().map(|value| u16::from(*value) << 8);
                let values = allocate::elements(self.dtype, &shape).collect(values)?;
                Tensor::from_values(shape, values)
            }
            (Samples::Eight(values), DType::Float32) => {
                let values = values.iter().map(|value| f32::from(*value) * SCALE_8);
                let values = allocate::elements(self.dtype, &shape).collect(values)?;
                Tensor::from_values(shape, values)
            }
            (Samples::Sixteen(values), DType::UInt16) => Tensor::from_values(shape, values),
            (Samples::Sixteen(values), DType::Float32) => {
                let values = values.iter().map(|value| f32::from(*value) * SCALE_16);
                let values = allocate::elements(self.dtype, &shape).collect(values)?;
                Tensor::from_values(shape, values)
            }
            (Samples::Float(values), DType::Float32) => Tensor::from_values(shape, values),
            (_, dtype) => Err(Error::internal(format!("an image decoded to {dtype}"))),
        }
    }
}

impl Kernel for Decode {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let image = contents(inputs.first().ok_or_else(|| Error::internal("nothing to decode"))?)?;
        let window = match (self.op, inputs.get(1)) {
            (Op::Jpeg { is_cropping: true }, Some(window)) => Some(to_window(window)?),
            _ => None,
        };
        self.decode(image, window).map(Step::one)
    }
}

/// The orientation stored in a file, from 1 to 8.
pub fn orientation(contents: &[u8], format: Format) -> u8 {
    let data = match format {
        Format::Jpeg => exif::of_jpeg(contents),
        Format::Png => exif::of_png(contents),
        Format::Tiff => return tiff::orientation(contents),
        Format::Webp => exif::of_webp(contents),
        Format::Bmp | Format::Gif => None,
    };
    data.map_or(1, exif::orientation)
}

/// Reads a window as y, x, height and width. Windows outside the image are kept as they are.
fn to_window(tensor: &Tensor) -> Result<Window> {
    let shape = tensor.shape();
    if shape.len() != 1 {
        return Err(Error::invalid_argument(format!("crop_window must be 1-D, got shape {}", bracketed(shape))));
    }
    let [y, x, height, width] = tensor.values::<i32>()? else {
        return Err(Error::invalid_argument(format!("crop_size must have four elements {}", bracketed(shape))));
    };
    let [x, y, width, height] = [x, y, width, height].map(|size| usize::try_from(*size).unwrap_or(usize::MAX));
    Ok(Window { x, y, width, height })
}

/// Reads the height, width and number of channels of a JPEG without decoding it.
pub struct ExtractJpegShape {
    dtype: DType,
}

impl ExtractJpegShape {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { dtype: attrs.dtype("output_type")? })
    }
}

impl Kernel for ExtractJpegShape {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image] = expect_inputs(&inputs)?;
        let sizes = jpeg::shape(contents(image)?)?.map(|size| size as i32); // At most 65535.
        let shape = Shape::new(&[sizes.len()]);
        match self.dtype {
            DType::Int64 => Tensor::from_values(shape, sizes.map(i64::from).to_vec()),
            _ => Tensor::from_values(shape, sizes.to_vec()),
        }
        .map(Step::one)
    }
}
