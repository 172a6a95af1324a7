//! FLAC: locates the frames, checks their checksums and order, and decodes them.
//!
//! Source: RFC 9639.

mod frame;

use super::samples::{Part, Samples};
use super::{Sound, damaged, decode, guarded, unsupported};
use crate::error::{Error, Result};
use frame::{Frame, Header};
use symphonia_bundle_flac::FlacDecoder;
use symphonia_core::audio::{Audio, GenericAudioBufferRef};
use symphonia_core::codecs::audio::well_known::CODEC_ID_FLAC;
use symphonia_core::codecs::audio::{AudioCodecParameters, AudioDecoder, AudioDecoderOptions};

const STREAM_INFO_BYTES: usize = 34;
/// Parts of a file that are shorter than this are searched frame by frame.
const SEARCHED_BYTES: usize = 64 << 10;

/// A FLAC file whose metadata blocks have been read.
pub struct Flac<'a> {
    contents: &'a [u8],
    info: StreamInfo,
    /// From the first frame to the end of the last one.
    frames: std::ops::Range<usize>,
}

/// The stream's properties.
#[derive(Clone, Debug)]
pub struct StreamInfo {
    bytes: [u8; STREAM_INFO_BYTES],
    min_block: u16,
    max_block: u16,
    sample_rate: u32,
    channels: usize,
    bits: u32,
    /// The number of samples, or `None` if it was unknown when the file was written.
    num_samples: Option<u64>,
}

impl StreamInfo {
    fn read(bytes: [u8; STREAM_INFO_BYTES]) -> Result<Self> {
        let short = |offset: usize| u16::from_be_bytes([bytes[offset], bytes[offset + 1]]);
        let mut packed = [0; 8];
        packed.copy_from_slice(&bytes[10..18]);
        let packed = u64::from_be_bytes(packed);
        let info = Self {
            bytes,
            min_block: short(0),
            max_block: short(2),
            sample_rate: (packed >> 44) as u32,
            channels: (packed >> 41 & 7) as usize + 1,
            bits: (packed >> 36 & 31) as u32 + 1,
            num_samples: Some(packed & ((1 << 36) - 1)).filter(|count| *count > 0),
        };
        if info.sample_rate == 0 {
            return Err(damaged("FLAC: the sample rate is 0"));
        }
        Ok(info)
    }

    /// Returns true if frames are numbered because all but the last have the same number of
    /// samples.
    fn has_fixed_blocks(&self) -> bool {
        self.min_block == self.max_block
    }
}

impl<'a> Flac<'a> {
    /// Reads the metadata of the stream that begins with "fLaC" at byte `start`.
    pub fn open(contents: &'a [u8], start: usize) -> Result<Self> {
        let cut = || damaged("FLAC: the metadata is cut short");
        let mut offset = start + 4;
        let mut info = None;
        loop {
            let head = contents.get(offset..).and_then(<[u8]>::first_chunk::<4>).ok_or_else(cut)?;
            let size = usize::from(head[1]) << 16 | usize::from(head[2]) << 8 | usize::from(head[3]);
            let body = contents.get(offset + 4..offset + 4 + size).ok_or_else(cut)?;
            match head[0] & 0x7f {
                0 if info.is_none() => {
                    let bytes = body.try_into().map_err(|_| {
                        damaged(format!("FLAC: the stream information has {size} bytes, expected {STREAM_INFO_BYTES}"))
                    })?;
                    info = Some(StreamInfo::read(bytes)?);
                }
                0x7f => return Err(damaged(format!("FLAC: the metadata block at byte {offset} has an invalid type"))),
                _ if info.is_none() => return Err(damaged("FLAC: the stream information is not the first block")),
                _ => {}
            }
            offset += 4 + size;
            if head[0] & 0x80 != 0 {
                break;
            }
        }
        let info = info.ok_or_else(cut)?;
        let end = end_of_frames(contents).max(offset);
        Ok(Self { contents, info, frames: offset..end })
    }

    /// The frame at byte `offset`, whose first sample is `first`.
    fn frame(&self, offset: usize, first: u64) -> Result<Frame> {
        let bytes = &self.contents[offset..self.frames.end];
        let header = Header::read(bytes, &self.info).filter(|header| header.first_sample(&self.info) == Some(first));
        let Some(header) = header else {
            return Err(damaged(format!(
                "FLAC: expected the frame of sample {first} at byte {offset}, but there is none; the file is damaged"
            )));
        };
        let is_last = self.info.num_samples == Some(first + header.num_samples);
        header.frame(bytes, &self.info, is_last).ok_or_else(|| {
            damaged(format!(
                "FLAC: the frame of sample {first} at byte {offset} has a wrong checksum; the file is damaged or cut \
                 short"
            ))
        })
    }

