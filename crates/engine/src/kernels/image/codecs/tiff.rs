//! TIFF and BigTIFF: grey, palettes, RGB, YCbCr and CMYK with up to 16 bits, with or without
//! alpha. Also floats and any number of channels, whose samples are returned as they are stored.
//!
//! The `tiff` crate reads the directory. Strips and tiles are unpacked here, so that embedded JPEGs
//! are decoded by libjpeg-turbo.
//!
//! Source: TIFF 6.0; for alpha and inks, Pillow.

use super::channels::{convert, from_inks, from_palette};
use super::tiff_chunks::{Chunks, Compression, Place, Prediction};
use super::tiff_directory::Directory;
use super::tiff_fault::Fault;
use crate::error::{Error, Result};
use crate::kernels::image::{Pixels, Samples, check_size, damaged};
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::DType;
use std::fmt::Display;
use std::io::Cursor;
use tiff::TiffError;
use tiff::decoder::ifd::Value;
use tiff::decoder::{ChunkType, Decoder, Limits};
use tiff::tags::{ByteOrder, Tag};

/// The tag for the ink set, and its value for cyan, magenta, yellow and black.
const INK_SET: Tag = Tag::Unknown(332);
const CMYK: u32 = 1;
/// The values that mark an extra sample as alpha.
const ASSOCIATED_ALPHA: u32 = 1;
const UNASSOCIATED_ALPHA: u32 = 2;
/// The formats of samples: integers without a sign, and floats.
const UNSIGNED: u32 = 1;
const FLOAT: u32 = 3;
/// Samples are differences from the previous pixel.
const HORIZONTAL: u32 = 2;
/// The bytes of floats are grouped by significance and stored as differences.
const FLOATING_POINT: u32 = 3;
/// The old-style JPEG compression of TIFF 6.0, which programs interpret in different ways.
const JPEG: u32 = 7;

/// The meaning of the samples, apart from extra samples.
#[derive(Clone, Copy, PartialEq)]
enum Colours {
    /// Grey. If it is inverted, 0 is white.
    Grey {
        is_inverted: bool,
    },
    Rgb,
    Palette,
    Inks,
    /// YCbCr, which becomes RGB when its JPEG is decoded.
    Luma,
}

impl Colours {
    fn of(interpretation: Option<u32>) -> Option<Self> {
        Some(match interpretation? {
            0 => Self::Grey { is_inverted: true },
            1 => Self::Grey { is_inverted: false },
            2 => Self::Rgb,
            3 => Self::Palette,
            5 => Self::Inks,
            6 => Self::Luma,
            _ => return None,
        })
    }

    fn num_samples(self) -> usize {
        match self {
            Self::Grey { .. } | Self::Palette => 1,
            Self::Rgb | Self::Luma => 3,
            Self::Inks => 4,
        }
    }
}

/// The tags of the first image.
struct Tags<'a> {
    contents: &'a [u8],
    decoder: Decoder<Cursor<&'a [u8]>>,
}

impl<'a> Tags<'a> {
    fn of(contents: &'a [u8]) -> Result<Self> {
        // The crate allocates memory for all of them before it knows the limits.
        if Directory::of(contents).is_some_and(|directory| directory.has_too_many_values()) {
            return Err(invalid(contents, &"an entry has more values than the file has bytes"));
        }
        let decoder = Decoder::new(Cursor::new(contents)).map_err(|error| fault_of(contents, error))?;
        Ok(Self { contents, decoder: decoder.with_limits(limits(contents)) })
    }

    fn number(&mut self, tag: Tag, default: u32) -> Result<u32> {
        Ok(self.optional_number(tag)?.unwrap_or(default))
    }

    fn optional_number(&mut self, tag: Tag) -> Result<Option<u32>> {
        self.decoder.find_tag_unsigned(tag).map_err(|error| fault_of(self.contents, error))
    }

    fn numbers<T: TryFrom<u64>>(&mut self, tag: Tag) -> Result<Vec<T>> {
        let numbers = self.decoder.find_tag_unsigned_vec(tag).map_err(|error| fault_of(self.contents, error))?;
        Ok(numbers.unwrap_or_default())
    }

