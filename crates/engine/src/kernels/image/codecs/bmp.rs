//! BMP without compression: grey, palettes, colours, and bit-field masks.
//!
//! Source: `BITMAPINFOHEADER` of Windows. TensorFlow 1.15 (`tf.image.decode_bmp`) reads four fields
//! of the header and assumes that there is no palette, compression or mask.

use super::bmp_masks::Masks;
use super::channels::convert;
use super::packed_bits::unpacked;
use crate::error::{Error, Result};
use crate::kernels::image::codecs::sniff::{Format, describe_unknown};
use crate::kernels::image::{Pixels, Samples, check_size, damaged};
use crate::tensor::allocate;

/// The numbers of `BI_BITFIELDS` and `BI_ALPHABITFIELDS`.
const BIT_FIELDS: [i32; 2] = [3, 6];

/// The header fields that TensorFlow reads too.
struct Header {
    /// The position of the first pixel.
    start: usize,
    width: usize,
    height: usize,
    bits: u16,
    is_top_down: bool,
}

impl Header {
    fn of(contents: &[u8]) -> Result<Self> {
        let (start, width, height) = (number(contents, 10), number(contents, 18), number(contents, 22));
        let width = usize::try_from(width).ok().filter(|width| *width > 0);
        let width = width.ok_or_else(|| Error::invalid_argument("Width must be positive"))?;
        if height == 0 {
            return Err(Error::invalid_argument("Height must be nonzero"));
        }
        let start = usize::try_from(start).map_err(|_| Error::invalid_argument("header size must be nonnegative"))?;
        let (is_top_down, height) = (height < 0, height.unsigned_abs() as usize);
        check_size("Invalid BMP data", height, width, 1)?;
        Ok(Self { start, width, height, bits: bits_of(contents), is_top_down })
    }

    /// Iterates over the bytes of each row, from the top of the image.
    fn rows<'a>(&self, contents: &'a [u8]) -> Result<impl Iterator<Item = &'a [u8]>> {
        let row_bytes = (self.width * usize::from(self.bits)).div_ceil(8);
        let stride = row_bytes.next_multiple_of(4);
        let expected = self.start + (self.height - 1) * stride + row_bytes;
        if contents.len() < expected {
            return Err(damaged(&format!(
                "Incomplete bmp content, requires at least {expected} bytes, got {} bytes",
                contents.len()
            )));
        }
        let (start, height, is_top_down) = (self.start, self.height, self.is_top_down);
        Ok((0..height).map(move |y| {
            let start = start + stride * if is_top_down { y } else { height - 1 - y };
            &contents[start..start + row_bytes]
        }))
    }
}

/// The height and width of an image.
pub fn size(contents: &[u8]) -> Result<[usize; 2]> {
    check_length(contents)?;
    Header::of(contents).map(|header| [header.height, header.width])
}

/// Fails unless the file has all fields that [`Header`] needs.
fn check_length(contents: &[u8]) -> Result<()> {
    match contents.len() {
        32.. => Ok(()),
        length => Err(damaged(&format!(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp, \
             got {length} bytes"
        ))),
    }
}

/// Decodes to `channels`; 0 means the same as in the file. TensorFlow 1, for which `for_pipeline`
/// is false, treats 8-bit pixels as grey and 24-bit and 32-bit pixels as BGR and BGRA, and rejects
/// any number of channels other than the stored one.
pub fn decode(contents: &[u8], channels: usize, for_pipeline: bool) -> Result<Pixels> {
    check_length(contents)?;
    match for_pipeline {
        true => decode_any(contents, channels),
        false => decode_plain(contents, channels),
    }
}

fn decode_plain(contents: &[u8], channels: usize) -> Result<Pixels> {
    let stored = usize::from(bits_of(contents)) / 8;
    if channels != 0 && channels != stored {
        return Err(Error::invalid_argument(format!(
            "channels attribute {channels} does not match bits per pixel from file {stored}"
        )));
    }
    if !matches!(stored, 1 | 3 | 4) {
        let reason = match Format::of(contents) {
            Some(Format::Bmp) => {
                "Only BMP files with 8-bit grey or with 24 or 32 bits per pixel are supported".to_owned()
            }
            _ => not_a_bmp(contents, "tf.image.decode_image"),
        };
        return Err(Error::invalid_argument(format!("Number of channels must be 1, 3 or 4, was {stored}. {reason}")));
    }
    // Short headers lack this field, which means no compression.
    if let Some(compression @ (1 | 2 | 4 | 5)) = contents.get(30..34).map(|_| number(contents, 30)) {
        return Err(compressed(compression));
    }
    // TensorFlow drops bits that are not part of a whole byte.
    let header = Header { bits: 8 * stored as u16, ..Header::of(contents)? };
    let rows = header.rows(contents)?;
    let num_samples = header.width * header.height * stored;
    let mut samples = allocate::room(num_samples).map_err(|refusal| refusal.at("BMP data"))?;
    rows.for_each(|row| samples.extend_from_slice(row));
    if stored >= 3 {
        samples.chunks_exact_mut(stored).for_each(|pixel| pixel.swap(0, 2)); // Stored as BGR.
    }
    Ok(Pixels { height: header.height, width: header.width, channels: stored, samples: Samples::Eight(samples) })
}

