//! The tables of a video as bytes, which an index file keeps for other programs.
//!
//! All numbers are little-endian: the file's fingerprint, the codec, the size, the rotation, the time scale, the lengths of
//! the tables, the decoder's configuration, and then one column after the other.

use crate::samples::{Frame, Sample};
use crate::{CODECS, Video};
use headrace_engine::error::Result;
use headrace_engine::tensor::allocate;

/// What the bytes mean. It changes with their layout, and if files are understood differently.
pub const KIND: &str = "video 1";

/// The number of bytes before the configuration.
const FIXED_BYTES: usize = 27;
/// The number of bytes per sample and per frame.
const SAMPLE_BYTES: usize = 8 + 4 + 4 + 8 + 1;
const FRAME_BYTES: usize = 4 + 8;

impl Video {
    /// Returns the tables of a file with this fingerprint as bytes, or `None` if they are too large.
    pub fn to_tables(&self, fingerprint: u32) -> Result<Option<Vec<u8>>> {
        let codec = CODECS.iter().position(|codec| *codec == self.codec);
        let lengths = [self.config.len(), self.samples.len(), self.frames.len()].map(u32::try_from);
        let (Some(codec), [Ok(num_config), Ok(num_samples), Ok(num_frames)]) = (codec, lengths) else {
            return Ok(None);
        };
        let (samples, frames) = (&self.samples, &self.frames);
        let room = FIXED_BYTES + self.config.len() + samples.len() * SAMPLE_BYTES + frames.len() * FRAME_BYTES;
        let mut bytes = allocate::room(room).map_err(|refusal| refusal.at("the index of a video"))?;
        bytes.extend(fingerprint.to_le_bytes());
        bytes.push(codec as u8);
        [self.width, self.height, self.rotation].iter().for_each(|side| bytes.extend(side.to_le_bytes()));
        for number in [self.timescale, num_config, num_samples, num_frames] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.config);
        samples.iter().for_each(|sample| bytes.extend(sample.offset.to_le_bytes()));
        samples.iter().for_each(|sample| bytes.extend(sample.num_bytes.to_le_bytes()));
        samples.iter().for_each(|sample| bytes.extend(sample.duration.to_le_bytes()));
        samples.iter().for_each(|sample| bytes.extend(sample.time.to_le_bytes()));
        samples.iter().for_each(|sample| bytes.push(u8::from(sample.is_keyframe)));
        frames.iter().for_each(|frame| bytes.extend(frame.sample.to_le_bytes()));
        frames.iter().for_each(|frame| bytes.extend(frame.time.to_le_bytes()));
        Ok(Some(bytes))
    }

    /// Reads tables from bytes. Returns `None` if they are invalid, or belong to a file with another
    /// fingerprint.
    pub fn of_tables(bytes: &[u8], fingerprint: u32) -> Result<Option<Self>> {
        match bytes.strip_prefix(&fingerprint.to_le_bytes()).and_then(Parts::of) {
            Some(parts) => parts.video(),
            None => Ok(None),
        }
    }
}