    /// Returns the width and height of strips or tiles, and their positions in the file.
    fn chunks(&mut self, width: usize) -> Result<([usize; 2], Vec<Place>)> {
        let [offsets, lengths] = match self.decoder.get_chunk_type() {
            ChunkType::Strip => [Tag::StripOffsets, Tag::StripByteCounts],
            ChunkType::Tile => [Tag::TileOffsets, Tag::TileByteCounts],
        };
        let is_tiled = self.decoder.get_chunk_type() == ChunkType::Tile;
        let (tile_width, height) = self.decoder.chunk_dimensions();
        let size = [if is_tiled { tile_width as usize } else { width }, height as usize];
        let (offsets, lengths) = (self.numbers::<u64>(offsets)?, self.numbers::<u64>(lengths)?);
        if size.contains(&0) || offsets.len() != lengths.len() {
            return Err(invalid(self.contents, &"the strips or tiles have no size"));
        }
        Ok((size, offsets.into_iter().zip(lengths).collect()))
    }

    /// Returns the strips or tiles of an image with `samples` per pixel. `tables` are those that
    /// its JPEGs share, and `has_luma` is true if their colours are YCbCr.
    fn packed<'t>(
        &mut self,
        [height, width]: [usize; 2],
        samples: usize,
        tables: &'t [u8],
        has_luma: bool,
    ) -> Result<Chunks<'t>>
    where
        'a: 't,
    {
        let bits = self.numbers::<u32>(Tag::BitsPerSample)?.first().copied().unwrap_or(1);
        let predictor = self.number(Tag::Predictor, 1)?;
        let prediction = match predictor {
            1 => Prediction::None,
            HORIZONTAL if bits >= 8 => Prediction::Horizontal,
            FLOATING_POINT if bits == 32 => Prediction::FloatingPoint,
            _ => return Err(unread(&format_args!("predictor {predictor} with {bits}-bit samples"))),
        };
        let compression = self.number(Tag::Compression, 1)?;
        if compression == JPEG && bits != 8 {
            return Err(unread(&format_args!("{bits}-bit JPEG data")));
        }
        let (size, places) = self.chunks(width)?;
        let is_planar = samples > 1 && self.number(Tag::PlanarConfiguration, 1)? != 1;
        Ok(Chunks {
            contents: self.contents,
            width,
            height,
            size,
            places,
            compression: compression_of(compression, tables, has_luma && !is_planar)?,
            samples,
            bits: bits as usize,
            is_planar,
            prediction,
            is_little: self.decoder.byte_order() == ByteOrder::LittleEndian,
        })
    }
}

/// The height and width of the first image.
pub fn size(contents: &[u8]) -> Result<[usize; 2]> {
    let (width, height) = Tags::of(contents)?.decoder.dimensions().map_err(|error| fault_of(contents, error))?;
    Ok([height as usize, width as usize])
}

