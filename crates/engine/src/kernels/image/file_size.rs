//! Reads the size of an image from the header of its file, without decoding it.

use super::codecs::jpeg;
use super::codecs::sniff::Format;
use super::codecs::{bmp, tiff};
use super::contents;
use super::decode::{Decode, orientation};
use crate::error::Result;
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;

/// The first orientation that exchanges height and width.
const TRANSPOSED: u8 = 5;

/// Maps the contents of a file to the height and width of its first image, int32.
pub struct ImageFileSize {
    decode: Decode,
    /// True if the EXIF orientation is applied.
    is_oriented: bool,
}

impl ImageFileSize {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { decode: decoder()?, is_oriented: attrs.bool("orientation")? })
    }
}

impl Kernel for ImageFileSize {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [file] = expect_inputs(&inputs)?;
        let size = file_size("image_size", contents(file)?, &self.decode, self.is_oriented)?;
        Tensor::from_values(Shape::new(&[size.len()]), size.map(|side| side as i32).to_vec()).map(Step::one)
    }
}

/// The decoder of first frames in RGB.
pub fn decoder() -> Result<Decode> {
    Ok(Decode::first_frame(3, jpeg::Options::new("", true)?))
}

/// Returns the height and width of the first image in a file, as if it were decoded. Errors begin
/// with `what`.
pub fn file_size(what: &str, file: &[u8], decode: &Decode, is_oriented: bool) -> Result<[usize; 2]> {
    let format = decode.format_of(file)?;
    let [height, width] = match format {
        Format::Jpeg => {
            let [height, width, _] = jpeg::shape(file)?;
            [height, width]
        }
        Format::Bmp => bmp::size(file)?,
        Format::Tiff => tiff::size(file)?,
        Format::Png | Format::Gif | Format::Webp => match header_size(file, format) {
            Some(size) => size,
            None => {
                // The decoder explains the damage.
                let image = decode.decode(file, None)?;
                [image.shape()[0], image.shape()[1]]
            }
        },
    };
    super::check_size(what, height, width, 1)?;
    match is_oriented && orientation(file, format) >= TRANSPOSED {
        true => Ok([width, height]),
        false => Ok([height, width]),
    }
}

/// Reads the height and width from the first bytes of a file, for formats that store them there.
fn header_size(file: &[u8], format: Format) -> Option<[usize; 2]> {
    let bytes = |at: usize, count: usize| file.get(at..at + count);
    let little = |at, count| Some(bytes(at, count)?.iter().rev().fold(0, |number, byte| number << 8 | *byte as usize));
    let big = |at, count| Some(bytes(at, count)?.iter().fold(0, |number, byte| number << 8 | *byte as usize));
    let size = match format {
        Format::Png => [big(20, 4)?, big(16, 4)?],
        Format::Gif => [little(8, 2)?, little(6, 2)?],
        Format::Webp => match bytes(12, 4)? {
            b"VP8X" => [little(27, 3)? + 1, little(24, 3)? + 1],
            b"VP8L" => {
                let bits = little(21, 4)?;
                [(bits >> 14 & 0x3fff) + 1, (bits & 0x3fff) + 1]
            }
            b"VP8 " => [little(28, 2)? & 0x3fff, little(26, 2)? & 0x3fff],
            _ => return None,
        },
        Format::Jpeg | Format::Bmp | Format::Tiff => return None,
    };
    Some(size).filter(|[height, width]| *height > 0 && *width > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of(file: &[u8]) -> Result<[usize; 2]> {
        file_size("x", file, &decoder().unwrap(), false)
    }

    #[test]
    fn sizes_are_read_from_headers() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 1, 2, 0, 0, 0, 3]].concat();
        assert_eq!(size_of(&png).unwrap(), [3, 258]);
        assert_eq!(size_of(b"GIF89a\x02\x01\x03\0").unwrap(), [3, 258]);
        let extended = [b"RIFF....WEBPVP8X\x0a\0\0\0\0\0\0\0".as_slice(), &[1, 1, 0, 2, 0, 0]].concat();
        assert_eq!(size_of(&extended).unwrap(), [3, 258]);
        // The height is negative if the first row is the top one.
        let bmp = [b"BM".as_slice(), &[0; 16], &258_i32.to_le_bytes(), &(-3_i32).to_le_bytes(), &[0; 6]].concat();
        assert_eq!(size_of(&bmp).unwrap(), [3, 258]);
    }

    #[test]
    fn truncated_headers_are_rejected() {
        for file in [b"".as_slice(), b"BM", b"\xff\xd8\xff", b"II*\0", b"\x89PNG\r\n\x1a\n\0", b"GIF89a\0\0\0\0"] {
            assert!(size_of(file).is_err(), "{file:?}");
        }
    }

    #[test]
    fn oversized_images_are_rejected() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0xff; 8]].concat();
        let text = size_of(&png).unwrap_err().to_string();
        assert!(text.contains("x: the image has 4294967295x4294967295 pixels, expected at most"), "{text}");
    }
}
