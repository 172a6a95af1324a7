//! WebP animations: frames that are drawn over each other.
//!
//! Source: RFC 9649, section 2.7.1.1, with the arithmetic of libwebp's `anim_decode.c` for blending
//! colours.

use crate::tensor::allocate::{self, Refusal};
use image_webp::WebPDecoder;
use std::io::Cursor;

/// The size of a chunk header in bytes.
pub const CHUNK_BYTES: usize = 8;
/// The number of bytes in a frame before its chunks.
pub const FRAME_BYTES: usize = 16;
/// The bits of a frame's flags.
const IS_DISPOSED: u8 = 1;
const IS_NOT_BLENDED: u8 = 2;
/// The alpha flag in the header of an extended file.
const HAS_ALPHA: u8 = 0x10;

/// A frame: its position, and its image file.
pub struct Frame {
    area: Area,
    is_disposed: bool,
    is_blended: bool,
    file: Vec<u8>,
}

/// A rectangle of a canvas.
#[derive(Clone, Copy)]
struct Area {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// The RGBA pixels of the whole animation, and the properties of the previous frame that the next
/// one depends on.
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    last: Option<Last>,
}

struct Last {
    area: Area,
    is_disposed: bool,
    is_key: bool,
}

/// Iterates over the frames among the chunks of a file.
pub fn frames_of(chunks: &[u8]) -> impl Iterator<Item = Result<Frame, String>> {
    chunks_of(chunks).filter(|(name, _)| name == b"ANMF").map(|(_, data)| frame_of(data))
}

fn chunks_of(mut chunks: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (header, rest) = chunks.split_first_chunk::<CHUNK_BYTES>()?;
        let [name @ .., a, b, c, d] = *header;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let data = rest.get(..length).unwrap_or(rest);
        chunks = rest.get(length.saturating_add(length & 1)..).unwrap_or_default();
        Some((name, data))
    })
}

fn frame_of(data: &[u8]) -> Result<Frame, String> {
    let (header, chunks) = data.split_first_chunk::<FRAME_BYTES>().ok_or("a frame ends within its header")?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize;
    let area = Area { x: 2 * number(0), y: 2 * number(3), width: number(6) + 1, height: number(9) + 1 };
    let parts: Vec<_> = chunks_of(chunks).filter(|(name, _)| matches!(name, b"ALPH" | b"VP8 " | b"VP8L")).collect();
    let bytes = parts.iter().map(|(_, data)| CHUNK_BYTES + data.len().next_multiple_of(2)).sum::<usize>();
    let mut file = allocate::room(bytes + 64).map_err(|refusal| refusal.to_string())?;
    file.extend_from_slice(b"RIFF\0\0\0\0WEBP");
    if parts.iter().any(|(name, _)| name == b"ALPH") {
        let size = [6, 7, 8, 9, 10, 11].map(|at| header[at]);
        append(&mut file, b"VP8X", &[&[HAS_ALPHA, 0, 0, 0][..], &size].concat());
    }
    parts.iter().for_each(|(name, data)| append(&mut file, name, data));
    let length = u32::try_from(file.len() - CHUNK_BYTES).map_err(|_| "a frame is larger than 4 GB")?;
    file[4..8].copy_from_slice(&length.to_le_bytes());
    let flags = header[15];
    Ok(Frame { area, is_disposed: flags & IS_DISPOSED != 0, is_blended: flags & IS_NOT_BLENDED == 0, file })
}

/// Appends a chunk, for which there must be room.
fn append(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    file.extend_from_slice(name);
    file.extend_from_slice(&(data.len() as u32).to_le_bytes());
    file.extend_from_slice(data);
    file.extend_from_slice(&[0][..data.len() & 1]);
}

impl Frame {
    /// Decodes its RGBA pixels. Also returns whether it has alpha.
    fn pixels(&self) -> Result<(Vec<u8>, bool), String> {
        let mut decoder = WebPDecoder::new(Cursor::new(&self.file[..])).map_err(|error| error.to_string())?;
        decoder.set_memory_limit(self.file.len());
        let (width, height) = decoder.dimensions();
        let Area { width: expected_width, height: expected_height, .. } = self.area;
        if (width as usize, height as usize) != (expected_width, expected_height) {
            return Err(format!("a frame of {expected_height}x{expected_width} has an image of {height}x{width}"));
        }
        let channels = if decoder.has_alpha() { 4 } else { 3 };
        let num_pixels = expected_width * expected_height;
        let refused = |refusal: Refusal| refusal.to_string();
        let mut pixels = allocate::zeros(num_pixels * channels).map_err(refused)?;
        decoder.read_image(&mut pixels).map_err(|error| error.to_string())?;
        let pixels = super::channels::convert(pixels, channels, 4, u8::MAX).map_err(refused)?;
        Ok((pixels, channels == 4))
    }
}

