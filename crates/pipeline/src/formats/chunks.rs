//! Reads files in chunks that end between two records.

use crate::blocks::block::{Block, FileProvenance, Provenance};
use crate::blocks::column::{Column, Span, Text};
use crate::budget::Charge;
use crate::records::{Codec, FilePart, RecordPosition, Scan, ScanFault, ScanResult, Source};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::tensor::allocate::{self, Unread};
use memchr::memchr;
use std::sync::Arc;

/// The size of a chunk in bytes, unless a single record is larger.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// The number of bytes to read at first after the end of a part, for its last record.
const BEHIND_BYTES: usize = 512;
/// The minimum size of the next chunk if a smaller chunk contained no record of the part.
const LEAST_BYTES: usize = 4 * 1024;

/// Splits chunks of a format into records.
pub trait Split: Send {
    /// Finds the complete records at the beginning of `chunk`. `at` has the offset of its first
    /// byte in the file and the number of its first record.
    fn split(&mut self, chunk: &[u8], at: RecordPosition, is_last: bool) -> ChunkRecords;

    /// True if a file may end after any of its records.
    fn can_end_anywhere(&self) -> bool {
        false
    }

    /// The number of bytes before the span of a record that belong to the record.
    fn header_bytes(&self) -> usize {
        0
    }
}

/// The records found in a chunk.
#[derive(Default)]
pub struct ChunkRecords {
    pub spans: Vec<Span>,
    /// The number of bytes that the records take up.
    pub used: usize,
    /// The reason why the next record is invalid, if it is.
    pub fault: Option<Fault>,
    /// The numbers of the records, or `None` if they are consecutive.
    pub numbers: Option<Numbers>,
}

/// The reason why a record is invalid.
pub struct Fault {
    pub error: Error,
    /// The distance to the next record, if that can be located.
    pub extent: Option<Extent>,
}

/// The part of a chunk to skip along with an invalid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of bytes.
    pub num_bytes: usize,
    /// How much the record number increases up to the next record.
    pub num_records: u64,
}

impl From<Error> for Fault {
    /// A fault after which the next record cannot be located.
    fn from(error: Error) -> Self {
        Self { error, extent: None }
    }
}

/// The numbers of records, if some are skipped or take up more than one number.
pub struct Numbers {
    /// The number of each record.
    pub of_records: Vec<u64>,
    /// The number of the record after these.
    pub next: u64,
}

impl ChunkRecords {
    /// The number of record `index`, if the chunk begins at `at`.
    fn number(&self, index: usize, at: RecordPosition) -> u64 {
        self.numbers.as_ref().map_or(at.record + index as u64, |numbers| numbers.of_records[index])
    }

    /// The position of the next record.
    fn behind(&self, at: RecordPosition) -> RecordPosition {
        let record = self.numbers.as_ref().map_or(at.record + self.spans.len() as u64, |numbers| numbers.next);
        RecordPosition { offset_bytes: at.offset_bytes + self.used as u64, record }
    }
}

/// A file that is read in chunks.
pub struct Chunks<S> {
    file: Arc<FileProvenance>,
    source: Source,
    split: S,
    /// Bytes that have been read but not used yet: the beginning of a record.
    rest: Vec<u8>,
    at: RecordPosition,
    is_last: bool,
    fault: Option<Fault>,
    /// The error that ended reading. It is returned after the records before it.
    failure: Option<Error>,
    /// Set after an error. Nothing more is read, unless reading continues after the invalid record.
    stopped_at: Option<Option<Extent>>,
    /// Records that begin at or after this offset are not read.
    end: u64,
}

impl<S: Split> Chunks<S> {
    /// Opens a file at a position where a record begins.
    pub fn open(file: &Arc<FileProvenance>, codec: Codec, split: S, at: RecordPosition) -> Result<Self> {
        let mut source = Source::open(file, codec)?;
        source.skip_to(file, at.offset_bytes)?;
        Ok(Self::new(file, source, split, at, u64::MAX))
    }

    fn new(file: &Arc<FileProvenance>, source: Source, split: S, at: RecordPosition, end: u64) -> Self {
        let (file, rest) = (Arc::clone(file), Vec::new());
        Self { file, source, split, rest, at, is_last: false, fault: None, failure: None, stopped_at: None, end }
    }

    /// Opens a part of a file.
    pub fn of_part(file: &Arc<FileProvenance>, split: S, part: FilePart) -> Result<Self> {
        let mut chunks = Self::new(file, part.input, split, part.at, part.end);
        if part.is_searched {
            chunks.search()?;
        }
        Ok(chunks)
    }