    /// Returns the position and the first sample of a frame at or shortly before a sample.
    fn near(&self, sample: u64) -> (usize, u64) {
        let mut best = (self.frames.start, 0);
        let mut end = self.frames.end;
        while end - best.0 > SEARCHED_BYTES {
            let middle = best.0 + (end - best.0) / 2;
            match frame::next_frame(&self.contents[..self.frames.end], middle..end, &self.info) {
                Some((offset, first)) if first <= sample && first > best.1 => best = (offset, first),
                _ => end = middle,
            }
        }
        best
    }

    fn decoder(&self, is_verifying: bool) -> Result<FlacDecoder> {
        let mut params = AudioCodecParameters::new();
        params.for_codec(CODEC_ID_FLAC).with_extra_data(Box::new(self.info.bytes));
        let options = AudioDecoderOptions::default().gapless(false).verify(is_verifying);
        guarded("FLAC", self.frames.start, || FlacDecoder::try_new(&params, &options))
    }
}

impl Sound for Flac<'_> {
    fn sample_rate(&self) -> u32 {
        self.info.sample_rate
    }

    fn channels(&self) -> usize {
        self.info.channels
    }

    fn num_samples(&self) -> Result<u64> {
        if let Some(count) = self.info.num_samples {
            return Ok(count);
        }
        let (mut offset, mut first) = (self.frames.start, 0);
        while offset < self.frames.end {
            let frame = self.frame(offset, first)?;
            (offset, first) = (offset + frame.num_bytes, first + frame.num_samples);
        }
        Ok(first)
    }

    fn values_at_once(&self) -> usize {
        self.contents.len()
    }

    fn decode(&self, part: Part, samples: &mut Samples) -> Result<()> {
        let is_whole = part == Part::ALL;
        let mut decoder = self.decoder(is_whole)?;
        let (mut offset, mut first) = if part.start == 0 { (self.frames.start, 0) } else { self.near(part.start) };
        while !samples.is_full() && offset < self.frames.end {
            let frame = self.frame(offset, first)?;
            let end = first + frame.num_samples;
            if end > part.start {
                samples.skip(part.start.saturating_sub(first));
                if self.info.bits == 32 && frame.is_decorrelated {
                    return Err(unsupported("FLAC: 32-bit samples are stored as channel differences"));
                }
                let data = &self.contents[offset..offset + frame.num_bytes];
                let decoded = decode(&mut decoder, "FLAC", offset, data)?;
                push(&decoded, frame.num_samples as usize, samples)?;
            }
            (offset, first) = (offset + frame.num_bytes, end);
        }
        if !samples.is_full() {
            return Err(damaged(format!(
                "FLAC: the file ends after {first} samples, expected {} more; it is cut short",
                samples.num_missing()
            )));
        }
        if is_whole && offset < self.frames.end {
            return Err(damaged(format!(
                "FLAC: {} extra bytes follow the last of {first} samples; the file is damaged",
                self.frames.end - offset
            )));
        }
        match decoder.finalize().verify_ok {
            Some(false) => Err(damaged("FLAC: the MD5 of the samples does not match; the file is damaged")),
            _ => Ok(()),
        }
    }
}

fn push(decoded: &GenericAudioBufferRef<'_>, count: usize, samples: &mut Samples) -> Result<()> {
    let GenericAudioBufferRef::S32(buffer) = decoded else {
        return Err(Error::internal("FLAC decoded to a type other than int32"));
    };
    let planes: smallvec::SmallVec<[&[i32]; 8]> =
        (0..buffer.num_planes()).filter_map(|one| buffer.plane(one)).collect();
    if planes.iter().any(|plane| plane.len() != count) {
        return Err(Error::internal("FLAC decoded to an unexpected number of samples"));
    }
    samples.push(count, |channel, index| planes[channel][index] as f32 / 2_147_483_648.0)
}

/// Returns the end of the frames: the position of an ID3v1 tag, or the end of the file.
fn end_of_frames(contents: &[u8]) -> usize {
    match contents.len().checked_sub(128) {
        Some(tag) if contents[tag..].starts_with(b"TAG") => tag,
        _ => contents.len(),
    }
}