fn decode_any(contents: &[u8], channels: usize) -> Result<Pixels> {
    let (header_size, bits) = (number(contents, 14), bits_of(contents));
    if Format::of(contents) != Some(Format::Bmp) {
        return Err(Error::invalid_argument(not_a_bmp(contents, "hr.ops.decode_image")));
    }
    if !matches!(header_size, 40 | 52 | 56 | 64 | 108 | 124) {
        return Err(Error::invalid_argument(format!(
            "The BMP has a header of {header_size} bytes, expected a Windows 3 header or a later one (40 to 124 bytes). \
             Convert it, or save it as a PNG"
        )));
    }
    let compression = contents.get(30..34).map_or(0, |_| number(contents, 30));
    // 64-byte headers are from OS/2, where method 3 has another meaning.
    let has_masks = BIT_FIELDS.contains(&compression) && header_size != 64;
    let header = Header::of(contents)?;
    let refused = |refusal: allocate::Refusal| refusal.at("BMP data");
    let num_pixels = header.width * header.height;
    let (samples, stored) = match (bits, compression) {
        (1 | 2 | 4 | 8, 0) => {
            let rows = header.rows(contents)?;
            let mut indices = allocate::room(num_pixels).map_err(refused)?;
            for row in rows {
                match bits {
                    8 => indices.extend_from_slice(row),
                    _ => indices.extend(unpacked(row, bits.into()).take(header.width)),
                }
            }
            coloured(indices, palette(contents, bits)?, bits)?
        }
        (16 | 24 | 32, _) if compression == 0 || has_masks => {
            let masks = match has_masks {
                true => Masks::read(contents, bits, header_size as u32, compression as u32)
                    .ok_or_else(|| damaged("Invalid BMP data: the masks do not describe red, green and blue"))?,
                false => Masks::standard(bits),
            };
            let rows = header.rows(contents)?;
            let mut samples = allocate::room(num_pixels * masks.num_channels).map_err(refused)?;
            rows.for_each(|row| masks.extend(&mut samples, row, bits));
            (samples, masks.num_channels)
        }
        (1 | 2 | 4 | 8 | 16 | 24 | 32, _) => return Err(compressed(compression)),
        _ => {
            return Err(Error::invalid_argument(format!(
                "The BMP has {bits} bits per pixel, expected 1, 2, 4, 8, 16, 24 or 32. Convert it, or save it as a \
                 PNG"
            )));
        }
    };
    if channels == 1 && stored > 1 {
        return Err(Error::invalid_argument(
            "Channels must be in (None, 3, 4) when decoding BMP images with colours, got 1",
        ));
    }
    let channels = if channels == 0 { stored } else { channels };
    let samples = Samples::Eight(convert(samples, stored, channels, u8::MAX).map_err(refused)?);
    Ok(Pixels { height: header.height, width: header.width, channels, samples })
}

/// Looks up the colours of indices. Also returns the number of channels, which is one if the
/// palette only has greys.
fn coloured(indices: Vec<u8>, palette: Option<&[[u8; 4]]>, bits: u16) -> Result<(Vec<u8>, usize)> {
    let Some(palette) = palette else {
        return match bits {
            8 => Ok((indices, 1)),
            _ => Err(damaged("Invalid BMP data: the palette is missing")),
        };
    };
    let channels = if palette.iter().any(|[b, g, r, _]| b != g || g != r) { 3 } else { 1 };
    let room = allocate::room(indices.len() * channels);
    let mut samples = room.map_err(|refusal| refusal.at("BMP data"))?;
    for index in indices {
        let colour = palette.get(usize::from(index)).ok_or_else(|| outside(index, palette.len()))?;
        let [blue, green, red, _] = *colour;
        samples.extend_from_slice(&[red, green, blue][..channels]);
    }
    Ok((samples, channels))
}

/// Describes the actual type of the file, and the operation that decodes it.
fn not_a_bmp(contents: &[u8], decode_image: &str) -> String {
    match Format::of(contents) {
        Some(format) => format!("The file is a {format}: decode it with {decode_image}"),
        None => format!("The file is not a BMP: {}", describe_unknown(contents)),
    }
}

fn number(contents: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([0, 1, 2, 3].map(|i| contents[at + i]))
}

fn bits_of(contents: &[u8]) -> u16 {
    u16::from_le_bytes([contents[28], contents[29]])
}

