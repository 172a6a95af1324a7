//! Reads a file in chunks that end between two records.

use crate::error::{Error, Result};
use crate::files::compression::Compression;
use crate::pipeline::blocks::block::{Block, FileProvenance, Provenance};
use crate::pipeline::blocks::column::{Column, Span, Text};
use crate::pipeline::execution::budget::Charge;
use crate::pipeline::formats::codec::Codec;
use crate::pipeline::formats::source::Source;
use crate::pipeline::formats::{RecordPosition, Scan};
use crate::pipeline::index::{ScanFault, ScanResult};
use crate::tensor::allocate::{self, Unread};
use std::sync::Arc;

/// Size of a chunk in bytes, unless a single record is larger.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// Finds the records of a format in a chunk.
pub trait Split: Send {
    /// Finds the whole records at the beginning of `chunk`. `at` has the offset of its first byte
    /// in the file and the number of its first record.
    fn split(&mut self, chunk: &[u8], at: RecordPosition, is_last: bool) -> Found;

    /// Number of bytes before the span of a record that belong to it.
    fn header_bytes(&self) -> usize {
        0
    }
}

/// The records found in a chunk.
#[derive(Default)]
pub struct Found {
    pub spans: Vec<Span>,
    /// Number of bytes that these records take.
    pub used: usize,
    /// The fault of the next record, if it has one.
    pub fault: Option<Fault>,
    /// `None` if the records are numbered consecutively.
    pub numbers: Option<Numbers>,
}

/// A fault of a record.
pub struct Fault {
    pub error: Error,
    /// The bytes to skip up to the next record, if it can be found.
    pub extent: Option<Extent>,
}

/// The part of a chunk that is skipped with a faulty record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of bytes.
    pub num_bytes: usize,
    /// The increase of the record number up to the next record.
    pub num_records: u64,
}

impl From<Error> for Fault {
    /// A fault after which the next record cannot be found.
    fn from(error: Error) -> Self {
        Self { error, extent: None }
    }
}

/// The numbers of records if some are skipped, or take more than one number.
pub struct Numbers {
    /// The number of each record.
    pub of_records: Vec<u64>,
    /// The number of the next record.
    pub next: u64,
}

impl Found {
    /// The number of record `index`, if the first byte of the chunk is at `at`.
    fn number(&self, index: usize, at: RecordPosition) -> u64 {
        self.numbers.as_ref().map_or(at.record + index as u64, |numbers| numbers.of_records[index])
    }

    /// The position of the next record.
    fn behind(&self, at: RecordPosition) -> RecordPosition {
        let record = self.numbers.as_ref().map_or(at.record + self.spans.len() as u64, |numbers| numbers.next);
        RecordPosition { offset_bytes: at.offset_bytes + self.used as u64, record }
    }
}

/// A file read in chunks.
pub struct Chunks<S> {
    file: Arc<FileProvenance>,
    source: Source,
    split: S,
    /// Bytes read and not used yet: the beginning of a record.
    rest: Vec<u8>,
    at: RecordPosition,
    is_last: bool,
    fault: Option<Fault>,
    /// The error that ended reading. The records before it come first.
    failure: Option<Error>,
    /// Set after an error: nothing follows, unless reading continues after the faulty record.
    stopped_at: Option<Option<Extent>>,
}

impl<S: Split> Chunks<S> {
    /// Opens a file at a position where a record begins.
    pub fn open(file: &Arc<FileProvenance>, codec: Codec, split: S, at: RecordPosition) -> Result<Self> {
        let mut source = Source::open(file, codec)?;
        source.skip_to(file, at.offset_bytes)?;
        let (file, rest) = (Arc::clone(file), Vec::new());
        Ok(Self { file, source, split, rest, at, is_last: false, fault: None, failure: None, stopped_at: None })
    }

    /// Reads until there are `wanted` bytes, or the file ends.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        let missing = wanted.saturating_sub(self.rest.len());
        let position = || format!("{}: {}", self.file.name.text(), self.file.numbering.of(self.at.record));
        allocate::reserve(&mut self.rest, missing)
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

