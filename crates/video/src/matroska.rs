//! Matroska and WebM files.
//!
//! Source: RFC 9559 (Matroska).

use crate::data::VideoData;
use crate::ebml::{Element, Reader, number};
use crate::samples::{Frame, Sample};
use crate::{Video, damaged, unsupported};
use headrace_engine::error::Result;
use headrace_engine::tensor::allocate;

const SEGMENT: u32 = 0x1853_8067;
const INFO: u32 = 0x1549_a966;
const TIMESTAMP_SCALE: u32 = 0x2a_d7b1;
const TRACKS: u32 = 0x1654_ae6b;
const TRACK_ENTRY: u32 = 0xae;
const TRACK_NUMBER: u32 = 0xd7;
const TRACK_TYPE: u32 = 0x83;
const DEFAULT_DURATION: u32 = 0x23_e383;
const CODEC_ID: u32 = 0x86;
const CODEC_PRIVATE: u32 = 0x63a2;
const CONTENT_ENCODINGS: u32 = 0x6d80;
const VIDEO: u32 = 0xe0;
const PIXEL_WIDTH: u32 = 0xb0;
const PIXEL_HEIGHT: u32 = 0xba;
const PROJECTION: u32 = 0x7670;
const POSE_ROLL: u32 = 0x7675;
const CLUSTER: u32 = 0x1f43_b675;
const TIMESTAMP: u32 = 0xe7;
const SIMPLE_BLOCK: u32 = 0xa3;
const BLOCK_GROUP: u32 = 0xa0;
const BLOCK: u32 = 0xa1;
const BLOCK_DURATION: u32 = 0x9b;
const REFERENCE_BLOCK: u32 = 0xfb;

/// Units of time per second: nanoseconds.
const TIMESCALE: u32 = 1_000_000_000;
/// The duration of a timestamp's unit in nanoseconds, unless a file stores another one.
const DEFAULT_SCALE: u64 = 1_000_000;
/// The type of video tracks.
const VIDEO_TRACK: u64 = 1;
/// The number of bytes before the data of a block, with a track number of up to 8 bytes, plus the
/// first byte of the data.
const BLOCK_HEADER_BYTES: u64 = 8 + 3 + 1;

/// A video track.
struct Track {
    number: u64,
    codec: &'static str,
    config: Vec<u8>,
    width: u16,
    height: u16,
    /// How long a picture is shown, in nanoseconds; 0 if unknown.
    duration: u64,
}

/// The pictures of a track so far.
struct Pictures {
    samples: Vec<Sample>,
    is_shown: Vec<bool>,
}

/// Reads the positions of a file's pictures.
pub fn read(data: &VideoData) -> Result<Video> {
    let mut reader = Reader::new(data);
    let mut segment = reader.element(0)?;
    while segment.id != SEGMENT {
        let next = segment.end.filter(|end| *end < reader.num_bytes());
        segment = reader.element(next.ok_or_else(|| damaged("the file has no segment"))?)?;
    }
    let end = segment.end.unwrap_or(u64::MAX).min(reader.num_bytes());
    let mut scale = DEFAULT_SCALE;
    let mut track = None;
    let mut pictures = Pictures { samples: Vec::new(), is_shown: Vec::new() };
    let mut cluster_time = 0;
    let mut offset = segment.start;
    while offset < end {
        let element = reader.element(offset)?;
        // The elements of a cluster are read as if they came after it. Its size may be unknown.
        let next = if element.id == CLUSTER { Some(element.start) } else { element.end };
        let next = next.ok_or_else(|| element.damaged("has no size"))?;
        if next > reader.num_bytes() && !matches!(element.id, SIMPLE_BLOCK | BLOCK_GROUP) {
            return Err(element.damaged("ends past the end of the file"));
        }
        match element.id {
            INFO => {
                for child in reader.children(&element)? {
                    if child.id == TIMESTAMP_SCALE {
                        scale = reader.unsigned(&child)?;
                    }
                }
            }
            TRACKS if track.is_none() => track = video_track(&mut reader, &element)?,
            TIMESTAMP => cluster_time = reader.unsigned(&element)?,
            SIMPLE_BLOCK | BLOCK_GROUP => {
                let track = track.as_ref().ok_or_else(|| unsupported("the file has no video track"))?;
                add(&mut reader, &element, track, cluster_time, scale, &mut pictures)?;
            }
            _ => {}
        }
        offset = next;
    }
    finished(track.ok_or_else(|| unsupported("the file has no video track"))?, pictures)
}

