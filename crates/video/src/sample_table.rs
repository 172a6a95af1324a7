//! The sample tables of a track that isn't fragmented.
//!
//! Source: ISO/IEC 14496-12, sections 8.6.1, 8.6.2 and 8.7.

use crate::boxes::{Fields, Mp4Box};
use crate::samples::{Sample, check_count};
use crate::unsupported;
use headrace_engine::error::Result;
use headrace_engine::tensor::allocate;
use std::iter::repeat_n;

/// Parses the `stbl` box. Returns the samples, and the number of their description.
pub fn parse(table: &Mp4Box<'_>, file_bytes: u64) -> Result<(Vec<Sample>, u32)> {
    let sizes = sizes(table, file_bytes)?;
    let no_memory = |refusal: allocate::Refusal| refusal.at("the samples of a video");
    let mut samples = allocate::room(sizes.len()).map_err(no_memory)?;
    let time_box = table.need(b"stts")?;
    let mut durations = runs(&time_box)?;
    let offset_box = table.find(b"ctts")?;
    let mut delays = offset_box.as_ref().map(runs).transpose()?;
    let mut decoded_at: i64 = 0;
    for num_bytes in sizes {
        let duration = durations.next().ok_or_else(|| time_box.damaged("has durations for only some samples"))?;
        // QuickTime files have negative numbers in boxes of version 0.
        let delay = delays.as_mut().and_then(Iterator::next).unwrap_or(0) as i32;
        let time = decoded_at.saturating_add(i64::from(delay));
        samples.push(Sample { offset: 0, num_bytes, duration, time, is_keyframe: false });
        decoded_at = decoded_at.saturating_add(i64::from(duration));
    }
    set_keyframes(table, &mut samples)?;
    let description = set_offsets(table, &mut samples)?;
    Ok((samples, description))
}

/// The size of each sample in bytes.
fn sizes(table: &Mp4Box<'_>, file_bytes: u64) -> Result<Vec<u32>> {
    let no_memory = |refusal: allocate::Refusal| refusal.at("the samples of a video");
    let (count, bits, bytes) = match table.find(b"stsz")? {
        Some(sizes) => {
            let (_, _, mut fields) = sizes.versioned()?;
            let (size, count) = (fields.u32()?, fields.u32()?);
            check_count(u64::from(count), file_bytes)?;
            if size > 0 {
                return allocate::copies(count as usize, size).map_err(no_memory);
            }
            (count, 32, fields.list(count, 4)?)
        }
        None => {
            let sizes = table.need(b"stz2")?;
            let (_, _, mut fields) = sizes.versioned()?;
            fields.take(3)?;
            let (bits, count) = (fields.u8()?, fields.u32()?);
            let num_bytes = match bits {
                4 => count.div_ceil(2) as usize,
                8 => count as usize,
                16 => (count as usize).saturating_mul(2),
                _ => return Err(sizes.damaged(format_args!("has {bits}-bit sizes, expected 4, 8 or 16"))),
            };
            (count, bits, fields.take(num_bytes)?)
        }
    };
    let size = |number: usize| match bits {
        4 => u32::from(bytes[number / 2] >> (4 * (1 - number % 2)) & 15),
        8 => u32::from(bytes[number]),
        16 => u32::from(u16::from_be_bytes([bytes[2 * number], bytes[2 * number + 1]])),
        _ => word(&bytes[4 * number..]),
    };
    allocate::collected(count as usize, (0..count as usize).map(size)).map_err(no_memory)
}

/// The first four-byte number.
fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}

/// The values of a box that stores how often each value is repeated.
fn runs<'a>(of: &Mp4Box<'a>) -> Result<impl Iterator<Item = u32> + use<'a>> {
    let (_, _, mut fields) = of.versioned()?;
    let count = fields.u32()?;
    let entries = fields.list(count, 8)?;
    Ok(entries.chunks_exact(8).flat_map(|entry| repeat_n(word(&entry[4..]), word(entry) as usize)))
}

/// Marks the keyframes. Without a list, all samples are keyframes.
fn set_keyframes(table: &Mp4Box<'_>, samples: &mut [Sample]) -> Result<()> {
    let Some(list) = table.find(b"stss")? else {
        samples.iter_mut().for_each(|sample| sample.is_keyframe = true);
        return Ok(());
    };
    let (_, _, mut fields) = list.versioned()?;
    let count = fields.u32()?;
    for entry in fields.list(count, 4)?.chunks_exact(4) {
        let number = word(entry);
        let sample = (number as usize).checked_sub(1).and_then(|index| samples.get_mut(index));
        let missing = || list.damaged(format_args!("refers to the sample {number}, which doesn't exist"));
        sample.ok_or_else(missing)?.is_keyframe = true;
    }
    Ok(())
}

/// Sets the positions of the samples, which are stored in chunks. Returns the number of their
/// description.
fn set_offsets(table: &Mp4Box<'_>, samples: &mut [Sample]) -> Result<u32> {
    let (chunk_box, size) = match table.find(b"stco")? {
        Some(offsets) => (offsets, 4),
        None => (table.need(b"co64")?, 8),
    };
    let (_, _, mut fields) = chunk_box.versioned()?;
    let count = fields.u32()?;
    let chunks = fields.list(count, size)?.chunks_exact(size);
    let run_box = table.need(b"stsc")?;
    let (_, _, mut fields) = run_box.versioned()?;
    let num_runs = fields.u32()?;
    let mut runs = fields.list(num_runs, 12)?.chunks_exact(12).peekable();
    let mut rest = samples.iter_mut();
    let (mut per_chunk, mut description) = (0, None);
    for (number, chunk) in (1_u32..).zip(chunks) {
        if rest.len() == 0 {
            break;
        }
        while let Some(run) = runs.next_if(|run| word(run) <= number) {
            per_chunk = word(&run[4..]);
            let described_by = word(&run[8..]);
            if *description.get_or_insert(described_by) != described_by {
                return Err(unsupported("the video track changes its codec or its configuration"));
            }
        }
        let mut offset = if size == 4 {
            u64::from(word(chunk))
        } else {
            u64::from(word(chunk)) << 32 | u64::from(word(&chunk[4..]))
        };
        for sample in rest.by_ref().take(per_chunk as usize) {
            sample.offset = offset;
            offset = sample.range().end;
        }
    }
    match rest.len() {
        0 => Ok(description.unwrap_or(1)),
        missing => Err(chunk_box.damaged(format_args!("has no positions for the last {missing} samples"))),
    }
}

/// Makes sure that the data of a track is in its own file.
pub fn check_own_data(media_information: &Mp4Box<'_>) -> Result<()> {
    let Some(information) = media_information.find(b"dinf")? else { return Ok(()) };
    let Some(references) = information.find(b"dref")? else { return Ok(()) };
    for reference in references.children_after(8) {
        let mut fields: Fields<'_> = reference?.fields();
        if fields.u32()? & 1 == 0 {
            return Err(unsupported("the pictures are in another file"));
        }
    }
    Ok(())
}
