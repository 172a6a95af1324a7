//! The records of files by their numbers.

use super::{HeaderScan, RandomAccess, ScanFault, ScanResult};
use crate::error::{Error, Result};
use crate::files::compression::Compression;
use crate::files::positioned::{Begun, Positioned};
use crate::files::storage::Status;
use crate::order;
use crate::pipeline::blocks::block::{Block, FileProvenance};
use crate::pipeline::blocks::column::{Span, Text};
use crate::pipeline::blocks::file_provenance::{Layout, Locate};
use crate::pipeline::blocks::provenance::{ProvenanceBuilder, RowProvenance};
use crate::pipeline::formats::{Codec, MARK_BYTES, RecordPosition};
use crate::pipeline::nodes::sources::indexed::Indexed;
use crate::sync::Mutex;
use crate::tensor::allocate;
use bytes::Bytes;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of files kept open while their records are read. Others are opened for each read.
const MAX_OPEN: usize = 256;
/// A gap between two records is read too if it is at most this long, or at most as long as the
/// first record.
const SMALL_GAP_BYTES: u64 = 512;
/// The same for a remote file, where a request takes as long as reading many bytes.
const REMOTE_GAP_BYTES: u64 = 64 * 1024;

/// The offsets of the records of one file.
#[derive(Debug)]
pub struct FileIndex {
    file: Arc<FileProvenance>,
    found: ScanResult,
    status: Status,
}

impl FileIndex {
    /// Scans a file, unless `known` is the index of its current content. Records after damage are
    /// skipped.
    pub fn of(
        access: &dyn RandomAccess,
        file: &Arc<FileProvenance>,
        begun: Begun,
        known: Option<Arc<Self>>,
    ) -> Result<Arc<Self>> {
        let (input, status) = begun.wait()?;
        if let Some(known) = known.filter(|known| known.is_of(&status) && known.fits(access)) {
            return Ok(known);
        }
        let mut header_scan = HeaderScan::new(input, file, status.len)?;
        check_uncompressed(access.codec(), file, &mut header_scan)?;
        let found = access.scan(file, &mut header_scan)?;
        Ok(Arc::new(Self { file: Arc::clone(file), found, status }))
    }

    fn is_of(&self, status: &Status) -> bool {
        let was = &self.status;
        was.len == status.len && was.version.is_some() && was.version == status.version
    }

    fn fits(&self, access: &dyn RandomAccess) -> bool {
        self.found.layout.as_ref().is_none_or(|layout| access.fits(layout))
    }

    /// The parts of the file that cannot be read.
    pub fn faults(&self) -> &[ScanFault] {
        &self.found.faults
    }

    /// The number of records found.
    pub fn len(&self) -> u64 {
        self.found.offsets.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of record `index`.
    pub(super) fn position(&self, index: u64) -> RecordPosition {
        let offset_bytes = self.found.offsets.range(index).start;
        RecordPosition { offset_bytes, record: self.found.numbers.get(index) }
    }

    /// For a table: the columns of its records.
    pub(super) fn layout(&self) -> Option<&Arc<Layout>> {
        self.found.layout.as_ref()
    }

    /// The memory that it takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.found.memory_bytes()
    }
}

impl Locate for FileIndex {
    fn offset(&self, _file: &Arc<FileProvenance>, record: u64) -> Option<u64> {
        let offsets = &self.found.offsets;
        self.found.numbers.find(record, offsets.len()).map(|index| offsets.range(index).start)
    }
}

fn check_uncompressed(codec: Codec, file: &FileProvenance, header_scan: &mut HeaderScan) -> Result<()> {
    let codec = match codec {
        Codec::ByContent => {
            let start = header_scan.at(0, MARK_BYTES)?;
            Codec::of_file(&start[..start.len().min(MARK_BYTES)], file.name.text())?
        }
        codec => codec,
    };
    match codec {
        Codec::Known(Compression::None) => Ok(()),
        _ => Err(Error::invalid_argument(format!(
            "shuffle: {}: the file is compressed, so its records cannot be reached one by one. Use a window, such as \
             shuffle(window=10_000), or decompress the files",
            file.name.text()
        ))),
    }
}

/// The indexes of scanned files, for later passes and iterations.
#[derive(Default)]
pub struct Kept(Mutex<HashMap<(usize, Bytes), Arc<FileIndex>>>);

impl Kept {
    /// The index of a file of part `part`.
    pub fn get(&self, part: usize, file: &FileProvenance) -> Option<Arc<FileIndex>> {
        self.0.lock().get(&(part, file.name.bytes().clone())).cloned()
    }

    /// Stores the index of a file.
    pub fn put(&self, part: usize, index: &Arc<FileIndex>) {
        self.0.lock().insert((part, index.file.name.bytes().clone()), Arc::clone(index));
    }

    /// For each scanned file: its part, its name, its size in bytes and its number of records.
    pub fn counts(&self) -> Vec<(usize, Bytes, u64, u64)> {
        let kept = self.0.lock();
        let count = |(key, index): (&(usize, Bytes), &Arc<FileIndex>)| {
            (key.0, key.1.clone(), index.status.len, index.found.offsets.len())
        };
        kept.iter().map(count).collect()
    }
}

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
    /// The number of its first record among those of all files.
    first: u64,
    handle: OnceLock<Positioned>,
}

/// A requested record.
#[derive(Clone, Copy)]
struct Wanted {
    /// Its position among the requested records.
    row: usize,
    file: usize,
    /// Its number in the file.
    record: u64,
    start: u64,
    end: u64,
    /// The position of its frame in the buffer.
    at: usize,
}

