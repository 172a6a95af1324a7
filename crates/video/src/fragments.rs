//! Movie fragments, which continue the tracks of a movie.
//!
//! Source: ISO/IEC 14496-12, section 8.8.

use crate::boxes::Mp4Box;
use crate::samples::{Sample, check_count};
use crate::track::Track;
use crate::unsupported;
use headrace_engine::error::Result;
use headrace_engine::tensor::allocate;

/// A flag of samples that are not keyframes.
const NOT_SYNC: u32 = 1 << 16;

/// The values of samples, unless a fragment overrides them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// The number of the track.
    pub track: u32,
    description: u32,
    duration: u32,
    num_bytes: u32,
    flags: u32,
}

/// Parses the `mvex` box.
pub fn defaults(extension: &Mp4Box<'_>) -> Result<Vec<Defaults>> {
    let mut defaults = Vec::new();
    for child in extension.children() {
        let child = child?;
        if child.kind == *b"trex" {
            let (_, _, mut fields) = child.versioned()?;
            let (track, description, duration) = (fields.u32()?, fields.u32()?, fields.u32()?);
            defaults.push(Defaults { track, description, duration, num_bytes: fields.u32()?, flags: fields.u32()? });
        }
    }
    Ok(defaults)
}

/// Adds the samples of a `moof` box to their track.
pub fn add(fragment: &Mp4Box<'_>, track: &mut Track, defaults: &[Defaults], file_bytes: u64) -> Result<()> {
    // Unless a track's position is stored, it follows the data of the track before it.
    let mut data_end = fragment.offset;
    for child in fragment.children() {
        let child = child?;
        if child.kind == *b"traf" {
            add_part(&child, fragment.offset, &mut data_end, track, defaults, file_bytes)?;
        }
    }
    Ok(())
}

fn add_part(
    part: &Mp4Box<'_>,
    fragment_offset: u64,
    data_end: &mut u64,
    track: &mut Track,
    defaults: &[Defaults],
    file_bytes: u64,
) -> Result<()> {
    let header = part.need(b"tfhd")?;
    let (_, flags, mut fields) = header.versioned()?;
    let id = fields.u32()?;
    let mut values = defaults.iter().find(|one| one.track == id).copied().unwrap_or_default();
    let base = match (flags & 1 != 0, flags & 0x2_0000 != 0) {
        (true, _) => fields.u64()?,
        (false, true) => fragment_offset,
        (false, false) => *data_end,
    };
    for (flag, value) in
        [(2, &mut values.description), (8, &mut values.duration), (16, &mut values.num_bytes), (32, &mut values.flags)]
    {
        if flags & flag != 0 {
            *value = fields.u32()?;
        }
    }
    let is_own = id == track.id;
    if is_own && values.description > 1 {
        return Err(unsupported("the video track changes its codec or its configuration"));
    }
    if let Some(time) = part.find(b"tfdt")?.filter(|_| is_own) {
        let (version, _, mut fields) = time.versioned()?;
        track.end = i64::try_from(fields.u32_or_u64(version == 1)?).unwrap_or(i64::MAX);
    }
    *data_end = base;
    for child in part.children() {
        let child = child?;
        if child.kind == *b"trun" {
            add_run(&child, base, data_end, track, values, is_own, file_bytes)?;
        }
    }
    Ok(())
}

/// Adds the samples of a `trun` box, if it is one of the track.
fn add_run(
    run: &Mp4Box<'_>,
    base: u64,
    data_end: &mut u64,
    track: &mut Track,
    values: Defaults,
    is_own: bool,
    file_bytes: u64,
) -> Result<()> {
    let (_, flags, mut fields) = run.versioned()?;
    let count = fields.u32()?;
    let present = |flag: u32| flags & flag != 0;
    if present(1) {
        *data_end = base.saturating_add_signed(i64::from(fields.i32()?));
    }
    let first_flags = if present(4) { Some(fields.u32()?) } else { None };
    let field_bytes = 4 * [0x100, 0x200, 0x400, 0x800].into_iter().filter(|flag| present(*flag)).count();
    let list = fields.list(count, field_bytes)?;
    if !is_own {
        let sizes = sizes_of(list, field_bytes, present(0x100), present(0x200));
        let num_bytes = sizes.unwrap_or(u64::from(values.num_bytes) * u64::from(count));
        *data_end = data_end.saturating_add(num_bytes);
        return Ok(());
    }
    check_count(track.samples.len() as u64 + u64::from(count), file_bytes)?;
    let no_memory = |refusal: allocate::Refusal| refusal.at("the samples of a video");
    allocate::grow(&mut track.samples, count as usize).map_err(no_memory)?;
    let mut rest = list.chunks_exact(4).map(|word| word.first_chunk().map_or(0, |word| u32::from_be_bytes(*word)));
    for number in 0..count {
        let mut value = |flag, default| if present(flag) { rest.next().unwrap_or(default) } else { default };
        let duration = value(0x100, values.duration);
        let num_bytes = value(0x200, values.num_bytes);
        let first = first_flags.filter(|_| number == 0);
        let sample_flags = first.unwrap_or(values.flags);
        let sample_flags = first.unwrap_or(value(0x400, sample_flags));
        let delay = value(0x800, 0) as i32;
        let time = track.end.saturating_add(i64::from(delay));
        let is_keyframe = sample_flags & NOT_SYNC == 0;
        let sample = Sample { offset: *data_end, num_bytes, duration, time, is_keyframe };
        *data_end = sample.range().end;
        track.end = track.end.saturating_add(i64::from(duration));
        track.samples.push(sample);
    }
    Ok(())
}

/// The total size of a run's samples, if it stores sizes.
fn sizes_of(list: &[u8], entry_bytes: usize, has_duration: bool, has_size: bool) -> Option<u64> {
    let first = if has_duration { 4 } else { 0 };
    let size =
        |entry: &[u8]| entry.get(first..).and_then(<[u8]>::first_chunk).map_or(0, |size| u32::from_be_bytes(*size));
    has_size.then(|| list.chunks_exact(entry_bytes).map(|entry| u64::from(size(entry))).sum())
}
