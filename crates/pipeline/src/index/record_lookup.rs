//! Reads records from several files by number.

use super::FileIndex;
use super::sidecar::RecordSpan;
use crate::blocks::block::{Block, FileProvenance};
use crate::blocks::column::{Span, Text};
use crate::blocks::indexed::Indexed;
use crate::blocks::provenance::{ProvenanceBuilder, RowProvenance};
use crate::records::{RandomAccess, RecordPosition};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::positioned::Positioned;
use headrace_engine::order;
use headrace_engine::tensor::allocate;
use smallvec::SmallVec;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of files to keep open. Others are opened for each read.
const MAX_OPEN: usize = 256;
/// A gap between two records is read too if it is at most this long, or no longer than the first
/// record.
const SMALL_GAP_BYTES: u64 = 512;
/// The length of a byte order mark, after which the first line of a text may begin.
const BYTE_ORDER_MARK_BYTES: u64 = 3;
/// Replaces [`SMALL_GAP_BYTES`] for remote files, where a request takes as long as reading many
/// bytes.
const REMOTE_GAP_BYTES: u64 = 64 * 1024;

/// The records of several files, one file after the other.
pub struct RecordLookup {
    access: Arc<dyn RandomAccess>,
    files: Vec<IndexedFile>,
    num_open: AtomicUsize,
    len: u64,
    row_bytes: usize,
}

struct IndexedFile {
    file: Arc<FileProvenance>,
    index: Arc<FileIndex>,
    /// The number of the file's first record among those of all files.
    first: u64,
    handle: OnceLock<Positioned>,
}

/// A requested record.
#[derive(Clone, Copy)]
struct RecordRequest {
    /// Its position among the requested records.
    row: usize,
    file: usize,
    /// Its index within the file, and its record number.
    index: u64,
    record: u64,
    /// The number of preceding bytes to read as well.
    lead: u64,
    start: u64,
    end: u64,
    /// The position of its frame in the buffer.
    at: usize,
}

impl RecordLookup {
    /// Creates a lookup over these files and their indexes.
    pub fn new(access: Arc<dyn RandomAccess>, files: Vec<(Arc<FileProvenance>, Arc<FileIndex>)>) -> Self {
        let mut len = 0;
        let mut total_bytes = 0;
        let indexed_file = |(file, index): (Arc<FileProvenance>, Arc<FileIndex>)| {
            let first = len;
            len += index.len();
            total_bytes += index.total_bytes();
            let file = match index.layout() {
                Some(layout) => file.laid_out(layout),
                None => file,
            };
            let file = file.with_locate(Arc::<FileIndex>::clone(&index));
            IndexedFile { file, index, first, handle: OnceLock::new() }
        };
        let files = files.into_iter().map(indexed_file).collect();
        let row_bytes = usize::try_from(total_bytes / len.max(1)).unwrap_or(usize::MAX);
        Self { access, files, num_open: AtomicUsize::new(0), len, row_bytes }
    }

    /// Returns the requested records, sorted by their position in the files.
    fn requests(&self, numbers: &[u64]) -> Result<Vec<RecordRequest>> {
        let request = |(row, number): (usize, &u64)| {
            let file = self.files.partition_point(|file| file.first <= *number) - 1;
            let IndexedFile { index, first, .. } = &self.files[file];
            let RecordSpan { range, number: record } = index.span(&*self.access, number - first)?;
            // An index file is only trusted if the byte before a record confirms it.
            let lead = match index.path().is_some() && self.access.has_lead() {
                true if range.start <= BYTE_ORDER_MARK_BYTES => range.start,
                has_lead => u64::from(has_lead),
            };
            Ok(RecordRequest {
                row,
                file,
                index: number - first,
                record,
                lead,
                start: range.start,
                end: range.end,
                at: 0,
            })
        };
        let unsorted: Vec<_> = numbers.iter().enumerate().map(request).collect::<Result<_>>()?;
        let order = order::by_key(unsorted.len(), |index| (unsorted[index].file, unsorted[index].start));
        Ok(order.into_iter().map(|index| unsorted[index]).collect())
    }

    /// Reads the requested records into one buffer.
    fn fetch(&self, requests: &mut [RecordRequest]) -> Result<Vec<u8>> {
        let is_near = |one: &RecordRequest, other: &RecordRequest| self.is_near(one, other);
        let mut num_bytes = 0;
        for run in requests.chunk_by_mut(is_near) {
            let start = run[0].start - run[0].lead;
            run.iter_mut().for_each(|request| request.at = num_bytes + (request.start - start) as usize);
            num_bytes += (run[run.len() - 1].end - start) as usize;
        }
        let mut buffer = allocate::zeros(num_bytes).map_err(|refusal| refusal.at("records of files"))?;
        let mut coming = Vec::new();
        let mut rest = &mut buffer[..];
        for of_file in requests.chunk_by(|one, other| one.file == other.file) {
            let (first, indexed_file) = (&of_file[0], &self.files[of_file[0].file]);
            let range = |run: &[RecordRequest]| run[0].start - run[0].lead..run[run.len() - 1].end;
            let ranges = || of_file.chunk_by(is_near).map(range);
            let mut parts = SmallVec::<[&mut [u8]; 8]>::new();
            for range in ranges() {
                let (bytes, behind) = rest.split_at_mut((range.end - range.start) as usize);
                rest = behind;
                parts.push(bytes);
            }
            let read = self.with_handle(indexed_file, |handle| {
                // Send the requests for all remote files before waiting for the first.
                if let Some(begun) = handle.begin(ranges()) {
                    coming.push((first, begun, parts));
                    return Ok(());
                }
                ranges().zip(&mut parts).try_for_each(|(range, bytes)| handle.read(bytes, range.start))
            });
            read?.map_err(|error| failed(&indexed_file.file, first, &error))?;
        }
        for (first, begun, mut parts) in coming {
            begun.wait(&mut parts).map_err(|error| failed(&self.files[first.file].file, first, &error))?;
        }
        Ok(buffer)
    }

