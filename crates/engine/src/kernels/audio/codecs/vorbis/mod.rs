//! Ogg Vorbis: decodes the packets of a stream and determines the position of each sample.
//!
//! Source: the Vorbis I specification; section A.2 defines how pages count samples.

mod decoder;
mod setup;

use super::ogg::{Packets, Page, headers};
use super::samples::{Part, Samples};
use super::{Sound, damaged, unsupported};
use crate::error::Result;
use decoder::Decoder;
use setup::{Identification, Setup};
use std::sync::OnceLock;

/// An Ogg Vorbis file whose pages have been located.
pub struct Vorbis<'a> {
    contents: &'a [u8],
    identification: Identification,
    setup: Setup,
    /// The packets with the identification and setup headers.
    headers: [Vec<u8>; 2],
    /// The pages that contain samples.
    pages: Vec<Page<'a>>,
    /// See [`Self::origin`].
    origin: OnceLock<i64>,
}

impl<'a> Vorbis<'a> {
    /// Reads the headers of a file with these pages.
    pub fn open(contents: &'a [u8], mut pages: Vec<Page<'a>>) -> Result<Self> {
        let headers = headers(&mut pages, 3)?;
        let [first, comment, last] = &headers[..] else {
            return Err(damaged(format!("Ogg Vorbis: only {} of three headers precede the audio", headers.len())));
        };
        let identification = Identification::read(first).filter(|_| comment.starts_with(b"\x03vorbis"));
        let identification = identification.ok_or_else(|| damaged("Ogg Vorbis: the headers are invalid"))?;
        if identification.channels > 32 {
            return Err(unsupported(format!(
                "Ogg Vorbis: the file has {} channels, expected at most 32",
                identification.channels
            )));
        }
        let setup = Setup::read(last, identification.channels)?;
        let headers = [first.clone(), last.clone()];
        Ok(Self { contents, identification, setup, headers, pages, origin: OnceLock::new() })
    }

    fn decoder(&self) -> Result<Decoder<'_>> {
        let [identification, setup] = &self.headers;
        Decoder::new(identification, setup, (&self.identification, &self.setup))
    }

    /// The granule position of the first decoded sample.
    ///
    /// If it is negative, the samples before position 0 are not part of the file. If it is
    /// positive, as in a section of a longer stream, the file begins there.
    fn origin(&self) -> Result<i64> {
        if let Some(origin) = self.origin.get() {
            return Ok(*origin);
        }
        let (mut packets, mut block_before, mut num_samples) = (Packets::default(), None, 0);
        let mut origin = 0;
        for page in &self.pages {
            packets.of_page(page, |packet| {
                if let Some(block) = self.setup.block(&packet, &self.identification) {
                    num_samples +=
                        block_before.replace(block.size).map_or(0, |before| (before + block.size) as i64 / 4);
                }
                Ok(())
            })?;
            if let Some(granule) = page.granule {
                let granule = i64::try_from(granule).map_err(|_| {
                    damaged(format!("Ogg Vorbis: the page at byte {} has no valid position: {granule}", page.offset))
                })?;
                origin = granule - num_samples;
                // On the last page, a lower position removes samples at the end.
                if page.is_last {
                    origin = origin.max(0);
                }
                break;
            }
        }
        Ok(*self.origin.get_or_init(|| origin))
    }

    /// The granule position of the file's first sample.
    fn first_position(&self) -> Result<u64> {
        Ok(self.origin()?.max(0) as u64)
    }

    /// Returns the page from which to start, so that the samples from position `start` on are
    /// correct, and the position at which that page ends. The last packet of the page affects the
    /// samples of the next one.
    fn beginning(&self, start: u64) -> Option<(usize, u64)> {
        let candidate =
            self.pages.iter().enumerate().rev().skip_while(|(_, page)| page.granule.is_none_or(|end| end > start));
        let whole = candidate.filter(|(_, page)| {
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
        // If a page has no granule position, no packet ends there. Count from an earlier page then.
        let end = self.pages.iter().rev().find_map(|page| page.granule);
        let end = end.ok_or_else(|| damaged(format!("Ogg Vorbis: no packet ends before byte {}", last.offset)))?;
        let first = self.first_position()?;
        end.checked_sub(first).ok_or_else(|| {
            damaged(format!(
                "Ogg Vorbis: the last page ends at sample {end}, but the first one begins at sample {first}"
            ))
        })
    }

    fn values_at_once(&self) -> usize {
        self.contents.len()
    }

    fn decode(&self, part: Part, samples: &mut Samples) -> Result<()> {
        let mut decoding = Decoding::new(self.decoder()?);
        let first = self.first_position()?;
        let end = self.num_samples()?;
        let end = part.end(end)?;
        let (first_page, mut position) = match self.beginning(part.start + first) {
            Some((index, end)) if part.start > 0 => {
                let mut nothing = Samples::new(self.identification.channels, true, 0, 0)?;
                decoding.page(&self.pages[index], &mut nothing)?;
                samples.skip(part.start + first - end);
                (index + 1, end)
            }
            _ => {
                let origin = self.origin()?;
                samples.skip(part.start + origin.min(0).unsigned_abs());
                (0, origin as u64)
            }
        };
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
            false => Err(damaged(format!(
                "Ogg Vorbis: {} of the samples before sample {end} are missing",
                samples.num_missing()
            ))),
        }
    }
}

/// A decoder, with the number of samples that it has returned.
struct Decoding<'a> {
    decoder: Decoder<'a>,
    packets: Packets,
    num_samples: u64,
}

impl<'a> Decoding<'a> {
    fn new(decoder: Decoder<'a>) -> Self {
        Self { decoder, packets: Packets::default(), num_samples: 0 }
    }

    /// Decodes the packets that end in a page.
    fn page(&mut self, page: &Page, samples: &mut Samples) -> Result<()> {
        let Self { decoder, packets, num_samples } = self;
        packets.of_page(page, |packet| {
            // Packets without bytes have no audio.
            if !packet.is_empty() {
                *num_samples += decoder.decode(page.offset, &packet, samples)?;
            }
            Ok(())
        })
    }
}
