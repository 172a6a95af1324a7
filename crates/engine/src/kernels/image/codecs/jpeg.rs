//! JPEG, using libjpeg-turbo.
//!
//! Source: `tf.image.decode_jpeg` and similar functions in TensorFlow 1.15. Pipelines use libjpeg's
//! defaults and Pillow's colours.

use super::channels::from_inks;
use super::tiff_fault::Fault;
use crate::error::{Code, Error, Result};
use crate::kernels::attrs::Attrs;
use crate::kernels::image::{Pixels, Samples, check_size, damaged};
use crate::tensor::allocate;
use headrace_jpeg::{Colours, DecodeOptions, Decoder, Image, Window};
use std::cell::Cell;

/// The maximum number of scans. Each covers the whole image, and encoders write at most about
/// twenty.
const MAX_SCANS: u16 = 100;

/// Images with fewer blocks than this (16 million pixels) are not checked before they are decoded.
const MANY_BLOCKS: usize = 1 << 18;

/// Options for decoding, from the attributes of an operation.
#[derive(Clone, Copy)]
pub struct Options {
    ratio: u8,
    is_fancy: bool,
    is_accurate: bool,
    is_recovering: bool,
    /// The fraction of rows that must be present.
    acceptable_fraction: f32,
    for_pipeline: bool,
}

/// The number of extra columns to decode on each side of a window, because chroma is interpolated
/// between two samples.
const MARGIN: usize = 2;

impl Options {
    /// Creates options with a transform: `method`, or the caller's default if it is empty.
    pub fn new(method: &str, for_pipeline: bool) -> Result<Self> {
        let is_accurate = match (method, for_pipeline) {
            ("", _) => for_pipeline,
            ("INTEGER_FAST", _) | ("fast", true) => false,
            ("INTEGER_ACCURATE", _) | ("accurate", true) => true,
            (other, true) => {
                return Err(Error::invalid_argument(format!("dct_method is '{other}', expected 'accurate' or 'fast'")));
            }
            (other, false) => {
                return Err(Error::invalid_argument(format!(
                    "dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}, got '{other}'"
                )));
            }
        };
        let (ratio, acceptable_fraction) = (1, 1.0);
        Ok(Self { ratio, is_fancy: true, is_accurate, is_recovering: false, acceptable_fraction, for_pipeline })
    }

    pub fn from_attrs(attrs: &Attrs, for_pipeline: bool) -> Result<Self> {
        let ratio = attrs.int("ratio")?;
        if !matches!(ratio, 1 | 2 | 4 | 8) {
            return Err(Error::invalid_argument(format!("ratio must be 1, 2, 4, or 8, got {ratio}")));
        }
        Ok(Self {
            ratio: ratio as u8,
            is_fancy: attrs.bool("fancy_upscaling")?,
            is_recovering: attrs.bool("try_recover_truncated")?,
            acceptable_fraction: attrs.float("acceptable_fraction")? as f32,
            ..Self::new(attrs.string("dct_method")?, for_pipeline)?
        })
    }
}

/// Adds columns on both sides of a window, and returns the column at which the window begins.
/// Without them, chroma at the sides would differ from the whole image.
pub fn widened(window: Window, width: usize) -> (Window, usize) {
    let x = window.x.saturating_sub(MARGIN);
    let end = window.x.saturating_add(window.width).saturating_add(MARGIN).min(width).max(x);
    (Window { x, width: end - x, ..window }, window.x - x)
}

/// Decodes a window. In a pipeline, its pixels are the same as in the whole image.
pub fn decode_window(contents: &[u8], channels: usize, options: &Options, window: Window) -> Result<Pixels> {
    let width = if options.for_pipeline { shape(contents)?[1].div_ceil(options.ratio.into()) } else { 0 };
    // TensorFlow's chroma differs there. A window outside the image is an error.
    if window.width == 0 || window.x.checked_add(window.width).is_none_or(|end| end > width) {
        return decode(contents, channels, options, Some(window));
    }
    let (wide, skipped) = widened(window, width);
    let mut pixels = decode(contents, channels, options, Some(wide))?;
    let Samples::Eight(samples) = &mut pixels.samples else {
        return Err(Error::internal("the JPEG was decoded to 16-bit samples"));
    };
    let (row_bytes, skipped) = (window.width * pixels.channels, skipped * pixels.channels);
    for y in 0..pixels.height {
        let start = y * wide.width * pixels.channels + skipped;
        samples.copy_within(start..start + row_bytes, y * row_bytes);
    }
    samples.truncate(pixels.height * row_bytes);
    Ok(Pixels { width: window.width, ..pixels })
}