/// The columns of a video, as bytes.
struct Parts<'a> {
    codec: &'static str,
    sides: [u16; 3],
    timescale: u32,
    config: &'a [u8],
    /// See [`Sample`].
    offsets: &'a [[u8; 8]],
    lengths: &'a [[u8; 4]],
    durations: &'a [[u8; 4]],
    times: &'a [[u8; 8]],
    keyframes: &'a [u8],
    /// See [`Frame`].
    shown: &'a [[u8; 4]],
    shown_at: &'a [[u8; 8]],
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (&codec, rest) = bytes.split_first()?;
        let (sides, rest) = column::<2>(rest, 3)?;
        let (numbers, rest) = column::<4>(rest, 4)?;
        let numbers = <[[u8; 4]; 4]>::try_from(numbers).ok()?.map(u32::from_le_bytes);
        let [timescale, num_config, num_samples, num_frames] = numbers;
        let [num_config, num_samples, num_frames] = [num_config, num_samples, num_frames].map(|count| count as usize);
        let (config, rest) = rest.split_at_checked(num_config)?;
        let (offsets, rest) = column(rest, num_samples)?;
        let (lengths, rest) = column(rest, num_samples)?;
        let (durations, rest) = column(rest, num_samples)?;
        let (times, rest) = column(rest, num_samples)?;
        let (keyframes, rest) = rest.split_at_checked(num_samples)?;
        let (shown, rest) = column(rest, num_frames)?;
        let (shown_at, rest) = column(rest, num_frames)?;
        let sides = <[[u8; 2]; 3]>::try_from(sides).ok()?.map(u16::from_le_bytes);
        let codec = CODECS.get(usize::from(codec))?;
        let is_valid = rest.is_empty() && timescale > 0 && num_frames > 0 && matches!(sides[2], 0 | 90 | 180 | 270);
        let parts =
            Self { codec, sides, timescale, config, offsets, lengths, durations, times, keyframes, shown, shown_at };
        is_valid.then_some(parts)
    }

    fn video(&self) -> Result<Option<Video>> {
        let no_memory = |refusal: allocate::Refusal| refusal.at("the frames of a video");
        let count = self.offsets.len();
        let sample = |index: usize| Sample {
            offset: u64::from_le_bytes(self.offsets[index]),
            num_bytes: u32::from_le_bytes(self.lengths[index]),
            duration: u32::from_le_bytes(self.durations[index]),
            time: i64::from_le_bytes(self.times[index]),
            is_keyframe: self.keyframes[index] != 0,
        };
        let samples = allocate::collected(count, (0..count).map(sample)).map_err(no_memory)?;
        let frames = self.shown.iter().zip(self.shown_at);
        let frame = |(sample, time): (&[u8; 4], &[u8; 8])| Frame {
            sample: u32::from_le_bytes(*sample),
            time: i64::from_le_bytes(*time),
        };
        let frames = allocate::collected(self.shown.len(), frames.map(frame)).map_err(no_memory)?;
        if frames.iter().any(|frame| frame.sample as usize >= count) {
            return Ok(None);
        }
        let [width, height, rotation] = self.sides;
        Ok(Some(Video {
            codec: self.codec,
            config: self.config.to_vec(),
            width,
            height,
            rotation,
            timescale: self.timescale,
            samples,
            frames,
        }))
    }
}

/// Returns the first `count` values of `N` bytes each, and the bytes after them.
fn column<const N: usize>(bytes: &[u8], count: usize) -> Option<(&[[u8; N]], &[u8])> {
    let (column, rest) = bytes.split_at_checked(count.checked_mul(N)?)?;
    Some((column.as_chunks().0, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video() -> Video {
        let sample = |number: u32| Sample {
            offset: 1 << 40 | u64::from(number),
            num_bytes: 7 + number,
            duration: 1001,
            time: i64::from(number) - 2,
            is_keyframe: number.is_multiple_of(2),
        };
        Video {
            codec: "vp9",
            config: vec![1, 2, 3],
            width: 640,
            height: 480,
            rotation: 270,
            timescale: 30_000,
            samples: (0..5).map(sample).collect(),
            frames: [3, 0, 3].map(|sample| Frame { sample, time: -i64::from(sample) }).to_vec(),
        }
    }

    #[test]
    fn tables_round_trip() {
        for codec in CODECS {
            let video = Video { codec, ..video() };
            let bytes = video.to_tables(9).unwrap().unwrap();
            assert_eq!(Video::of_tables(&bytes, 9).unwrap(), Some(video));
        }
    }

    #[test]
    fn tables_of_the_wrong_length_or_file_are_invalid() {
        let mut bytes = video().to_tables(9).unwrap().unwrap();
        for length in 0..bytes.len() {
            assert_eq!(Video::of_tables(&bytes[..length], 9).unwrap(), None, "{length} bytes");
        }
        assert_eq!(Video::of_tables(&bytes, 8).unwrap(), None);
        bytes.push(0);
        assert_eq!(Video::of_tables(&bytes, 9).unwrap(), None);
    }

    #[test]
    fn frames_of_missing_samples_are_invalid() {
        let frames = vec![Frame { sample: 5, time: 0 }];
        let bytes = Video { frames, ..video() }.to_tables(9).unwrap().unwrap();
        assert_eq!(Video::of_tables(&bytes, 9).unwrap(), None);
        let bytes = Video { frames: Vec::new(), ..video() }.to_tables(9).unwrap().unwrap();
        assert_eq!(Video::of_tables(&bytes, 9).unwrap(), None);
    }
}
