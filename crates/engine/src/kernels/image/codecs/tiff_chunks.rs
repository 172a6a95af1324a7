//! Strips and tiles of TIFF: unpacks their bytes, in the order of the image.
//!
//! Source: TIFF 6.0, and its technical note 2 for JPEG.

use super::jpeg;
use super::packed_bits::unpacked;
use super::tiff_fault::Fault;
use crate::tensor::allocate;
use bytemuck::Zeroable;
use std::io::{ErrorKind, Read};
use weezl::LzwStatus;

/// The maximum memory for the unpacked bytes of one strip or tile.
const MOST_CHUNK_BYTES: usize = 1 << 28;
/// The maximum memory for the samples of an image, which may have many channels.
const MOST_IMAGE_BYTES: usize = 1 << 31;

/// The compression of strips and tiles.
#[derive(Clone, Copy, PartialEq)]
pub enum Compression<'a> {
    None,
    Lzw,
    Deflate,
    PackBits,
    Zstd,
    /// JPEG, with the file's shared tables and a flag for YCbCr.
    Jpeg {
        tables: &'a [u8],
        has_luma: bool,
    },
}

/// How samples are stored as differences.
#[derive(Clone, Copy, PartialEq)]
pub enum Prediction {
    None,
    /// Samples are differences from the previous pixel.
    Horizontal,
    /// The bytes of each row are grouped by significance, from the highest, and are differences
    /// from the previous pixel.
    FloatingPoint,
}

/// The offset and the length of a strip or tile in the file.
pub type Place = (u64, u64);

/// The strips or tiles of an image, and how samples are stored in them.
pub struct Chunks<'a> {
    pub contents: &'a [u8],
    pub width: usize,
    pub height: usize,
    /// The width and the height of a strip or tile.
    pub size: [usize; 2],
    pub places: Vec<Place>,
    pub compression: Compression<'a>,
    /// The number of samples per pixel.
    pub samples: usize,
    pub bits: usize,
    /// True if each channel has its own strips or tiles.
    pub is_planar: bool,
    pub prediction: Prediction,
    pub is_little: bool,
}