    /// Moves to the first record after a line feed, or to the end of the part.
    fn search(&mut self) -> Result<()> {
        loop {
            self.fill(self.chunk_bytes())?;
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let skipped = memchr(b'\n', &self.rest).map(|position| position + 1);
            let num_bytes = skipped.unwrap_or(self.rest.len());
            self.rest.drain(..num_bytes);
            self.at.offset_bytes += num_bytes as u64;
            if skipped.is_some() || self.is_last || self.at.offset_bytes >= self.end {
                return Ok(());
            }
        }
    }

    /// The number of bytes to read for the next chunk: up to the end of the part, plus some more
    /// for its last record.
    fn chunk_bytes(&self) -> usize {
        let left = usize::try_from(self.end.saturating_sub(self.at.offset_bytes)).unwrap_or(usize::MAX);
        left.saturating_add(BEHIND_BYTES).min(CHUNK_BYTES)
    }

    /// Returns true if the next record begins after the end of the part.
    fn is_behind(&self) -> bool {
        self.at.offset_bytes >= self.end
    }

    /// Removes the records that begin after the end of the part.
    fn cut(&self, records: &mut ChunkRecords) {
        let begin = |span: &Span| self.at.offset_bytes + (span.start - self.split.header_bytes()) as u64;
        if self.at.offset_bytes + (records.used as u64) < self.end {
            return;
        }
        let num_kept = records.spans.partition_point(|span| begin(span) < self.end);
        if let Some(span) = records.spans.get(num_kept) {
            records.used = span.start - self.split.header_bytes();
            records.fault = None;
            if let Some(numbers) = &mut records.numbers {
                numbers.next = numbers.of_records[num_kept];
                numbers.of_records.truncate(num_kept);
            }
            records.spans.truncate(num_kept);
        } else if records.fault.is_some() {
            // The invalid record is after the end too, like all that begin there.
            records.fault = None;
        }
    }

    /// Reads until `num_bytes` bytes are available or the file ends.
    fn fill(&mut self, num_bytes: usize) -> Result<()> {
        let missing = num_bytes.saturating_sub(self.rest.len());
        if self.rest.is_empty()
            && let Some(whole) = self.source.take_whole(missing)
        {
            (self.rest, self.is_last) = (whole, true);
            return Ok(());
        }
        let position = || format!("{}: {}", self.file.name.text(), self.file.record_name(self.at.record));
        // One more byte, to notice the end without more memory.
        let left = self.source.len_after(self.at.offset_bytes + self.rest.len() as u64);
        let left = left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        allocate::reserve(&mut self.rest, missing.min(left.saturating_add(1)))
            .map_err(|refusal| refusal.at(position()).with_remedy("Split the record"))?;
        let before = self.rest.len();
        match self.source.read_more(&mut self.rest, missing) {
            Ok(()) => {}
            Err(Unread::Refused(refusal)) => return Err(refusal.at(position()).with_remedy("Split the record")),
            Err(Unread::Failed(error)) => {
                self.failure = Some(self.failed(&error));
                return Ok(());
            }
        }
        self.is_last = self.rest.len() - before < missing;
        Ok(())
    }

    /// Returns the provenance of the next `num_rows` records, and moves past them.
    fn provenance(&mut self, num_rows: usize, numbers: Option<Numbers>) -> Provenance {
        let (file, first) = (Arc::clone(&self.file), self.at.record);
        let Some(numbers) = numbers else {
            self.at.record += num_rows as u64;
            return Provenance::Run(file, first);
        };
        self.at.record = numbers.next;
        match &numbers.of_records[..] {
            // The numbers are ascending, so no record is skipped.
            [first, .., last] if last - first + 1 == num_rows as u64 => Provenance::Run(file, *first),
            each => Provenance::records(&file, each.iter().copied()),
        }
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        let record = self.file.record_name(self.at.record);
        let position = format!("{record}, after byte {} of the data", self.at.offset_bytes + self.rest.len() as u64);
        self.source.error(&self.file, error, &position)
    }

