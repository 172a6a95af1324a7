//! Decoders of Vorbis packets: symphonia, and lewton for packets that symphonia decodes
//! incorrectly.

use super::super::samples::Samples;
use super::super::{channel_order, damaged, decode, guarded};
use super::setup::{Block, Identification, Setup};
use crate::error::{Error, Result};
use lewton::audio::{PreviousWindowRight, read_audio_packet_generic};
use lewton::header::{IdentHeader, SetupHeader, read_header_ident, read_header_setup};
use symphonia_codec_vorbis::VorbisDecoder;
use symphonia_core::audio::{Audio, GenericAudioBufferRef};
use symphonia_core::codecs::audio::well_known::CODEC_ID_VORBIS;
use symphonia_core::codecs::audio::{AudioCodecParameters, AudioDecoderOptions};
use symphonia_core::errors::Error as Reason;

const FORMAT: &str = "Ogg Vorbis";

/// Decodes the packets of one stream. Channels are in FFmpeg's order, as in WAV and FLAC.
pub enum Decoder<'a> {
    Symphonia(Box<VorbisDecoder>),
    Lewton(Box<Lewton<'a>>),
}

/// Uses lewton. It returns the samples after the middle of a long block immediately instead of
/// together with the next short block.
pub struct Lewton<'a> {
    headers: (IdentHeader, SetupHeader),
    read: (&'a Identification, &'a Setup),
    window: PreviousWindowRight,
    /// The most recently decoded block.
    before: Option<Block>,
    /// The samples of each channel that were returned too early.
    early: Vec<Vec<f32>>,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder for a stream with these identification and setup headers.
    ///
    /// With three or more channels, symphonia 0.6.1 makes two mistakes: it undoes coupling steps
    /// from first to last instead of in reverse (section 4.3.5 of the specification), and it mixes
    /// up the channels if there are two submaps. lewton is slower but correct.
    pub fn new(identification: &[u8], setup: &[u8], read: (&'a Identification, &'a Setup)) -> Result<Self> {
        if read.0.channels > 2 {
            return guarded(FORMAT, 0, || {
                let invalid = |_| Reason::DecodeError("the headers are invalid");
                let identification = read_header_ident(identification).map_err(invalid)?;
                let sizes = (identification.blocksize_0, identification.blocksize_1);
                let setup = read_header_setup(setup, identification.audio_channels, sizes).map_err(invalid)?;
                let (window, early) = (PreviousWindowRight::new(), (0..read.0.channels).map(|_| Vec::new()).collect());
                Ok(Self::Lewton(Box::new(Lewton {
                    headers: (identification, setup),
                    read,
                    window,
                    before: None,
                    early,
                })))
            });
        }
        let mut params = AudioCodecParameters::new();
        let headers = [identification, setup].concat();
        params.for_codec(CODEC_ID_VORBIS).with_extra_data(headers.into_boxed_slice());
        // The first packet after a start returns no samples.
        let options = AudioDecoderOptions::default().gapless(true);
        guarded(FORMAT, 0, || {
            VorbisDecoder::try_new(&params, &options).map(|decoder| Self::Symphonia(Box::new(decoder)))
        })
    }

    /// Decodes a packet from the page at byte `offset`. Returns the number of samples in it.
    pub fn decode(&mut self, offset: usize, packet: &[u8], samples: &mut Samples) -> Result<u64> {
        match self {
            Self::Symphonia(decoder) => {
                let decoded = decode(&mut **decoder, FORMAT, offset, packet)?;
                let GenericAudioBufferRef::F32(buffer) = decoded else {
                    return Err(Error::internal("Ogg Vorbis decoded to a type other than float32"));
                };
                let planes: smallvec::SmallVec<[&[f32]; 8]> =
                    (0..buffer.num_planes()).filter_map(|one| buffer.plane(one)).collect();
                samples.push(buffer.frames(), |channel, index| planes[channel][index])?;
                Ok(buffer.frames() as u64)
            }
            Self::Lewton(lewton) => lewton.decode(offset, packet, samples),
        }
    }
}

impl Lewton<'_> {
    fn decode(&mut self, offset: usize, packet: &[u8], samples: &mut Samples) -> Result<u64> {
        let (identification, setup) = self.read;
        let (count, planes) = guarded(FORMAT, offset, || {
            let block = setup.block(packet, identification).ok_or(Reason::DecodeError("it is not an audio packet"))?;
            let before = self.before.replace(block);
            // lewton trusts the neighbour flags of long blocks.
            let fits = |long: Block, number: usize, other: Block| {
                long.neighbours.is_none_or(|neighbours| neighbours[number] == other.is_long)
            };
            if before.is_some_and(|before| !fits(before, 1, block) || !fits(block, 0, before)) {
                return Err(Reason::DecodeError("the size of a block does not match its neighbour"));
            }
            let mut decoded = || {
                let planes = read_audio_packet_generic(&self.headers.0, &self.headers.1, packet, &mut self.window);
                planes.map_err(|_| Reason::DecodeError("the packet is invalid"))
            };
            let first: Vec<Vec<f32>> = decoded()?;
            let is_early = block.neighbours.is_some_and(|[_, after]| !after);
            let planes = match before {
                // It drops the first block. If the block is repeated, the samples after its middle
                // are correct.
                None if is_early => {
                    let count = ((block.size - identification.block_sizes[0]) / 4) as usize;
                    let again: Vec<Vec<f32>> = decoded()?;
                    again.into_iter().map(|plane| plane[plane.len().saturating_sub(count)..].to_vec()).collect()
                }
                _ => first,
            };
            Ok((before.map_or(0, |before| (before.size + block.size) / 4), planes))
        })?;
        for (early, plane) in self.early.iter_mut().zip(&planes) {
            early.extend_from_slice(plane);
        }
        let num_samples = count as usize;
        if self.early.iter().any(|plane| plane.len() < num_samples) {
            return Err(damaged(format!("{FORMAT}: the packet at byte {offset} has too few samples")));
        }
        let order = channel_order(self.early.len());
        let place = |channel: usize| order.map_or(channel, |order| order[channel].into());
        samples.push(num_samples, |channel, index| self.early[place(channel)][index])?;
        self.early.iter_mut().for_each(|plane| drop(plane.drain(..num_samples)));
        Ok(count)
    }
}
