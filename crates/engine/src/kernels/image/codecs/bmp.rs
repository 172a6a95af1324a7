//! BMP: uncompressed pixels of 8 (grey), 24 or 32 bits.
//!
//! Source: `tf.image.decode_bmp` of TensorFlow 1.15. It reads four fields of the header and assumes
//! that there is no palette, no compression and no mask. Pipelines read palettes of 8 bits, as
//! TensorFlow 2 does.

use crate::error::{Error, Result};
use crate::kernels::image::codecs::sniff::{Format, describe_unknown};
use crate::kernels::image::{Pixels, Samples, check_size, damaged};
use crate::tensor::allocate;

/// Decodes to `channels`; 0 means the stored number. Pixels of 8 bits are shades of grey, or
/// colours of the palette if `reads_palette`: then a palette with colours gives three channels.
pub fn decode(contents: &[u8], channels: usize, reads_palette: bool) -> Result<Pixels> {
    if contents.len() < 32 {
        return Err(damaged(&format!(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp, \
             got {} bytes",
            contents.len()
        )));
    }
    let number = |at: usize| i32::from_le_bytes([0, 1, 2, 3].map(|i| contents[at + i]));
    let (header_size, width, height) = (number(10), number(18), number(22));
    let stored_channels = usize::from(u16::from_le_bytes([contents[28], contents[29]])) / 8;
    let palette = match reads_palette && stored_channels == 1 {
        true => palette(contents)?,
        false => None,
    };
    let has_colours = palette.is_some_and(|palette| palette.iter().any(|[r, g, b, _]| r != g || g != b));
    let given_channels = if has_colours { 3 } else { stored_channels };
    if channels != 0 && channels != given_channels {
        return Err(Error::invalid_argument(format!(
            "channels attribute {channels} does not match bits per pixel from file {given_channels}"
        )));
    }
    if !matches!(stored_channels, 1 | 3 | 4) {
        let reason = match Format::of(contents) {
            Some(Format::Bmp) => "Only BMP files of 8 bits of grey, 24 or 32 bits a pixel can be read".to_owned(),
            Some(format) => format!("The file is a {format}: decode it by tf.image.decode_image"),
            None => format!("The file is not a BMP: {}", describe_unknown(contents)),
        };
        return Err(Error::invalid_argument(format!(
            "Number of channels must be 1, 3 or 4, was {stored_channels}. {reason}"
        )));
    }
    // 1 and 2 are run-length encodings. A short header has no such field and means no compression.
    if let Some(compression @ (1 | 2 | 4 | 5)) = contents.get(30..34).map(|_| number(30)) {
        return Err(Error::invalid_argument(format!(
            "Compressed BMP files (method {compression}) cannot be read. Save it without compression, or as a PNG"
        )));
    }
    let width = usize::try_from(width).ok().filter(|width| *width > 0);
    let width = width.ok_or_else(|| Error::invalid_argument("Width must be positive"))?;
    let is_top_down = height < 0;
    let height = height.unsigned_abs() as usize;
    if height == 0 {
        return Err(Error::invalid_argument("Height must be nonzero"));
    }
    let header_size =
        usize::try_from(header_size).map_err(|_| Error::invalid_argument("header size must be nonnegative"))?;
    check_size("Invalid BMP data", height, width, 1)?;

    let row_bytes = stored_channels * width;
    let stride = row_bytes.next_multiple_of(4);
    let expected = header_size + (height - 1) * stride + row_bytes;
    if contents.len() < expected {
        return Err(damaged(&format!(
            "Incomplete bmp content, requires at least {expected} bytes, got {} bytes",
            contents.len()
        )));
    }
    let num_samples = width * height * given_channels;
    let mut samples = allocate::room(num_samples).map_err(|refusal| refusal.at("BMP data"))?;
    for y in 0..height {
        let start = header_size + stride * if is_top_down { y } else { height - 1 - y };
        let row = &contents[start..start + row_bytes];
        let Some(palette) = palette else {
            samples.extend_from_slice(row);
            continue;
        };
        for index in row {
            let colour = palette.get(usize::from(*index)).ok_or_else(|| outside(*index, palette.len()))?;
            let [blue, green, red, _] = *colour;
            let colour = [red, green, blue];
            samples.extend_from_slice(&colour[..given_channels]);
        }
    }
    if stored_channels >= 3 {
        samples.chunks_exact_mut(stored_channels).for_each(|pixel| pixel.swap(0, 2)); // Stored as BGR.
    }
    Ok(Pixels { height, width, channels: given_channels, samples: Samples::Eight(samples) })
}

/// The colours of a palette: blue, green, red and an unused byte. `None` if there is no palette.
fn palette(contents: &[u8]) -> Result<Option<&[[u8; 4]]>> {
    let number = |at: usize| contents.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize);
    let (Some(pixels), Some(size), Some(count)) = (number(10), number(14), number(46)) else { return Ok(None) };
    // Headers of other sizes than these have other fields.
    if !matches!(size, 40 | 52 | 56 | 108 | 124) || pixels <= 14 + size {
        return Ok(None);
    }
    let count = if count == 0 { 256 } else { count };
    let colours = contents.get(14 + size..pixels.min(contents.len())).unwrap_or_default().as_chunks::<4>().0;
    match colours.get(..count).filter(|_| count <= 256) {
        Some(colours) => Ok(Some(colours)),
        // The header gives the number of colours, or else it is the largest possible.
        None if number(46) == Some(0) => Ok(Some(colours)),
        None => Err(damaged(&format!("Invalid BMP data: a palette of {count} colours does not fit before the pixels"))),
    }
}

