//! GIF: frames that are drawn over each other.
//!
//! Source: the GIF89a specification, and Pillow for details that it leaves open. For TensorFlow 1,
//! `tf.image.decode_gif` of 1.15, with transparent pixels as in TensorFlow 2.

use crate::error::Result;
use crate::kernels::image::{MAX_PIXELS, check_size, damaged};
use crate::tensor::allocate;
use gif::{ColorOutput, DecodeOptions, DisposalMethod, Frame, MemoryLimit};
use std::iter::repeat_n;
use std::num::NonZeroU64;

/// A code of at least three bits expands to at most 4096 pixels, which is the number of codes.
const MOST_PIXELS_OF_BYTE: usize = 4096 * 8 / 3;

/// The frames of a GIF in RGB, one after the other.
#[derive(Debug, PartialEq)]
pub struct Frames {
    pub num_frames: usize,
    pub height: usize,
    pub width: usize,
    pub samples: Vec<u8>,
}

/// Decodes at most `max_frames` frames. Pixels that a frame leaves uncovered or transparent keep
/// the colour that they have after the previous frame's disposal. In the first frame they get the
/// transparent colour, or else the first colour of the palette.
///
/// For TensorFlow 1, where `for_pipeline` is false, frames are not disposed of and the first one
/// begins with black.
pub fn decode(contents: &[u8], max_frames: usize, for_pipeline: bool) -> Result<Frames> {
    let what = || format!("Invalid GIF data (size {})", contents.len());
    let invalid = |reason: &dyn std::fmt::Display| damaged(&format!("{}, {reason}", what()));
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Bytes(NonZeroU64::MIN.saturating_add(MAX_PIXELS as u64)));
    let mut decoder = options.read_info(contents).map_err(|error| invalid(&error))?;
    let (width, height) = (usize::from(decoder.width()), usize::from(decoder.height()));
    check_size(&what(), height, width, 1)?;
    let global_palette = decoder.global_palette().map(<[u8]>::to_vec);
    let background = global_palette.as_ref().and(decoder.bg_color()).unwrap_or(0);
    let mut disposal = None;
    let frame_bytes = height * width * 3;
    let mut frames = Frames { num_frames: 0, height, width, samples: Vec::new() };
    while frames.num_frames < max_frames {
        let Some(frame) = decoder.next_frame_info().map_err(|error| invalid(&error))?.cloned() else { break };
        // A frame may be larger than the image, so its size is checked before memory is allocated.
        let (frame_height, frame_width) = (usize::from(frame.height), usize::from(frame.width));
        if frame_height * frame_width > contents.len().saturating_mul(MOST_PIXELS_OF_BYTE) {
            return Err(invalid(&format!(
                "frame {} claims {frame_height}x{frame_width} pixels, more than the file can hold",
                frames.num_frames
            )));
        }
        let mut indices = allocate::zeros(frame_height * frame_width).map_err(|refusal| refusal.at(what()))?;
        decoder.read_into_buffer(&mut indices).map_err(|error| invalid(&error))?;
        frames.num_frames += 1;
        check_size(&what(), height, width, frames.num_frames)?;
        let palette = frame.palette.as_deref().or(global_palette.as_deref());
        let palette = palette.ok_or_else(|| invalid(&format!("frame {} has no colours", frames.num_frames - 1)))?;
        allocate::grow(&mut frames.samples, frame_bytes).map_err(|refusal| refusal.at(what()))?;
        let missing = |index: u8| invalid(&format!("colour {index} of frame {} does not exist", frames.num_frames - 1));
        let start = frames.samples.len();
        match start.checked_sub(frame_bytes) {
            Some(before) => frames.samples.extend_from_within(before..),
            None if for_pipeline => {
                let first = frame.transparent.unwrap_or(0);
                let colour = colour_of(palette, first).ok_or_else(|| missing(first))?;
                frames.samples.extend(colour.iter().cycle().take(frame_bytes));
            }
            None => frames.samples.extend(repeat_n(0, frame_bytes)),
        }
        let canvas = &mut frames.samples[start..];
        if for_pipeline {
            if let Some(disposal) = disposal.take() {
                undo(disposal, canvas, width);
            }
            let fill = frame.transparent.map_or(background, usize::from);
            let fill = u8::try_from(fill).ok().and_then(|index| colour_of(palette, index));
            let fill = fill.or_else(|| colour_of(palette, 0)).ok_or_else(|| missing(0))?;
            disposal = disposal_of(&frame, fill, canvas, width, start == 0).map_err(|refusal| refusal.at(what()))?;
        }
        // In a pipeline's first frame, transparent pixels show their colour.
        let transparent = frame.transparent.filter(|_| start > 0 || !for_pipeline);
        draw(&frame, transparent, &indices, palette, canvas, width).map_err(missing)?;
    }
    match frames.num_frames {
        0 => Err(invalid(&"the file has no image")),
        _ => Ok(frames),
    }
}

