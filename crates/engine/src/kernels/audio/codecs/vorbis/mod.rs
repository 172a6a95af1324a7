//! Ogg Vorbis: decodes the packets of a stream, and gives each sample its place.
//!
//! Source: the Vorbis I specification, whose section A.2 says how pages count samples.

mod setup;

use super::ogg::{Packets, Page, pages};
use super::samples::{Part, Samples};
use super::{Sound, damaged, decode, guarded, unsupported};
use crate::error::{Error, Result};
use setup::{Identification, check_codebooks};
use std::sync::OnceLock;
use symphonia_codec_vorbis::VorbisDecoder;
use symphonia_core::audio::{Audio, GenericAudioBufferRef};
use symphonia_core::codecs::audio::well_known::CODEC_ID_VORBIS;
use symphonia_core::codecs::audio::{AudioCodecParameters, AudioDecoderOptions};

/// An Ogg Vorbis file, whose pages are found.
pub struct Vorbis<'a> {
    contents: &'a [u8],
    identification: Identification,
    /// The identification and the setup header.
    headers: Vec<u8>,
    /// The pages of samples.
    pages: Vec<Page<'a>>,
    /// The samples that come before the first one of the file.
    lead: OnceLock<u64>,
}

impl<'a> Vorbis<'a> {
    /// Reads the headers of a file that begins with "OggS".
    pub fn open(contents: &'a [u8]) -> Result<Self> {
        let mut pages = pages(contents)?;
        let (mut packets, mut headers) = (Packets::default(), Vec::new());
        let mut num_pages = 0;
        for page in &pages {
            packets.of_page(page, |packet| {
                if headers.is_empty() {
                    check_codec(&packet)?;
                }
                headers.push(packet.into_owned());
                Ok(())
            })?;
            num_pages += 1;
            if headers.len() >= 3 {
                break;
            }
        }
        let [first, comment, last] = &headers[..] else {
            return Err(damaged(format!(
                "Ogg Vorbis: there are {} of three headers before the first sound",
                headers.len()
            )));
        };
        let identification = Identification::read(first).filter(|_| comment.starts_with(b"\x03vorbis"));
        let identification = identification.ok_or_else(|| damaged("Ogg Vorbis: the headers are invalid"))?;
        if identification.channels > 32 {
            return Err(unsupported(format!("Ogg Vorbis: there are {} channels", identification.channels)));
        }
        check_codebooks(last)?;
        let headers = [&first[..], &last[..]].concat();
        pages.drain(..num_pages);
        Ok(Self { contents, identification, headers, pages, lead: OnceLock::new() })
    }

    fn decoder(&self) -> Result<VorbisDecoder> {
        let mut params = AudioCodecParameters::new();
        params.for_codec(CODEC_ID_VORBIS).with_extra_data(self.headers.clone().into_boxed_slice());
        // The first packet after a start gives no samples.
        let options = AudioDecoderOptions::default().gapless(true);
        guarded("Ogg Vorbis", 0, || VorbisDecoder::try_new(&params, &options))
    }

    /// The samples that the pages begin with and that are not of the file.
    fn lead(&self) -> Result<u64> {
        if let Some(lead) = self.lead.get() {
            return Ok(*lead);
        }
        let mut nothing = Samples::new(self.identification.channels, true, 0, 0)?;
        let mut decoding = Decoding::new(self.decoder()?);
        let mut lead = 0;
        for page in &self.pages {
            decoding.page(page, &mut nothing)?;
            if let Some(granule) = page.granule {
                let decoded = decoding.num_samples;
                if granule > decoded && !page.is_last {
                    return Err(damaged(format!(
                        "Ogg Vorbis: the first page of sound ends at sample {granule}, but has {decoded} samples; the file is \
                         cut at its start"
                    )));
                }
                lead = if page.is_last { 0 } else { decoded - granule };
                break;
            }
        }
        Ok(*self.lead.get_or_init(|| lead))
    }

    /// The page to begin with so that the samples from `start` on are right, and the sample at which
    /// that page ends. The last packet of the page adds to the samples of the next one.
    fn beginning(&self, start: u64) -> Option<(usize, u64)> {
        let found =
            self.pages.iter().enumerate().rev().skip_while(|(_, page)| page.granule.is_none_or(|end| end > start));
        let whole = found.filter(|(_, page)| {
            let mut parts = page.parts();
            page.granule.is_some() && parts.by_ref().skip(usize::from(page.is_continued)).any(|(_, has_end)| has_end)
        });
        whole.filter(|(index, _)| *index > 0).map(|(index, page)| (index, page.granule.unwrap_or(0))).next()
    }
}

