//! MP3: locates the frames, checks that each has the bytes it needs, and decodes them.
//!
//! If an info tag states how many samples the encoder added at both ends, they are removed. Samples
//! have no checksum, so single wrong bits are not always detected.
//!
//! Source: ISO 11172-3 and 13818-3; the info tags of Xing, LAME and Fraunhofer.

mod header;

use super::samples::{Part, Samples};
use super::{Sound, damaged, decode, guarded, unsupported};
use crate::error::{Error, Result};
use header::{Header, NoHeader};
use symphonia_bundle_mp3::MpaDecoder;
use symphonia_core::audio::{Audio, GenericAudioBufferRef};
use symphonia_core::codecs::audio::well_known::CODEC_ID_MP3;
use symphonia_core::codecs::audio::{AudioCodecParameters, AudioDecoderOptions};

/// The delay of a decoder in samples.
const DECODER_DELAY: u64 = 529;
/// The maximum number of bytes from earlier frames that a frame may need.
const MAX_REUSED: usize = 511;

/// An MP3 file whose frames have been located.
pub struct Mp3<'a> {
    contents: &'a [u8],
    header: Header,
    /// From the first frame with samples to the end of the last one.
    frames: std::ops::Range<usize>,
    num_frames: u64,
    tag: Tag,
}

/// An info tag, which occupies the first frame.
#[derive(Debug, Default, PartialEq)]
struct Tag {
    is_there: bool,
    num_frames: Option<u64>,
    /// The number of samples that the encoder added at each end.
    added: Option<(u64, u64)>,
}

impl<'a> Mp3<'a> {
    /// Locates the frames. The first one begins at byte `start`, possibly after zeros.
    pub fn open(contents: &'a [u8], start: usize) -> Result<Self> {
        let zeros = contents[start..].iter().take_while(|byte| **byte == 0).count();
        let start = start + zeros;
        let end = end_of_frames(contents, start);
        let header = header_at(contents, start)?;
        let frame = frame_at(&contents[..end], start, &header)?;
        let tag = Tag::read(frame, &header);
        let first = if tag.is_there { start + frame.len() } else { start };
        let mut sound = Self { contents, header, frames: first..first, num_frames: 0, tag };
        while sound.frames.end < end {
            let frame = sound.frame(sound.frames.end, end)?;
            sound.frames.end += frame.len();
            sound.num_frames += 1;
        }
        if let Some(said) = sound.tag.num_frames.filter(|said| *said != sound.num_frames) {
            let (num_frames, how) =
                (sound.num_frames, if said > sound.num_frames { "it is cut short" } else { "there are extra frames" });
            return Err(damaged(format!("MP3: the file has {num_frames} frames, but its header says {said}; {how}")));
        }
        Ok(sound)
    }

    /// Returns the frame at byte `offset`, which must end before `end`.
    fn frame(&self, offset: usize, end: usize) -> Result<&'a [u8]> {
        let header = header_at(&self.contents[..end], offset)?;
        if !header.is_like(&self.header) {
            return Err(unsupported(format!(
                "MP3: the frames from byte {offset} have a sample rate of {} and {} channels, earlier frames {} and \
                 {}",
                header.sample_rate, header.channels, self.header.sample_rate, self.header.channels
            )));
        }
        frame_at(&self.contents[..end], offset, &header)
    }

    /// Returns the number of samples to skip at the beginning, and the number of samples after
    /// them.
    fn trimmed(&self) -> (u64, u64) {
        let all = self.num_frames * self.header.num_samples() as u64;
        match self.tag.added {
            Some((before, after)) => {
                let before = (before + DECODER_DELAY).min(all);
                (before, (all - before).saturating_sub(after.saturating_sub(DECODER_DELAY)))
            }
            None => (0, all),
        }
    }

    /// Returns the position and the number of the frame from which to start decoding, so that the
    /// samples from frame `target` on are correct. The two frames before `target` affect its
    /// samples.
    fn beginning(&self, target: u64) -> Result<(usize, u64)> {
        let mut earlier = std::collections::VecDeque::new();
        let (mut offset, mut brought) = (self.frames.start, 0);
        for number in 0..target {
            let frame = self.frame(offset, self.frames.end)?;
            let size = frame.len().saturating_sub(self.header.main_at() + 2);
            earlier.push_back((offset, number, size));
            brought += size;
            offset += frame.len();
            // The last frames are decoded because they affect later ones, and earlier frames
            // because their bytes are needed.
            while earlier.len() > 4 {
                let oldest = earlier[0].2;
                let of_last: usize = earlier.iter().rev().take(3).map(|frame| frame.2).sum();
                if brought - oldest - of_last < MAX_REUSED {
                    break;
                }
                brought -= oldest;
                earlier.pop_front();
            }
        }
        Ok(earlier.front().map_or((offset, target), |(offset, number, _)| (*offset, *number)))
    }
}