/// A frame's rectangle, clipped to the image, and its pixels after the disposal.
type Disposal = (Area, Vec<u8>);

/// A rectangle of a canvas: the first row and byte, and the number of rows and bytes.
#[derive(Clone, Copy)]
struct Area {
    top: usize,
    left: usize,
    height: usize,
    row_bytes: usize,
}

/// Disposes of a frame by restoring the pixels for the next one.
fn undo((area, pixels): Disposal, canvas: &mut [u8], width: usize) {
    for (row, pixels) in area.rows(canvas, width).zip(pixels.chunks_exact(area.row_bytes)) {
        row.copy_from_slice(pixels);
    }
}

/// Saves the data that the disposal of a frame will need. Called before the frame is drawn.
fn disposal_of(
    frame: &Frame<'_>,
    fill: &[u8; 3],
    canvas: &mut [u8],
    width: usize,
    is_first: bool,
) -> std::result::Result<Option<Disposal>, allocate::Refusal> {
    let height = canvas.len() / (width * 3);
    let (left, top) = (usize::from(frame.left).min(width), usize::from(frame.top).min(height));
    let row_bytes = 3 * usize::from(frame.width).min(width - left);
    let area = Area { top, left: 3 * left, height: usize::from(frame.height).min(height - top), row_bytes };
    let num_bytes = area.height * row_bytes;
    Ok(match frame.dispose {
        _ if num_bytes == 0 => None,
        DisposalMethod::Background => Some((area, filled(fill, num_bytes)?)),
        // There is nothing before the first frame, so it stays unless it has a transparent colour.
        DisposalMethod::Previous if !is_first || frame.transparent.is_some() => {
            let mut pixels = allocate::room(num_bytes)?;
            area.rows(canvas, width).for_each(|row| pixels.extend_from_slice(row));
            Some((area, pixels))
        }
        _ => None,
    })
}

impl Area {
    fn rows(self, canvas: &mut [u8], width: usize) -> impl Iterator<Item = &mut [u8]> {
        let rows = canvas.chunks_exact_mut(width * 3).skip(self.top).take(self.height);
        rows.map(move |row| &mut row[self.left..self.left + self.row_bytes])
    }
}

fn filled(colour: &[u8; 3], num_bytes: usize) -> std::result::Result<Vec<u8>, allocate::Refusal> {
    allocate::collected(num_bytes, colour.iter().copied().cycle().take(num_bytes))
}

fn colour_of(palette: &[u8], index: u8) -> Option<&[u8; 3]> {
    palette.as_chunks().0.get(usize::from(index))
}