/// The first video track.
fn video_track(reader: &mut Reader<'_>, tracks: &Element) -> Result<Option<Track>> {
    for entry in reader.children(tracks)? {
        if entry.id != TRACK_ENTRY {
            continue;
        }
        let mut track = Track { number: 0, codec: "", config: Vec::new(), width: 0, height: 0, duration: 0 };
        let (mut kind, mut codec, mut is_encoded, mut is_rotated) = (0, Vec::new(), false, false);
        for child in reader.children(&entry)? {
            match child.id {
                TRACK_NUMBER => track.number = reader.unsigned(&child)?,
                TRACK_TYPE => kind = reader.unsigned(&child)?,
                DEFAULT_DURATION => track.duration = reader.unsigned(&child)?,
                CODEC_ID => codec = reader.content(&child)?.to_vec(),
                CODEC_PRIVATE => track.config = reader.content(&child)?.to_vec(),
                CONTENT_ENCODINGS => is_encoded = true,
                VIDEO => {
                    for field in reader.children(&child)? {
                        match field.id {
                            PIXEL_WIDTH => track.width = reader.unsigned(&field)? as u16,
                            PIXEL_HEIGHT => track.height = reader.unsigned(&field)? as u16,
                            PROJECTION => is_rotated |= has_roll(reader, &field)?,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        if kind != VIDEO_TRACK {
            continue;
        }
        if is_encoded {
            return Err(unsupported("the video track is additionally compressed or encrypted"));
        }
        if is_rotated {
            return Err(unsupported("the video track is rotated, which is only supported in MP4 and MOV files"));
        }
        track.codec = codec_of(&codec)?;
        return Ok(Some(track));
    }
    Ok(None)
}

fn has_roll(reader: &mut Reader<'_>, projection: &Element) -> Result<bool> {
    for field in reader.children(projection)? {
        // The number is a float. Only 0 and -0 have no other bits.
        if field.id == POSE_ROLL && reader.unsigned(&field)? << 1 != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// FFmpeg's name of a codec.
fn codec_of(id: &[u8]) -> Result<&'static str> {
    // Some files end strings with zeros.
    let id = id.split(|byte| *byte == 0).next().unwrap_or_default();
    match id {
        b"V_MPEG4/ISO/AVC" => Ok("h264"),
        b"V_MPEGH/ISO/HEVC" => Ok("hevc"),
        b"V_AV1" => Ok("av1"),
        b"V_VP8" => Ok("vp8"),
        b"V_VP9" => Ok("vp9"),
        b"V_MPEG4/ISO/SP" | b"V_MPEG4/ISO/ASP" | b"V_MPEG4/ISO/AP" => Ok("mpeg4"),
        b"V_MPEG2" => Ok("mpeg2video"),
        b"V_MPEG1" => Ok("mpeg1video"),
        b"V_MJPEG" => Ok("mjpeg"),
        other => {
            let name = other.escape_ascii();
            let text = format!(
                "the video track has the codec '{name}', expected H.264, HEVC, AV1, VP8, VP9, MPEG-1, MPEG-2, MPEG-4 \
                 or JPEG"
            );
            Err(unsupported(text))
        }
    }
}

/// Adds the picture of a block, if it is one of the track.
fn add(
    reader: &mut Reader<'_>,
    element: &Element,
    track: &Track,
    cluster_time: u64,
    scale: u64,
    pictures: &mut Pictures,
) -> Result<()> {
    let (mut block, mut is_keyframe, mut duration) = (*element, None, track.duration);
    if element.id == BLOCK_GROUP {
        let children = reader.children(element)?;
        let inner = children.iter().find(|child| child.id == BLOCK);
        block = *inner.ok_or_else(|| element.damaged("has no block"))?;
        is_keyframe = Some(!children.iter().any(|child| child.id == REFERENCE_BLOCK));
        if let Some(child) = children.iter().find(|child| child.id == BLOCK_DURATION) {
            duration = reader.unsigned(child)?.saturating_mul(scale);
        }
    }
    let header = reader.peek(block.start, BLOCK_HEADER_BYTES)?;
    let Some((Some(number), number_bytes)) = number(&header) else {
        return Err(block.damaged("has no track number"));
    };
    if number != track.number {
        return Ok(());
    }
    let too_short = || block.damaged("is too short");
    let [high, low, flags, rest @ ..] = &header[number_bytes..] else { return Err(too_short()) };
    if flags & 0x06 != 0 {
        return Err(unsupported("the video track stores several pictures in one block"));
    }
    let offset = block.start + number_bytes as u64 + 3;
    let num_bytes = block.end.and_then(|end| end.checked_sub(offset)).and_then(|count| u32::try_from(count).ok());
    let num_bytes = num_bytes.ok_or_else(too_short)?;
    let units = (cluster_time as i64).saturating_add(i64::from(i16::from_be_bytes([*high, *low])));
    let time = units.saturating_mul(i64::try_from(scale).unwrap_or(i64::MAX));
    let duration = u32::try_from(duration).unwrap_or(u32::MAX);
    // VP8 stores whether a picture is shown in the picture itself.
    let is_hidden = flags & 0x08 != 0 || (track.codec == "vp8" && rest.first().is_some_and(|byte| byte & 0x10 == 0));
    let no_memory = |refusal: allocate::Refusal| refusal.at("the samples of a video");
    allocate::grow(&mut pictures.samples, 1).map_err(no_memory)?;
    allocate::grow(&mut pictures.is_shown, 1).map_err(no_memory)?;
    let is_keyframe = is_keyframe.unwrap_or(flags & 0x80 != 0);
    pictures.samples.push(Sample { offset, num_bytes, duration, time, is_keyframe });
    pictures.is_shown.push(!is_hidden);
    Ok(())
}

fn finished(track: Track, Pictures { mut samples, is_shown }: Pictures) -> Result<Video> {
    let shown = (0..).zip(&samples).zip(&is_shown).filter(|(_, is_shown)| **is_shown);
    let frames = shown.map(|((sample, one), _): ((u32, &Sample), _)| Frame { sample, time: one.time });
    let no_memory = |refusal: allocate::Refusal| refusal.at("the frames of a video");
    let mut frames = allocate::gathered(frames).map_err(no_memory)?;
    frames.sort_by_key(|frame| frame.time);
    let Some(last) = frames.last() else {
        return Err(damaged("the video track is empty, so the file is cut short or was never finished"));
    };
    let last_sample = &mut samples[last.sample as usize];
    if last_sample.duration == 0 {
        // It has the duration of the previous frame.
        let before = frames.len().checked_sub(2).map_or(0, |index| frames[index].time);
        last_sample.duration = u32::try_from(last.time - before).unwrap_or(0);
    }
    let Track { codec, config, width, height, .. } = track;
    Ok(Video { codec, config, width, height, rotation: 0, timescale: TIMESCALE, samples, frames })
}
