//! Headers of MP3 frames.
//!
//! Source: ISO 11172-3 and 13818-3, and the extension to version 2.5.

use symphonia_core::checksum::Crc16Ansi;
use symphonia_core::io::Monitor;

/// The header of a layer 3 frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    pub is_version_1: bool,
    pub sample_rate: u32,
    pub channels: usize,
    /// The size of the frame in bytes, including its header.
    pub num_bytes: usize,
    has_checksum: bool,
}

/// Why a frame's header cannot be read.
#[derive(Debug, PartialEq)]
pub enum NoHeader {
    /// There is no layer 3 frame.
    Invalid,
    /// The frame does not state its bit rate.
    FreeFormat,
}

/// The side information of a frame, which locates the bytes that encode its samples.
#[derive(Debug, PartialEq)]
pub struct SideInfo {
    /// The number of bytes from earlier frames that this one needs.
    pub reused: usize,
    /// The number of bytes that this frame adds.
    pub brought: usize,
    /// The number of bytes that its samples need, out of both.
    pub used: usize,
}

impl Header {
    pub fn read(bytes: &[u8]) -> Result<Self, NoHeader> {
        const RATES: [u32; 3] = [44_100, 48_000, 32_000];
        const BITS_1: [usize; 15] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
        const BITS_2: [usize; 15] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
        let [0xff, second, third, fourth, ..] = *bytes else {
            return Err(NoHeader::Invalid);
        };
        let (is_version_1, divisor) = match second >> 3 & 3 {
            0 => (false, 4),
            2 => (false, 2),
            3 => (true, 1),
            _ => return Err(NoHeader::Invalid),
        };
        let (bits, rate) = (usize::from(third >> 4), usize::from(third >> 2 & 3));
        if second & 0xe6 != 0xe2 || bits == 15 || rate == 3 {
            return Err(NoHeader::Invalid);
        }
        let kilobits = if is_version_1 { BITS_1[bits] } else { BITS_2[bits] };
        if kilobits == 0 {
            return Err(NoHeader::FreeFormat);
        }
        let sample_rate = RATES[rate] / divisor;
        let factor = if is_version_1 { 144_000 } else { 72_000 };
        Ok(Self {
            is_version_1,
            sample_rate,
            channels: if fourth >> 6 == 3 { 1 } else { 2 },
            num_bytes: factor * kilobits / sample_rate as usize + usize::from(third >> 1 & 1),
            has_checksum: second & 1 == 0,
        })
    }

    /// The number of samples in a frame.
    pub fn num_samples(&self) -> usize {
        if self.is_version_1 { 1152 } else { 576 }
    }

    /// Returns true if a frame with the other header belongs to the same stream.
    pub fn is_like(&self, other: &Self) -> bool {
        let of = |header: &Self| (header.is_version_1, header.sample_rate, header.channels);
        of(self) == of(other)
    }

    /// The position of the side information within the frame.
    fn side_at(&self) -> usize {
        if self.has_checksum { 6 } else { 4 }
    }

    /// The size of the side information in bytes.
    fn side_bytes(&self) -> usize {
        match (self.is_version_1, self.channels) {
            (true, 1) => 17,
            (true, _) => 32,
            (false, 1) => 9,
            (false, _) => 17,
        }
    }

    /// The position after the side information.
    pub fn main_at(&self) -> usize {
        self.side_at() + self.side_bytes()
    }

    /// The position of an info tag, if the frame has one. It is computed as if there were no
    /// checksum.
    pub fn tag_at(&self) -> usize {
        4 + self.side_bytes()
    }

    /// Reads the side information. Returns `None` if the frame is too short for it or its checksum
    /// is wrong.
    pub fn side_info(&self, frame: &[u8]) -> Option<SideInfo> {
        let side = frame.get(self.side_at()..self.main_at())?;
        if self.has_checksum {
            let mut crc = Crc16Ansi::new(0xffff);
            crc.process_buf_bytes(&frame[2..4]);
            crc.process_buf_bytes(side);
            if crc.crc() != u16::from_be_bytes([frame[4], frame[5]]) {
                return None;
            }
        }
        let bits = |start: usize, count: usize| {
            (start..start + count).fold(0, |value, bit| value << 1 | usize::from(side[bit / 8] >> (7 - bit % 8) & 1))
        };
        let (reused, first, each, granules) = match (self.is_version_1, self.channels) {
            (true, 1) => (bits(0, 9), 9 + 5 + 4, 59, 2),
            (true, _) => (bits(0, 9), 9 + 3 + 8, 59, 2),
            (false, 1) => (bits(0, 8), 8 + 1, 63, 1),
            (false, _) => (bits(0, 8), 8 + 2, 63, 1),
        };
        let used: usize = (0..granules * self.channels).map(|one| bits(first + one * each, 12)).sum();
        Some(SideInfo { reused, brought: frame.len() - self.main_at(), used: used.div_ceil(8) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_contains_size_rate_and_channels() {
        let header = Header::read(&[0xff, 0xfb, 0x92, 0x04]).unwrap();
        assert_eq!(
            (header.sample_rate, header.channels, header.num_bytes, header.num_samples()),
            (44_100, 2, 418, 1152)
        );
        let header = Header::read(&[0xff, 0xe3, 0x18, 0xc4]).unwrap();
        assert_eq!((header.sample_rate, header.channels, header.num_bytes, header.num_samples()), (8000, 1, 72, 576));
        assert_eq!(Header::read(&[0xff, 0xfb, 0x02, 0x04]), Err(NoHeader::FreeFormat));
        assert_eq!(Header::read(&[0xff, 0xfd, 0x92, 0x04]), Err(NoHeader::Invalid));
        assert_eq!(Header::read(&[0xff, 0xfb]), Err(NoHeader::Invalid));
    }
}