/// Decodes to `channels`; 0 means the same as in the file, but RGB for palettes and inks. Samples
/// have 8 bits if `dtype` is uint8 or the file has at most 8 bits. A file with several images is
/// rejected unless `is_first_only`.
///
/// Floats, and images with channels other than colours and alpha, are returned as they are stored:
/// neither their number of channels nor, with fewer bits, their type is changed.
pub fn decode(contents: &[u8], channels: usize, dtype: DType, is_first_only: bool) -> Result<Pixels> {
    let what = || format!("Invalid TIFF data (size {})", contents.len());
    let refused = |refusal: Refusal| refusal.at(what());
    let is_wide = dtype != DType::UInt8;
    let mut tags = Tags::of(contents)?;
    let (width, height) = tags.decoder.dimensions().map_err(|error| fault_of(contents, error))?;
    let (width, height) = (width as usize, height as usize);
    check_size(&what(), height, width, 1)?;
    if !is_first_only && tags.decoder.more_images() {
        return Err(Error::invalid_argument(
            "The TIFF has more than one image, and their sizes may differ. Decode the first one with \
             expand_animations=False",
        ));
    }
    let interpretation = tags.optional_number(Tag::PhotometricInterpretation)?;
    let colours = Colours::of(interpretation).ok_or_else(|| unread(&"an unsupported colour space"))?;
    let bits = tags.numbers::<u32>(Tag::BitsPerSample)?.first().copied().unwrap_or(1);
    let formats = tags.numbers::<u32>(Tag::SampleFormat)?;
    let is_float = bits == 32 && !formats.is_empty() && formats.iter().all(|format| *format == FLOAT);
    let is_integer = matches!(bits, 1 | 2 | 4 | 8 | 16) && formats.iter().all(|format| *format == UNSIGNED);
    if !is_float && !is_integer {
        return Err(unread(&format_args!(
            "samples that are neither uint8, uint16, float32 nor integers of 1, 2 or 4 bits ({})",
            sample_type(bits, &formats)
        )));
    }
    if tags.number(Tag::FillOrder, 1)? != 1 {
        return Err(unread(&"bytes stored lowest bit first"));
    }
    let samples = tags.number(Tag::SamplesPerPixel, 1)? as usize;
    let has_bands = matches!(colours, Colours::Grey { is_inverted: false } | Colours::Rgb);
    let alpha = match alpha(colours, samples, &tags.numbers(Tag::ExtraSamples)?) {
        Some(alpha) if !is_float => alpha,
        // Without a meaning, they are returned as they are stored.
        _ if has_bands && bits >= 8 => return decode_bands(tags, [height, width], samples, channels, dtype),
        None => return Err(unread(&"extra channels other than the alpha of grey or RGB")),
        Some(_) => return Err(unread(&"floats in a colour space other than grey or RGB")),
    };
    if colours == Colours::Inks && tags.number(INK_SET, CMYK)? != CMYK {
        return Err(unread(&"inks other than cyan, magenta, yellow and black"));
    }
    let palette = match colours {
        Colours::Palette => Some(palette(&tags.numbers(Tag::ColorMap)?, bits)?),
        _ => None,
    };
    let has_colours = !matches!(colours, Colours::Grey { .. });
    if channels == 1 && has_colours {
        return Err(Error::invalid_argument(
            "Channels must be in (None, 3, 4) when decoding TIFF images with colours, got 1",
        ));
    }
    // How many stored samples each pixel of the result needs.
    let kept = colours.num_samples() + usize::from(alpha.is_some());
    if !matches!(channels, 0 | 1 | 3 | 4) && channels != kept {
        return Err(other_channels(kept, channels));
    }
    let tables = tags.numbers::<u8>(Tag::JPEGTables)?;
    let chunks = tags.packed([height, width], samples, &tables, colours == Colours::Luma)?;
    if colours == Colours::Luma && !matches!(chunks.compression, Compression::Jpeg { has_luma: true, .. }) {
        return Err(unread(&"YCbCr colours without JPEG compression"));
    }
    let fault = |fault: Fault| read_fault(contents, fault);
    let is_inverted = colours == (Colours::Grey { is_inverted: true });
    let mut bytes = match bits {
        16 => {
            let mut wide = chunks.read::<u16>().map_err(fault)?;
            if is_wide && colours != Colours::Inks {
                finish(&mut wide, kept, is_inverted.then_some(u16::MAX), alpha, u16::MAX);
                let channels = if channels == 0 { kept } else { channels };
                let wide = convert(wide, kept, channels, u16::MAX).map_err(refused)?;
                return Ok(Pixels { height, width, channels, samples: Samples::Sixteen(wide) });
            }
            allocate::collected(wide.len(), wide.iter().map(|sample| (sample >> 8) as u8)).map_err(refused)?
        }
        _ => chunks.read::<u8>().map_err(fault)?,
    };
    if let Some(palette) = palette {
        let channels = if channels == 0 { 3 } else { channels };
        let samples = match is_wide {
            true => {
                let colours = from_palette(&bytes, &palette, |colour| colour).map_err(refused)?;
                Samples::Sixteen(convert(colours, 3, channels, u16::MAX).map_err(refused)?)
            }
            false => {
                let colours = from_palette(&bytes, &palette, |colour| (colour >> 8) as u8).map_err(refused)?;
                Samples::Eight(convert(colours, 3, channels, u8::MAX).map_err(refused)?)
            }
        };
        return Ok(Pixels { height, width, channels, samples });
    }
    if bits < 8 {
        let times = u8::MAX / ((1 << bits) - 1);
        bytes.iter_mut().for_each(|sample| *sample *= times);
    }
    finish(&mut bytes, kept, is_inverted.then_some(u8::MAX), alpha, u8::MAX);
    let (bytes, stored) = match colours {
        Colours::Inks => (from_inks(&bytes).map_err(refused)?, 3),
        _ => (bytes, kept),
    };
    let channels = if channels == 0 { stored } else { channels };
    let bytes = convert(bytes, stored, channels, u8::MAX).map_err(refused)?;
    Ok(Pixels { height, width, channels, samples: Samples::Eight(bytes) })
}

