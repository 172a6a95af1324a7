//! Reads the boxes of an MP4 or QuickTime file.

use crate::boxes::{HEADER_BYTES, Header, Mp4Box};
use crate::data::VideoData;
use crate::fragments::{self, Defaults};
use crate::samples::Sample;
use crate::track::{self, Track};
use crate::{Video, damaged, edits, unsupported};
use headrace_engine::error::Result;

/// A movie and its first video track.
struct Movie {
    timescale: u32,
    track: Track,
    defaults: Vec<Defaults>,
}

/// Reads the tables of a file.
pub fn read(data: &VideoData) -> Result<Video> {
    let num_bytes = data.num_bytes();
    let mut movie: Option<Movie> = None;
    let mut offset = 0;
    while num_bytes - offset >= 8 {
        let start = data.read(offset..num_bytes.min(offset + HEADER_BYTES))?;
        let header =
            Header::parse(&start).ok_or_else(|| damaged(format_args!("the box at byte {offset} has a wrong size")))?;
        let end = header.num_bytes.map_or(num_bytes, |size| offset.saturating_add(size));
        let is_table = matches!(&header.kind, b"moov" | b"moof");
        if is_table && end > num_bytes {
            let kind = header.kind.escape_ascii();
            let text = format!("the '{kind}' box at byte {offset} ends at byte {end}, past the end of the file");
            return Err(damaged(format_args!("{text} ({num_bytes} bytes)")));
        }
        if is_table {
            let body_offset = offset + header.header_bytes;
            let body = data.read(body_offset..end)?;
            let table = Mp4Box { kind: header.kind, offset, body: &body, body_offset };
            match &mut movie {
                Some(movie) if header.kind == *b"moof" => {
                    fragments::add(&table, &mut movie.track, &movie.defaults, num_bytes)?;
                }
                None if header.kind == *b"moof" => return Err(table.damaged("comes before the 'moov' box")),
                movie => *movie = Some(parse(&table, num_bytes)?),
            }
        }
        offset = end.min(num_bytes);
    }
    let movie = movie.ok_or_else(|| damaged("the file has no 'moov' box, so it is cut short or was never finished"))?;
    finished(movie)
}

/// Parses the `moov` box.
fn parse(movie: &Mp4Box<'_>, file_bytes: u64) -> Result<Movie> {
    if movie.find(b"cmov")?.is_some() {
        return Err(unsupported("the tables of the movie are compressed"));
    }
    let (version, _, mut fields) = movie.need(b"mvhd")?.versioned()?;
    fields.take(if version == 1 { 16 } else { 8 })?;
    let timescale = fields.u32()?;
    let mut first: Option<Track> = None;
    for child in movie.children() {
        let child = child?;
        if child.kind != *b"trak" || first.as_ref().is_some_and(|track| track.is_enabled) {
            continue;
        }
        match track::parse(&child, file_bytes)? {
            Some(track) if first.is_none() || track.is_enabled => first = Some(track),
            _ => {}
        }
    }
    let track = first.ok_or_else(|| unsupported("the file has no video track"))?;
    let defaults = movie.find(b"mvex")?.as_ref().map(fragments::defaults).transpose()?.unwrap_or_default();
    Ok(Movie { timescale, track, defaults })
}

fn finished(Movie { timescale, track, .. }: Movie) -> Result<Video> {
    let Track { rotation, entry, samples, .. } = track;
    let frames = edits::frames(&samples, &track.edits, track.timescale, timescale)?;
    if frames.is_empty() {
        let what =
            if samples.iter().any(|sample: &Sample| sample.num_bytes > 0) { "shows no frames" } else { "is empty" };
        return Err(damaged(format_args!("the video track {what}")));
    }
    Ok(Video {
        codec: entry.codec,
        config: entry.config,
        width: entry.width,
        height: entry.height,
        rotation,
        timescale: track.timescale,
        samples,
        frames,
    })
}
