//! The tracks of a movie.
//!
//! Source: ISO/IEC 14496-12, sections 8.3, 8.4 and 8.8.3.

use crate::boxes::Mp4Box;
use crate::edits::{self, Edit};
use crate::sample_entry::{self, SampleEntry};
use crate::sample_table;
use crate::samples::Sample;
use crate::unsupported;
use headrace_engine::error::Result;

/// The number that represents 1 in a matrix.
const ONE: i32 = 1 << 16;

/// A video track.
#[derive(Debug)]
pub struct Track {
    /// Its number, which fragments refer to.
    pub id: u32,
    /// Whether players show it.
    pub is_enabled: bool,
    /// See [`crate::Video`].
    pub rotation: u16,
    /// The number of time units per second.
    pub timescale: u32,
    /// The parts that players show.
    pub edits: Vec<Edit>,
    /// The codec.
    pub entry: SampleEntry,
    /// The samples so far.
    pub samples: Vec<Sample>,
    /// Where the next fragment begins, in time units.
    pub end: i64,
}

/// Parses the `trak` box. Returns `None` if it is not a video track.
pub fn parse(track: &Mp4Box<'_>, file_bytes: u64) -> Result<Option<Track>> {
    let media = track.need(b"mdia")?;
    let (_, _, mut fields) = media.need(b"hdlr")?.versioned()?;
    fields.take(4)?;
    if fields.take(4)? != b"vide" {
        return Ok(None);
    }
    let (version, _, mut fields) = media.need(b"mdhd")?.versioned()?;
    fields.take(if version == 1 { 16 } else { 8 })?;
    let timescale = fields.u32()?;
    if timescale == 0 {
        return Err(media.damaged("has 0 time units per second"));
    }
    let information = media.need(b"minf")?;
    sample_table::check_own_data(&information)?;
    let table = information.need(b"stbl")?;
    let (samples, description) = sample_table::parse(&table, file_bytes)?;
    let entry = sample_entry::parse(&table.need(b"stsd")?, description)?;
    let (version, flags, mut fields) = track.need(b"tkhd")?.versioned()?;
    let is_long = version == 1;
    fields.take(if is_long { 16 } else { 8 })?;
    let id = fields.u32()?;
    fields.take(if is_long { 12 } else { 8 } + 16)?;
    let mut matrix = [0; 9];
    for number in &mut matrix {
        *number = fields.i32()?;
    }
    let edits = match track.find(b"edts")? {
        Some(list) => list.find(b"elst")?.as_ref().map(edits::parse).transpose()?.unwrap_or_default(),
        None => Vec::new(),
    };
    let end = samples.iter().fold(0_i64, |end, sample| end.saturating_add(i64::from(sample.duration)));
    let is_enabled = flags & 1 == 1;
    Ok(Some(Track { id, is_enabled, rotation: rotation(matrix)?, timescale, edits, entry, samples, end }))
}

/// The rotation of a matrix in degrees, clockwise.
fn rotation([a, b, _, c, d, ..]: [i32; 9]) -> Result<u16> {
    match (a.signum(), b.signum(), c.signum(), d.signum()) {
        // Some programs write zeros.
        (1, 0, 0, 1) | (0, 0, 0, 0) => Ok(0),
        (0, 1, -1, 0) => Ok(90),
        (-1, 0, 0, -1) => Ok(180),
        (0, -1, 1, 0) => Ok(270),
        _ => {
            let [a, b, c, d] = [a, b, c, d].map(|number| f64::from(number) / f64::from(ONE));
            let text = "expected a rotation by 0, 90, 180 or 270 degrees";
            Err(unsupported(format_args!("the video track is transformed by the matrix [{a} {b}; {c} {d}], {text}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn track_matrices_are_read_as_rotations() {
        let of = |a, b, c, d| rotation([a * ONE, b * ONE, 0, c * ONE, d * ONE, 0, 0, 0, 1 << 30]);
        let rotations = [of(1, 0, 0, 1), of(0, 1, -1, 0), of(-1, 0, 0, -1), of(0, -1, 1, 0)];
        assert_eq!(rotations.map(Result::unwrap), [0, 90, 180, 270]);
        assert!(of(-1, 0, 0, 1).unwrap_err().message().contains("matrix [-1 0; 0 1]"));
    }
}
