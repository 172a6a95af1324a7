//! Files with fixed-length records.

use crate::blocks::block::FileProvenance;
use crate::blocks::column::Span;
use crate::formats::chunks::{CHUNK_BYTES, ChunkRecords, Chunks, Split};
use crate::records::{
    Codec, FilePart, Format, HeaderScan, MARK_BYTES, Offsets, RandomAccess, RecordPosition, Scan, ScanFault,
    ScanResult, is_named_compressed,
};
use headrace_engine::error::{Error, Lost, Result};
use headrace_engine::files::compression::Compression;
use std::sync::Arc;

/// Files with a header, records of `record_bytes` each (at least 1), and a footer.
pub struct FixedLength {
    /// The compression of the files.
    pub codec: Codec,
    /// The number of bytes to skip at the beginning of each file.
    pub header_bytes: usize,
    /// The length of a record.
    pub record_bytes: usize,
    /// The number of bytes to skip at the end of each file.
    pub footer_bytes: usize,
}

impl Format for FixedLength {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::open(file, self.codec, self.splitter(file), at)?))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn open_part(&self, file: &Arc<FileProvenance>, part: FilePart) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::of_part(file, self.splitter(file), part)?))
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl FixedLength {
    fn splitter(&self, file: &Arc<FileProvenance>) -> Splitter {
        Splitter {
            file: Arc::clone(file),
            codec: self.codec,
            header_bytes: self.header_bytes,
            record_bytes: self.record_bytes,
            footer_bytes: self.footer_bytes,
        }
    }
}

impl RandomAccess for FixedLength {
    fn codec(&self) -> Codec {
        self.codec
    }

    /// Computes the offsets of the records from the size of the file.
    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        let (first, length) = (self.header_bytes as u64, self.record_bytes as u64);
        let splitter = self.splitter(file);
        let short = (input.len() < first).then(|| splitter.short(input.len()));
        if let Some(error) = splitter.compressed(input.at(0, MARK_BYTES)?).or(short) {
            let faults = vec![ScanFault::end(RecordPosition::default(), error, input.len())];
            return Ok(ScanResult { faults, ..Offsets::Even { first: 0, length, count: 0 }.into() });
        }
        let records = input.len().saturating_sub(first.saturating_add(self.footer_bytes as u64));
        let offsets = Offsets::Even { first, length, count: records / length };
        let used = first.saturating_add(records / length * length).min(input.len());
        let rest = input.len() - used;
        match rest == self.footer_bytes as u64 {
            true => Ok(offsets.into()),
            false => {
                let at = RecordPosition { offset_bytes: used, record: records / length };
                let error = self.splitter(file).uneven(at, 0, usize::try_from(rest).unwrap_or(usize::MAX));
                Ok(ScanResult { faults: vec![ScanFault::end(at, error, input.len())], ..offsets.into() })
            }
        }
    }

    fn unframe(&self, _file: &Arc<FileProvenance>, frame: &[u8], _at: RecordPosition) -> Result<Span> {
        Ok(Span { start: 0, length: frame.len() })
    }
}

struct Splitter {
    file: Arc<FileProvenance>,
    codec: Codec,
    header_bytes: usize,
    record_bytes: usize,
    footer_bytes: usize,
}

impl Split for Splitter {
    fn split(&mut self, chunk: &[u8], at: RecordPosition, is_last: bool) -> ChunkRecords {
        let mut records = ChunkRecords::default();
        if at.offset_bytes == 0
            && let Some(error) = self.compressed(chunk)
        {
            records.fault = Some(error.into());
            return records;
        }
        // The header may be longer than a chunk.
        let mut start = self.header_bytes.saturating_sub(usize::try_from(at.offset_bytes).unwrap_or(usize::MAX));
        if is_last && chunk.len() < start {
            records.fault = Some(self.short(at.offset_bytes + chunk.len() as u64).into());
            return records;
        }
        // The footer may be in this chunk. Only the end of the file reveals that.
        while chunk.len().saturating_sub(start) >= self.record_bytes.saturating_add(self.footer_bytes) {
            records.spans.push(Span { start, length: self.record_bytes });
            start += self.record_bytes;
        }
        records.used = start.min(chunk.len());
        let rest = chunk.len() - records.used;
        if is_last && rest != self.footer_bytes {
            records.fault = Some(self.uneven(at, records.spans.len(), rest).into());
        }
        records
    }
}

impl Splitter {
    /// The error for a compressed file that is read as if it were uncompressed.
    fn compressed(&self, start: &[u8]) -> Option<Error> {
        let name = self.file.name.text();
        let is_compressed = self.codec == Codec::Known(Compression::None) && is_named_compressed(start, name);
        is_compressed.then(|| {
            Error::invalid_argument(format!(
                "{name}: the name and the first bytes look like a compressed file, but compression is None. Omit \
                 compression."
            ))
        })
    }

    fn short(&self, num_bytes: u64) -> Error {
        let (name, header_bytes) = (self.file.name.text(), self.header_bytes);
        Error::data_loss(format!(
            "{name}: the file has {num_bytes} bytes, expected a header of {header_bytes} (header_bytes={header_bytes}). \
             Correct the length, or copy the file again."
        ))
        .with_lost(Lost::Records(1))
    }

    fn uneven(&self, at: RecordPosition, num_records: usize, rest: usize) -> Error {
        let record = at.record + num_records as u64;
        let name = self.file.name.text();
        let Self { header_bytes, record_bytes, footer_bytes, .. } = self;
        Error::data_loss(format!(
            "{name}: truncated record (record {record}): {rest} bytes are left, expected {record_bytes} and a footer of \
             {footer_bytes}, or the footer alone (header_bytes={header_bytes}). Correct the lengths, or copy the file \
             again."
        ))
        .with_lost(Lost::Records(1))
    }
}
