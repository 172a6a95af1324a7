//! WAV files with 8 to 32-bit PCM or floats.
//!
//! Source: the RIFF specification of IBM and Microsoft, `WAVEFORMATEXTENSIBLE`, and EBU Tech 3306
//! (RF64), which has 64-bit sizes.

use super::samples::{Part, Samples};
use super::{Sound, damaged, unsupported};
use crate::error::Result;

/// A placeholder that programs write as the size before the real one is known.
const UNKNOWN: u32 = u32::MAX;

/// A WAV file whose headers have been read.
#[derive(Debug)]
pub struct Wav<'a> {
    sample_rate: u32,
    channels: usize,
    encoding: Encoding,
    data: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Encoding {
    Unsigned8,
    Signed16,
    Signed24,
    Signed32,
    Float32,
    Float64,
}

impl Encoding {
    fn num_bytes(self) -> usize {
        match self {
            Self::Unsigned8 => 1,
            Self::Signed16 => 2,
            Self::Signed24 => 3,
            Self::Signed32 | Self::Float32 => 4,
            Self::Float64 => 8,
        }
    }
}

struct Format {
    sample_rate: u32,
    channels: usize,
    encoding: Encoding,
}

impl<'a> Wav<'a> {
    /// Reads the headers of a file that begins with "RIFF" or "RF64".
    pub fn open(contents: &'a [u8]) -> Result<Self> {
        let mut format = None;
        let mut long_size = None;
        let mut offset = 12;
        loop {
            let Some(chunk) = Chunk::at(contents, offset) else {
                let what = if format.is_some() { "no data chunk" } else { "no format chunk" };
                return Err(damaged(format!("WAV: there is {what} in the {} bytes of the file", contents.len())));
            };
            match &chunk.id {
                b"data" => {
                    let format = format.ok_or_else(|| damaged("WAV: the data chunk comes before the format chunk"))?;
                    return Self::with_data(contents, chunk, format, long_size);
                }
                _ if chunk.body.len() < chunk.size as usize => {
                    return Err(damaged(format!(
                        "WAV: chunk {} at byte {offset} should have {} bytes, but only {} are left; the file is cut \
                         short",
                        name_of(&chunk.id),
                        chunk.size,
                        chunk.body.len()
                    )));
                }
                b"fmt " => format = Some(Format::read(chunk.body)?),
                b"ds64" => long_size = chunk.body.get(8..16).map(|bytes| u64::from_le_bytes(array(bytes))),
                b"wavl" => return Err(unsupported("WAV: the samples are in a list of chunks (wavl)")),
                _ => {}
            }
            offset = chunk.end;
        }
    }

    fn with_data(contents: &'a [u8], chunk: Chunk<'a>, format: Format, long_size: Option<u64>) -> Result<Self> {
        let there = chunk.body_and_rest.len();
        let is_stream = chunk.size == UNKNOWN && contents[..4] == *b"RIFF" && contents[4..8] == UNKNOWN.to_le_bytes();
        let size = match (chunk.size, long_size) {
            (UNKNOWN, Some(size)) => size,
            _ if is_stream => there as u64,
            (size, _) => u64::from(size),
        };
        let valid_size = Some(size).filter(|size| *size <= there as u64);
        let Some(size) = valid_size.map(|size| size as usize) else {
            return Err(damaged(format!(
                "WAV: the data chunk should have {size} bytes, but only {there} are left; the file is cut short, or \
                 its header was never completed"
            )));
        };
        if !is_stream {
            check_rest(contents, chunk.start + 8 + size, size)?;
        }
        let of_sample = format.channels * format.encoding.num_bytes();
        if size % of_sample != 0 {
            return Err(damaged(format!(
                "WAV: the data chunk has {size} bytes, {} samples of {of_sample} bytes and {} extra bytes; the file \
                 is cut short",
                size / of_sample,
                size % of_sample
            )));
        }
        let Format { sample_rate, channels, encoding } = format;
        Ok(Self { sample_rate, channels, encoding, data: &chunk.body_and_rest[..size] })
    }
}

impl Sound for Wav<'_> {
    fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    fn channels(&self) -> usize {
        self.channels
    }

    fn num_samples(&self) -> Result<u64> {
        Ok((self.data.len() / (self.channels * self.encoding.num_bytes())) as u64)
    }

    fn values_at_once(&self) -> usize {
        self.data.len() / self.encoding.num_bytes()
    }

    fn decode(&self, part: Part, samples: &mut Samples) -> Result<()> {
        let of_sample = self.channels * self.encoding.num_bytes();
        let (start, end) = (part.start as usize, part.end(self.num_samples()?)? as usize);
        let data = &self.data[start * of_sample..end * of_sample];
        let channels = self.channels;
        match self.encoding {
            Encoding::Unsigned8 => push::<1>(data, channels, samples, |[byte]| (f32::from(byte) - 128.0) / 128.0),
            Encoding::Signed16 => push(data, channels, samples, |bytes| f32::from(i16::from_le_bytes(bytes)) / 32768.0),
            Encoding::Signed24 => push(data, channels, samples, |[low, middle, high]| {
                i32::from_le_bytes([0, low, middle, high]) as f32 / 2_147_483_648.0
            }),
            Encoding::Signed32 => {
                push(data, channels, samples, |bytes| i32::from_le_bytes(bytes) as f32 / 2_147_483_648.0)
            }
            Encoding::Float32 => push(data, channels, samples, f32::from_le_bytes),
            Encoding::Float64 => push(data, channels, samples, |bytes| f64::from_le_bytes(bytes) as f32),
        }
    }
}