    /// After a record could not be read, fails if the reason is that an index file belongs to a
    /// different file.
    fn check_indexes(&self, requests: &[RecordRequest]) -> Result<()> {
        requests.iter().try_for_each(|request| self.check_span(request))
    }

    fn check_span(&self, request: &RecordRequest) -> Result<()> {
        let span = RecordSpan { range: request.start..request.end, number: request.record };
        self.files[request.file].index.check(&*self.access, request.index, &span)
    }

    /// Creates a block from the records in a buffer.
    fn block(&self, requests: &[RecordRequest], buffer: Vec<u8>) -> Result<Block> {
        let mut indices: Vec<_> = requests.iter().map(|_| 0).collect();
        requests.iter().enumerate().for_each(|(index, request)| indices[request.row] = index);
        let ordered = || indices.iter().map(|index| &requests[*index]);
        let mut spans = allocate::room(indices.len()).map_err(|refusal| refusal.at("records of files"))?;
        let mut provenance = ProvenanceBuilder::default();
        for request in ordered() {
            let file = &self.files[request.file].file;
            let frame = &buffer[request.at..][..(request.end - request.start) as usize];
            let at = RecordPosition { offset_bytes: request.start, record: request.record };
            self.check(request, &buffer[..request.at], frame)?;
            let Span { start, length } = self.access.unframe(file, frame, at)?;
            spans.push(Span { start: request.at + start, length });
            provenance.push_record(file, request.record);
        }
        let provenance = provenance.finish();
        let offsets: Vec<_> = ordered().map(|request| request.start).collect();
        let columns = self.access.columns(Text::new(buffer.into(), spans), &offsets, &provenance)?;
        Block::new(columns, indices.len(), provenance)
    }

    /// Fails if an index file has a wrong position for this record. `before` ends where the record
    /// begins.
    fn check(&self, request: &RecordRequest, before: &[u8], frame: &[u8]) -> Result<()> {
        let index = &self.files[request.file].index;
        if index.path().is_none() {
            return Ok(());
        }
        let lead = &before[before.len() - (request.lead as usize).min(before.len())..];
        let is_last = request.end == index.status().len;
        if self.access.is_record(lead, frame, is_last) {
            return Ok(());
        }
        self.check_span(request)
    }

    /// Returns true if two records can be read with one request. The first must not be after the
    /// second.
    fn is_near(&self, one: &RecordRequest, other: &RecordRequest) -> bool {
        if one.file != other.file {
            return false;
        }
        let small = match self.files[one.file].file.name.is_remote() {
            true => REMOTE_GAP_BYTES,
            false => SMALL_GAP_BYTES,
        };
        other.start.saturating_sub(one.end) <= small.max(one.end - one.start)
    }

    fn with_handle<T>(&self, indexed_file: &IndexedFile, work: impl FnOnce(&Positioned) -> T) -> Result<T> {
        if let Some(handle) = indexed_file.handle.get() {
            return Ok(work(handle));
        }
        let (handle, _) = indexed_file.file.begin_parts(Some(indexed_file.index.status()))?.wait()?;
        if indexed_file.index.len() <= 1 || self.num_open.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
            return Ok(work(&handle));
        }
        Ok(work(indexed_file.handle.get_or_init(|| handle)))
    }
}

fn failed(file: &FileProvenance, first: &RecordRequest, error: &io::Error) -> Error {
    let name = file.name.text();
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::data_loss(format!(
            "{name}: {}, at {}, or a later one extends past the end of the file, which became shorter while it was \
             read. Finish writing the files before you read them",
            file.record_name(first.record),
            first.start
        )),
        _ => Error::io(name, error),
    }
}

impl Indexed for RecordLookup {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let mut requests = self.requests(numbers)?;
        let buffer = self.fetch(&mut requests)?;
        self.block(&requests, buffer).map_err(|error| match self.check_indexes(&requests) {
            Ok(()) => error,
            Err(foreign) => foreign,
        })
    }

    fn row_provenance(&self, number: u64) -> Option<RowProvenance> {
        let file = self.files.partition_point(|file| file.first <= number).checked_sub(1)?;
        let IndexedFile { file, index, first, .. } = &self.files[file];
        Some(RowProvenance { file: Arc::clone(file), record: index.number(number - first)?, sub: 0 })
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }
}