/// Decodes to 1 or 3 channels; 0 means the same as in the file.
pub fn decode(contents: &[u8], channels: usize, options: &Options, window: Option<Window>) -> Result<Pixels> {
    let what = format!("Invalid JPEG data or crop window, data size {}", contents.len());
    let colours = match channels {
        0 => None,
        1 => Some(Colours::Grey),
        3 => Some(Colours::Rgb),
        _ => {
            return Err(Error::invalid_argument(format!("channels must be 0, 1, or 3 for JPEG, got {channels}")));
        }
    };
    let decoder = Decoder::new(contents, MAX_SCANS)
        .map_err(|error| short_of_memory(&what, &error).unwrap_or_else(|| damaged(&format!("{what}: {error}"))))?;
    check_size(&what, decoder.height(), decoder.width(), 1)?;
    if !options.is_recovering {
        check_fullness(&what, decoder.height(), decoder.width(), contents.len())?;
    }
    // TensorFlow rounds the products of inks down; Pillow rounds to the nearest integer.
    let has_inks = options.for_pipeline && decoder.has_inks() && channels != 1;
    let options_of_image = DecodeOptions {
        colours: if has_inks { Some(Colours::Inks) } else { colours },
        ratio: options.ratio,
        is_fancy: options.is_fancy,
        is_accurate: options.is_accurate,
        is_recovering: options.is_recovering,
        is_raw: false,
        window,
    };
    let refused = Cell::new(None);
    let zeros = |length| allocate::zeros(length).map_err(|refusal| refused.set(Some(refusal))).ok();
    let image = decoder.decode(&options_of_image, zeros).map_err(|error| match (refused.take(), window) {
        (Some(refusal), _) => refusal.at(&what),
        (None, window) => short_of_memory(&what, &error).unwrap_or_else(|| match window {
            Some(_) => Error::invalid_argument(format!("{what}: {error}")),
            None => damaged(&format!("{what}: {error}")),
        }),
    })?;
    let fraction = image.num_rows_read as f32 / image.height as f32;
    let is_enough = options.is_recovering || image.is_complete || options.acceptable_fraction < 1.0;
    if !is_enough || fraction < options.acceptable_fraction.min(1.0) {
        return Err(Error::invalid_argument(format!(
            "{what}: the data ends after {} of {} rows. Copy the file again, or accept partial images with \
             try_recover_truncated or acceptable_fraction",
            image.num_rows_read, image.height
        )));
    }
    let (height, width) = (image.height, image.width);
    let (pixels, channels) = match has_inks {
        true => (from_inks(&image.pixels).map_err(|refusal| refusal.at(&what))?, 3),
        false => (image.pixels, image.channels),
    };
    Ok(Pixels { height, width, channels, samples: Samples::Eight(pixels) })
}

/// Decodes a strip or tile of a TIFF, of at most `size` (width, height). The file's `tables` come
/// before it. YCbCr components (`has_luma`) are converted to RGB; others stay unchanged.
pub fn decode_part(
    tables: &[u8],
    packed: &[u8],
    has_luma: bool,
    size: [usize; 2],
) -> std::result::Result<Image, Fault> {
    let end = tables.len().saturating_sub(2);
    let mut joined = allocate::room(end + packed.len())?;
    let data = match end {
        0 => packed,
        _ => {
            joined.extend_from_slice(&tables[..end]);
            joined.extend_from_slice(packed.get(2..).unwrap_or_default());
            &joined
        }
    };
    let decoder = Decoder::new(data, MAX_SCANS).map_err(|error| error.to_string())?;
    if decoder.width() != size[0] || decoder.height() > size[1] {
        let (height, width) = (decoder.height(), decoder.width());
        return Err(format!("the JPEG data is {height}x{width}, expected {}x{}", size[1], size[0]).into());
    }
    let options = DecodeOptions {
        colours: has_luma.then_some(Colours::Rgb),
        ratio: 1,
        is_fancy: true,
        is_accurate: true,
        is_recovering: false,
        is_raw: !has_luma,
        window: None,
    };
    let refused = Cell::new(None);
    let zeros = |length| allocate::zeros(length).map_err(|refusal| refused.set(Some(refusal))).ok();
    let image = decoder.decode(&options, zeros);
    if let Some(refusal) = refused.take() {
        return Err(refusal.into());
    }
    let image = image.map_err(|error| error.to_string())?;
    match image.is_complete {
        true => Ok(image),
        false => Err(format!("the data ends after {} of {} rows", image.num_rows_read, image.height).into()),
    }
}

/// Returns an error if libjpeg ran out of memory.
pub fn short_of_memory(what: &str, error: &headrace_jpeg::Error) -> Option<Error> {
    error.is_out_of_memory().then(|| Error::new(Code::ResourceExhausted, format!("{what}: {error}")))
}

/// Rejects a large image that cannot fit into so few bytes. The first scan has at least one bit per
/// block of 8 by 8 samples, and a component has at least a quarter of the image's samples.
fn check_fullness(what: &str, height: usize, width: usize, num_bytes: usize) -> Result<()> {
    let blocks = height.div_ceil(8) * width.div_ceil(8);
    match blocks < MANY_BLOCKS || num_bytes >= blocks / 32 {
        true => Ok(()),
        false => {
            Err(damaged(&format!("{what}: the header claims {width} x {height} pixels, more than the data can hold")))
        }
    }
}

/// Reads the height, width and number of channels from the header.
pub fn shape(contents: &[u8]) -> Result<[usize; 3]> {
    let decoder = Decoder::new(contents, MAX_SCANS)
        .map_err(|error| damaged(&format!("Invalid JPEG data, data size {}: {error}", contents.len())))?;
    Ok([decoder.height(), decoder.width(), decoder.num_components()])
}