impl Sound for Mp3<'_> {
    fn sample_rate(&self) -> u32 {
        self.header.sample_rate
    }

    fn channels(&self) -> usize {
        self.header.channels
    }

    fn num_samples(&self) -> Result<u64> {
        Ok(self.trimmed().1)
    }

    fn values_at_once(&self) -> usize {
        self.contents.len()
    }

    fn decode(&self, part: Part, samples: &mut Samples) -> Result<()> {
        let mut params = AudioCodecParameters::new();
        let options = AudioDecoderOptions::default().gapless(false);
        params.for_codec(CODEC_ID_MP3);
        let mut decoder = guarded("MP3", self.frames.start, || MpaDecoder::try_new(&params, &options))?;
        let of_frame = self.header.num_samples() as u64;
        let first = self.trimmed().0 + part.start;
        let target = first / of_frame;
        let (mut offset, mut number) = self.beginning(target)?;
        samples.skip(first - number * of_frame);
        // How many bytes from earlier frames the decoder still has.
        let mut left = 0;
        let is_from_start = number == 0;
        while !samples.is_full() && offset < self.frames.end {
            let frame = self.frame(offset, self.frames.end)?;
            // When starting in the middle, the first frames may need earlier bytes.
            let is_needed = is_from_start || number + 2 >= target;
            left = Self::check(frame, offset, left, is_needed)?;
            match decode(&mut decoder, "MP3", offset, frame) {
                Ok(decoded) => push(&decoded, of_frame as usize, samples)?,
                Err(error) if is_needed => return Err(error),
                Err(_) => {
                    left = 0;
                    samples.push(of_frame as usize, |_, _| 0.0)?;
                }
            }
            offset += frame.len();
            number += 1;
        }
        match samples.is_full() {
            true => Ok(()),
            false => Err(damaged(format!("MP3: {} samples are missing at the end", samples.num_missing()))),
        }
    }
}

impl Mp3<'_> {
    /// Checks that a frame has the bytes that its samples need. `left` is the number of bytes left
    /// over from earlier frames. Returns how many this frame leaves.
    fn check(frame: &[u8], offset: usize, left: usize, is_needed: bool) -> Result<usize> {
        let header = header_at(frame, 0)?;
        let side = header.side_info(frame).ok_or_else(|| {
            damaged(format!(
                "MP3: the frame at byte {offset} has a wrong checksum, or is too short for its side information"
            ))
        })?;
        if is_needed && side.reused > left {
            return Err(damaged(format!(
                "MP3: the frame at byte {offset} needs {} bytes from earlier frames, but only {left} exist; the \
                 beginning of the file was cut off, or it is damaged",
                side.reused
            )));
        }
        let there = side.reused + side.brought;
        if side.used > there {
            return Err(damaged(format!(
                "MP3: the frame at byte {offset} needs {} bytes for its samples, but has {there}; the file is damaged",
                side.used
            )));
        }
        Ok((there - side.used).min(left + side.brought))
    }
}

fn push(decoded: &GenericAudioBufferRef<'_>, count: usize, samples: &mut Samples) -> Result<()> {
    let GenericAudioBufferRef::F32(buffer) = decoded else {
        return Err(Error::internal("MP3 decoded to a type other than float32"));
    };
    let (left, right) = (buffer.plane(0).unwrap_or_default(), buffer.plane(1).unwrap_or_default());
    if left.len() != count {
        return Err(Error::internal("MP3 decoded to an unexpected number of samples"));
    }
    samples.push(count, |channel, index| if channel == 0 { left[index] } else { right[index] })
}