/// Decodes samples as they are stored, whatever their channels mean.
fn decode_bands(
    mut tags: Tags<'_>,
    [height, width]: [usize; 2],
    samples: usize,
    channels: usize,
    dtype: DType,
) -> Result<Pixels> {
    let contents = tags.contents;
    if channels != 0 && channels != samples {
        return Err(other_channels(samples, channels));
    }
    let tables = tags.numbers::<u8>(Tag::JPEGTables)?;
    let chunks = tags.packed([height, width], samples, &tables, false)?;
    let narrowed = |stored: &str| {
        Error::invalid_argument(format!(
            "The TIFF has {} of {stored}, expected a type that keeps their values, got dtype={dtype}. Pass \
             dtype='{stored}'",
            counted(samples)
        ))
    };
    let samples_read = match chunks.bits {
        32 if dtype != DType::Float32 => return Err(narrowed("float32")),
        16 if dtype == DType::UInt8 => return Err(narrowed("uint16")),
        32 => chunks.read::<u32>().map(|bits| Samples::Float(bytemuck::cast_vec(bits))),
        16 => chunks.read::<u16>().map(Samples::Sixteen),
        _ => chunks.read::<u8>().map(Samples::Eight),
    };
    let read = samples_read.map_err(|fault| read_fault(contents, fault))?;
    Ok(Pixels { height, width, channels: samples, samples: read })
}

fn read_fault(contents: &[u8], fault: Fault) -> Error {
    match fault {
        Fault::Damage(reason) => invalid(contents, &reason),
        Fault::Memory(refusal) => refusal.at(format!("Invalid TIFF data (size {})", contents.len())),
    }
}

fn other_channels(stored: usize, requested: usize) -> Error {
    Error::invalid_argument(format!(
        "The TIFF has {}, expected channels=None or {stored} when decoding it, got {requested}. Select channels from \
         the result",
        counted(stored)
    ))
}

fn counted(channels: usize) -> String {
    if channels == 1 { "1 channel".to_owned() } else { format!("{channels} channels") }
}

/// The name of a type of samples.
fn sample_type(bits: u32, formats: &[u32]) -> String {
    let kind = match formats {
        [] | [UNSIGNED, ..] => "uint",
        [2, ..] => "int",
        [FLOAT, ..] => "float",
        _ => "complex or undefined samples of ",
    };
    format!("{kind}{bits}")
}

/// The orientation of the first image, from 1 to 8. 1 if there is none.
pub fn orientation(contents: &[u8]) -> u8 {
    let orientation = Tags::of(contents).and_then(|mut tags| tags.number(Tag::Orientation, 1));
    orientation.ok().and_then(|number| u8::try_from(number).ok()).filter(|number| (1..=8).contains(number)).unwrap_or(1)
}

/// Whether and how the samples include alpha.
#[derive(Clone, Copy, PartialEq)]
enum Alpha {
    /// The colours are premultiplied by alpha.
    Associated,
    Unassociated,
}

/// Whether samples include alpha. `None` if there are channels other than colours and alpha.
fn alpha(colours: Colours, samples: usize, extra: &[u32]) -> Option<Option<Alpha>> {
    match (samples.checked_sub(colours.num_samples())?, extra) {
        (0, []) => Some(None),
        // This is the same as in Pillow.
        (1, []) if colours == Colours::Rgb => Some(Some(Alpha::Unassociated)),
        (1, [ASSOCIATED_ALPHA]) if matches!(colours, Colours::Grey { .. } | Colours::Rgb) => {
            Some(Some(Alpha::Associated))
        }
        (1, [UNASSOCIATED_ALPHA]) if matches!(colours, Colours::Grey { .. } | Colours::Rgb) => {
            Some(Some(Alpha::Unassociated))
        }
        _ => None,
    }
}

