//! Operations on images: decoding, encoding, and changing pixels.

mod codecs;
mod colour;
mod crop;
mod crop_and_resize;
mod decode;
mod draw;
pub mod encode;
mod file_size;
mod flip;
pub(crate) mod frame;
mod luma;
mod patches;
mod random;
pub(crate) mod region;
mod resize;
mod resized_crop;
mod shape_bucket;
mod sums;

pub use decode::Decode;

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;
use bytes::Bytes;
use std::sync::Arc;

/// The maximum number of pixels in a file, over all frames: 2^29 bytes of RGB, which is
/// TensorFlow's limit for a JPEG.
///
/// A small file can claim any size, so decoders check this before they allocate memory.
pub const MAX_PIXELS: usize = (1 << 29) / 3;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "AdjustContrastv2" => Arc::new(colour::Change::AdjustContrast),
        "AdjustHue" => Arc::new(colour::Change::AdjustHue),
        "AdjustSaturation" => Arc::new(colour::Change::AdjustSaturation),
        "CentralCrop" => Arc::new(crop::CentralCrop::from_attrs(attrs)?),
        "CropAndResize" => Arc::new(crop_and_resize::CropAndResize::from_attrs(attrs)?),
        "CropToBoundingBox" => Arc::new(crop::CropToBoundingBox),
        "DecodeAndCropJpeg" | "DecodeBmp" | "DecodeGif" | "DecodeImage" | "DecodeJpeg" | "DecodePng" => {
            Arc::new(decode::Decode::from_attrs(op_type, attrs)?)
        }
        "DrawBoundingBoxes" | "DrawBoundingBoxesV2" => Arc::new(draw::DrawBoundingBoxes),
        "EncodeJpeg" => Arc::new(encode::EncodeJpeg::from_attrs(attrs)?),
        "EncodeJpegVariableQuality" => Arc::new(encode::EncodeJpegVariableQuality),
        "EncodePng" => Arc::new(encode::EncodePng::from_attrs(attrs)?),
        "ExtractJpegShape" => Arc::new(decode::ExtractJpegShape::from_attrs(attrs)?),
        "FitImage" => Arc::new(resize::fit::FitImage),
        "FlipImage" => Arc::new(flip::FlipImage::from_attrs(attrs)?),
        "ImageFileSize" => Arc::new(file_size::ImageFileSize::from_attrs(attrs)?),
        "GreyToRgb" => Arc::new(colour::GreyToRgb),
        "HSVToRGB" => Arc::new(colour::Change::HsvToRgb),
        "PadToBoundingBox" => Arc::new(crop::PadToBoundingBox),
        "PatchGrid" => Arc::new(patches::PatchGrid::from_attrs(attrs)?),
        "Patches" => Arc::new(patches::Patches::from_attrs(attrs)?),
        "PerImageStandardization" => Arc::new(colour::PerImageStandardization),
        "RGBToHSV" => Arc::new(colour::Change::RgbToHsv),
        "RGBToYIQ" => Arc::new(colour::Change::Linear(colour::RGB_TO_YIQ)),
        "RGBToYUV" => Arc::new(colour::Change::Linear(colour::RGB_TO_YUV)),
        "RandomCrop" => Arc::new(random::RandomCrop),
        "ShapeBucket" => Arc::new(shape_bucket::ShapeBucket::from_attrs(attrs)?),
        "CropToBucket" => Arc::new(shape_bucket::CropToBucket::from_attrs(attrs)?),
        "RandomResizedCrop" => Arc::new(resized_crop::RandomResizedCrop::from_attrs(attrs)?),
        "ResizeArea" | "ResizeBicubic" | "ResizeBilinear" | "ResizeNearestNeighbor" | "ScaleAndTranslate" => {
            Arc::new(resize::Resize::from_attrs(op_type, attrs)?)
        }
        "ResizeWithCropOrPad" => Arc::new(crop::ResizeWithCropOrPad),
        "RgbToGrey" => Arc::new(colour::RgbToGrey),
        "RotateImage" => Arc::new(flip::RotateImage),
        "TransposeImage" => Arc::new(flip::TransposeImage),
        "YIQToRGB" => Arc::new(colour::Change::Linear(colour::YIQ_TO_RGB)),
        "YUVToRGB" => Arc::new(colour::Change::Linear(colour::YUV_TO_RGB)),
        _ => return Ok(None),
    }))
}

/// Decoded pixels, row by row, with the channels of a pixel next to each other.
#[derive(Debug, PartialEq)]
struct Pixels {
    height: usize,
    width: usize,
    channels: usize,
    samples: Samples,
}

#[derive(Debug, PartialEq)]
enum Samples {
    Eight(Vec<u8>),
    Sixteen(Vec<u16>),
    Float(Vec<f32>),
}

/// Returns the encoded bytes. Fails unless there is exactly one string.
fn contents(tensor: &Tensor) -> Result<&Bytes> {
    match tensor.string_values() {
        [contents] if tensor.shape().is_empty() => Ok(contents),
        _ => Err(Error::invalid_argument(format!("contents must be scalar, got shape {}", bracketed(tensor.shape())))),
    }
}

/// Formats a shape like TensorFlow's kernels: `[2,3]`.
pub fn bracketed(shape: &Shape) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", sizes.join(","))
}

/// The error for a damaged file. `text` contains the file and the reason.
fn damaged(text: &str) -> Error {
    Error::invalid_argument(format!("{}. Copy the file again, or skip it", text.trim_end_matches('.')))
}

/// Checks the size that an image's header claims. The error begins with `what`.
fn check_size(what: &str, height: usize, width: usize, num_frames: usize) -> Result<()> {
    let num_pixels = height.saturating_mul(width).saturating_mul(num_frames);
    if height == 0 || width == 0 {
        return Err(Error::invalid_argument(format!(
            "{what}: the image is {height}x{width}, expected at least one \
                                                    pixel"
        )));
    }
    if num_pixels > MAX_PIXELS {
        let frames = if num_frames == 1 { String::new() } else { format!("{num_frames} frames of ") };
        return Err(Error::invalid_argument(format!(
            "{what}: the image has {frames}{height}x{width} pixels, expected at most {MAX_PIXELS}. Resize the \
             image before reading it. If you expected a smaller image, the file may be damaged or malicious"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_for_an_oversized_image_names_the_limit_and_a_remedy() {
        assert!(check_size("x", 13_377, 13_377, 1).is_ok());
        for (height, width, frames, text) in [
            (13_378, 13_378, 1, "x: the image has 13378x13378 pixels, expected at most 178956970. Resize"),
            (1000, 1000, 200, "x: the image has 200 frames of 1000x1000 pixels, expected"),
            (usize::MAX, 2, 1, "expected at most 178956970"),
            (0, 5, 1, "x: the image is 0x5, expected at least one pixel"),
        ] {
            let error = check_size("x", height, width, frames).unwrap_err();
            assert!(error.message().contains(text), "{error}");
        }
    }
}