fn header_at(contents: &[u8], offset: usize) -> Result<Header> {
    let bytes = &contents[offset..];
    Header::read(bytes).map_err(|reason| match reason {
        NoHeader::FreeFormat => unsupported(format!("MP3: the frame at byte {offset} has a free bit rate")),
        NoHeader::Invalid => damaged(format!(
            "MP3: expected a frame at byte {offset}, but found b'{}'; the file is damaged",
            bytes[..bytes.len().min(4)].escape_ascii()
        )),
    })
}

fn frame_at<'a>(contents: &'a [u8], offset: usize, header: &Header) -> Result<&'a [u8]> {
    contents.get(offset..offset + header.num_bytes).ok_or_else(|| {
        damaged(format!(
            "MP3: the frame at byte {offset} should have {} bytes, but only {} are left; the file is cut short",
            header.num_bytes,
            contents.len() - offset
        ))
    })
}

impl Tag {
    fn read(frame: &[u8], header: &Header) -> Self {
        Self::of_xing(frame, header).or_else(|| Self::of_fraunhofer(frame)).unwrap_or_default()
    }

    fn of_xing(frame: &[u8], header: &Header) -> Option<Self> {
        let tag = frame.get(header.tag_at()..)?;
        if !tag.starts_with(b"Xing") && !tag.starts_with(b"Info") {
            return None;
        }
        let number = |offset: usize| tag.get(offset..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        let flags = number(4)?;
        let num_frames = if flags & 1 != 0 { Some(number(8)?.into()) } else { None };
        let sizes = [(1, 4), (2, 4), (4, 100), (8, 4)];
        let lame = 8 + sizes.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, size)| size).sum::<usize>();
        let added = tag.get(lame..lame + 24).filter(|lame| lame[..4].iter().all(u8::is_ascii_alphabetic)).map(|lame| {
            let packed = u64::from(lame[21]) << 16 | u64::from(lame[22]) << 8 | u64::from(lame[23]);
            (packed >> 12, packed & 0xfff)
        });
        Some(Self { is_there: true, num_frames, added })
    }

    fn of_fraunhofer(frame: &[u8]) -> Option<Self> {
        let tag = frame.get(36..62).filter(|tag| tag.starts_with(b"VBRI"))?;
        let num_frames = u32::from_be_bytes([tag[14], tag[15], tag[16], tag[17]]);
        Some(Self { is_there: true, num_frames: Some(num_frames.into()), added: None })
    }
}

/// Returns the end of the frames, before any tags and zeros at the end of the file.
fn end_of_frames(contents: &[u8], start: usize) -> usize {
    let mut end = contents.len();
    loop {
        let rest = &contents[start..end];
        let size = match () {
            () if rest.len() >= 128 && rest[rest.len() - 128..].starts_with(b"TAG") => 128,
            () if rest.len() >= 227 && rest[rest.len() - 227..].starts_with(b"TAG+") => 227,
            () => size_of_ape(rest).or_else(|| size_of_lyrics(rest)).unwrap_or(0),
        };
        if size == 0 {
            break;
        }
        end -= size;
    }
    // Frames may themselves end with zeros, so they keep those.
    let zeros = contents[start..end].iter().rev().take_while(|byte| **byte == 0).count();
    let mut offset = start;
    while offset < end - zeros {
        match Header::read(&contents[offset..end]) {
            Ok(header) if offset + header.num_bytes <= end => offset += header.num_bytes,
            _ => return end,
        }
    }
    offset.max(end - zeros)
}

/// The size of an APE tag at the end, in bytes.
fn size_of_ape(bytes: &[u8]) -> Option<usize> {
    let footer =
        bytes.len().checked_sub(32).map(|offset| &bytes[offset..]).filter(|tag| tag.starts_with(b"APETAGEX"))?;
    let number = |offset: usize| {
        u32::from_le_bytes([footer[offset], footer[offset + 1], footer[offset + 2], footer[offset + 3]])
    };
    let header = if number(20) >> 31 == 1 { 32 } else { 0 };
    Some(number(12) as usize + header).filter(|size| (32..=bytes.len()).contains(size))
}

/// The size of lyrics (Lyrics3 version 2) at the end, in bytes.
fn size_of_lyrics(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.strip_suffix(b"LYRICS200")?.last_chunk::<6>()?;
    let size: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(size + 15).filter(|size| *size <= bytes.len())
}
