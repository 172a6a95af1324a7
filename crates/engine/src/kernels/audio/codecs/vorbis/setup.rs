//! The Vorbis headers, as far as they affect memory use, and the sizes of blocks.
//!
//! Source: the Vorbis I specification, sections 3.2.1, 4.2, 6.2, 7.2 and 8.6.

use super::super::damaged;
use crate::error::Result;

/// The maximum number of values in all codebooks of a file together.
const MAX_VALUES: u64 = 1 << 21;

/// The identification header.
#[derive(Debug, PartialEq)]
pub struct Identification {
    pub channels: usize,
    pub sample_rate: u32,
    /// The sizes of short and long blocks.
    pub block_sizes: [u64; 2],
}

impl Identification {
    pub fn read(packet: &[u8]) -> Option<Self> {
        let body = packet.strip_prefix(b"\x01vorbis\0\0\0\0")?;
        let [channels, rate @ ..] = body.first_chunk::<5>()?;
        // The bit rates are in between.
        let sizes = *body.get(17)?;
        let block_sizes = [sizes & 15, sizes >> 4].map(|exponent| 1 << exponent);
        let header = Self { channels: (*channels).into(), sample_rate: u32::from_le_bytes(*rate), block_sizes };
        (header.channels > 0 && header.sample_rate > 0).then_some(header)
    }
}

/// The setup header.
pub struct Setup {
    /// For each mode, whether its blocks are long.
    modes: Vec<bool>,
}

impl Setup {
    /// Reads a setup header. Fails if it is invalid, or if its codebooks claim more memory than any
    /// encoder needs.
    pub fn read(packet: &[u8], channels: usize) -> Result<Self> {
        let invalid = || damaged("Ogg Vorbis: the setup header is invalid");
        let body = packet.strip_prefix(b"\x05vorbis").ok_or_else(invalid)?;
        let mut bits = Bits { bytes: body, offset: 0 };
        let num_books = bits.take(8).ok_or_else(invalid)? + 1;
        let mut total = 0;
        for _ in 0..num_books {
            total += bits.codebook().ok_or_else(invalid)?;
            if total > MAX_VALUES {
                return Err(damaged(format!(
                    "Ogg Vorbis: the codebooks have at least {total} values, expected at most {MAX_VALUES}; the file \
                     is damaged or malicious"
                )));
            }
        }
        bits.rest(channels).ok_or_else(invalid)
    }

    /// Returns the block in a packet, or `None` if the packet has no audio.
    pub fn block(&self, packet: &[u8], identification: &Identification) -> Option<Block> {
        let mut bits = Bits { bytes: packet, offset: 0 };
        if bits.take(1)? == 1 {
            return None;
        }
        let mode = bits.take(bits_of(self.modes.len() as u64 - 1))?;
        let is_long = *self.modes.get(usize::try_from(mode).ok()?)?;
        let size = identification.block_sizes[usize::from(is_long)];
        let neighbours = if is_long { Some([bits.take(1)? == 1, bits.take(1)? == 1]) } else { None };
        Some(Block { size, is_long, neighbours })
    }
}

/// The block of samples in a packet.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub size: u64,
    pub is_long: bool,
    /// For a long block, whether the previous and the next block are marked as long.
    pub neighbours: Option<[bool; 2]>,
}