impl RecordLookup {
    /// A lookup over these files, each with its index.
    pub fn new(access: Arc<dyn RandomAccess>, files: Vec<(Arc<FileProvenance>, Arc<FileIndex>)>) -> Self {
        let mut len = 0;
        let mut total_bytes = 0;
        let indexed_file = |(file, index): (Arc<FileProvenance>, Arc<FileIndex>)| {
            let first = len;
            len += index.found.offsets.len();
            total_bytes += index.found.offsets.total_bytes();
            let file = match &index.found.layout {
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

    /// The records of these numbers, in the order of their positions in the files.
    fn wanted(&self, numbers: &[u64]) -> Vec<Wanted> {
        let wanted = |(row, number): (usize, &u64)| {
            let file = self.files.partition_point(|file| file.first <= *number) - 1;
            let index = number - self.files[file].first;
            let range = self.files[file].index.found.offsets.range(index);
            let record = self.files[file].index.found.numbers.get(index);
            Wanted { row, file, record, start: range.start, end: range.end, at: 0 }
        };
        let unsorted: Vec<_> = numbers.iter().enumerate().map(wanted).collect();
        let places = order::by_key(unsorted.len(), |place| (unsorted[place].file, unsorted[place].start));
        places.into_iter().map(|place| unsorted[place]).collect()
    }

    /// Reads the requested records into one buffer.
    fn fetch(&self, wanted: &mut [Wanted]) -> Result<Vec<u8>> {
        let is_near = |one: &Wanted, other: &Wanted| self.is_near(one, other);
        let mut num_bytes = 0;
        for run in wanted.chunk_by_mut(is_near) {
            let start = run[0].start;
            run.iter_mut().for_each(|wanted| wanted.at = num_bytes + (wanted.start - start) as usize);
            num_bytes += (run[run.len() - 1].end - start) as usize;
        }
        let mut buffer = allocate::zeros(num_bytes).map_err(|refusal| refusal.at("records of files"))?;
        let mut coming = Vec::new();
        let mut rest = &mut buffer[..];
        for of_file in wanted.chunk_by(|one, other| one.file == other.file) {
            let (first, indexed_file) = (&of_file[0], &self.files[of_file[0].file]);
            let ranges = || of_file.chunk_by(is_near).map(|run| run[0].start..run[run.len() - 1].end);
            let mut parts = SmallVec::<[&mut [u8]; 8]>::new();
            for range in ranges() {
                let (bytes, behind) = rest.split_at_mut((range.end - range.start) as usize);
                rest = behind;
                parts.push(bytes);
            }
            let read = self.with_handle(indexed_file, |handle| {
                // All remote files are requested before the first is waited for.
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

    /// True if two records are read at once; the first must not come after the second.
    fn is_near(&self, one: &Wanted, other: &Wanted) -> bool {
        if one.file != other.file {
            return false;
        }
        let small = match self.files[one.file].file.name.url() {
            Some(_) => REMOTE_GAP_BYTES,
            None => SMALL_GAP_BYTES,
        };
        other.start.saturating_sub(one.end) <= small.max(one.end - one.start)
    }

    fn with_handle<T>(&self, indexed_file: &IndexedFile, work: impl FnOnce(&Positioned) -> T) -> Result<T> {
        if let Some(handle) = indexed_file.handle.get() {
            return Ok(work(handle));
        }
        let (handle, _) = indexed_file.file.begin_parts(Some(&indexed_file.index.status))?.wait()?;
        if indexed_file.index.found.offsets.len() <= 1 || self.num_open.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
            return Ok(work(&handle));
        }
        Ok(work(indexed_file.handle.get_or_init(|| handle)))
    }
}

fn failed(file: &FileProvenance, first: &Wanted, error: &io::Error) -> Error {
    let name = file.name.text();
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::data_loss(format!(
            "{name}: {}, at {}, or a later one ends past the end of the file, which became shorter while it was \
             read. Write the files before they are read",
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
        let mut wanted = self.wanted(numbers);
        let buffer = self.fetch(&mut wanted)?;
        let mut places: Vec<_> = wanted.iter().map(|_| 0).collect();
        wanted.iter().enumerate().for_each(|(place, wanted)| places[wanted.row] = place);
        let wanted = || places.iter().map(|place| &wanted[*place]);
        let mut spans = allocate::room(places.len()).map_err(|refusal| refusal.at("records of files"))?;
        let mut provenance = ProvenanceBuilder::default();
        for wanted in wanted() {
            let file = &self.files[wanted.file].file;
            let frame = &buffer[wanted.at..][..(wanted.end - wanted.start) as usize];
            let at = RecordPosition { offset_bytes: wanted.start, record: wanted.record };
            let Span { start, length } = self.access.unframe(file, frame, at)?;
            spans.push(Span { start: wanted.at + start, length });
            provenance.push_record(file, wanted.record);
        }
        let provenance = provenance.finish();
        let offsets: Vec<_> = wanted().map(|wanted| wanted.start).collect();
        let columns = self.access.columns(Text::new(buffer.into(), spans), &offsets, &provenance)?;
        Block::new(columns, numbers.len(), provenance)
    }

    fn row_provenance(&self, number: u64) -> Option<RowProvenance> {
        let file = self.files.partition_point(|file| file.first <= number).checked_sub(1)?;
        let IndexedFile { file, index, first, .. } = &self.files[file];
        Some(RowProvenance { file: Arc::clone(file), record: index.found.numbers.get(number - first), sub: 0 })
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }
}
