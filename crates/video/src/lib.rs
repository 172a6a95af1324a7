//! Video files: the frames of their first video track, and the bytes of each frame. Nothing is
//! decoded here.

mod boxes;
mod data;
mod ebml;
mod edits;
mod fragments;
mod matroska;
mod movie;
mod sample_entry;
mod sample_table;
mod samples;
mod stored;
mod track;

pub use data::VideoData;
pub use samples::{Frame, Sample};
pub use stored::KIND;

use headrace_engine::error::{Error, Result};
use std::fmt::Display;
use std::ops::Range;

/// FFmpeg's names of the codecs. Index files store a codec's position in this list.
const CODECS: [&str; 10] = ["h264", "hevc", "av1", "vp9", "vp8", "mpeg4", "mpeg2video", "mpeg1video", "mjpeg", "png"];
/// The first bytes of Matroska and WebM files.
const MATROSKA: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];
/// Samples that are at most this far apart are read together.
const GAP_BYTES: u64 = 64 << 10;

/// The video track of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Video {
    /// The name of the codec in FFmpeg.
    pub codec: &'static str,
    /// The decoder's configuration, such as the body of `avcC`.
    pub config: Vec<u8>,
    /// The size of an encoded picture in pixels, before it is rotated.
    pub width: u16,
    /// See `width`.
    pub height: u16,
    /// How far to rotate each picture clockwise, in degrees: 0, 90, 180 or 270.
    pub rotation: u16,
    /// The number of time units per second.
    pub timescale: u32,
    /// The encoded pictures, in decoding order.
    pub samples: Vec<Sample>,
    /// The pictures that a player shows, in order.
    pub frames: Vec<Frame>,
}

impl Video {
    /// Reads the sample tables of a file. Errors don't name the file.
    pub fn read(data: &VideoData) -> Result<Self> {
        let start = data.read(0..data.num_bytes().min(12))?;
        if start.starts_with(&MATROSKA) {
            return matroska::read(data);
        }
        match start.get(4..8) {
            Some(b"ftyp" | b"moov" | b"mdat" | b"free" | b"skip" | b"wide" | b"pnot" | b"styp" | b"uuid") => {
                movie::read(data)
            }
            _ => Err(unsupported("the file starts like neither MP4, MOV, Matroska nor WebM")),
        }
    }

    /// The sample from which to decode each sample.
    pub fn starts(&self) -> Vec<u32> {
        samples::starts(&self.samples)
    }

    /// Reads the bytes of samples, in decoding order.
    pub fn read_samples(&self, data: &VideoData, samples: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let numbers = samples.clone();
        let samples = self
            .samples
            .get(samples)
            .ok_or_else(|| Error::internal(format!("samples {numbers:?} are out of range")))?;
        let ranges: Vec<_> = samples.iter().map(Sample::range).collect();
        if let Some((number, range)) = numbers.zip(&ranges).find(|(_, range)| range.end > data.num_bytes()) {
            let frame = self.frames.iter().position(|frame| frame.sample as usize == number);
            let which = frame.map_or("a picture that no frame shows".to_owned(), |frame| format!("frame {frame}"));
            let (end, num_bytes) = (range.end, data.num_bytes());
            let text = format!("{which} ends at byte {end}, past the end of the file ({num_bytes} bytes)");
            return Err(damaged(text));
        }
        let mut contents = Vec::new();
        let mut rest = &ranges[..];
        while let [first, ..] = rest {
            let (count, end) = together(rest);
            let bytes = data.read(first.start..end)?;
            let part = |range: &Range<u64>| {
                let from = (range.start - first.start) as usize;
                bytes[from..from + (range.end - range.start) as usize].to_vec()
            };
            contents.extend(rest[..count].iter().map(part));
            rest = &rest[count..];
        }
        Ok(contents)
    }
}

/// How many of the first ranges to read together, and where they end.
fn together(ranges: &[Range<u64>]) -> (usize, u64) {
    let mut end = ranges[0].end;
    for (count, range) in ranges.iter().enumerate() {
        if range.start < ranges[0].start || range.start > end.saturating_add(GAP_BYTES) {
            return (count, end);
        }
        end = end.max(range.end);
    }
    (ranges.len(), end)
}

/// The error for a damaged file.
fn damaged(text: impl Display) -> Error {
    Error::data_loss(format!("{text}. Copy the file again, or skip it"))
}

/// The error for a file that cannot be read.
fn unsupported(text: impl Display) -> Error {
    Error::invalid_argument(format!("{text}. Convert it, for example with `ffmpeg -i FILE -c:v libx264 NEW.mp4`"))
}