/// A type that samples are read as.
pub trait Stored: Zeroable + Copy {
    /// Appends the samples of a row.
    fn extend(samples: &mut Vec<Self>, row: &[u8], chunks: &Chunks<'_>);
    fn add(self, other: Self) -> Self;
}

impl Stored for u8 {
    fn extend(samples: &mut Vec<Self>, row: &[u8], chunks: &Chunks<'_>) {
        match chunks.bits {
            8 => samples.extend_from_slice(row),
            bits => samples.extend(unpacked(row, bits)),
        }
    }

    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Stored for u16 {
    fn extend(samples: &mut Vec<Self>, row: &[u8], chunks: &Chunks<'_>) {
        let number =
            |bytes: &[u8; 2]| if chunks.is_little { u16::from_le_bytes(*bytes) } else { u16::from_be_bytes(*bytes) };
        samples.extend(row.as_chunks().0.iter().map(number));
    }

    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Stored for u32 {
    fn extend(samples: &mut Vec<Self>, row: &[u8], chunks: &Chunks<'_>) {
        let number =
            |bytes: &[u8; 4]| if chunks.is_little { u32::from_le_bytes(*bytes) } else { u32::from_be_bytes(*bytes) };
        samples.extend(row.as_chunks().0.iter().map(number));
    }

    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Chunks<'_> {
    /// Reads the samples of all pixels. The samples of a pixel are next to each other.
    pub fn read<T: Stored>(&self) -> Result<Vec<T>, Fault> {
        let [chunk_width, chunk_height] = self.size;
        let in_chunk = if self.is_planar { 1 } else { self.samples };
        let row_samples = chunk_width * in_chunk;
        let row_bytes = (row_samples * self.bits).div_ceil(8);
        let (across, down) = (self.width.div_ceil(chunk_width), self.height.div_ceil(chunk_height));
        let planes = if self.is_planar { self.samples } else { 1 };
        if self.places.len() != across * down * planes {
            return Err(format!(
                "the image has {} strips or tiles, expected {}",
                self.places.len(),
                across * down * planes
            )
            .into());
        }
        // Strips and tiles may be much larger than the image.
        let most_rows = chunk_height.min(self.height);
        let num_bytes = row_bytes.checked_mul(most_rows).filter(|bytes| *bytes <= MOST_CHUNK_BYTES);
        let num_bytes = num_bytes.ok_or_else(|| "a strip or tile is larger than 256 MiB".to_owned())?;
        let num_samples = (self.width * self.height).checked_mul(self.samples);
        let num_samples = num_samples.filter(|samples| *samples <= MOST_IMAGE_BYTES / size_of::<T>());
        let num_samples = num_samples.ok_or_else(|| {
            format!("the image has {} channels, so its samples would need more than 2 GiB of memory", self.samples)
        })?;
        let mut image = allocate::zeros::<T>(num_samples)?;
        let mut bytes = allocate::zeros(num_bytes)?;
        let mut grouped = match self.prediction {
            Prediction::FloatingPoint => allocate::zeros(row_bytes)?,
            _ => Vec::new(),
        };
        let mut row: Vec<T> = allocate::room(self.width * in_chunk + 8)?;
        for (number, place) in self.places.iter().enumerate() {
            let (plane, chunk) = (number / (across * down), number % (across * down));
            let (x, y) = (chunk % across * chunk_width, chunk / across * chunk_height);
            let (width, height) = (chunk_width.min(self.width - x), chunk_height.min(self.height - y));
            let bytes = &mut bytes[..row_bytes * height];
            let packed = self.packed(*place).ok_or_else(|| format!("strip or tile {number} is outside the file"))?;
            self.unpack(packed, bytes, in_chunk).map_err(|fault| match fault {
                Fault::Damage(reason) => Fault::Damage(format!("strip or tile {number}: {reason}")),
                memory => memory,
            })?;
            for (line, packed) in bytes.chunks_exact_mut(row_bytes).enumerate() {
                row.clear();
                if self.prediction == Prediction::FloatingPoint {
                    grouped.copy_from_slice(packed);
                    self.restore_floats(&mut grouped, in_chunk, packed);
                }
                // A tile may be much wider than the image.
                T::extend(&mut row, &packed[..(width * in_chunk * self.bits).div_ceil(8)], self);
                if self.prediction == Prediction::Horizontal {
                    (in_chunk..row.len()).for_each(|at| row[at] = row[at].add(row[at - in_chunk]));
                }
                let start = ((y + line) * self.width + x) * self.samples + plane;
                let target = &mut image[start..];
                match self.is_planar {
                    true => {
                        target.iter_mut().step_by(self.samples).zip(&row).take(width).for_each(|(to, from)| *to = *from)
                    }
                    false => target[..width * in_chunk].copy_from_slice(&row[..width * in_chunk]),
                }
            }
        }
        Ok(image)
    }

    /// Restores a row of floats from bytes that are grouped by significance.
    fn restore_floats(&self, grouped: &mut [u8], in_chunk: usize, floats: &mut [u8]) {
        (in_chunk..grouped.len()).for_each(|at| grouped[at] = grouped[at].wrapping_add(grouped[at - in_chunk]));
        let count = floats.len() / size_of::<f32>();
        for (number, float) in floats.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *float = std::array::from_fn(|byte| grouped[byte * count + number]);
            if self.is_little {
                float.reverse();
            }
        }
    }

    fn packed(&self, (offset, length): Place) -> Option<&[u8]> {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        self.contents.get(offset..offset.checked_add(length)?)
    }

    /// Unpacks the beginning of a strip or tile: the rows inside the image.
    fn unpack(&self, packed: &[u8], bytes: &mut [u8], in_chunk: usize) -> Result<(), Fault> {
        let expected = bytes.len();
        let num_bytes = match self.compression {
            Compression::None => {
                let num_bytes = expected.min(packed.len());
                bytes[..num_bytes].copy_from_slice(&packed[..num_bytes]);
                num_bytes
            }
            Compression::Lzw => unpack_lzw(packed, bytes)?,
            Compression::PackBits => unpack_runs(packed, bytes),
            Compression::Deflate => fill(&mut flate2::read::ZlibDecoder::new(packed), bytes)?,
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(packed).map_err(|error| error.to_string())?;
                fill(&mut decoder, bytes)?
            }
            Compression::Jpeg { tables, has_luma } => {
                let image = jpeg::decode_part(tables, packed, has_luma, self.size)?;
                if image.channels != in_chunk || image.pixels.len() < expected {
                    let [width, height] = self.size;
                    return Err(format!(
                        "the JPEG data has {} rows of {} channels, expected {height} of {in_chunk} ({width} columns)",
                        image.height, image.channels
                    )
                    .into());
                }
                bytes.copy_from_slice(&image.pixels[..expected]);
                expected
            }
        };
        match num_bytes == expected {
            true => Ok(()),
            false => Err(format!("the data ends after {num_bytes} of {expected} bytes").into()),
        }
    }
}

fn unpack_lzw(mut packed: &[u8], bytes: &mut [u8]) -> Result<usize, String> {
    let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
    let mut num_bytes = 0;
    while num_bytes < bytes.len() {
        let result = decoder.decode_bytes(packed, &mut bytes[num_bytes..]);
        packed = &packed[result.consumed_in..];
        num_bytes += result.consumed_out;
        match result.status.map_err(|error| error.to_string())? {
            LzwStatus::Ok => {}
            LzwStatus::Done | LzwStatus::NoProgress => break,
        }
    }
    Ok(num_bytes)
}

/// Unpacks PackBits and returns the number of bytes.
fn unpack_runs(mut packed: &[u8], bytes: &mut [u8]) -> usize {
    let mut num_bytes = 0;
    while num_bytes < bytes.len()
        && let Some((&header, rest)) = packed.split_first()
    {
        let target = &mut bytes[num_bytes..];
        let (used, length) = match header {
            0..=127 => {
                let length = (usize::from(header) + 1).min(rest.len()).min(target.len());
                target[..length].copy_from_slice(&rest[..length]);
                (length, length)
            }
            128 => (0, 0),
            129.. => {
                let Some(value) = rest.first() else { break };
                let length = (257 - usize::from(header)).min(target.len());
                target[..length].fill(*value);
                (1, length)
            }
        };
        packed = &rest[used..];
        num_bytes += length;
    }
    num_bytes
}

/// Reads until a buffer is full or the data ends.
fn fill(input: &mut impl Read, bytes: &mut [u8]) -> Result<usize, String> {
    let mut num_bytes = 0;
    while num_bytes < bytes.len() {
        match input.read(&mut bytes[num_bytes..]) {
            Ok(0) => break,
            Ok(length) => num_bytes += length,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(num_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_unpacked_until_the_output_is_full() {
        let unpacked = |packed: &[u8], size| {
            let mut bytes = vec![0; size];
            let length = unpack_runs(packed, &mut bytes);
            bytes[..length].to_vec()
        };
        assert_eq!(unpacked(&[0xfe, 7, 0x80, 1, 5, 6], 9), [7, 7, 7, 5, 6]);
        assert_eq!(unpacked(&[0xfe, 7, 1, 5, 6], 4), [7, 7, 7, 5]);
        assert_eq!(unpacked(&[5, 1], 9), [1]);
        assert!(unpacked(&[0x90], 9).is_empty());
    }

    #[test]
    fn bytes_of_floats_are_regrouped() {
        let values = [1.5_f32, -2.25, 3e-8, 7.0];
        let mut grouped: Vec<u8> = (0..4).flat_map(|byte| values.map(|value| value.to_be_bytes()[byte])).collect();
        // Two channels: each byte is stored as the difference from the byte two places before.
        (2..16).rev().for_each(|at| grouped[at] = grouped[at].wrapping_sub(grouped[at - 2]));
        for is_little in [true, false] {
            let chunks = Chunks {
                contents: &grouped,
                width: 2,
                height: 1,
                size: [2, 1],
                places: vec![(0, 16)],
                compression: Compression::None,
                samples: 2,
                bits: 32,
                is_planar: false,
                prediction: Prediction::FloatingPoint,
                is_little,
            };
            let bits = chunks.read::<u32>().ok().unwrap();
            assert_eq!(bits, values.map(f32::to_bits));
        }
    }

    #[test]
    fn each_row_starts_at_a_byte_boundary() {
        let samples = |bits, width, rows: &[u8]| {
            let chunks = Chunks {
                contents: rows,
                width,
                height: 2,
                size: [width, 2],
                places: vec![(0, rows.len() as u64)],
                compression: Compression::None,
                samples: 1,
                bits,
                is_planar: false,
                prediction: Prediction::None,
                is_little: true,
            };
            chunks.read::<u8>().ok().unwrap()
        };
        assert_eq!(samples(1, 3, &[0b1010_0000, 0b1111_0000]), [1, 0, 1, 1, 1, 1]);
        assert_eq!(samples(2, 5, &[0b0001_1011, 0b1100_0000, 0, 0]), [0, 1, 2, 3, 3, 0, 0, 0, 0, 0]);
        assert_eq!(samples(4, 2, &[0x1f, 0x23]), [1, 15, 2, 3]);
    }
}
