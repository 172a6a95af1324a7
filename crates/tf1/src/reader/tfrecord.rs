//! TFRecord files. All checksums are verified. A key is `PATH:OFFSET`, with the record's offset
//! in the uncompressed file.
//!
//! Source: `tensorflow/core/lib/io/record_reader.cc` in TensorFlow 1.15.

use super::block::BlockFile;
use super::format::{Format, Position, Record, RecordFile};
use bytes::Bytes;
use headrace_engine::checksum::masked_crc32c;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::tfrecord::{FOOTER_BYTES, HEADER_BYTES};

/// TFRecord files, either uncompressed or compressed as a whole.
pub struct TfRecordFormat {
    /// The compression of the files.
    pub compression: Compression,
}

impl Format for TfRecordFormat {
    fn class(&self) -> &'static str {
        "TFRecordReader"
    }

    fn open(&self, name: &FileName, at: Option<Position>) -> Result<Box<dyn RecordFile>> {
        self.begin(BlockFile::open(name, self.compression, self.numbering())?, at)
    }
}

impl TfRecordFormat {
    /// Seeks to the first record, or to a saved position.
    pub(super) fn begin(&self, mut block: BlockFile, at: Option<Position>) -> Result<Box<dyn RecordFile>> {
        if let Some(position) = at {
            block.seek(position.offset_bytes)?;
        }
        Ok(Box::new(TfRecordFile { block, compression: self.compression }))
    }
}

struct TfRecordFile {
    block: BlockFile,
    compression: Compression,
}

impl RecordFile for TfRecordFile {
    fn next(&mut self, number: u64) -> Result<Option<Record>> {
        self.block.begin(number);
        let start = self.block.offset_bytes();
        // As in TensorFlow, a tail that is too short for a header ends the file silently.
        let Some(header) = self.block.fill(HEADER_BYTES)?.first_chunk::<HEADER_BYTES>().copied() else {
            return Ok(None);
        };
        let (length, checksum) = header.split_at(8);
        if masked_crc32c(length).to_le_bytes() != checksum {
            return Err(self.corrupted(start, number, "length", &header));
        }
        let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
        let num_bytes = length.saturating_add((HEADER_BYTES + FOOTER_BYTES) as u64);
        if let Some(record) = self.block.whole(num_bytes)?
            && let Some((value, checksum)) = record[HEADER_BYTES..].split_last_chunk::<FOOTER_BYTES>()
        {
            if masked_crc32c(value).to_le_bytes() != *checksum {
                return Err(self.corrupted(start + HEADER_BYTES as u64, number, "data", &header));
            }
            let value = Bytes::copy_from_slice(value);
            self.block.consume(num_bytes as usize);
            let next_bytes = self.block.offset_bytes();
            return Ok(Some(Record { number: Some(start), value, offset_bytes: start, next_bytes }));
        }
        // The record is larger than a block, or the file is too short for it.
        self.block.consume(HEADER_BYTES);
        let Some(value) = self.block.take(length)? else { return Err(self.truncated(start, number, length)) };
        let Some(checksum) = self.block.fill(FOOTER_BYTES)?.first_chunk::<FOOTER_BYTES>().copied() else {
            return Err(self.truncated(start, number, length));
        };
        if masked_crc32c(&value).to_le_bytes() != checksum {
            return Err(self.corrupted(start + HEADER_BYTES as u64, number, "data", &header));
        }
        self.block.consume(FOOTER_BYTES);
        let next_bytes = self.block.offset_bytes();
        Ok(Some(Record { number: Some(start), value, offset_bytes: start, next_bytes }))
    }

    fn may_wait(&self) -> bool {
        self.block.may_wait()
    }
}

impl TfRecordFile {
    fn truncated(&self, start: u64, number: u64, length: u64) -> Error {
        let size = match self.block.length_bytes() {
            Ok(Some(size)) => format!("{size} bytes"),
            Ok(None) => "compressed".to_owned(),
            Err(error) => return error,
        };
        let text =
            format!("the header claims {length} bytes, past the end of the file ({size}). The file is cut short");
        self.damage("truncated", start, number, &format!("{text}; copy it again."))
    }

    /// `what` is the part of the record whose checksum is wrong: its length or its data.
    fn corrupted(&self, offset: u64, number: u64, what: &str, header: &[u8]) -> Error {
        let is_compressed = Compression::guess(header) != Compression::None;
        let remedy = match (number, self.compression) {
            (0, Compression::None) if is_compressed => format!(". {}", Compression::None.remedy(header)),
            (0, Compression::None) => "; is it a TFRecord file, and uncompressed? If it is, copy it again.".to_owned(),
            (0, _) => "; is it a TFRecord file? If it is, copy it again.".to_owned(),
            _ => "; copy the file again.".to_owned(),
        };
        self.damage("corrupted", offset, number, &format!("the checksum of its {what} does not match{remedy}"))
    }

    /// `PATH: corrupted record at OFFSET (record N): TEXT`
    fn damage(&self, how: &str, offset: u64, number: u64, text: &str) -> Error {
        Error::data_loss(format!("{}: {how} record at {offset} (record {number}): {text}", self.block.name().text()))
    }
}