#[cold]
fn outside(index: u8, count: usize) -> Error {
    damaged(&format!("Invalid BMP data: a pixel has colour {index} of a palette of {count} colours"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bmp(width: i32, height: i32, bits: u16, pixels: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 54];
        file[..2].copy_from_slice(b"BM");
        file[10] = 54;
        file[18..22].copy_from_slice(&width.to_le_bytes());
        file[22..26].copy_from_slice(&height.to_le_bytes());
        file[28..30].copy_from_slice(&bits.to_le_bytes());
        file.extend_from_slice(pixels);
        file
    }

    fn samples(file: &[u8], channels: usize) -> Vec<u8> {
        match decode(file, channels, false).unwrap().samples {
            Samples::Eight(samples) => samples,
            Samples::Sixteen(_) => panic!("BMP has 8 bits"),
        }
    }

    #[test]
    fn rows_are_stored_from_the_bottom_unless_the_height_is_negative() {
        let pixels = [1, 2, 3, 0, 4, 5, 6, 0];
        assert_eq!(samples(&bmp(1, 2, 24, &pixels), 0), [6, 5, 4, 3, 2, 1]);
        assert_eq!(samples(&bmp(1, -2, 24, &pixels), 3), [3, 2, 1, 6, 5, 4]);
    }

    #[test]
    fn grey_and_alpha_are_read() {
        assert_eq!(samples(&bmp(2, -2, 8, &[1, 2, 0, 0, 3, 4]), 1), [1, 2, 3, 4]);
        assert_eq!(samples(&bmp(1, 1, 32, &[1, 2, 3, 4]), 0), [3, 2, 1, 4]);
    }

    #[test]
    fn a_palette_is_read_if_asked() {
        let with = |colours: &[[u8; 4]], pixels: &[u8]| {
            let mut file = bmp(2, -1, 8, &[]);
            file[14] = 40;
            file[46] = colours.len() as u8;
            file[10] += 4 * colours.len() as u8;
            file.extend_from_slice(colours.as_flattened());
            file.extend_from_slice(pixels);
            file
        };
        let read = |file: &[u8], channels| decode(file, channels, true).map(|pixels| (pixels.channels, pixels.samples));
        let is = |found: Result<(usize, Samples)>, expected: (usize, &[u8])| match found.unwrap() {
            (channels, Samples::Eight(samples)) => assert_eq!((channels, &samples[..]), expected),
            _ => panic!("BMP has 8 bits"),
        };
        let colours = with(&[[0, 0, 255, 0], [9, 8, 7, 0]], &[1, 0, 0, 0]);
        is(read(&colours, 0), (3, &[7, 8, 9, 255, 0, 0]));
        is(read(&colours, 3), (3, &[7, 8, 9, 255, 0, 0]));
        assert_eq!(samples(&colours, 0), [1, 0]);
        is(read(&with(&[[255, 255, 255, 0], [5, 5, 5, 0]], &[1, 0, 0, 0]), 1), (1, &[5, 255]));
        is(read(&bmp(2, -1, 8, &[1, 2, 0, 0]), 0), (1, &[1, 2]));
        let error = read(&with(&[[1, 2, 3, 0]], &[0, 1, 0, 0]), 0).map(drop).unwrap_err();
        assert!(error.message().contains("a pixel has colour 1 of a palette of 1 colours"), "{error}");
        let mut long = with(&[[1, 2, 3, 0]], &[0, 0, 0, 0]);
        long[46] = 9;
        let error = read(&long, 0).map(drop).unwrap_err();
        assert!(error.message().contains("a palette of 9 colours does not fit before the pixels"), "{error}");
    }

    #[test]
    fn compressed_files_are_refused() {
        let mut file = bmp(1, 1, 8, &[0; 4]);
        file[30] = 1;
        let error = decode(&file, 0, false).unwrap_err();
        assert!(error.message().starts_with("Compressed BMP files (method 1) cannot be read"), "{error}");
    }

    #[test]
    fn invalid_headers_are_refused() {
        let pixels = [0; 8];
        for (file, channels, text) in [
            (b"BM".to_vec(), 0, "Incomplete bmp content, requires at least 32 bytes"),
            (bmp(1, 2, 24, &pixels), 4, "channels attribute 4 does not match bits per pixel from file 3"),
            (bmp(1, 2, 16, &pixels), 0, "Number of channels must be 1, 3 or 4, was 2"),
            (bmp(0, 2, 24, &pixels), 0, "Width must be positive"),
            (bmp(-1, 2, 24, &pixels), 0, "Width must be positive"),
            (bmp(1, 0, 24, &pixels), 0, "Height must be nonzero"),
            (bmp(1, 3, 24, &pixels), 0, "requires at least 65 bytes, got 62 bytes"),
            (bmp(i32::MAX, i32::MIN, 32, &pixels), 0, "expected at most"),
        ] {
            let error = decode(&file, channels, false).unwrap_err();
            assert!(error.message().contains(text), "{error}");
        }
    }
}
