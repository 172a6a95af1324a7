//! TIFF: grey, RGB or RGB with alpha, of 8 or 16 bits a sample; grey and palettes of 1 to 8 bits; CMYK
//! of 8 bits.
//!
//! Source: TIFF 6.0.

use super::channels::{convert, from_inks, from_palette};
use super::tiff_bits::unpacked;
use super::tiff_directory::Directory;
use super::tiff_palette::{as_grey, colours_of};
use crate::error::{Error, Result};
use crate::kernels::image::{Pixels, Samples, check_size, damaged};
use crate::tensor::allocate::{self, Refusal};
use std::io::Cursor;
use tiff::decoder::ifd::Value;
use tiff::decoder::{Decoder, Limits};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError};

/// The most memory for the unpacked bytes of one strip or tile.
const MOST_STRIP_BYTES: usize = 1 << 28;
/// An extra sample that is alpha, which the colours are not multiplied by.
const UNASSOCIATED_ALPHA: u32 = 2;

/// The photometric interpretation of indices into a palette.
const PALETTE: u32 = 3;
/// The bits of an index into the largest palette.
const MOST_PALETTE_BITS: u32 = 8;
/// The tag for the kind of inks, and its value for cyan, magenta, yellow and black.
const INK_SET: Tag = Tag::Unknown(332);
const CMYK: u32 = 1;

/// Decodes to 1, 3 or 4 channels; 0 means as stored, and 3 for a palette and for inks. Samples have 16 bits if `is_wide`, else 8.
/// Unless `is_first_only`, a file of several images is refused.
pub fn decode(contents: &[u8], channels: usize, is_wide: bool, is_first_only: bool) -> Result<Pixels> {
    let what = || format!("Invalid TIFF data (size {})", contents.len());
    let invalid = |error: TiffError| match error {
        TiffError::UnsupportedError(reason) => unread(&reason),
        error => damaged(&format!("{}: {error}", what())),
    };
    let refused = |refusal: Refusal| refusal.at(what());
    // The crate makes room for all of them before it knows the limits.
    if Directory::of(contents).is_some_and(|directory| directory.has_too_many_values()) {
        return Err(damaged(&format!("{}: an entry has more values than the file has bytes", what())));
    }
    let mut decoder =
        Decoder::new(Cursor::new(Contents::Given(contents))).map_err(invalid)?.with_limits(limits(contents));
    let (width, height) = decoder.dimensions().map_err(invalid)?;
    let (width, height) = (width as usize, height as usize);
    check_size(&what(), height, width, 1)?;
    if !is_first_only && decoder.more_images() {
        return Err(Error::invalid_argument(
            "The TIFF has more than one image, and their sizes may differ. Decode the first one with \
             expand_animations=False",
        ));
    }
    let interpretation = decoder.find_tag_unsigned::<u32>(Tag::PhotometricInterpretation).map_err(invalid)?;
    let mut palette = None;
    if interpretation == Some(PALETTE) {
        let map = decoder.find_tag_unsigned_vec::<u32>(Tag::ColorMap).map_err(invalid)?.unwrap_or_default();
        let bits = decoder.find_tag_unsigned_vec::<u32>(Tag::BitsPerSample).map_err(invalid)?.unwrap_or_default();
        let bits = bits.first().map_or(1, |bits| *bits).min(MOST_PALETTE_BITS);
        let colours = colours_of(&map, 1 << bits);
        palette = Some(colours.ok_or_else(|| unread(&format_args!("a palette that is not of {} colours", 1 << bits)))?);
        let grey = as_grey(contents).map_err(refused)?.ok_or_else(|| damaged(&what()))?;
        // The crate reads no palettes, but their indices as grey.
        decoder = Decoder::new(Cursor::new(Contents::Changed(grey))).map_err(invalid)?.with_limits(limits(contents));
    }
    let colours = decoder.colortype().map_err(invalid)?;
    let (stored, bits) = match colours {
        ColorType::Gray(bits) => (1, bits),
        ColorType::RGB(bits) => (3, bits),
        ColorType::RGBA(bits) => (4, bits),
        ColorType::CMYK(bits) => (4, bits),
        other => return Err(unread(&format_args!("pixels of {other:?}"))),
    };
    let mut number = |tag, default| decoder.find_tag_unsigned::<u32>(tag).map(|found| found.unwrap_or(default));
    let samples = number(Tag::SamplesPerPixel, 1).map_err(invalid)?;
    let is_planar = number(Tag::PlanarConfiguration, 1).map_err(invalid)? != 1;
    let formats = decoder.find_tag_unsigned_vec::<u32>(Tag::SampleFormat).map_err(invalid)?.unwrap_or_default();
    let extra = decoder.find_tag_unsigned_vec::<u32>(Tag::ExtraSamples).map_err(invalid)?.unwrap_or_default();
    let is_narrow = stored == 1 && matches!(bits, 1 | 2 | 4);
    if !(is_narrow || matches!(bits, 8 | 16)) || formats.iter().any(|format| *format != 1) {
        return Err(unread(&format_args!("samples that are not integers of 8 or 16 bits ({bits} bits)")));
    }
    // The crate does not look at it.
    if decoder.find_tag_unsigned::<u32>(Tag::FillOrder).map_err(invalid)?.is_some_and(|order| order != 1) {
        return Err(unread(&"bytes whose first bit is their lowest"));
    }
    if is_planar && stored > 1 {
        return Err(unread(&"channels in planes of their own"));
    }
    let has_inks = matches!(colours, ColorType::CMYK(_));
    let expected: &[u32] = if stored == 4 && !has_inks { &[UNASSOCIATED_ALPHA] } else { &[] };
    if samples as usize != stored || extra != expected {
        return Err(unread(&"channels other than colours and unassociated alpha"));
    }
    let inks = decoder.find_tag_unsigned::<u32>(INK_SET).map_err(invalid)?;
    if has_inks && inks.is_some_and(|inks| inks != CMYK) {
        return Err(unread(&"inks other than cyan, magenta, yellow and black"));
    }
    if has_inks && bits != 8 || palette.is_some() && bits > 8 {
        return Err(unread(&format_args!("a palette or inks of {bits} bits")));
    }
    if channels == 1 && (stored > 1 || palette.is_some()) {
        return Err(Error::invalid_argument(
            "Channels must be in (None, 3, 4) when decoding TIFF images with colours, got 1",
        ));
    }
    let has_colours = has_inks || palette.is_some();
    let channels = match channels {
        0 if has_colours => 3,
        0 => stored,
        channels => channels,
    };
    let layout = decoder.image_buffer_layout().map_err(invalid)?;
    let num_samples = height * width * stored;
    let row_bytes = (width * stored * usize::from(bits)).div_ceil(8);
    if layout.len != height * row_bytes {
        return Err(unread(&"pixels that are not packed in bytes"));
    }
    allocate::probe(MOST_STRIP_BYTES.min(layout.len)).map_err(refused)?;
    let samples = if let Some(palette) = palette {
        let mut indices = allocate::zeros::<u8>(layout.len).map_err(refused)?;
        decoder.read_image_bytes(&mut indices).map_err(invalid)?;
        if is_narrow {
            indices = unpacked(&indices, width, bits, 1).map_err(refused)?;
        }
        match is_wide {
            true => {
                let wide = from_palette(&indices, &palette, |colour| colour).map_err(refused)?;
                Samples::Sixteen(convert(wide, 3, channels, u16::MAX).map_err(refused)?)
            }
            false => {
                let narrow = from_palette(&indices, &palette, |colour| (colour >> 8) as u8).map_err(refused)?;
                Samples::Eight(convert(narrow, 3, channels, u8::MAX).map_err(refused)?)
            }
        }
    } else if is_narrow {
        let mut bytes = allocate::zeros::<u8>(layout.len).map_err(refused)?;
        decoder.read_image_bytes(&mut bytes).map_err(invalid)?;
        let bytes = unpacked(&bytes, width, bits, u8::MAX / ((1 << bits) - 1)).map_err(refused)?;
        Samples::Eight(convert(bytes, 1, channels, u8::MAX).map_err(refused)?)
    } else if bits == 8 {
        let mut bytes = allocate::zeros::<u8>(num_samples).map_err(refused)?;
        decoder.read_image_bytes(&mut bytes).map_err(invalid)?;
        let (bytes, from) = if has_inks { (from_inks(&bytes).map_err(refused)?, 3) } else { (bytes, stored) };
        Samples::Eight(convert(bytes, from, channels, u8::MAX).map_err(refused)?)
    } else {
        let mut wide = allocate::zeros::<u16>(num_samples).map_err(refused)?;
        decoder.read_image_bytes(bytemuck::cast_slice_mut(&mut wide)).map_err(invalid)?;
        let wide = convert(wide, stored, channels, u16::MAX).map_err(refused)?;
        match is_wide {
            true => Samples::Sixteen(wide),
            false => {
                let narrow = wide.iter().map(|sample| (sample >> 8) as u8);
                Samples::Eight(allocate::collected(wide.len(), narrow).map_err(refused)?)
            }
        }
    };
    Ok(Pixels { height, width, channels, samples })
}

