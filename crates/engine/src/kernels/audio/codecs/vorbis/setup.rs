//! The headers of Vorbis, as far as they claim memory.
//!
//! Source: the Vorbis I specification, sections 3.2.1 and 4.2.

use super::super::damaged;
use crate::error::Result;

/// The most values that the codebooks of a file may have together.
const MAX_VALUES: u64 = 1 << 21;

/// Channels and rate, from the identification header.
#[derive(Debug, PartialEq)]
pub struct Identification {
    pub channels: usize,
    pub sample_rate: u32,
}

impl Identification {
    pub fn read(packet: &[u8]) -> Option<Self> {
        let body = packet.strip_prefix(b"\x01vorbis\0\0\0\0")?;
        let [channels, rate @ ..] = body.first_chunk::<5>()?;
        let found = Self { channels: (*channels).into(), sample_rate: u32::from_le_bytes(*rate) };
        (found.channels > 0 && found.sample_rate > 0).then_some(found)
    }
}

/// Fails if the codebooks of a setup header claim more memory than those of any encoder.
pub fn check_codebooks(packet: &[u8]) -> Result<()> {
    let invalid = || damaged("Ogg Vorbis: the setup header is invalid");
    let body = packet.strip_prefix(b"\x05vorbis").ok_or_else(invalid)?;
    let mut bits = Bits { bytes: body, offset: 0 };
    let num_books = bits.take(8).ok_or_else(invalid)? + 1;
    let mut total = 0;
    for _ in 0..num_books {
        total += bits.codebook().ok_or_else(invalid)?;
        if total > MAX_VALUES {
            return Err(damaged(format!(
                "Ogg Vorbis: the codebooks have {total} values or more, expected at most {MAX_VALUES}; the file is damaged or \
                 hostile"
            )));
        }
    }
    Ok(())
}

/// Bits of which the lowest one of a byte comes first.
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

    /// Skips a codebook. Returns the number of its entries, or of values if each is a vector.
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

    fn skip(&mut self, count: u64) -> Option<()> {
        let offset = self.offset as u64 + count;
        self.offset = usize::try_from(offset).ok().filter(|offset| *offset <= self.bytes.len() * 8)?;
        Some(())
    }
}

/// The number of bits of a number.
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
    fn roots_are_the_largest_that_fit() {
        assert_eq!([root(361, 2), root(560, 3), root(0xffff, 255), root(5, 0), root(125, 3)], [19, 8, 1, 0, 5]);
    }

    #[test]
    fn the_identification_tells_channels_and_rate() {
        let packet = b"\x01vorbis\0\0\0\0\x02\x44\xac\0\0";
        let found = Identification { channels: 2, sample_rate: 44_100 };
        assert_eq!(Identification::read(packet), Some(found));
        assert_eq!(Identification::read(b"\x01vorbis\0\0\0\0\0\x44\xac\0\0"), None);
    }

    #[test]
    fn codebooks_that_claim_much_are_refused() {
        // 32 dimensions of 131,071 entries, in order of lengths: one count of 17 bits.
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
        let error = check_codebooks(&packet).unwrap_err();
        assert!(error.message().starts_with("Ogg Vorbis: the codebooks have 4194272 values or more"), "{error}");
        assert!(check_codebooks(&packet[..9]).unwrap_err().message().contains("is invalid"));
    }
}
