//! WebP: lossy and lossless images, and animations.
//!
//! Source: RFC 9649.

use super::channels::convert;
use super::webp_animation::{CHUNK_BYTES, Canvas, FRAME_BYTES, frames_of};
use crate::error::Result;
use crate::kernels::image::{Pixels, Samples, check_size, damaged};
use crate::tensor::allocate;
use image_webp::WebPDecoder;
use std::fmt::Display;
use std::io::Cursor;
use std::ops::Range;

/// The maximum memory that a decoder needs per pixel, not counting the result.
const WORKING_BYTES: usize = 8;

/// The number of bytes before the first chunk of a file.
pub const RIFF_BYTES: usize = 12;
/// Where a lossy image stores its width and height, after its tag and its marker.
const LOSSY_SIZE: Range<usize> = 6..10;

/// The pixels of a file. Frames of an animation are stored one after the other.
pub struct Decoded {
    pub pixels: Pixels,
    /// The number of frames. `None` if the image is not animated or only its first frame is
    /// requested.
    pub num_frames: Option<usize>,
}

/// Decodes to 3 or 4 channels; 0 means the same as in the file. If `is_first_only`, only decodes
/// the first frame of an animation.
pub fn decode(contents: &[u8], channels: usize, is_first_only: bool) -> Result<Decoded> {
    let what = || format!("Invalid WebP data (size {})", contents.len());
    let invalid = |error: &dyn Display| damaged(&format!("{}: {error}", what()));
    if claimed_bytes(contents) > contents.len() {
        // The decoder would read missing bytes as zeros.
        return Err(invalid(&format_args!("the file is cut short, expected {} bytes", claimed_bytes(contents))));
    }
    let mut decoder = WebPDecoder::new(Cursor::new(contents)).map_err(|error| invalid(&error))?;
    decoder.set_memory_limit(contents.len());
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    let num_frames = match decoder.is_animated() {
        true if is_first_only => 1.min(decoder.num_frames() as usize),
        true => decoder.num_frames() as usize,
        false => 1,
    };
    check_size(&what(), height, width, num_frames.max(1))?;
    // The decoder allocates memory for the size that such an image claims, before it checks the
    // claim.
    if let Some([width, height]) = larger_image(contents.get(RIFF_BYTES..).unwrap_or_default(), [width, height]) {
        let claim = format_args!("the image has {height} rows and {width} columns, more than the header claims");
        return Err(invalid(&claim));
    }
    if num_frames == 0 {
        return Err(invalid(&"the animation has no frames"));
    }
    let stored = if decoder.has_alpha() { 4 } else { 3 };
    let channels = if channels == 0 { stored } else { channels };
    let refused = |refusal: allocate::Refusal| refusal.at(what());
    // The decoder allocates memory itself, and would abort the process if that failed.
    allocate::probe(height * width * WORKING_BYTES).map_err(refused)?;
    let frame_bytes = height * width * stored;
    let mut samples = allocate::zeros(frame_bytes * num_frames).map_err(refused)?;
    if decoder.is_animated() {
        let mut canvas = Canvas::new(width, height).map_err(refused)?;
        let mut frames = frames_of(&contents[RIFF_BYTES..]);
        for samples in samples.chunks_exact_mut(frame_bytes) {
            let frame = frames.next().unwrap_or_else(|| Err("a frame is missing".to_owned()));
            frame.and_then(|frame| canvas.draw(&frame)).map_err(|reason| invalid(&reason))?;
            canvas.copy_to(samples, stored);
        }
    } else {
        decoder.read_image(&mut samples).map_err(|error| invalid(&error))?;
    }
    let samples = convert(samples, stored, channels, u8::MAX).map_err(refused)?;
    let num_frames = (decoder.is_animated() && !is_first_only).then_some(num_frames);
    Ok(Decoded { pixels: Pixels { height, width, channels, samples: Samples::Eight(samples) }, num_frames })
}

/// Finds a lossy image among these chunks that is wider or higher than its file, and returns its
/// size.
fn larger_image(mut chunks: &[u8], file: [usize; 2]) -> Option<[usize; 2]> {
    while let Some((header, rest)) = chunks.split_first_chunk::<CHUNK_BYTES>() {
        let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let data = rest.get(..length).unwrap_or(rest);
        let claimed = match &header[..4] {
            b"ANMF" => larger_image(data.get(FRAME_BYTES..).unwrap_or_default(), file),
            b"VP8 " => lossy_size(data).filter(|size| size[0] > file[0] || size[1] > file[1]),
            _ => None,
        };
        if claimed.is_some() {
            return claimed;
        }
        chunks = rest.get(length.saturating_add(length & 1)..).unwrap_or_default();
    }
    None
}

/// The width and the height of a lossy image.
fn lossy_size(data: &[u8]) -> Option<[usize; 2]> {
    let size = data.get(LOSSY_SIZE)?;
    let number = |low: u8, high: u8| usize::from(u16::from_le_bytes([low, high]) & 0x3fff);
    Some([number(size[0], size[1]), number(size[2], size[3])])
}

/// The length of the file according to its header.
fn claimed_bytes(contents: &[u8]) -> usize {
    let length = contents.get(4..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    length as usize + 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_larger_than_its_file_is_an_error() {
        let chunk = |name: &[u8], data: &[u8]| [name, &(data.len() as u32).to_le_bytes(), data].concat();
        let lossy = |width: u16| {
            let size = [width.to_le_bytes(), 9_u16.to_le_bytes()].concat();
            chunk(b"VP8 ", &[&[0xf0, 2, 0, 0x9d, 1, 0x2a][..], &size, &[0; 10]].concat())
        };
        let canvas = |flags: u8| chunk(b"VP8X", &[flags, 0, 0, 0, 10, 0, 0, 8, 0, 0]);
        let file = |chunks: &[u8]| chunk(b"RIFF", &[b"WEBP", chunks].concat());
        let frame =
            |width| chunk(b"ANMF", &[&[0, 0, 0, 0, 0, 0, 10, 0, 0, 8, 0, 0, 0, 0, 0, 0][..], &lossy(width)].concat());
        let animated = |width| file(&[canvas(2), chunk(b"ANIM", &[0; 6]), frame(11), frame(width)].concat());
        for data in [animated(16_383), file(&[canvas(0), lossy(16_383)].concat())] {
            let error = decode(&data, 0, false).map(|_| ()).unwrap_err();
            let expected = "the image has 9 rows and 16383 columns, more than the header claims";
            assert!(error.message().contains(expected), "{error}");
        }
        let error = decode(&animated(11), 0, false).map(|_| ()).unwrap_err();
        assert!(!error.message().contains("more than the header"), "{error}");
    }

    #[test]
    fn non_image_bytes_are_an_error() {
        let error = decode(b"RIFF\x04\0\0\0WEBP", 0, true).map(|_| ()).unwrap_err();
        assert!(error.message().starts_with("Invalid WebP data (size 12): "), "{error}");
        assert!(error.message().ends_with("Copy the file again, or skip it"), "{error}");
        let error = decode(b"RIFF\x05\0\0\0WEBP", 0, true).map(|_| ()).unwrap_err();
        assert!(error.message().contains("the file is cut short, expected 13 bytes"), "{error}");
    }
}
