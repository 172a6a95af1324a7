//! Fixed-length records. A key is `PATH:NUMBER`, counting from 0.
//!
//! Source: `tf.FixedLengthRecordReader` in TensorFlow 1.15.

use super::block::BlockFile;
use super::format::{Format, Position, Record, RecordFile};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::tensor::allocate;

/// Files with a header, records of equal length and a footer.
#[derive(Clone, Copy)]
pub struct FixedLengthFormat {
    record_bytes: usize,
    header_bytes: u64,
    footer_bytes: usize,
    /// The distance between the starts of consecutive records.
    hop_bytes: u64,
    compression: Compression,
}

impl FixedLengthFormat {
    /// Fails if a size is invalid. If `hop_bytes` is 0, records directly follow each other.
    pub fn new(
        record_bytes: i64,
        header_bytes: i64,
        footer_bytes: i64,
        hop_bytes: i64,
        compression: Compression,
    ) -> Result<Self> {
        let sizes = [
            ("header_bytes", header_bytes),
            ("record_bytes", record_bytes),
            ("footer_bytes", footer_bytes),
            ("hop_bytes", hop_bytes),
        ];
        if let Some((name, size)) = sizes.into_iter().find(|(_, size)| *size < 0) {
            return Err(Error::invalid_argument(format!("{name} must be >= 0 not {size}")));
        }
        let hop_bytes = if hop_bytes == 0 { record_bytes } else { hop_bytes } as u64;
        let [record_bytes, footer_bytes] = [record_bytes as usize, footer_bytes as usize];
        Ok(Self { record_bytes, header_bytes: header_bytes as u64, footer_bytes, hop_bytes, compression })
    }
}

impl FixedLengthFormat {
    fn record_offset(&self, number: u64) -> Result<u64> {
        let offset = self.hop_bytes.checked_mul(number).and_then(|bytes| bytes.checked_add(self.header_bytes));
        offset.ok_or_else(|| Error::invalid_argument(format!("there is no file with {number} records before its end")))
    }
}

impl Format for FixedLengthFormat {
    fn class(&self) -> &'static str {
        "FixedLengthRecordReader"
    }

    fn open(&self, name: &FileName, at: Option<Position>) -> Result<Box<dyn RecordFile>> {
        self.begin(BlockFile::open(name, self.compression, self.numbering())?, at)
    }
}

impl FixedLengthFormat {
    /// Seeks to the first record, or to a saved position.
    pub(super) fn begin(&self, mut block: BlockFile, at: Option<Position>) -> Result<Box<dyn RecordFile>> {
        if !block.skip(self.header_bytes)? {
            return Err(Error::out_of_range(format!(
                "{}: reached end of file after {} bytes, expected a header of {} bytes. Check header_bytes.",
                block.name().text(),
                block.length_bytes()?.unwrap_or(block.offset_bytes()),
                self.header_bytes
            )));
        }
        let mut to_skip = 0;
        if let Some(last) = at.and_then(|position| position.record.checked_sub(1)) {
            // The last record was complete; the next one need not be.
            block.seek(self.record_offset(last)?)?;
            to_skip = self.hop_bytes;
        }
        Ok(Box::new(FixedLengthFile { format: *self, block, to_skip }))
    }
}

struct FixedLengthFile {
    format: FixedLengthFormat,
    block: BlockFile,
    /// The distance from the current position, which is the start of the last record, to the next
    /// record.
    to_skip: u64,
}

impl RecordFile for FixedLengthFile {
    fn next(&mut self, number: u64) -> Result<Option<Record>> {
        self.block.begin(number);
        let FixedLengthFormat { record_bytes, footer_bytes, hop_bytes, .. } = self.format;
        if !self.block.skip(std::mem::take(&mut self.to_skip))? {
            return Ok(None);
        }
        let offset_bytes = self.block.offset_bytes();
        let needed = record_bytes.saturating_add(footer_bytes);
        // A record that would extend past the end of the file is not read.
        if needed > LARGE_BYTES
            && self.block.length_bytes()?.is_some_and(|length| length.saturating_sub(offset_bytes) < needed as u64)
        {
            return Ok(None);
        }
        let buffered = self.block.fill(needed)?;
        if buffered.len() < needed {
            return Ok(None);
        }
        let value = match allocate::copied(&buffered[..record_bytes]) {
            Ok(value) => value,
            Err(refusal) => return Err(self.block.too_large(record_bytes as u64, refusal)),
        };
        self.to_skip = hop_bytes;
        Ok(Some(Record {
            number: Some(number),
            value,
            offset_bytes,
            next_bytes: offset_bytes.saturating_add(hop_bytes),
        }))
    }

    fn may_wait(&self) -> bool {
        self.block.may_wait()
    }
}

/// For larger records, the size of the file is checked first.
const LARGE_BYTES: usize = 1 << 20;