fn push<const N: usize>(
    data: &[u8],
    channels: usize,
    samples: &mut Samples,
    value: impl Fn([u8; N]) -> f32,
) -> Result<()> {
    let (values, _) = data.as_chunks::<N>();
    samples.push(values.len() / channels, |channel, index| value(values[index * channels + channel]))
}

impl Format {
    fn read(body: &[u8]) -> Result<Self> {
        let Some(fixed) = body.get(..16) else {
            let count = body.len();
            return Err(damaged(format!("WAV: the format chunk has {count} bytes, expected at least 16")));
        };
        let short = |offset: usize| u16::from_le_bytes([fixed[offset], fixed[offset + 1]]);
        let (mut kind, channels, of_sample, bits) = (short(0), short(2), short(12), short(14));
        let sample_rate = u32::from_le_bytes(array(&fixed[4..8]));
        if kind == 0xfffe {
            kind = match body.get(24..40) {
                Some(guid) if guid[2..] == *b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71" => {
                    u16::from_le_bytes([guid[0], guid[1]])
                }
                Some(_) => return Err(unsupported("WAV: the format of the samples has an unknown GUID")),
                None => return Err(damaged("WAV: the format chunk is extensible, but has no GUID")),
            };
        }
        if channels == 0 || sample_rate == 0 {
            return Err(damaged(format!("WAV: the file has {channels} channels at a sample rate of {sample_rate}")));
        }
        let encoding = match (kind, bits) {
            (1, 1..=8) => Encoding::Unsigned8,
            (1, 9..=16) => Encoding::Signed16,
            (1, 17..=24) => Encoding::Signed24,
            (1, 25..=32) => Encoding::Signed32,
            (3, 32) => Encoding::Float32,
            (3, 64) => Encoding::Float64,
            (1 | 3, _) => return Err(unsupported(format!("WAV: a sample has {bits} bits (format {kind})"))),
            (kind, _) => return Err(unsupported(format!("WAV: the samples are {}", name_of_format(kind)))),
        };
        let expected = usize::from(channels) * encoding.num_bytes();
        if usize::from(of_sample) != expected {
            return Err(damaged(format!(
                "WAV: a {bits}-bit sample of {channels} channels has {of_sample} bytes, expected {expected}"
            )));
        }
        Ok(Self { sample_rate, channels: channels.into(), encoding })
    }
}

/// Checks the chunks after the samples. If it does not consist of chunks, the stated size of the
/// data is wrong.
fn check_rest(contents: &[u8], end: usize, size: usize) -> Result<()> {
    let mut offset = end;
    // Some programs don't pad odd sizes.
    if size % 2 == 1 && contents.get(offset).is_some_and(|byte| *byte == 0) {
        offset += 1;
    }
    if contents.get(offset..).unwrap_or_default().iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    while offset < contents.len() {
        let is_name = |id: &[u8; 4]| id.iter().all(|byte| (0x20..0x7f).contains(byte));
        match Chunk::at(contents, offset).filter(|chunk| is_name(&chunk.id)) {
            Some(chunk) if chunk.id == *b"data" => return Err(unsupported("WAV: there are several data chunks")),
            Some(chunk) => offset = chunk.end,
            None => {
                return Err(damaged(format!(
                    "WAV: the data chunk should have {size} bytes, but {} bytes after it are not chunks; the size is \
                     wrong",
                    contents.len() - end
                )));
            }
        }
    }
    Ok(())
}

struct Chunk<'a> {
    id: [u8; 4],
    start: usize,
    size: u32,
    /// The part of the body that is in the file.
    body: &'a [u8],
    body_and_rest: &'a [u8],
    /// The position of the next chunk.
    end: usize,
}