impl Canvas {
    /// Creates a transparent canvas.
    pub fn new(width: usize, height: usize) -> Result<Self, Refusal> {
        Ok(Self { width, height, pixels: allocate::zeros(width * height * 4)?, last: None })
    }

    /// Copies the pixels to a buffer of 3 or 4 channels.
    pub fn copy_to(&self, samples: &mut [u8], channels: usize) {
        let pixels = self.pixels.as_chunks::<4>().0;
        for (target, pixel) in samples.chunks_exact_mut(channels).zip(pixels) {
            target.copy_from_slice(&pixel[..channels]);
        }
    }

    /// Disposes of the previous frame and draws the next one.
    pub fn draw(&mut self, frame: &Frame) -> Result<(), String> {
        let area = frame.area;
        if area.x + area.width > self.width || area.y + area.height > self.height {
            return Err("a frame is outside the image".to_owned());
        }
        let (pixels, has_alpha) = frame.pixels()?;
        // libwebp starts again with such a frame instead of blending it, which would round colours.
        let is_key = match &self.last {
            None => true,
            Some(_) if self.is_whole(area) && !(has_alpha && frame.is_blended) => true,
            Some(last) => last.is_disposed && (self.is_whole(last.area) || last.is_key),
        };
        let disposed = self.last.as_ref().filter(|last| last.is_disposed).map(|last| last.area);
        if is_key {
            self.pixels.fill(0);
        } else if let Some(area) = disposed {
            (area.y..area.y + area.height).for_each(|y| self.row(area, y).fill([0; 4]));
        }
        let is_blended = frame.is_blended && !is_key;
        for (y, row) in (area.y..).zip(pixels.as_chunks::<4>().0.chunks_exact(area.width)) {
            let disposed = disposed.filter(|disposed| (disposed.y..disposed.y + disposed.height).contains(&y));
            let columns = disposed.map_or(0..0, |disposed| disposed.x..disposed.x + disposed.width);
            let targets = self.row(area, y).iter_mut().zip(row).zip(area.x..);
            for ((target, pixel), x) in targets {
                let is_blended = is_blended && pixel[3] != u8::MAX && !columns.contains(&x);
                *target = if is_blended { blended(*pixel, *target) } else { *pixel };
            }
        }
        self.last = Some(Last { area, is_disposed: frame.is_disposed, is_key });
        Ok(())
    }

    fn is_whole(&self, area: Area) -> bool {
        (area.width, area.height) == (self.width, self.height)
    }

    /// Returns the pixels of one row of an area.
    fn row(&mut self, area: Area, y: usize) -> &mut [[u8; 4]] {
        let start = y * self.width + area.x;
        &mut self.pixels.as_chunks_mut().0[start..start + area.width]
    }
}

/// Blends a colour over another one.
fn blended(over: [u8; 4], under: [u8; 4]) -> [u8; 4] {
    let alpha = u32::from(over[3]);
    if alpha == 0 {
        return under;
    }
    let rest = (u32::from(under[3]) * (256 - alpha)) >> 8;
    let scale = (1 << 24) / (alpha + rest);
    let channel = |index: usize| {
        let sum = u32::from(over[index]) * alpha + u32::from(under[index]) * rest;
        ((sum * scale) >> 24) as u8
    };
    [channel(0), channel(1), channel(2), (alpha + rest) as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_blended_like_libwebp() {
        assert_eq!(blended([9, 9, 9, 0], [1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(blended([255, 0, 0, 128], [0, 0, 255, 255]), [127, 0, 126, 255]);
        assert_eq!(blended([255, 100, 0, 3], [0, 0, 0, 0]), [254, 99, 0, 3]);
    }

    #[test]
    fn truncated_frame_is_an_error() {
        let file = [&b"ANMF\x04\0\0\0"[..], &[0; 4]].concat();
        let error = frames_of(&file).next().unwrap().map(drop).unwrap_err();
        assert_eq!(error, "a frame ends within its header");
    }
}
