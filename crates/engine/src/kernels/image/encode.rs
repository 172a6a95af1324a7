//! The operations that encode images.
//!
//! Source: `tf.image.encode_jpeg` and `tf.image.encode_png` in TensorFlow 1.15.

use super::bracketed;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::image::codecs::jpeg::short_of_memory;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use headrace_jpeg::{Colours, Density, EncodeOptions};
use png::{BitDepth, ColorType, DeflateCompression, Encoder, Filter};
use std::borrow::Cow;

/// The default compression level of a PNG.
pub const DEFAULT_COMPRESSION: u8 = 6;

/// Returns the height, width and number of channels of an image.
fn sizes(image: &Tensor) -> Result<[usize; 3]> {
    <[usize; 3]>::try_from(&image.shape()[..]).map_err(|_| {
        Error::invalid_argument(format!("image must be 3-dimensional, got shape {}", bracketed(image.shape())))
    })
}

/// Encodes 8-bit grey or RGB pixels as a JPEG.
pub struct EncodeJpeg {
    /// The required number of channels, or `None` to accept 1 or 3.
    channels: Option<usize>,
    options: EncodeOptions,
}

impl EncodeJpeg {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let channels = match attrs.string("format")? {
            "" => None,
            "grayscale" => Some(1),
            "rgb" => Some(3),
            other => {
                let text = format!("format must be '', grayscale or rgb, got {other}");
                return Err(Error::invalid_argument(text));
            }
        };
        let quality = checked_quality(attrs.int("quality")?)?;
        let unit = match attrs.string("density_unit")? {
            "in" => 1,
            "cm" => 2,
            other => return Err(Error::invalid_argument(format!("density_unit must be 'in' or 'cm', got '{other}'"))),
        };
        let density = |name| -> Result<u16> {
            let value = attrs.int(name)?;
            u16::try_from(value)
                .map_err(|_| Error::invalid_argument(format!("{name} must be in [0,65535], got {value}")))
        };
        Ok(Self {
            channels,
            options: EncodeOptions {
                quality,
                is_progressive: attrs.bool("progressive")?,
                is_optimized: attrs.bool("optimize_size")?,
                is_chroma_downsampled: attrs.bool("chroma_downsampling")?,
                density: Density { unit, x: density("x_density")?, y: density("y_density")? },
                app1: match attrs.string("xmp_metadata")? {
                    "" => Vec::new(),
                    xmp => [b"http://ns.adobe.com/xap/1.0/\0", xmp.as_bytes()].concat(),
                },
            },
        })
    }
}

impl Kernel for EncodeJpeg {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image] = expect_inputs(&inputs)?;
        encode_jpeg(image, self.channels, &self.options)
    }
}

/// Encodes 8-bit grey or RGB pixels as a JPEG. The quality is an input.
pub struct EncodeJpegVariableQuality;

impl Kernel for EncodeJpegVariableQuality {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, quality] = expect_inputs(&inputs)?;
        let quality = match (quality.shape().len(), quality.values::<i32>()?) {
            (0, [value]) => checked_quality((*value).into())?,
            _ => {
                let text = format!("quality must be scalar, got shape {}", bracketed(quality.shape()));
                return Err(Error::invalid_argument(text));
            }
        };
        let options = EncodeOptions {
            quality,
            is_progressive: false,
            is_optimized: false,
            is_chroma_downsampled: true,
            density: Density { unit: 1, x: 300, y: 300 },
            app1: Vec::new(),
        };
        encode_jpeg(image, None, &options)
    }
}

/// Checks the quality of a JPEG. Fails unless it is between 0 and 100.
fn checked_quality(quality: i64) -> Result<u8> {
    match quality {
        0..=100 => Ok(quality as u8),
        _ => Err(Error::invalid_argument(format!("quality must be in [0,100], got {quality}"))),
    }
}

/// Encodes an image with `expected` channels (`None` accepts 1 or 3) as a JPEG.
fn encode_jpeg(image: &Tensor, expected: Option<usize>, options: &EncodeOptions) -> Result<Step> {
    let [height, width, channels] = sizes(image)?;
    let shape = || bracketed(image.shape());
    let colours = match (channels, expected) {
        (1, None | Some(1)) => Colours::Grey,
        (3, None | Some(3)) => Colours::Rgb,
        (_, None) => {
            return Err(Error::invalid_argument(format!("image must have 1 or 3 channels, got {}", shape())));
        }
        (_, Some(expected)) => {
            let format = if expected == 1 { "grayscale" } else { "rgb" };
            let text = format!("format {format} expects {expected} channels, got {}", shape());
            return Err(Error::invalid_argument(text));
        }
    };
    let file = headrace_jpeg::encode(image.values::<u8>()?, width, height, colours, options).map_err(|error| {
        let what = "JPEG encoding failed";
        short_of_memory(what, &error).unwrap_or_else(|| Error::invalid_argument(format!("{what}: {error}")))
    })?;
    Ok(Step::one(Tensor::string(file)))
}

/// Encodes 8-bit or 16-bit pixels as a PNG.
pub struct EncodePng {
    /// From 0 (none) to 9.
    compression: u8,
}

impl EncodePng {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        match attrs.int("compression")? {
            -1 => Ok(Self { compression: DEFAULT_COMPRESSION }),
            compression @ 0..=9 => Ok(Self { compression: compression as u8 }),
            other => Err(Error::invalid_argument(format!("compression should be in [-1,9], got {other}"))),
        }
    }
}

impl Kernel for EncodePng {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image] = expect_inputs(&inputs)?;
        encode_png(image, self.compression).map(|file| Step::one(Tensor::string(file)))
    }
}

/// Encodes 8-bit or 16-bit pixels as a PNG file. `compression` ranges from 0 (none) to 9.
pub fn encode_png(image: &Tensor, compression: u8) -> Result<Vec<u8>> {
    let [height, width, channels] = sizes(image)?;
    let colours = match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        other => {
            let text = format!("image must have 1, 2, 3, or 4 channels, got {other}");
            return Err(Error::invalid_argument(text));
        }
    };
    let failed = |reason: &dyn std::fmt::Display| {
        let text = format!("PNG encoding failed: {reason}, image of shape {}", bracketed(image.shape()));
        Error::invalid_argument(text)
    };
    let size = |size: usize| u32::try_from(size).map_err(|error| failed(&error));
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, size(width)?, size(height)?);
    encoder.set_color(colours);
    encoder.set_filter(Filter::Adaptive);
    encoder.set_deflate_compression(match compression {
        0 => DeflateCompression::NoCompression,
        level => DeflateCompression::Level(level),
    });
    let bytes = match image.dtype() {
        DType::UInt8 => Cow::Borrowed(image.bytes()),
        _ => {
            encoder.set_depth(BitDepth::Sixteen);
            let samples = image.values::<u16>()?;
            let bytes = samples.iter().flat_map(|sample| sample.to_be_bytes());
            let bytes = allocate::collected(2 * samples.len(), bytes);
            Cow::Owned(bytes.map_err(|refusal| refusal.at("EncodePng"))?)
        }
    };
    let mut writer = encoder.write_header().map_err(|error| failed(&error))?;
    writer.write_image_data(&bytes).and_then(|()| writer.finish()).map_err(|error| failed(&error))?;
    Ok(file)
}
