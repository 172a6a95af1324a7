//! Targets for images, using the operations that decode them. Each operation accepts several
//! formats, so each target may see all of them.

use crate::claims::{bmp_pixels, gif_pixels, png_pixels, tiff_pixels, webp_pixels};
use crate::kernels::{attrs, run, string};
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// Larger images take too long.
const MOST_PIXELS: usize = 1 << 18;
/// The size of the largest pixel in bytes, with four 16-bit channels.
const PIXEL_BYTES: usize = 8;
/// A GIF frame may be larger than the image, up to what its data can hold.
const GIF_EXPANSION: usize = 4096 / 3;

/// `[options, file...]`: decodes a JPEG, as a whole and in part.
pub fn jpeg(data: &[u8]) -> usize {
    decoded(data, |option, data| {
        let attributes = jpeg_attrs(option);
        let _ = run("DecodeJpeg", &attributes, [string(data)]);
        let window = [i32::from(option & 7), i32::from(option >> 3 & 7), i32::from(option >> 5) + 1, 3];
        if let Ok(window) = Tensor::from_values(Shape::new(&[4]), window.to_vec()) {
            let _ = run("DecodeAndCropJpeg", &attributes, [string(data), window]);
        }
    })
}

fn jpeg_attrs(option: u8) -> Attrs {
    let method = if option & 4 == 0 { "INTEGER_FAST" } else { "INTEGER_ACCURATE" };
    attrs([
        ("channels", Attr::Int([0, 1, 3, 3][usize::from(option & 3)])),
        ("dct_method", Attr::String(method.to_owned())),
        ("fancy_upscaling", Attr::Bool(option & 8 == 0)),
        ("try_recover_truncated", Attr::Bool(option & 16 == 0)),
        ("acceptable_fraction", Attr::Float(if option & 32 == 0 { 1.0 } else { 0.1 })),
        ("ratio", Attr::Int(1 << (option >> 6))),
    ])
}

/// `[options, file...]`: decodes a PNG.
pub fn png(data: &[u8]) -> usize {
    decoded(data, |option, data| {
        let dtype = if option & 4 == 0 { DType::UInt8 } else { DType::UInt16 };
        let attributes = attrs([("channels", channels(option)), ("dtype", Attr::DType(dtype))]);
        let _ = run("DecodePng", &attributes, [string(data)]);
    })
}

/// `[options, file...]`: decodes a GIF.
pub fn gif(data: &[u8]) -> usize {
    decoded(data, |_, data| drop(run("DecodeGif", &attrs([]), [string(data)])))
}

/// `[options, file...]`: decodes a BMP.
pub fn bmp(data: &[u8]) -> usize {
    decoded(data, |option, data| drop(run("DecodeBmp", &attrs([("channels", channels(option))]), [string(data)])))
}

/// `[options, file...]`: decodes a WebP, as stored and rotated by its orientation.
pub fn webp(data: &[u8]) -> usize {
    decoded(data, decode_oriented)
}

/// `[options, file...]`: decodes a TIFF.
pub fn tiff(data: &[u8]) -> usize {
    decoded(data, decode_oriented)
}

fn decode_oriented(option: u8, data: &[u8]) {
    let items = [
        ("channels", channels(option)),
        ("dtype", Attr::DType(DType::UInt16)),
        ("expand_animations", Attr::Bool(option & 16 == 0)),
        ("for_pipeline", Attr::Bool(true)),
        ("orientation", Attr::Bool(true)),
    ];
    let _ = run("DecodeImage", &attrs(items), [string(data)]);
}

/// Decodes a file with a specific operation and with the operation for any format, unless it claims
/// too many pixels.
fn decoded(data: &[u8], decode: impl Fn(u8, &[u8])) -> usize {
    let [option, data @ ..] = data else { return 0 };
    let pixels = claimed_pixels(data);
    if pixels > MOST_PIXELS {
        return data.len();
    }
    decode(*option, data);
    let dtype = [DType::UInt8, DType::UInt16, DType::Float32, DType::UInt8][usize::from(option >> 2 & 3)];
    let items = [
        ("channels", channels(*option)),
        ("dtype", Attr::DType(dtype)),
        ("expand_animations", Attr::Bool(option & 16 == 0)),
        ("for_pipeline", Attr::Bool(option & 32 == 0)),
        ("orientation", Attr::Bool(option & 64 == 0)),
    ];
    let _ = run("DecodeImage", &attrs(items), [string(data)]);
    data.len() * if data.starts_with(b"GIF") { GIF_EXPANSION } else { 1 } + pixels * PIXEL_BYTES
}

/// The number of pixels that a file claims for all its frames together.
fn claimed_pixels(data: &[u8]) -> usize {
    match data {
        [0x89, b'P', ..] => png_pixels(data),
        [b'G', b'I', b'F', ..] => gif_pixels(data),
        [0xff, 0xd8, ..] => jpeg_pixels(data),
        [b'R', b'I', b'F', b'F', ..] => webp_pixels(data),
        [b'I', b'I', b'*' | b'+', 0, ..] | [b'M', b'M', 0, b'*' | b'+', ..] => tiff_pixels(data),
        _ => bmp_pixels(data),
    }
}

fn jpeg_pixels(data: &[u8]) -> usize {
    let shape = attrs([("output_type", Attr::DType(DType::Int32))]);
    let shape = run("ExtractJpegShape", &shape, [string(data)]).ok().and_then(|shape| shape[0].integers().ok());
    match shape.as_deref() {
        Some([height, width, _]) => (height * width) as usize,
        _ => 0,
    }
}

fn channels(option: u8) -> Attr {
    Attr::Int([0, 1, 3, 4][usize::from(option & 3)])
}