/// Draws a frame on a canvas, clipped to the canvas and without pixels of the `transparent` colour.
/// Fails with the number of a colour that does not exist.
fn draw(
    frame: &Frame<'_>,
    transparent: Option<u8>,
    indices: &[u8],
    palette: &[u8],
    canvas: &mut [u8],
    width: usize,
) -> std::result::Result<(), u8> {
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let rows = canvas.chunks_exact_mut(width * 3).skip(top);
    for (indices, row) in indices.chunks_exact(usize::from(frame.width).max(1)).zip(rows) {
        for (index, pixel) in indices.iter().zip(row.as_chunks_mut::<3>().0.iter_mut().skip(left)) {
            if transparent != Some(*index) {
                *pixel = *colour_of(palette, *index).ok_or(*index)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gif::Encoder;
    use std::borrow::Cow;

    const PALETTE: [u8; 9] = [10, 20, 30, 40, 50, 60, 70, 80, 90];

    /// (left, top, width, transparent, indices)
    type Drawn<'a> = (u16, u16, u16, Option<u8>, &'a [u8]);

    fn gif(frames: &[Drawn<'_>]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, 2, 2, &PALETTE).unwrap();
        for (left, top, width, transparent, indices) in frames {
            let frame = Frame {
                left: *left,
                top: *top,
                width: *width,
                height: indices.len() as u16 / width,
                transparent: *transparent,
                buffer: Cow::Borrowed(indices),
                ..Frame::default()
            };
            encoder.write_frame(&frame).unwrap();
        }
        drop(encoder);
        file
    }

    fn colours(indices: &[usize]) -> Vec<u8> {
        indices.iter().flat_map(|index| PALETTE[index * 3..index * 3 + 3].to_vec()).collect()
    }

    #[test]
    fn frames_are_drawn_over_the_preceding_ones() {
        let file = gif(&[(0, 0, 2, None, &[0, 1, 2, 0]), (1, 0, 1, None, &[2, 2]), (0, 0, 2, Some(1), &[1, 1, 1, 0])]);
        let frames = decode(&file, usize::MAX, false).unwrap();
        assert_eq!((frames.num_frames, frames.height, frames.width), (3, 2, 2));
        assert_eq!(frames.samples, colours(&[0, 1, 2, 0, 0, 2, 2, 2, 0, 2, 2, 0]));
    }

    #[test]
    fn pixels_outside_the_first_frame_are_black() {
        let frames = decode(&gif(&[(1, 1, 1, None, &[2])]), usize::MAX, false).unwrap();
        assert_eq!(frames.samples, [&[0; 9][..], &colours(&[2])].concat());
    }

    #[test]
    fn only_the_requested_frames_are_read() {
        let file = gif(&[(0, 0, 2, None, &[0, 1, 2, 0]), (0, 0, 1, None, &[2])]);
        assert_eq!(decode(&file, 1, false).unwrap().num_frames, 1);
    }

    #[test]
    fn frame_can_exceed_the_image_but_not_the_capacity_of_the_file() {
        let mut file = gif(&[(0, 0, 3, None, &[0, 1, 2, 1, 0, 2, 2, 2, 2])]);
        assert_eq!(decode(&file, usize::MAX, false).unwrap().samples, colours(&[0, 1, 1, 0]));
        let descriptor = file.iter().rposition(|byte| *byte == b',').unwrap();
        file[descriptor + 5..descriptor + 9].fill(0xff);
        let error = decode(&file, usize::MAX, false).unwrap_err();
        assert!(error.message().contains("frame 0 claims 65535x65535 pixels, more than the file can hold"), "{error}");
        file[descriptor + 5..descriptor + 9].copy_from_slice(&[0, 1, 0, 1]);
        let error = decode(&file, usize::MAX, false).unwrap_err();
        assert!(error.message().contains("image truncated"), "{error}");
    }

    #[test]
    fn damage_is_rejected() {
        let file = gif(&[(0, 0, 2, None, &[0, 1, 2, 0])]);
        let error = decode(&file[..file.len() - 6], usize::MAX, false).unwrap_err();
        assert!(error.message().starts_with(&format!("Invalid GIF data (size {}), ", file.len() - 6)), "{error}");
        let error = decode(&[&gif(&[])[..], b";"].concat(), usize::MAX, false).unwrap_err();
        assert!(error.message().contains("), the file has no image. Copy"), "{error}");
        let frame = Frame { width: 1, height: 1, ..Frame::default() };
        assert_eq!(draw(&frame, None, &[3], &PALETTE, &mut [0; 3], 1), Err(3));
    }
}
