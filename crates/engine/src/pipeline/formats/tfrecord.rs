//! TFRecord files, with every checksum checked. The format is that of [`crate::tfrecord`].

use super::chunks::{CHUNK_BYTES, Chunks, Found, Place, Split};
use super::source::Codec;
use crate::error::{Error, Result};
use crate::files::compression::Compression;
use crate::pipeline::block::FileOrigin;
use crate::pipeline::column::Span;
use crate::pipeline::nodes::files::{Format, Scan};
use crate::tfrecord::{FOOTER_BYTES, HEADER_BYTES, masked_crc32c};
use std::sync::Arc;

/// TFRecord files.
pub struct TfRecords {
    /// How the files are compressed.
    pub codec: Codec,
}

impl Format for TfRecords {
    fn open(&self, file: &Arc<FileOrigin>) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::open(file, self.codec, Splitter { name: Arc::clone(file), codec: self.codec })?))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }
}

struct Splitter {
    name: Arc<FileOrigin>,
    codec: Codec,
}

impl Split for Splitter {
    fn split(&mut self, chunk: &[u8], at: Place, is_last: bool) -> Found {
        let mut found = Found::default();
        loop {
            let place = Place {
                offset_bytes: at.offset_bytes + found.used as u64,
                record: at.record + found.spans.len() as u64,
            };
            let rest = &chunk[found.used..];
            match record(rest) {
                Ok(Some(length)) => {
                    found.spans.push(Span { start: found.used + HEADER_BYTES, length });
                    found.used += HEADER_BYTES + length + FOOTER_BYTES;
                }
                Ok(None) => {
                    found.error = (is_last && !rest.is_empty()).then(|| self.truncated(rest, place));
                    return found;
                }
                Err(part) => {
                    found.error = Some(self.corrupted(part, rest, place));
                    return found;
                }
            }
        }
    }
}

/// The length of the record at the beginning of `bytes`, `None` if its end is not there. Fails with the name of the part
/// whose checksum is wrong.
fn record(bytes: &[u8]) -> std::result::Result<Option<usize>, &'static str> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else { return Ok(None) };
    let Some((checksum, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    if masked_crc32c(length).to_le_bytes() != *checksum {
        return Err("length");
    }
    let Ok(length) = usize::try_from(u64::from_le_bytes(*length)) else { return Ok(None) };
    let Some((data, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    let Some(checksum) = rest.first_chunk::<FOOTER_BYTES>() else { return Ok(None) };
    if masked_crc32c(data).to_le_bytes() != *checksum {
        return Err("data");
    }
    Ok(Some(length))
}

impl Splitter {
    fn truncated(&self, rest: &[u8], place: Place) -> Error {
        let text = match rest.first_chunk::<8>() {
            Some(length) if rest.len() >= HEADER_BYTES => {
                let length = u64::from_le_bytes(*length);
                format!("it claims {length} bytes, past the end of the file")
            }
            _ => "it ends within its header".to_owned(),
        };
        self.damage("truncated", place, &format!("{text}. The file is cut short; copy it again."))
    }

    fn corrupted(&self, part: &str, rest: &[u8], place: Place) -> Error {
        let remedy = match (place.record, self.codec) {
            (0, Codec::Known(compression)) if Compression::guess(rest) != compression => {
                format!(". {}", compression.remedy(rest))
            }
            (0, _) => "; is it a TFRecord file? If it is, copy it again.".to_owned(),
            _ => "; copy the file again.".to_owned(),
        };
        let data_bytes = if part == "data" { HEADER_BYTES as u64 } else { 0 };
        let place = Place { offset_bytes: place.offset_bytes + data_bytes, ..place };
        self.damage("corrupted", place, &format!("the checksum of its {part} does not match{remedy}"))
    }

    /// `PATH: corrupted record at OFFSET (record N): TEXT`
    fn damage(&self, how: &str, place: Place, text: &str) -> Error {
        let name = self.name.name.text();
        let Place { offset_bytes, record } = place;
        Error::data_loss(format!("{name}: {how} record at {offset_bytes} (record {record}): {text}"))
    }
}