/// The error for run-length encodings (1 and 2), embedded JPEG and PNG (4 and 5), and the encodings
/// of OS/2.
fn compressed(method: i32) -> Error {
    Error::invalid_argument(format!(
        "Compressed BMP files (method {method}) cannot be read. Save it without compression, or as a PNG"
    ))
}

/// Returns the palette as blue, green, red and an unused byte, or `None` if there is none.
fn palette(contents: &[u8], bits: u16) -> Result<Option<&[[u8; 4]]>> {
    let number = |at: usize| contents.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize);
    let (Some(pixels), Some(size), Some(count)) = (number(10), number(14), number(46)) else { return Ok(None) };
    if pixels <= 14 + size {
        return Ok(None);
    }
    let most = 1 << bits;
    let count = if count == 0 { most } else { count };
    let colours = contents.get(14 + size..pixels.min(contents.len())).unwrap_or_default().as_chunks::<4>().0;
    match colours.get(..count).filter(|_| count <= most) {
        Some(colours) => Ok(Some(colours)),
        // The header has the number of colours, or 0 for the maximum.
        None if number(46) == Some(0) => Ok(Some(colours)),
        None => Err(damaged(&format!("Invalid BMP data: a palette of {count} colours does not fit before the pixels"))),
    }
}

#[cold]
fn outside(index: u8, count: usize) -> Error {
    damaged(&format!("Invalid BMP data: a pixel has colour {index}, but the palette has {count} colours"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bmp(width: i32, height: i32, bits: u16, pixels: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 54];
        file[..2].copy_from_slice(b"BM");
        file[10] = 54;
        file[14] = 40;
        file[18..22].copy_from_slice(&width.to_le_bytes());
        file[22..26].copy_from_slice(&height.to_le_bytes());
        file[28..30].copy_from_slice(&bits.to_le_bytes());
        file.extend_from_slice(pixels);
        file
    }

    fn samples(file: &[u8], channels: usize) -> Vec<u8> {
        match decode(file, channels, false).unwrap().samples {
            Samples::Eight(samples) => samples,
            other => panic!("BMP has 8 bits, got {other:?}"),
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
    fn palette_is_read_if_requested() {
        let with = |colours: &[[u8; 4]], pixels: &[u8]| {
            let mut file = bmp(2, -1, 8, &[]);
            file[46] = colours.len() as u8;
            file[10] += 4 * colours.len() as u8;
            file.extend_from_slice(colours.as_flattened());
            file.extend_from_slice(pixels);
            file
        };
        let read = |file: &[u8], channels| decode(file, channels, true).map(|pixels| (pixels.channels, pixels.samples));
        let is = |result: Result<(usize, Samples)>, expected: (usize, &[u8])| match result.unwrap() {
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
        assert!(error.message().contains("a pixel has colour 1, but the palette has 1 colours"), "{error}");
        let mut long = with(&[[1, 2, 3, 0]], &[0, 0, 0, 0]);
        long[46] = 9;
        let error = read(&long, 0).map(drop).unwrap_err();
        assert!(error.message().contains("a palette of 9 colours does not fit before the pixels"), "{error}");
    }

    #[test]
    fn pipelines_read_fewer_bits_and_convert_channels() {
        let mut file = bmp(5, -1, 1, &[]);
        file[10] = 62;
        file.extend_from_slice(&[[0, 0, 0, 0], [0, 0, 255, 0]].concat());
        file.extend_from_slice(&[0b0100_1000, 0, 0, 0]);
        let image = decode(&file, 0, true).unwrap();
        let expected = [0, 1, 0, 0, 1].map(|index| [255 * index, 0, 0]);
        assert_eq!((image.channels, image.samples), (3, Samples::Eight(expected.concat())));
        let four = decode(&bmp(1, 1, 24, &[1, 2, 3, 0]), 4, true).unwrap();
        assert_eq!(four.samples, Samples::Eight(vec![3, 2, 1, 255]));
        let error = decode(&bmp(1, 1, 24, &[1, 2, 3, 0]), 1, true).unwrap_err();
        assert!(error.message().contains("when decoding BMP images with colours, got 1"), "{error}");
        let mut old = bmp(1, 1, 24, &[0; 4]);
        old[14] = 12;
        let error = decode(&old, 0, true).unwrap_err();
        assert!(
            error.message().starts_with("The BMP has a header of 12 bytes, expected a Windows 3 header"),
            "{error}"
        );
    }

    #[test]
    fn compressed_files_are_rejected() {
        let mut file = bmp(1, 1, 8, &[0; 4]);
        file[30] = 1;
        let error = decode(&file, 0, false).unwrap_err();
        assert!(error.message().starts_with("Compressed BMP files (method 1) cannot be read"), "{error}");
    }

    #[test]
    fn invalid_headers_are_rejected() {
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