impl Sound for Vorbis<'_> {
    fn sample_rate(&self) -> u32 {
        self.identification.sample_rate
    }

    fn channels(&self) -> usize {
        self.identification.channels
    }

    fn num_samples(&self) -> Result<u64> {
        let Some(last) = self.pages.last() else {
            return Ok(0);
        };
        // A page whose granule position is not set ends no packet; the count is that of an earlier page.
        let end = self.pages.iter().rev().find_map(|page| page.granule);
        end.ok_or_else(|| damaged(format!("Ogg Vorbis: no packet ends before byte {}", last.offset)))
    }

    fn values_at_once(&self) -> usize {
        self.contents.len()
    }

    fn decode(&self, part: Part, samples: &mut Samples) -> Result<()> {
        let mut decoding = Decoding::new(self.decoder()?);
        // Samples are counted so that the first one of the file has number 0.
        let (first_page, mut position) = match self.beginning(part.start) {
            Some((index, end)) if part.start > 0 => {
                let mut nothing = Samples::new(self.identification.channels, true, 0, 0)?;
                decoding.page(&self.pages[index], &mut nothing)?;
                samples.skip(part.start - end);
                (index + 1, end)
            }
            _ => {
                let lead = self.lead()?;
                samples.skip(part.start + lead);
                (0, 0_u64.wrapping_sub(lead))
            }
        };
        let end = self.num_samples()?;
        let end = part.end(end)?;
        for page in &self.pages[first_page..] {
            let before = decoding.num_samples;
            decoding.page(page, samples)?;
            position = position.wrapping_add(decoding.num_samples - before);
            let is_right = match page.granule {
                Some(granule) if page.is_last => granule <= position || position as i64 <= 0,
                Some(granule) => granule == position,
                None => true,
            };
            if !is_right {
                return Err(damaged(format!(
                    "Ogg Vorbis: the page at byte {} ends at sample {position}, but its header says {}; the file is damaged",
                    page.offset,
                    page.granule.unwrap_or(0)
                )));
            }
            if samples.is_full() && part != Part::ALL {
                break;
            }
        }
        match samples.is_full() {
            true => Ok(()),
            false => {
                Err(damaged(format!("Ogg Vorbis: {} of the samples before sample {end} are missing", samples.wanted())))
            }
        }
    }
}

/// A decoder, and the number of samples that it has given.
struct Decoding {
    decoder: VorbisDecoder,
    packets: Packets,
    num_samples: u64,
}

impl Decoding {
    fn new(decoder: VorbisDecoder) -> Self {
        Self { decoder, packets: Packets::default(), num_samples: 0 }
    }

    /// Decodes the packets that end in a page.
    fn page(&mut self, page: &Page, samples: &mut Samples) -> Result<()> {
        let Self { decoder, packets, num_samples } = self;
        packets.of_page(page, |packet| {
            // A packet without bytes has no sound.
            if packet.is_empty() {
                return Ok(());
            }
            let decoded = decode(decoder, "Ogg Vorbis", page.offset, &packet)?;
            let GenericAudioBufferRef::F32(buffer) = decoded else {
                return Err(Error::internal("Ogg Vorbis decoded to another type than float32"));
            };
            *num_samples += buffer.frames() as u64;
            let planes: smallvec::SmallVec<[&[f32]; 8]> =
                (0..buffer.num_planes()).filter_map(|one| buffer.plane(one)).collect();
            samples.push(buffer.frames(), |channel, index| planes[channel][index])
        })
    }
}

/// Fails if the first packet of a stream is not one of Vorbis.
fn check_codec(packet: &[u8]) -> Result<()> {
    let name = match packet {
        _ if packet.starts_with(b"\x01vorbis") => return Ok(()),
        _ if packet.starts_with(b"OpusHead") => "Opus",
        _ if packet.starts_with(b"\x7fFLAC") => "FLAC",
        _ if packet.starts_with(b"Speex   ") => "Speex",
        _ if packet.starts_with(b"\x80theora") => "Theora, a video",
        _ if packet.starts_with(b"fishead") => "a stream with a skeleton",
        _ => "unknown",
    };
    Err(unsupported(format!("Ogg: the codec is {name}")))
}