    /// The provenance of the next `num_rows` records; moves past them.
    fn provenance(&mut self, num_rows: usize, numbers: Option<Numbers>) -> Provenance {
        let (file, first) = (Arc::clone(&self.file), self.at.record);
        let Some(numbers) = numbers else {
            self.at.record += num_rows as u64;
            return Provenance::Run(file, first);
        };
        self.at.record = numbers.next;
        match &numbers.of_records[..] {
            // As the numbers increase, none is skipped.
            [first, .., last] if last - first + 1 == num_rows as u64 => Provenance::Run(file, *first),
            each => Provenance::records(&file, each.iter().copied()),
        }
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        let record = self.file.numbering.of(self.at.record);
        let position = format!("{record}, after byte {} of the data", self.at.offset_bytes + self.rest.len() as u64);
        self.source.error(&self.file, error, &position)
    }

    /// The next chunk, and the records found in it: at least one.
    fn next_chunk(&mut self) -> Result<Option<(Vec<u8>, Found)>> {
        let mut wanted = CHUNK_BYTES;
        loop {
            if self.stopped_at.is_some() {
                return Ok(None);
            }
            if let Some(Fault { error, extent }) = self.fault.take() {
                self.stopped_at = Some(extent);
                return Err(error);
            }
            if !self.is_last && self.failure.is_none() {
                self.fill(wanted)?;
            }
            let mut found = self.split.split(&self.rest, self.at, self.is_last);
            self.fault = found.fault.take();
            if found.spans.is_empty() {
                if self.fault.is_some() {
                    // There may be something else before it, such as a header.
                    self.rest.drain(..found.used);
                    self.at = found.behind(self.at);
                    continue;
                }
                if let Some(failure) = self.failure.take() {
                    self.fault = Some(failure.into());
                    continue;
                }
                if self.is_last {
                    return Ok(None);
                }
                // The record is larger than the chunk. A size claimed by a file is never trusted.
                wanted = self.rest.len().saturating_mul(2).max(CHUNK_BYTES);
                continue;
            }
            let rest = allocate::room::<u8>(CHUNK_BYTES).map_err(|refusal| refusal.at(self.file.name.text()));
            let mut rest = rest?;
            rest.extend_from_slice(&self.rest[found.used..]);
            return Ok(Some((std::mem::replace(&mut self.rest, rest), found)));
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

    fn rest_bytes(&self) -> Option<u64> {
        let size = if self.source.is_compressed() { None } else { self.file.size() };
        size?.checked_sub(self.at.offset_bytes)
    }

    fn find(&mut self, record: u64) -> Result<Option<u64>> {
        loop {
            let found = match self.next_chunk() {
                Ok(Some((_, found))) => found,
                Ok(None) => return Ok(None),
                Err(_) if self.go_on() => continue,
                Err(error) => return Err(error),
            };
            let at = self.at;
            for (index, span) in found.spans.iter().enumerate() {
                if found.number(index, at) == record {
                    let begin = at.offset_bytes + span.start as u64;
                    return Ok(Some(begin - self.split.header_bytes() as u64));
                }
            }
            self.at = found.behind(at);
        }
    }

    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        let Some((chunk, found)) = self.next_chunk()? else { return Ok(None) };
        let num_rows = found.spans.len();
        let provenance = self.provenance(num_rows, found.numbers);
        self.at.offset_bytes += found.used as u64;
        let beside = size_of_val(&*found.spans) + provenance.held_bytes();
        let column = Column::Text(Text::new(charge.over(chunk, beside), found.spans));
        Block::new(vec![column], num_rows, provenance).map(Some)
    }
}

/// Finds the records of an uncompressed file of `len` bytes, exactly as reading finds them. The
/// spans found must begin where their records do.
pub fn scan(file: &Arc<FileProvenance>, split: impl Split, len: u64) -> Result<ScanResult> {
    let mut chunks = Chunks::open(file, Codec::Known(Compression::None), split, RecordPosition::default())?;
    let mut scanned = ScanResult::default();
    let mut last = len;
    loop {
        let (at, found) = match chunks.next_chunk() {
            Ok(Some((_, found))) => (chunks.at, found),
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
        for (index, span) in found.spans.iter().enumerate() {
            scanned.push(at.offset_bytes + span.start as u64, found.number(index, at))?;
        }
        chunks.at = found.behind(at);
    }
    scanned.offsets.push(last)?;
    Ok(scanned)
}