/// Reads bits, starting with the lowest bit of each byte.
struct Bits<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: usize) -> Option<u64> {
        if self.offset + count > self.bytes.len() * 8 {
            return None;
        }
        let bit = |offset: usize| u64::from(self.bytes[offset / 8] >> (offset % 8) & 1);
        let value = (0..count).fold(0, |value, index| value | bit(self.offset + index) << index);
        self.offset += count;
        Some(value)
    }

    /// Skips a codebook. Returns the number of its entries, or the number of values if each entry
    /// is a vector.
    fn codebook(&mut self) -> Option<u64> {
        if self.take(24)? != 0x56_43_42 {
            return None;
        }
        let (dimensions, entries) = (self.take(16)?, self.take(24)?);
        if self.take(1)? == 1 {
            self.take(5)?;
            let mut entry = 0;
            while entry < entries {
                entry += self.take(bits_of(entries - entry))?;
            }
        } else if self.take(1)? == 1 {
            for _ in 0..entries {
                if self.take(1)? == 1 {
                    self.take(5)?;
                }
            }
        } else {
            self.skip(entries.checked_mul(5)?)?;
        }
        let kind = self.take(4)?;
        if kind == 0 {
            return Some(entries);
        }
        self.take(64)?;
        let bits = self.take(4)? + 1;
        self.take(1)?;
        let count = match kind {
            1 => root(entries, dimensions),
            2 => entries.checked_mul(dimensions)?,
            _ => return None,
        };
        self.skip(count.checked_mul(bits)?)?;
        entries.checked_mul(dimensions.max(1))
    }

    /// Reads the fields after the codebooks.
    fn rest(&mut self, channels: usize) -> Option<Setup> {
        let num_times = self.take(6)? + 1;
        self.skip(num_times * 16)?;
        for _ in 0..=self.take(6)? {
            self.floor()?;
        }
        for _ in 0..=self.take(6)? {
            self.residue()?;
        }
        for _ in 0..=self.take(6)? {
            self.mapping(channels)?;
        }
        let num_modes = self.take(6)? + 1;
        let mode = |_| {
            let is_long = self.take(1)? == 1;
            self.skip(16 + 16 + 8)?;
            Some(is_long)
        };
        Some(Setup { modes: (0..num_modes).map(mode).collect::<Option<_>>()? })
    }

    fn floor(&mut self) -> Option<()> {
        match self.take(16)? {
            0 => {
                self.skip(8 + 16 + 16 + 6 + 8)?;
                let num_books = self.take(4)? + 1;
                self.skip(num_books * 8)
            }
            1 => {
                let num_partitions = self.take(5)?;
                let partitions = (0..num_partitions).map(|_| self.take(4)).collect::<Option<Vec<_>>>()?;
                let num_classes = partitions.iter().max().map_or(0, |largest| largest + 1);
                let class = |_| {
                    let (dimensions, subclasses) = (self.take(3)? + 1, self.take(2)?);
                    let num_books = (1 << subclasses) + u64::from(subclasses > 0);
                    self.skip(num_books * 8)?;
                    Some(dimensions)
                };
                let dimensions = (0..num_classes).map(class).collect::<Option<Vec<_>>>()?;
                self.take(2)?;
                let width = self.take(4)?;
                let num_values: u64 = partitions.iter().map(|class| dimensions[*class as usize]).sum();
                self.skip(num_values * width)
            }
            _ => None,
        }
    }

    fn residue(&mut self) -> Option<()> {
        self.skip(16 + 24 + 24 + 24)?;
        let num_classes = self.take(6)? + 1;
        self.take(8)?;
        let mut num_books = 0;
        for _ in 0..num_classes {
            let low = self.take(3)?;
            let high = if self.take(1)? == 1 { self.take(5)? } else { 0 };
            num_books += u64::from(low.count_ones() + high.count_ones());
        }
        self.skip(num_books * 8)
    }

    fn mapping(&mut self, channels: usize) -> Option<()> {
        self.take(16)?;
        let num_submaps = if self.take(1)? == 1 { self.take(4)? + 1 } else { 1 };
        let num_steps = if self.take(1)? == 1 { self.take(8)? + 1 } else { 0 };
        self.skip(num_steps * 2 * bits_of(channels as u64 - 1) as u64)?;
        self.take(2)?;
        let num_channels = if num_submaps > 1 { channels as u64 } else { 0 };
        self.skip(num_channels * 4 + num_submaps * 24)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        let offset = self.offset as u64 + count;
        self.offset = usize::try_from(offset).ok().filter(|offset| *offset <= self.bytes.len() * 8)?;
        Some(())
    }
}

/// The number of bits needed for a number.
fn bits_of(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()) as usize
}

/// The largest number whose power is at most `entries`.
fn root(entries: u64, power: u64) -> u64 {
    let fits = |number: u64| {
        let mut product: u64 = 1;
        (0..power.min(64)).all(|_| {
            product = product.saturating_mul(number);
            product <= entries
        })
    };
    if power == 0 { 0 } else { (1..=entries).take_while(|number| fits(*number)).last().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_as_large_as_possible() {
        assert_eq!([root(361, 2), root(560, 3), root(0xffff, 255), root(5, 0), root(125, 3)], [19, 8, 1, 0, 5]);
    }

    #[test]
    fn identification_header_contains_channels_and_rate() {
        let packet =
            |channels| [&b"\x01vorbis\0\0\0\0"[..], &[channels, 0x44, 0xac, 0, 0], &[0; 12], &[0xb8, 1]].concat();
        let header = Identification { channels: 2, sample_rate: 44_100, block_sizes: [256, 2048] };
        assert_eq!(Identification::read(&packet(2)), Some(header));
        assert_eq!(Identification::read(&packet(0)), None);
        assert_eq!(Identification::read(&packet(2)[..28]), None);
    }

    #[test]
    fn oversized_codebooks_are_rejected() {
        // 131,071 entries with 32 dimensions, ordered by length. The single count has 17 bits.
        let mut bits: Vec<bool> = Vec::new();
        let mut put = |value: u64, count: usize| bits.extend((0..count).map(|index| value >> index & 1 == 1));
        for (value, count) in [(0, 8), (0x56_43_42, 24), (32, 16), (131_071, 24), (1, 1), (16, 5), (131_071, 17)] {
            put(value, count);
        }
        for (value, count) in [(1, 4), (0, 64), (0, 4), (0, 1), (0, 8)] {
            put(value, count);
        }
        let mut packet = b"\x05vorbis".to_vec();
        packet.extend(
            bits.chunks(8).map(|bits| bits.iter().enumerate().map(|(index, bit)| u8::from(*bit) << index).sum::<u8>()),
        );
        let error = Setup::read(&packet, 2).err().unwrap();
        assert!(error.message().starts_with("Ogg Vorbis: the codebooks have at least 4194272 values"), "{error}");
        assert!(Setup::read(&packet[..9], 2).err().unwrap().message().contains("is invalid"));
    }
}
