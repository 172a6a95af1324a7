//! PNG, with libpng's conversions between colour types as TensorFlow uses them.
//!
//! Source: `tf.image.decode_png` in TensorFlow 1.15.

use crate::error::Result;
use crate::kernels::image::luma::{Luma, Sample};
use crate::kernels::image::{Pixels, Samples, check_size, damaged};
use crate::tensor::allocate::{self, Refusal};
use png::{BitDepth, ColorType, Decoder, Info, ScaledFloat, Transformations};
use std::io::Cursor;

/// The gamma of sRGB in a gAMA chunk's units, for files that have an sRGB chunk instead.
const SRGB_GAMMA: u32 = 45_455;

/// Decodes to `channels`: 1 is grey, 2 grey with alpha, 3 RGB, 4 RGB with alpha, 0 the same as in
/// the file. Samples have 16 bits if `is_wide` and 8 bits otherwise. If alpha is added, it is
/// opaque in a pipeline. TensorFlow 1 uses the largest number of the stored depth.
pub fn decode(contents: &[u8], channels: usize, is_wide: bool, for_pipeline: bool) -> Result<Pixels> {
    let header = format!("Invalid PNG header, data size {}", contents.len());
    let mut decoder = Decoder::new(Cursor::new(contents));
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(|error| damaged(&format!("{header}: {error}")))?;
    let info = reader.info();
    let (height, width) = (info.height as usize, info.width as usize);
    check_size(&header, height, width, 1)?;
    let has_transparency = info.trns.is_some();
    let channels = match (channels, info.color_type) {
        (0, ColorType::Indexed) => 3 + usize::from(has_transparency),
        (0, colours) => colours.samples(),
        _ => channels,
    };
    let gamma = if info.srgb.is_some() { Some(SRGB_GAMMA) } else { info.gama_chunk.map(ScaledFloat::into_scaled) };
    let low_bits = unused_bits(info);
    let alpha_bits = if for_pipeline { (info.bit_depth as u8).max(8) } else { info.bit_depth as u8 };
    let opaque = ((1_u32 << alpha_bits) - 1) as u16;

    let invalid =
        |reason: &dyn std::fmt::Display| damaged(&format!("Invalid PNG data, size {}: {reason}", contents.len()));
    let num_bytes = reader.output_buffer_size().ok_or_else(|| invalid(&"the image does not fit into memory"))?;
    let out_of_memory = |refusal: Refusal| refusal.at(format_args!("PNG data, size {}", contents.len()));
    let mut bytes = allocate::zeros(num_bytes).map_err(out_of_memory)?;
    let frame = reader.next_frame(&mut bytes).map_err(|error| invalid(&error))?;
    reader.finish().map_err(|error| invalid(&error))?;
    bytes.truncate(frame.buffer_size());
    let stored = frame.color_type.samples();
    let luma = |depth| Luma::new(if stored >= 3 && channels < 3 { gamma } else { None }, depth);
    let converted = || match (frame.bit_depth, is_wide) {
        (BitDepth::Sixteen, true) => {
            convert(wide(&bytes)?, stored, channels, opaque, &luma(16 - low_bits)).map(Samples::Sixteen)
        }
        (BitDepth::Sixteen, false) => {
            // libpng uses at most 11 bits if the result has 8.
            let samples = convert(wide(&bytes)?, stored, channels, opaque, &luma(11.min(16 - low_bits)))?;
            let narrow = samples.iter().map(|sample| (sample >> 8) as u8);
            allocate::collected(samples.len(), narrow).map(Samples::Eight)
        }
        (_, false) => convert(bytes, stored, channels, opaque as u8, &luma(8)).map(Samples::Eight),
        (_, true) => {
            let samples = convert(bytes, stored, channels, opaque as u8, &luma(8))?;
            let wide = samples.iter().map(|sample| u16::from(*sample) * 257);
            allocate::collected(samples.len(), wide).map(Samples::Sixteen)
        }
    };
    Ok(Pixels { height, width, channels, samples: converted().map_err(out_of_memory)? })
}

/// The number of unused bits among the 16 of a sample, according to the sBIT chunk.
fn unused_bits(info: &Info<'_>) -> u32 {
    let used = info.sbit.as_deref().and_then(|bits| bits.iter().take(3).max()).copied();
    used.filter(|bits| (9..16).contains(bits)).map_or(0, |bits| 16 - u32::from(bits))
}

fn wide(bytes: &[u8]) -> std::result::Result<Vec<u16>, Refusal> {
    let samples = bytes.as_chunks::<2>().0;
    allocate::collected(samples.len(), samples.iter().map(|sample| u16::from_be_bytes(*sample)))
}

/// Converts pixels from `from` to `to` channels: 1 is grey, 2 grey with alpha, 3 RGB, 4 RGB with
/// alpha.
fn convert<T: Sample>(
    samples: Vec<T>,
    from: usize,
    to: usize,
    opaque: T,
    luma: &Luma,
) -> std::result::Result<Vec<T>, Refusal> {
    if from == to {
        return Ok(samples);
    }
    let mut converted = allocate::room(samples.len() / from * to)?;
    for pixel in samples.chunks_exact(from) {
        match (from < 3, to < 3) {
            (true, true) => converted.push(pixel[0]),
            (true, false) => converted.extend([pixel[0]; 3]),
            (false, true) => converted.push(T::luma(luma, [pixel[0], pixel[1], pixel[2]])),
            (false, false) => converted.extend_from_slice(&pixel[..3]),
        }
        if to.is_multiple_of(2) {
            converted.push(if from.is_multiple_of(2) { pixel[from - 1] } else { opaque });
        }
    }
    Ok(converted)
}
