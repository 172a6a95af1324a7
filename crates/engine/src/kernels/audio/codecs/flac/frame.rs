//! FLAC frames: headers and ends.

use super::StreamInfo;
use memchr::memchr_iter;
use std::ops::Range;
use symphonia_core::checksum::{Crc8Ccitt, Crc16Ansi};
use symphonia_core::io::Monitor;

/// A frame header with a correct checksum.
#[derive(Clone, Debug)]
pub struct Header {
    /// The number of the frame, or of its first sample.
    number: u64,
    is_numbered_by_sample: bool,
    pub num_samples: u64,
    is_decorrelated: bool,
    num_bytes: usize,
}

/// A frame with a correct checksum.
#[derive(Debug)]
pub struct Frame {
    pub num_samples: u64,
    pub num_bytes: usize,
    /// True if the channels are stored as differences.
    pub is_decorrelated: bool,
}

impl Header {
    /// Reads the header at the beginning of `bytes`, if there is one that belongs to this stream.
    pub fn read(bytes: &[u8], info: &StreamInfo) -> Option<Self> {
        let [0xff, second @ (0xf8 | 0xf9), codes, layout, ..] = *bytes else {
            return None;
        };
        let (channels, is_decorrelated) = match layout >> 4 {
            independent @ 0..8 => (usize::from(independent) + 1, false),
            8..11 => (2, true),
            _ => return None,
        };
        let bits = match layout >> 1 & 7 {
            0 => info.bits,
            code @ (1 | 2 | 4 | 5 | 6 | 7) => [0, 8, 12, 0, 16, 20, 24, 32][usize::from(code)],
            _ => return None,
        };
        if layout & 1 != 0 || channels != info.channels || bits != info.bits {
            return None;
        }
        let (number, mut offset) = coded_number(bytes, 4)?;
        let num_samples = match codes >> 4 {
            0 => return None,
            1 => 192,
            code @ 2..6 => 576 << (code - 2),
            6 => take(bytes, &mut offset, 1)? + 1,
            7 => take(bytes, &mut offset, 2)? + 1,
            code => 256 << (code - 8),
        };
        let sample_rate = match codes & 15 {
            0 => info.sample_rate.into(),
            code @ 1..12 => [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]
                [usize::from(code)],
            12 => take(bytes, &mut offset, 1)? * 1000,
            13 => take(bytes, &mut offset, 2)?,
            14 => take(bytes, &mut offset, 2)? * 10,
            _ => return None,
        };
        let mut crc = Crc8Ccitt::new(0);
        crc.process_buf_bytes(bytes.get(..offset)?);
        let is_of_stream = sample_rate == u64::from(info.sample_rate) && num_samples <= u64::from(info.max_block);
        let is_numbered_by_sample = second & 1 == 1;
        (is_of_stream && *bytes.get(offset)? == crc.crc()).then_some(Self {
            number,
            is_numbered_by_sample,
            num_samples,
            is_decorrelated,
            num_bytes: offset + 1,
        })
    }

    /// The number of the first sample, or `None` if it cannot be determined.
    pub fn first_sample(&self, info: &StreamInfo) -> Option<u64> {
        match self.is_numbered_by_sample {
            true => Some(self.number),
            false if info.has_fixed_blocks() => Some(self.number * u64::from(info.max_block)),
            false => (self.number == 0).then_some(0),
        }
    }

    /// Returns the frame with this header, which is at the beginning of `bytes`. The frame ends
    /// where the checksum matches and either the next frame begins or the bytes end. If `is_last`,
    /// there is no next frame.
    pub fn frame(&self, bytes: &[u8], info: &StreamInfo, is_last: bool) -> Option<Frame> {
        let mut crc = Crc16Ansi::new(0);
        let mut checked = 0;
        let next = self.first_sample(info)? + self.num_samples;
        let starts = memchr_iter(0xff, bytes.get(self.num_bytes..)?).map(|offset| offset + self.num_bytes);
        let follows = |offset: &usize| {
            let header = Header::read(&bytes[*offset..], info);
            !is_last && header.and_then(|header| header.first_sample(info)) == Some(next)
        };
        for end in starts.filter(follows).chain([bytes.len()]) {
            let Some(sum_at) = end.checked_sub(2).filter(|offset| *offset >= self.num_bytes) else {
                continue;
            };
            crc.process_buf_bytes(&bytes[checked..sum_at]);
            checked = sum_at;
            if crc.crc() == u16::from_be_bytes([bytes[sum_at], bytes[sum_at + 1]]) {
                let Self { num_samples, is_decorrelated, .. } = *self;
                return Some(Frame { num_samples, num_bytes: end, is_decorrelated });
            }
        }
        None
    }
}

/// Finds the first frame in `range` with a correct checksum. Returns its position and its first
/// sample. Only tries the first few candidates.
pub fn next_frame(bytes: &[u8], range: Range<usize>, info: &StreamInfo) -> Option<(usize, u64)> {
    let at = |index| (range.start + index, Header::read(&bytes[range.start + index..], info));
    let candidates = memchr_iter(0xff, &bytes[range.clone()]).map(at).filter(|(_, header)| header.is_some());
    candidates.take(8).find_map(|(offset, header)| {
        let header = header?;
        let first = header.first_sample(info)?;
        let is_last = info.num_samples == Some(first + header.num_samples);
        header.frame(&bytes[offset..], info, is_last).map(|_| (offset, first))
    })
}

/// Reads a number of up to 36 bits in UTF-8 coding. Returns it with the position after it.
fn coded_number(bytes: &[u8], offset: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(offset)?;
    let more = match first.leading_ones() as usize {
        0 => return Some((first.into(), offset + 1)),
        ones @ 2..8 => ones - 1,
        _ => return None,
    };
    let start = u64::from(first) & ((1 << (6 - more.min(6))) - 1);
    let rest = bytes.get(offset + 1..offset + 1 + more)?;
    let number = rest
        .iter()
        .try_fold(start, |number, byte| (byte & 0xc0 == 0x80).then_some(number << 6 | u64::from(byte & 0x3f)))?;
    Some((number, offset + 1 + more))
}

/// Reads a big-endian number of `count` bytes at `offset`, and moves `offset` past it.
fn take(bytes: &[u8], offset: &mut usize, count: usize) -> Option<u64> {
    let taken = bytes.get(*offset..*offset + count)?;
    *offset += count;
    Some(taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_numbers_are_encoded_like_utf_8() {
        for (bytes, number, offset) in [
            (&[0x7f][..], 0x7f, 1),
            (&[0xc2, 0x80], 0x80, 2),
            (&[0xe2, 0x82, 0xac], 0x20ac, 3),
            (&[0xfe, 0x83, 0xbf, 0xbf, 0xbf, 0xbf, 0xbf], 0xffff_ffff, 7),
        ] {
            assert_eq!(coded_number(bytes, 0), Some((number, offset)), "{bytes:x?}");
        }
        assert_eq!(coded_number(&[0xc2, 0x00], 0), None);
        assert_eq!(coded_number(&[0x80], 0), None);
        assert_eq!(coded_number(&[0xc2], 0), None);
    }
}
