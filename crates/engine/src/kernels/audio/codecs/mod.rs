//! Audio formats: detects the format of a file from its content and decodes parts of it.

mod flac;
mod mpeg;
mod ogg;
mod opus;
pub mod samples;
mod sniff;
mod vorbis;
mod wav;

use crate::error::{Error, Result};
use crate::run::catch_library_panic;
use samples::{Part, Samples};
use std::fmt::Display;
use symphonia_core::audio::GenericAudioBufferRef;
use symphonia_core::codecs::audio::AudioDecoder;
use symphonia_core::errors::Error as Reason;
use symphonia_core::packet::PacketRef;
use symphonia_core::units::{Duration, Timestamp};

/// An audio file whose headers have been read.
pub trait Sound {
    /// The sample rate, which is not 0.
    fn sample_rate(&self) -> u32;

    /// The number of channels, which is not 0.
    fn channels(&self) -> usize;

    /// The number of samples per channel.
    fn num_samples(&self) -> Result<u64>;

    /// The number of values to allocate memory for in one step, if the file has enough bytes.
    fn values_at_once(&self) -> usize;

    /// Decodes part of the file into `samples`. Fails if the file is damaged there or is too short.
    fn decode(&self, part: Part, samples: &mut Samples) -> Result<()>;
}

/// Opens a file. Fails if its format is not supported or its headers are damaged.
pub fn open(contents: &[u8]) -> Result<Box<dyn Sound + '_>> {
    Ok(match sniff::format(contents)? {
        sniff::Format::Wav => Box::new(wav::Wav::open(contents)?),
        sniff::Format::Flac(start) => Box::new(flac::Flac::open(contents, start)?),
        sniff::Format::Mp3(start) => Box::new(mpeg::Mp3::open(contents, start)?),
        sniff::Format::Ogg => {
            let pages = ogg::pages(contents)?;
            if ogg::is_opus(&pages)? {
                Box::new(opus::Opus::open(contents, pages)?)
            } else {
                Box::new(vorbis::Vorbis::open(contents, pages)?)
            }
        }
    })
}

/// The error for a damaged file. `text` contains the format and the reason.
fn damaged(text: impl Display) -> Error {
    Error::data_loss(format!("{text}. Copy the file again, or skip it"))
}

/// The error for a file that cannot be decoded. `text` contains the format and the reason.
fn unsupported(text: impl Display) -> Error {
    Error::invalid_argument(format!(
        "{text}, expected WAV (PCM or float), FLAC, MP3, Ogg Vorbis or Ogg Opus. Convert the file, or decode it in a \
         Python function"
    ))
}

/// Decodes the frame at byte `offset`.
fn decode<'a>(
    decoder: &'a mut dyn AudioDecoder,
    format: &str,
    offset: usize,
    frame: &[u8],
) -> Result<GenericAudioBufferRef<'a>> {
    let packet = PacketRef::new(0, Timestamp::ZERO, Duration::ZERO, frame);
    guarded(format, offset, move || decoder.decode_ref(&packet))
}

/// Calls a decoder for a frame or headers at byte `offset`. It may panic if the data is damaged.
fn guarded<T>(format: &str, offset: usize, decode: impl FnOnce() -> std::result::Result<T, Reason>) -> Result<T> {
    // After an error, a decoder is not used again unless it is reset.
    let done = catch_library_panic(decode);
    done.unwrap_or(Err(Reason::DecodeError("a value is out of range"))).map_err(|error| refused(format, offset, &error))
}

/// The error for a file that the decoder rejects.
fn refused(format: &str, offset: usize, error: &Reason) -> Error {
    let reason = match error {
        Reason::IoError(_) => "the data ends too early".to_owned(),
        Reason::DecodeError(text) | Reason::Unsupported(text) => (*text).to_owned(),
        other => other.to_string(),
    };
    damaged(format!("{format}: the frame at byte {offset} cannot be decoded ({reason})"))
}

/// The Vorbis or Opus channel for each FFmpeg channel, or `None` if the order is the same.
///
/// Source: section 4.3.9 of the Vorbis I specification, which RFC 7845 adopts, and
/// `ff_vorbis_channel_layout_offsets` of FFmpeg.
fn channel_order(channels: usize) -> Option<&'static [u8]> {
    match channels {
        3 => Some(&[0, 2, 1]),
        5 => Some(&[0, 2, 1, 3, 4]),
        6 => Some(&[0, 2, 1, 5, 3, 4]),
        7 => Some(&[0, 2, 1, 6, 5, 3, 4]),
        8 => Some(&[0, 2, 1, 7, 5, 6, 3, 4]),
        _ => None,
    }
}

#[cfg(test)]
fn decoded(contents: &[u8], is_mono: bool) -> Result<Vec<f32>> {
    let sound = open(contents)?;
    let mut samples = Samples::new(sound.channels(), is_mono, sound.num_samples()?, 0)?;
    sound.decode(Part::ALL, &mut samples)?;
    Ok(samples.into_values().0)
}
