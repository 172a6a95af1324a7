//! The codec of a track, from its sample descriptions.
//!
//! Source: ISO/IEC 14496-12, section 12.1; ISO/IEC 14496-1, section 7.2.6 (descriptors of MPEG-4).

use crate::boxes::{Fields, Mp4Box};
use crate::unsupported;
use headrace_engine::error::Result;

/// The total length of the fields that describe a picture.
const FIELDS_BYTES: usize = 78;

/// A codec and the configuration of its decoder.
#[derive(Clone, Debug)]
pub struct SampleEntry {
    /// The name of the codec in FFmpeg.
    pub codec: &'static str,
    /// The decoder's configuration.
    pub config: Vec<u8>,
    /// The size of an encoded picture in pixels.
    pub width: u16,
    /// See `width`.
    pub height: u16,
}

/// Parses the description with this number, which counts from 1.
pub fn parse(descriptions: &Mp4Box<'_>, number: u32) -> Result<SampleEntry> {
    let entry = descriptions.children_after(8).nth(number.saturating_sub(1) as usize);
    let missing = || descriptions.damaged(format_args!("has no sample description {number}"));
    let entry = entry.ok_or_else(missing)??;
    let mut fields = entry.fields();
    fields.take(24)?;
    let (width, height) = (fields.u16()?, fields.u16()?);
    let config = |kind: &[u8; 4]| -> Result<Vec<u8>> {
        let find = || entry.children_after(FIELDS_BYTES).find(|one| one.as_ref().map_or(true, |one| one.kind == *kind));
        Ok(find().transpose()?.map(|found| found.body.to_vec()).unwrap_or_default())
    };
    let (codec, config) = match &entry.kind {
        b"avc1" | b"avc3" => ("h264", config(b"avcC")?),
        b"hvc1" | b"hev1" => ("hevc", config(b"hvcC")?),
        b"av01" => ("av1", config(b"av1C")?),
        b"vp09" => ("vp9", Vec::new()),
        b"vp08" => ("vp8", Vec::new()),
        b"mp4v" => mpeg4(&entry)?,
        b"jpeg" | b"mjpa" => ("mjpeg", Vec::new()),
        b"png " => ("png", Vec::new()),
        b"encv" => return Err(unsupported("the video track is encrypted, expected one without a key")),
        other => {
            let name = other.escape_ascii();
            let text = format!(
                "the video track has the codec '{name}', expected H.264, HEVC, AV1, VP8, VP9, MPEG-1, MPEG-2, MPEG-4, \
                 JPEG or PNG"
            );
            return Err(unsupported(text));
        }
    };
    Ok(SampleEntry { codec, config, width, height })
}

/// The codec and the configuration in a `esds` box.
fn mpeg4(entry: &Mp4Box<'_>) -> Result<(&'static str, Vec<u8>)> {
    let stream = entry.children_after(FIELDS_BYTES).find(|one| one.as_ref().map_or(true, |one| one.kind == *b"esds"));
    let stream = stream.ok_or_else(|| entry.damaged("has no 'esds' box"))??;
    let (_, _, mut fields) = stream.versioned()?;
    let (tag, _) = descriptor(&mut fields)?;
    if tag == 3 {
        fields.take(2)?;
        let flags = fields.u8()?;
        let mut skipped = 0;
        skipped += if flags & 0x80 != 0 { 2 } else { 0 };
        skipped += if flags & 0x20 != 0 { 2 } else { 0 };
        if flags & 0x40 != 0 {
            skipped += usize::from(fields.u8()?);
        }
        fields.take(skipped)?;
        descriptor(&mut fields)?;
    }
    let kind = fields.u8()?;
    fields.take(12)?;
    let codec = match kind {
        0x20 => "mpeg4",
        0x60..=0x65 => "mpeg2video",
        0x6a => "mpeg1video",
        0x6c => "mjpeg",
        0x6d => "png",
        _ => return Err(unsupported(format_args!("the video track has the MPEG-4 object type {kind:#x}"))),
    };
    let config = match descriptor(&mut fields) {
        Ok((5, length)) => fields.take(length)?.to_vec(),
        _ => Vec::new(),
    };
    Ok((codec, config))
}

/// Reads the tag and the length of a descriptor.
fn descriptor(fields: &mut Fields<'_>) -> Result<(u8, usize)> {
    let tag = fields.u8()?;
    let mut length = 0;
    for _ in 0..4 {
        let byte = fields.u8()?;
        length = length << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok((tag, length))
}
