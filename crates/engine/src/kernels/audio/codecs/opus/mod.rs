//! Ogg Opus: decodes the packets of a stream with libopus and determines the position of each
//! sample.
//!
//! Source: RFC 7845.

mod head;

use super::ogg::{Packets, Page, headers};
use super::samples::{Part, Samples};
use super::{Sound, channel_order, damaged, guarded};
use crate::error::Result;
use crate::tensor::allocate;
use head::Head;
use opus::{MSDecoder, packet};
use symphonia_core::errors::Error as Reason;

const FORMAT: &str = "Ogg Opus";
/// All positions count samples at this rate, whatever was encoded.
const SAMPLE_RATE: u32 = 48_000;
/// The samples in the longest packet, of 120 ms.
const MAX_SAMPLES: usize = 5760;
/// The samples in the shortest packet, of 2.5 ms. FFmpeg rounds positions that it copies from other
/// containers, but by less than this. If a packet is missing, the difference is at least as large.
const MIN_SAMPLES: i64 = 120;
/// The maximum memory of the decoder of one stream.
const DECODER_BYTES: usize = 64 << 10;

/// An Ogg Opus file whose pages have been read.
pub struct Opus<'a> {
    contents: &'a [u8],
    head: Head,
    /// The pages that contain samples.
    pages: Vec<Page<'a>>,
    num_samples: u64,
}

impl<'a> Opus<'a> {
    /// Reads the headers and the lengths of all packets of a file with these pages.
    pub fn open(contents: &'a [u8], mut pages: Vec<Page<'a>>) -> Result<Self> {
        let headers = headers(&mut pages, 2)?;
        let [head, tags] = &headers[..] else {
            return Err(damaged(format!("{FORMAT}: only {} of two headers precede the audio", headers.len())));
        };
        let head = Head::read(head)?;
        if !tags.starts_with(b"OpusTags") {
            return Err(damaged(format!("{FORMAT}: the second header is invalid")));
        }
        let length = length(&pages)?;
        let num_samples = match length.checked_sub(head.pre_skip) {
            Some(num_samples) => num_samples,
            None if pages.is_empty() => 0,
            None => {
                return Err(damaged(format!(
                    "{FORMAT}: the stream has {length} samples, but its header says to skip the first {}",
                    head.pre_skip
                )));
            }
        };
        Ok(Self { contents, head, pages, num_samples })
    }

    fn decoder(&self) -> Result<MSDecoder> {
        let Head { num_streams, num_coupled, mapping, gain, .. } = &self.head;
        let most_bytes = usize::from(*num_streams) * DECODER_BYTES;
        allocate::probe(most_bytes).map_err(|refusal| refusal.at("decoders of Opus"))?;
        guarded(FORMAT, 0, || {
            let mut decoder = MSDecoder::new(SAMPLE_RATE, *num_streams, *num_coupled, mapping).map_err(reason)?;
            decoder.set_gain((*gain).into()).map_err(reason)?;
            Ok(decoder)
        })
    }
}

impl Sound for Opus<'_> {
    fn sample_rate(&self) -> u32 {
        SAMPLE_RATE
    }

    fn channels(&self) -> usize {
        self.head.mapping.len()
    }

    fn num_samples(&self) -> Result<u64> {
        Ok(self.num_samples)
    }

    fn values_at_once(&self) -> usize {
        self.contents.len()
    }

    /// Decodes from the beginning: a decoder that starts later returns slightly different samples.
    fn decode(&self, part: Part, samples: &mut Samples) -> Result<()> {
        part.end(self.num_samples)?;
        samples.skip(self.head.pre_skip + part.start);
        let mut decoder = self.decoder()?;
        let channels = self.channels();
        let order = channel_order(channels);
        let place = |channel: usize| order.map_or(channel, |order| order[channel].into());
        let mut values =
            allocate::zeros::<f32>(MAX_SAMPLES * channels).map_err(|refusal| refusal.at("audio samples"))?;
        let mut packets = Packets::default();
        for page in &self.pages {
            packets.of_page(page, |packet| {
                let decode = || decoder.decode_float(&packet, &mut values, false).map_err(reason);
                let count = guarded(FORMAT, page.offset, decode)?;
                samples.push(count, |channel, index| values[index * channels + place(channel)])
            })?;
            if samples.is_full() {
                break;
            }
        }
        match samples.is_full() {
            true => Ok(()),
            false => Err(damaged(format!("{FORMAT}: {} samples at the end are missing", samples.num_missing()))),
        }
    }
}

/// The number of samples in all packets, without those that the position of the last page removes.
/// Fails if the positions of pages don't match the lengths of the packets.
fn length(pages: &[Page]) -> Result<u64> {
    let mut packets = Packets::default();
    let (mut position, mut end) = (0_i64, 0);
    // The granule position of the first decoded sample. It isn't 0 in a section of a longer stream.
    let mut origin: Option<i64> = None;
    for page in pages {
        packets.of_page(page, |packet| {
            position += i64::from(packet_length(page.offset, &packet)?);
            Ok(())
        })?;
        end = position;
        let Some(granule) = page.granule else { continue };
        let invalid = |text: &str| {
            damaged(format!(
                "{FORMAT}: the page at byte {} has the position {granule}, which {text}; the file is damaged",
                page.offset
            ))
        };
        let granule = i64::try_from(granule).map_err(|_| invalid("is too large"))?;
        // On the last page, a lower position removes samples at the end.
        let least = if page.is_last { 0 } else { 1 - MIN_SAMPLES };
        let origin = *origin.get_or_insert((granule - position).max(least));
        let difference = granule - origin - position;
        if difference >= MIN_SAMPLES || (difference <= -MIN_SAMPLES && !page.is_last) {
            return Err(invalid("doesn't match the lengths of its packets"));
        }
        if page.is_last {
            end = position.min(granule - origin);
        }
    }
    Ok(end.max(0).unsigned_abs())
}

/// The number of samples in a packet from the page at byte `offset`.
fn packet_length(offset: usize, packet: &[u8]) -> Result<u32> {
    // Without bytes, libopus would invent samples.
    let length = if packet.is_empty() { Ok(0) } else { packet::get_nb_samples(packet, SAMPLE_RATE) };
    match length {
        Ok(length @ 1..=MAX_SAMPLES) => Ok(length as u32),
        _ => Err(damaged(format!("{FORMAT}: the page at byte {offset} has an invalid packet"))),
    }
}

/// Converts an error from libopus.
fn reason(error: opus::Error) -> Reason {
    Reason::DecodeError(error.description())
}