impl<'a> Chunk<'a> {
    fn at(contents: &'a [u8], start: usize) -> Option<Self> {
        let head = contents.get(start..)?.first_chunk::<8>()?;
        let size = u32::from_le_bytes(array(&head[4..]));
        let body_and_rest = &contents[start + 8..];
        let body = &body_and_rest[..body_and_rest.len().min(size as usize)];
        let end = (start + 8).saturating_add(size as usize).saturating_add(size as usize % 2);
        Some(Self { id: array(&head[..4]), start, size, body, body_and_rest, end })
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

fn name_of(id: &[u8; 4]) -> String {
    format!("'{}'", id.escape_ascii())
}

fn name_of_format(kind: u16) -> String {
    let name = match kind {
        2 => "Microsoft ADPCM",
        6 => "A-law",
        7 => "mu-law",
        0x11 => "IMA ADPCM",
        0x31 => "GSM 6.10",
        0x50 => "MPEG",
        0x55 => "MP3",
        0xff | 0x1600 => "AAC",
        _ => return format!("compressed in format {kind:#06x}"),
    };
    format!("compressed as {name}")
}

#[cfg(test)]
pub mod tests {
    use crate::kernels::audio::codecs::decoded;

    /// A WAV file.
    pub fn wav(kind: u16, channels: u16, bits: u16, data: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let of_sample = channels * bits.div_ceil(8);
        file.extend_from_slice(b"RIFF");
        file.extend_from_slice(&(36 + data.len() as u32).to_le_bytes());
        file.extend_from_slice(b"WAVEfmt \x10\0\0\0");
        for value in [kind, channels] {
            file.extend_from_slice(&value.to_le_bytes());
        }
        for value in [8000_u32, 8000 * u32::from(of_sample)] {
            file.extend_from_slice(&value.to_le_bytes());
        }
        for value in [of_sample, bits] {
            file.extend_from_slice(&value.to_le_bytes());
        }
        file.extend_from_slice(b"data");
        file.extend_from_slice(&(data.len() as u32).to_le_bytes());
        file.extend_from_slice(data);
        file
    }

    fn error_of(file: &[u8]) -> String {
        decoded(file, true).unwrap_err().message().to_owned()
    }

    #[test]
    fn each_encoding_is_scaled_to_one() {
        for (kind, bits, data, expected) in [
            (1, 8, vec![0, 128, 255], [-1.0, 0.0, 0.9921875]),
            (1, 16, vec![0, 0x80, 0, 0, 0, 0x40], [-1.0, 0.0, 0.5]),
            (1, 24, vec![0, 0, 0x80, 0, 0, 0, 0, 0, 0x40], [-1.0, 0.0, 0.5]),
            (1, 32, vec![0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x40], [-1.0, 0.0, 0.5]),
            (3, 32, [-1_f32, 0.0, 0.5].iter().flat_map(|value| value.to_le_bytes()).collect(), [-1.0, 0.0, 0.5]),
            (3, 64, [-1_f64, 0.0, 0.5].iter().flat_map(|value| value.to_le_bytes()).collect(), [-1.0, 0.0, 0.5]),
        ] {
            assert_eq!(decoded(&wav(kind, 1, bits, &data), true).unwrap(), expected, "{kind} {bits}");
        }
    }

    #[test]
    fn wrong_lengths_are_rejected() {
        let file = wav(1, 1, 16, &[1, 0, 2, 0, 3, 0]);
        let text = "WAV: the data chunk should have 6 bytes, but only 5 are left; the file is cut short, or its header";
        assert!(error_of(&file[..file.len() - 1]).starts_with(text), "{}", error_of(&file[..file.len() - 1]));
        let mut short = file.clone();
        short[40] = 2;
        let text = "WAV: the data chunk should have 2 bytes, but 4 bytes after it are not chunks; the size is wrong";
        assert!(error_of(&short).starts_with(text), "{}", error_of(&short));
        let odd = wav(1, 2, 16, &[1, 0, 2, 0, 3, 0]);
        assert!(error_of(&odd).contains("1 samples of 4 bytes and 2 extra bytes"), "{}", error_of(&odd));
        assert!(error_of(&file[..30]).contains("chunk 'fmt ' at byte 12 should have 16 bytes, but only 10 are left"));
        assert!(error_of(&file[..36]).contains("there is no data chunk in the 36 bytes"));
    }

    #[test]
    fn file_written_to_a_pipe_is_read_to_its_end() {
        let mut file = wav(1, 1, 16, &[0, 0x40, 0, 0x20]);
        file[4..8].fill(0xff);
        file[40..44].fill(0xff);
        assert_eq!(decoded(&file, true).unwrap(), [0.5, 0.25]);
        file[4..8].fill(0);
        assert!(error_of(&file).contains("its header was never completed"));
    }

    #[test]
    fn chunks_after_the_samples_are_skipped() {
        let mut file = wav(1, 1, 8, &[128, 0, 255]);
        file.extend_from_slice(b"\0LIST\x04\0\0\0INFO");
        assert_eq!(decoded(&file, true).unwrap().len(), 3);
        file.extend_from_slice(b"data\x02\0\0\0ab");
        assert!(error_of(&file).contains("there are several data chunks"));
    }

    #[test]
    fn compressed_samples_are_rejected_by_name() {
        assert!(error_of(&wav(7, 1, 8, &[0])).starts_with("WAV: the samples are compressed as mu-law"));
        assert!(error_of(&wav(1, 1, 48, &[0; 6])).starts_with("WAV: a sample has 48 bits (format 1)"));
        assert!(error_of(&wav(1, 0, 8, &[])).starts_with("WAV: the file has 0 channels at a sample rate of 8000"));
    }
}
