//! WebP: lossy, lossless, and animations.
//!
//! Source: RFC 9649.

use super::channels::convert;
use crate::error::Result;
use crate::kernels::image::{Pixels, Samples, check_size, damaged};
use crate::tensor::allocate;
use image_webp::{DecodingError, WebPDecoder};
use std::io::Cursor;

/// The most bytes that a decoder takes for each pixel besides the result.
const WORKING_BYTES: usize = 8;

/// The pixels of a file. Frames of an animation lie one after the other.
pub struct Decoded {
    pub pixels: Pixels,
    /// The number of frames; `None` for an image that is not animated, or of which the first frame
    /// is wanted.
    pub num_frames: Option<usize>,
}

/// Decodes to 3 or 4 channels; 0 means as stored. `is_first_only` takes the first frame of an
/// animation.
pub fn decode(contents: &[u8], channels: usize, is_first_only: bool) -> Result<Decoded> {
    let what = || format!("Invalid WebP data (size {})", contents.len());
    let invalid = |error: DecodingError| damaged(&format!("{}: {error}", what()));
    if claimed_bytes(contents) > contents.len() {
        // The decoder reads what is missing as zeros.
        return Err(damaged(&format!(
            "{}: the data end before the {} bytes of the file",
            what(),
            claimed_bytes(contents)
        )));
    }
    let mut decoder = WebPDecoder::new(Cursor::new(contents)).map_err(invalid)?;
    decoder.set_memory_limit(contents.len());
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    let num_frames = match decoder.is_animated() {
        true if !is_first_only => Some(decoder.num_frames() as usize),
        _ => None,
    };
    check_size(&what(), height, width, num_frames.unwrap_or(1).max(1))?;
    if num_frames == Some(0) || (decoder.is_animated() && decoder.num_frames() == 0) {
        return Err(damaged(&format!("{}: the animation has no frame", what())));
    }
    let stored = if decoder.has_alpha() { 4 } else { 3 };
    let channels = if channels == 0 { stored } else { channels };
    let refused = |refusal: allocate::Refusal| refusal.at(what());
    // The decoder takes memory of its own, and would end the process if there were none.
    allocate::probe(height * width * WORKING_BYTES).map_err(refused)?;
    let frame_bytes = height * width * stored;
    let mut samples = allocate::zeros(frame_bytes * num_frames.unwrap_or(1)).map_err(refused)?;
    match num_frames {
        None => decoder.read_image(&mut samples).map_err(invalid)?,
        Some(_) => {
            for frame in samples.chunks_exact_mut(frame_bytes) {
                decoder.read_frame(frame).map_err(invalid)?;
            }
        }
    }
    let samples = convert(samples, stored, channels, u8::MAX).map_err(refused)?;
    Ok(Decoded { pixels: Pixels { height, width, channels, samples: Samples::Eight(samples) }, num_frames })
}

/// The length of the file, by its header.
fn claimed_bytes(contents: &[u8]) -> usize {
    let length = contents.get(4..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    length as usize + 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_image_are_an_error() {
        let error = decode(b"RIFF\x04\0\0\0WEBP", 0, true).map(|_| ()).unwrap_err();
        assert!(error.message().starts_with("Invalid WebP data (size 12): "), "{error}");
        assert!(error.message().ends_with("Copy the file again, or skip it"), "{error}");
        let error = decode(b"RIFF\x05\0\0\0WEBP", 0, true).map(|_| ()).unwrap_err();
        assert!(error.message().contains("the data end before the 13 bytes of the file"), "{error}");
    }
}