    /// Returns the next chunk and its records. There is at least one.
    fn next_chunk(&mut self) -> Result<Option<(Vec<u8>, ChunkRecords)>> {
        let mut num_bytes = self.chunk_bytes();
        loop {
            if self.stopped_at.is_some() || self.is_behind() {
                return Ok(None);
            }
            if let Some(Fault { error, extent }) = self.fault.take() {
                self.stopped_at = Some(extent);
                return Err(error);
            }
            if !self.is_last && self.failure.is_none() {
                self.fill(num_bytes)?;
            }
            let mut records = self.split.split(&self.rest, self.at, self.is_last);
            self.cut(&mut records);
            self.fault = records.fault.take();
            if records.spans.is_empty() {
                if self.fault.is_some() {
                    // Something else may come first, such as a header.
                    self.rest.drain(..records.used);
                    self.at = records.behind(self.at);
                    continue;
                }
                if let Some(failure) = self.failure.take() {
                    self.fault = Some(failure.into());
                    continue;
                }
                if self.is_last {
                    return Ok(None);
                }
                let next = records.behind(self.at);
                if next.offset_bytes >= self.end || (records.used > 0 && self.at.offset_bytes > 0) {
                    // These bytes contain no records, only blank lines for example.
                    self.rest.drain(..records.used);
                    self.at = next;
                    continue;
                }
                // The record is larger than the chunk. Never trust a size that a file claims.
                let least = if self.end == u64::MAX { CHUNK_BYTES } else { LEAST_BYTES };
                num_bytes = self.rest.len().saturating_mul(2).max(least);
                continue;
            }
            let left = self.end.saturating_sub(self.at.offset_bytes + records.used as u64);
            let num_left = self.rest.len() - records.used;
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let rest = match if self.is_last { left.min(num_left) } else { left } {
                0 => Vec::new(),
                left => {
                    let more = if self.is_last { 0 } else { BEHIND_BYTES };
                    let room = left.saturating_add(more).min(CHUNK_BYTES);
                    let mut rest = allocate::room::<u8>(room).map_err(|refusal| refusal.at(self.file.name.text()))?;
                    allocate::grow(&mut rest, num_left).map_err(|refusal| refusal.at(self.file.name.text()))?;
                    rest.extend_from_slice(&self.rest[records.used..]);
                    rest
                }
            };
            return Ok(Some((std::mem::replace(&mut self.rest, rest), records)));
        }
    }
}

impl<S: Split> Scan for Chunks<S> {
    fn position(&self) -> RecordPosition {
        self.at
    }

    fn go_on(&mut self) -> bool {
        let Some(Some(Extent { num_bytes, num_records })) = self.stopped_at else { return false };
        self.rest.drain(..num_bytes);
        self.at.offset_bytes += num_bytes as u64;
        self.at.record += num_records;
        self.stopped_at = None;
        true
    }

    fn is_over(&self) -> bool {
        let is_empty = self.is_last && self.rest.is_empty() && self.split.can_end_anywhere();
        is_empty && self.fault.is_none() && self.failure.is_none() && self.stopped_at.is_none()
    }

    fn rest_bytes(&self) -> Option<u64> {
        let size = if self.source.is_compressed() { None } else { self.file.size() };
        size?.checked_sub(self.at.offset_bytes)
    }

    fn locate(&mut self) -> Result<Vec<(u64, u64)>> {
        loop {
            let records = match self.next_chunk() {
                Ok(Some((_, records))) => records,
                Ok(None) => return Ok(Vec::new()),
                Err(_) if self.go_on() => continue,
                Err(error) => return Err(error),
            };
            let at = self.at;
            self.at = records.behind(at);
            let header_bytes = self.split.header_bytes();
            let record = |(index, span): (usize, &Span)| {
                (records.number(index, at), at.offset_bytes + (span.start - header_bytes) as u64)
            };
            return Ok(records.spans.iter().enumerate().map(record).collect());
        }
    }

    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        let Some((chunk, records)) = self.next_chunk()? else { return Ok(None) };
        let num_rows = records.spans.len();
        let provenance = self.provenance(num_rows, records.numbers);
        self.at.offset_bytes += records.used as u64;
        let beside = size_of_val(&*records.spans) + provenance.held_bytes();
        let column = Column::Text(Text::new(charge.over(chunk, beside), records.spans));
        Block::new(vec![column], num_rows, provenance).map(Some)
    }
}

/// Locates the records of an uncompressed file of `len` bytes, exactly as reading the file would.
/// Spans must begin where their records do.
pub fn scan(file: &Arc<FileProvenance>, split: impl Split, len: u64) -> Result<ScanResult> {
    let mut chunks = Chunks::open(file, Codec::Known(Compression::None), split, RecordPosition::default())?;
    let mut scanned = ScanResult::default();
    let mut last = len;
    loop {
        let (at, records) = match chunks.next_chunk() {
            Ok(Some((_, records))) => (chunks.at, records),
            Ok(None) => break,
            Err(error) => {
                let at = chunks.at;
                if chunks.go_on() {
                    scanned.faults.push(ScanFault { at, error, rest: None });
                    continue;
                }
                last = at.offset_bytes;
                scanned.faults.push(ScanFault::end(at, error, len));
                break;
            }
        };
        for (index, span) in records.spans.iter().enumerate() {
            scanned.push(at.offset_bytes + span.start as u64, records.number(index, at))?;
        }
        chunks.at = records.behind(at);
    }
    scanned.offsets.push(last)?;
    Ok(scanned)
}
