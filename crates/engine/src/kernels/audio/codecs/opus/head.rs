//! The identification header of Ogg Opus.
//!
//! Source: RFC 7845, section 5.1.

use super::super::{damaged, unsupported};
use crate::error::Result;

/// The identification header.
#[derive(Debug, PartialEq)]
pub struct Head {
    /// The number of samples at the start of the stream that are not part of the sound.
    pub pre_skip: u64,
    /// The gain in decibels, as a multiple of 1/256.
    pub gain: i16,
    /// The number of Opus streams in each packet.
    pub num_streams: u8,
    /// How many of them, from the first on, are stereo.
    pub num_coupled: u8,
    /// For each channel, the decoded channel that it is a copy of; 255 for silence.
    pub mapping: Vec<u8>,
}

impl Head {
    /// Reads the header. Fails if it is invalid or requires a decoder that we don't have.
    pub fn read(packet: &[u8]) -> Result<Self> {
        let invalid = || damaged("Ogg Opus: the header is invalid");
        let body = packet.strip_prefix(b"OpusHead").and_then(<[u8]>::split_first_chunk::<11>);
        // The sample rate of what was encoded is in between.
        let ([version, channels, skip_low, skip_high, _, _, _, _, gain_low, gain_high, family], table) =
            body.ok_or_else(invalid)?;
        if *version > 15 {
            return Err(unsupported(format!("Ogg Opus: the version is {version}, but only 0 to 15 are supported")));
        }
        let (num_streams, num_coupled, mapping) = match (family, channels) {
            (0, 1 | 2) => (1, channels - 1, vec![0, 1]),
            (1, 1..=8) => match table {
                [streams, coupled, mapping @ ..] => (*streams, *coupled, mapping.to_vec()),
                _ => return Err(invalid()),
            },
            (0 | 1, _) => return Err(invalid()),
            _ => {
                return Err(unsupported(format!(
                    "Ogg Opus: the channel mapping family is {family}, but only 0 (mono and stereo) and 1 (surround) \
                     are supported"
                )));
            }
        };
        let mapping = mapping.get(..usize::from(*channels)).ok_or_else(invalid)?.to_vec();
        let num_decoded = u16::from(num_streams) + u16::from(num_coupled);
        let is_valid = num_streams > 0
            && num_coupled <= num_streams
            && num_decoded <= 255
            && mapping.iter().all(|channel| *channel == 255 || u16::from(*channel) < num_decoded);
        if !is_valid {
            return Err(invalid());
        }
        Ok(Self {
            pre_skip: u16::from_le_bytes([*skip_low, *skip_high]).into(),
            gain: i16::from_le_bytes([*gain_low, *gain_high]),
            num_streams,
            num_coupled,
            mapping,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(version: u8, channels: u8, family: u8, table: &[u8]) -> Vec<u8> {
        [b"OpusHead", &[version, channels, 0x38, 1, 0x80, 0xbb, 0, 0, 0, 0xff, family][..], table].concat()
    }

    #[test]
    fn stereo_headers_need_no_mapping_table() {
        let head = Head::read(&packet(1, 2, 0, &[])).unwrap();
        assert_eq!(head, Head { pre_skip: 312, gain: -256, num_streams: 1, num_coupled: 1, mapping: vec![0, 1] });
        assert_eq!(Head::read(&packet(1, 1, 0, &[])).unwrap().mapping, [0]);
    }

    #[test]
    fn surround_headers_have_a_mapping_table() {
        let head = Head::read(&packet(1, 3, 1, &[2, 1, 0, 255, 2])).unwrap();
        assert_eq!((head.num_streams, head.num_coupled, head.mapping), (2, 1, vec![0, 255, 2]));
    }

    #[test]
    fn invalid_and_unsupported_headers_are_rejected() {
        for (packet, text) in [
            (packet(1, 0, 0, &[]), "the header is invalid"),
            (packet(1, 3, 0, &[]), "the header is invalid"),
            (packet(1, 9, 1, &[9, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]), "the header is invalid"),
            (packet(1, 3, 1, &[2, 1, 0, 1]), "the header is invalid"),
            (packet(1, 3, 1, &[2, 1, 0, 1, 3]), "the header is invalid"),
            (packet(1, 2, 1, &[1, 2, 0, 1]), "the header is invalid"),
            (packet(1, 1, 1, &[0, 0, 255]), "the header is invalid"),
            (packet(16, 2, 0, &[]), "the version is 16"),
            (packet(1, 4, 2, &[4, 0, 0, 1, 2, 3]), "the channel mapping family is 2"),
            (b"OpusHead\x01\x02".to_vec(), "the header is invalid"),
        ] {
            let error = Head::read(&packet).unwrap_err();
            assert!(error.message().contains(text), "{error}");
        }
    }
}