/// The limits for a file. The values of an entry take a byte or more each there, whatever their number
/// is said to be; the crate makes room for all of them at once.
fn limits(contents: &[u8]) -> Limits {
    let mut limits = Limits::default();
    limits.intermediate_buffer_size = MOST_STRIP_BYTES;
    let most = contents.len().saturating_mul(size_of::<Value>());
    limits.decoding_buffer_size = limits.decoding_buffer_size.min(most);
    limits
}

/// The bytes of a file, or a changed copy of them.
enum Contents<'a> {
    Given(&'a [u8]),
    Changed(Vec<u8>),
}

impl AsRef<[u8]> for Contents<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Given(bytes) => bytes,
            Self::Changed(bytes) => bytes,
        }
    }
}

/// The error for a file that is valid and of a kind that is not read.
fn unread(reason: &dyn std::fmt::Display) -> Error {
    Error::invalid_argument(format!(
        "The TIFF has {reason}, expected grey, RGB or RGB with alpha of 8 or 16 bits, grey or a palette of 1 to 8 bits, \
         or CMYK of 8 bits, uncompressed or packed by LZW, Deflate or PackBits. Save it so, or as a PNG"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_image_are_an_error() {
        let error = decode(b"II*\0\xff\xff\xff\0", 0, false, true).unwrap_err();
        assert!(error.message().starts_with("Invalid TIFF data (size 8): "), "{error}");
    }
}