/// Reads a palette's 16-bit colours. If all numbers are less than 256, they have 8 bits, as in
/// libtiff.
fn palette(map: &[u32], bits: u32) -> Result<Vec<[u16; 3]>> {
    let num_colours = 1_usize << bits;
    if bits > 8 || map.len() != 3 * num_colours {
        return Err(unread(&format_args!(
            "an invalid palette, which should have {num_colours} colours and at most 8 \
                                         bits"
        )));
    }
    let times = if map.iter().all(|number| *number < 256) { 257 } else { 1 };
    let part = |at: usize| u16::try_from(map[at] * times).unwrap_or(u16::MAX);
    Ok((0..num_colours).map(|at| [part(at), part(at + num_colours), part(at + 2 * num_colours)]).collect())
}

fn compression_of(number: u32, tables: &[u8], has_luma: bool) -> Result<Compression<'_>> {
    let name = match number {
        1 => return Ok(Compression::None),
        5 => return Ok(Compression::Lzw),
        JPEG => return Ok(Compression::Jpeg { tables, has_luma }),
        8 | 32_946 => return Ok(Compression::Deflate),
        32_773 => return Ok(Compression::PackBits),
        50_000 => return Ok(Compression::Zstd),
        2..=4 => "fax compression",
        6 => "old-style JPEG data",
        34_925 => "LZMA compression",
        50_001 => "WebP compression",
        _ => return Err(unread(&format_args!("compression method {number}"))),
    };
    Err(unread(&name))
}

/// Inverts grey relative to the largest number, and divides premultiplied colours by alpha.
fn finish<T: Copy + Into<u32> + TryFrom<u32>>(
    samples: &mut [T],
    channels: usize,
    inverted: Option<T>,
    alpha: Option<Alpha>,
    most: T,
) {
    let narrow = |number: u32| T::try_from(number.min(most.into())).unwrap_or(most);
    if let Some(most) = inverted {
        samples.iter_mut().step_by(channels).for_each(|sample| *sample = narrow(most.into() - (*sample).into()));
    }
    if alpha == Some(Alpha::Associated) {
        for pixel in samples.chunks_exact_mut(channels) {
            let Some((alpha, colours)) = pixel.split_last_mut() else { continue };
            let alpha: u32 = (*alpha).into();
            match alpha {
                0 => colours.fill(narrow(0)),
                alpha => colours.iter_mut().for_each(|colour| *colour = narrow((*colour).into() * most.into() / alpha)),
            }
        }
    }
}

/// The limits for a file. The crate allocates memory for as many values as an entry claims, and
/// each takes at least one byte in the file.
fn limits(contents: &[u8]) -> Limits {
    let mut limits = Limits::default();
    let most = contents.len().saturating_mul(size_of::<Value>());
    limits.decoding_buffer_size = limits.decoding_buffer_size.min(most);
    limits
}

fn fault_of(contents: &[u8], error: TiffError) -> Error {
    match error {
        TiffError::UnsupportedError(reason) => unread(&reason),
        error => invalid(contents, &error),
    }
}

fn invalid(contents: &[u8], reason: &dyn Display) -> Error {
    damaged(&format!("Invalid TIFF data (size {}): {reason}", contents.len()))
}

/// The error for a valid file of a kind that is not supported.
fn unread(reason: &dyn Display) -> Error {
    Error::invalid_argument(format!(
        "The TIFF has {reason}, expected grey, a palette, RGB or CMYK of up to 16 bits, or 32-bit floats in one or several \
         channels, uncompressed or compressed with LZW, Deflate, PackBits, Zstandard or JPEG. Convert it, or \
         save it as a PNG"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_image_bytes_are_an_error() {
        let error = decode(b"II*\0\xff\xff\xff\0", 0, DType::UInt8, true).unwrap_err();
        assert!(error.message().starts_with("Invalid TIFF data (size 8): "), "{error}");
    }

    #[test]
    fn colours_are_divided_by_their_alpha() {
        let mut pixels = [100, 200, 50, 100, 7, 8, 9, 0, 7, 8, 9, 255_u8];
        finish(&mut pixels, 4, None, Some(Alpha::Associated), u8::MAX);
        assert_eq!(pixels, [255, 255, 127, 100, 0, 0, 0, 0, 7, 8, 9, 255]);
        let mut greys = [1, 2_u8];
        finish(&mut greys, 2, Some(u8::MAX), None, u8::MAX);
        assert_eq!(greys, [254, 2]);
    }
}
