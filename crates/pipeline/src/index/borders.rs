//! Finds the boundaries of pieces, which are runs of whole records of about equal size.
//!
//! Piece `k` has the records that begin from byte `k * block_bytes` up to byte `(k + 1) *
//! block_bytes`, so pieces depend only on the size of the file and of a block. In text files, the
//! end of the line is located when a piece is read. Other formats need an index of the file, which
//! is created when the first piece is read.

use crate::blocks::block::{Block, FileProvenance};
use crate::blocks::file_provenance::Layout;
use crate::budget::Charge;
use crate::index::index_files::Mode;
use crate::index::shared_handle::SharedHandle;
use crate::index::{FileIndex, IndexFiles};
use crate::records::{Codec, FilePart, Format, MARK_BYTES, RecordPosition, Scan, Source};
use crate::row_order::OrderStage;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::positioned::Positioned;
use headrace_engine::files::ranged::{ComingBytes, Ranged};
use headrace_engine::files::storage::{self, Status};
use headrace_engine::run::check_current;
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::allocate;
use memchr::memchr_iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of bytes to read at a time to count lines, and at the beginning of a text.
const CHUNK_BYTES: u64 = 256 << 10;
/// The number of bytes to read at first for the last record after the end of a piece of a remote
/// file.
const REMOTE_BEHIND_BYTES: u64 = 64 << 10;
/// The minimum size of a block: a byte order mark and one more byte, so that the first record
/// begins in piece 0.
const LEAST_BYTES: u64 = 4;
/// The length of a byte order mark, after which the first line of a text may begin.
const BYTE_ORDER_MARK_BYTES: u64 = 3;
/// Pieces up to this size share an open file instead of opening it each time.
const MOST_SHARED_BYTES: u64 = 256 << 10;
/// The position after the last record.
const NO_RECORD: RecordPosition = RecordPosition { offset_bytes: u64::MAX, record: 0 };

/// The boundaries of one file's pieces.
pub struct Borders {
    format: Arc<dyn Format>,
    file: Arc<FileProvenance>,
    status: Status,
    block_bytes: u64,
    /// The lock is held while the file is examined, which happens only once.
    source: Mutex<Option<BorderSource>>,
    /// For lines: the number of lines before each piece, counted on demand.
    counts: Mutex<Option<Arc<[u64]>>>,
    /// The memory that the boundaries of all files use.
    held_bytes: Arc<AtomicUsize>,
    /// The open file, if it is remote.
    remote: Option<Arc<Positioned>>,
}

/// How the boundaries are found.
#[derive(Clone)]
enum BorderSource {
    /// Piece 0 is the whole file and all others are empty, because the file is compressed or cannot
    /// be read.
    Whole,
    /// Records begin after line feeds.
    Lines,
    /// By an index.
    Indexed(IndexedBorders),
}

/// Boundaries of pieces that come from an index.
#[derive(Clone)]
struct IndexedBorders {
    /// The first record at or after the beginning of each piece. Unreadable parts count as records.
    starts: Arc<[RecordPosition]>,
    /// The columns of a table.
    layout: Option<Arc<Layout>>,
    /// The index, if it was read from a file. Its positions are verified.
    index: Option<Arc<FileIndex>>,
}

impl BorderSource {
    fn held_bytes(&self) -> usize {
        match self {
            Self::Indexed(IndexedBorders { starts, index, .. }) => {
                size_of_val(&**starts) + index.as_ref().map_or(0, |index| index.memory_bytes())
            }
            Self::Whole | Self::Lines => 0,
        }
    }
}

impl Borders {
    pub(super) fn new(
        format: &Arc<dyn Format>,
        file: &Arc<FileProvenance>,
        (remote, status): (Option<Arc<Positioned>>, Status),
        block_bytes: u64,
        held_bytes: &Arc<AtomicUsize>,
    ) -> Self {
        let (format, file, block_bytes) = (Arc::clone(format), Arc::clone(file), block_bytes.max(LEAST_BYTES));
        let (source, counts, held_bytes) = (Mutex::default(), Mutex::default(), Arc::clone(held_bytes));
        Self { format, file, status, block_bytes, source, counts, held_bytes, remote }
    }

    /// The number of pieces, at least 1.
    pub fn num_pieces(&self) -> u64 {
        let access = Arc::clone(&self.format).random_access().filter(|_| !self.format.is_one_record());
        match access.map(|access| access.codec()) {
            Some(Codec::ByContent | Codec::Known(Compression::None)) if self.status.is_regular => {
                self.status.len.div_ceil(self.block_bytes).max(1)
            }
            _ => 1,
        }
    }

    /// The maximum number of bytes in a piece, unless its last record is larger.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Returns true if the records of a piece are counted from its beginning.
    pub(super) fn counts_pieces(&self) -> bool {
        self.format.is_of_lines()
    }

    fn is_same(&self, status: &Status) -> bool {
        self.status.len == status.len && self.status.version == status.version
    }

    /// Opens the file at a position and checks that it has not changed. Small pieces share one open
    /// file.
    fn open_at(&self, offset_bytes: u64, coming: Option<ComingBytes>, shared: &SharedHandle) -> Result<Source> {
        let ranged = |file, coming| Source::of_range(Ranged::new(file, self.status.len, offset_bytes, coming));
        if let Some(remote) = &self.remote {
            return Ok(ranged(remote, coming));
        }
        if self.block_bytes <= MOST_SHARED_BYTES
            && let Some(file) = shared.get(|| self.open())?
        {
            let status = file.status().map_err(|error| Error::io(self.file.name.text(), &error))?;
            return match status.is_none_or(|status| self.is_same(&status)) {
                true => Ok(ranged(&file, None)),
                false => Err(self.changed()),
            };
        }
        let (input, status) = Source::at(&self.file, offset_bytes)?;
        match self.is_same(&status) {
            true => Ok(input),
            false => Err(self.changed()),
        }
    }

    fn open(&self) -> Result<Arc<Positioned>> {
        if let Some(remote) = &self.remote {
            return Ok(Arc::clone(remote));
        }
        let (file, status) = self.file.begin_parts(Some(&self.status))?.wait()?;
        match self.is_same(&status) {
            true => Ok(Arc::new(file)),
            false => Err(self.changed()),
        }
    }

    fn changed(&self) -> Error {
        let error = storage::changed("its size or modification time has changed");
        Error::new(error.code(), format!("{}: {}", self.file.name.text(), error.message()))
    }

    fn source(&self, files: &Arc<IndexFiles>) -> Result<BorderSource> {
        let mut kept = self.source.lock();
        if let Some(source) = &*kept {
            return match source {
                BorderSource::Indexed(_) if files.mode() == Mode::Off => Err(refused(&self.file)),
                source => Ok(source.clone()),
            };
        }
        let source = self.look(files)?;
        self.held_bytes.fetch_add(source.held_bytes(), Ordering::Relaxed);
        Ok(kept.insert(source).clone())
    }

    /// Makes the next iteration examine the file again.
    fn forget(&self) {
        let num_bytes = self.source.lock().take().map_or(0, |source| source.held_bytes());
        self.held_bytes.fetch_sub(num_bytes, Ordering::Relaxed);
    }

    /// Returns true if an earlier iteration found the boundaries through an index.
    pub(super) fn are_marked(&self) -> bool {
        matches!(&*self.source.lock(), Some(BorderSource::Indexed(_)))
    }

    /// Returns true if the file still has this status.
    pub(super) fn is_of(&self, status: &Status) -> bool {
        self.is_same(status) && self.status.version.is_some()
    }

    fn look(&self, files: &Arc<IndexFiles>) -> Result<BorderSource> {
        let Some(access) = Arc::clone(&self.format).random_access() else { return Ok(BorderSource::Whole) };
        if self.num_pieces() == 1 {
            return Ok(BorderSource::Whole);
        }
        let num_bytes = if self.format.is_of_lines() { CHUNK_BYTES } else { MARK_BYTES as u64 };
        let mut start = self.room(num_bytes.min(self.status.len))?;
        let file = self.open()?;
        self.read(&file, &mut start, 0)?;
        let is_plain = match access.codec() {
            Codec::ByContent => {
                let start = &start[..start.len().min(MARK_BYTES)];
                matches!(Codec::of_file(start, self.file.name.text()), Ok(Codec::Known(Compression::None)))
            }
            codec => codec == Codec::Known(Compression::None),
        };
        let is_whole = start.len() as u64 == self.status.len;
        if !is_plain || !self.format.is_readable(&self.file, &start, is_whole) {
            return Ok(BorderSource::Whole);
        }
        if self.format.is_of_lines() {
            return Ok(BorderSource::Lines);
        }
        if files.mode() == Mode::Off {
            return Err(refused(&self.file));
        }
        let begun = self.file.begin_parts(Some(&self.status))?;
        let index = FileIndex::of(&*access, &self.file, begun, None, files, OrderStage::Shuffle)?;
        let position = |record| index.position(&*access, record);
        let faults = index.faults();
        let mut marks =
            allocate::room(self.num_pieces() as usize).map_err(|refusal| refusal.at("the borders of pieces"))?;
        let (mut record, mut fault) = (0, 0);
        for piece in 0..self.num_pieces() {
            let start = piece * self.block_bytes;
            record = first_from(record, index.len(), |record| Ok(position(record)?.offset_bytes >= start))?;
            fault += faults[fault..].partition_point(|fault| fault.at.offset_bytes < start);
            let next_record = if record < index.len() { position(record)? } else { NO_RECORD };
            let next_fault = faults.get(fault).map_or(NO_RECORD, |fault| fault.at);
            marks.push(match piece {
                0 => RecordPosition::default(),
                _ if next_fault.offset_bytes < next_record.offset_bytes => next_fault,
                _ => next_record,
            });
        }
        let layout = index.layout().cloned();
        let index = index.path().is_some().then_some(index);
        Ok(BorderSource::Indexed(IndexedBorders { starts: marks.into(), layout, index }))
    }

    /// Fails if an index file claims that a piece begins where no record begins.
    fn check(&self, index: &FileIndex, start: RecordPosition) -> Result<()> {
        let Some(access) = Arc::clone(&self.format).random_access() else { return Ok(()) };
        // If framed records are damaged, reading detects it. Checking would cost another request.
        if self.remote.is_some() && !access.has_lead() {
            return Ok(());
        }
        let at_least = |record| Ok(index.position(&*access, record)?.offset_bytes >= start.offset_bytes);
        let record = first_from(0, index.len(), at_least)?;
        if record == index.len() {
            return Ok(());
        }
        let span = index.span(&*access, record)?;
        let lead = match access.has_lead() {
            true if span.range.start <= BYTE_ORDER_MARK_BYTES => span.range.start,
            has_lead => u64::from(has_lead),
        };
        let num_bytes = lead + (span.range.end - span.range.start);
        let mut bytes = self.room(num_bytes)?;
        self.read(&*self.open()?, &mut bytes, span.range.start - lead)?;
        let (lead, frame) = bytes.split_at(lead as usize);
        match access.is_record(lead, frame, span.range.end == self.status.len) {
            true => Ok(()),
            false => index.check(&*access, record, &span),
        }
    }

    fn room(&self, num_bytes: u64) -> Result<Vec<u8>> {
        allocate::zeros(num_bytes as usize).map_err(|refusal| refusal.at(self.file.name.text()))
    }

    fn read(&self, file: &Positioned, buffer: &mut [u8], offset_bytes: u64) -> Result<()> {
        file.read(buffer, offset_bytes).map_err(|error| Error::io(self.file.name.text(), &error))
    }

    /// Opens piece `number` of `file`, at the position of an earlier scan if there is one.
    pub fn open_piece(
        &self,
        file: &Arc<FileProvenance>,
        number: u64,
        (from, coming): (Option<RecordPosition>, Option<ComingBytes>),
        (files, shared): (&Arc<IndexFiles>, &SharedHandle),
    ) -> Result<Box<dyn Scan>> {
        let start = number * self.block_bytes;
        let (at, end, layout) = match self.source(files)? {
            BorderSource::Whole if number == 0 => return self.format.open(file, from.unwrap_or_default()),
            BorderSource::Whole => (NO_RECORD, 0, None),
            BorderSource::Lines => {
                let end = if number + 1 == self.num_pieces() { u64::MAX } else { start + self.block_bytes };
                (RecordPosition { offset_bytes: start.saturating_sub(1), record: 0 }, end, None)
            }
            BorderSource::Indexed(IndexedBorders { starts, layout, index }) => {
                let mark = |number: u64| starts.get(number as usize).copied().unwrap_or(NO_RECORD);
                let (at, end) = (mark(number), mark(number + 1).offset_bytes);
                if let Some(index) = index.filter(|_| number > 0 && from.is_none() && at.offset_bytes < end) {
                    self.check(&index, at).inspect_err(|_| self.forget())?;
                }
                (at, end, layout)
            }
        };
        let is_searched = self.format.is_of_lines() && number > 0 && from.is_none();
        let at = from.unwrap_or(at);
        if at.offset_bytes >= end {
            return Ok(Box::new(Nothing(at)));
        }
        let layout = layout.filter(|_| at.offset_bytes > 0);
        let input = self.open_at(at.offset_bytes, coming, shared)?;
        self.format.open_part(file, FilePart { input, at, end, is_searched, layout })
    }

    /// Starts reading up to `num_bytes` of piece `number` of a remote file, without waiting.
    pub fn begin(&self, number: u64, from: Option<RecordPosition>, num_bytes: u64) -> Option<ComingBytes> {
        let remote = self.remote.as_ref().filter(|_| self.num_pieces() > 1)?;
        let start = number * self.block_bytes;
        let end = start.saturating_add(self.block_bytes).saturating_add(REMOTE_BEHIND_BYTES).min(self.status.len);
        let start = from.map_or(start.saturating_sub(1), |from| from.offset_bytes);
        ComingBytes::begin(remote, start..end.min(start.saturating_add(num_bytes)))
    }

    /// The number of records before piece `number`, if records are counted from its beginning.
    pub(super) fn num_records_before(&self, number: u64, files: &Arc<IndexFiles>) -> Result<u64> {
        match self.source(files)? {
            BorderSource::Lines => Ok(self.counts()?.get(number as usize).copied().unwrap_or(0)),
            BorderSource::Whole | BorderSource::Indexed(_) => Ok(0),
        }
    }

    /// The number of lines before each piece.
    fn counts(&self) -> Result<Arc<[u64]>> {
        let mut kept = self.counts.lock();
        if let Some(counts) = &*kept {
            return Ok(Arc::clone(counts));
        }
        let refused = |refusal: allocate::Refusal| refusal.at("the numbers of lines");
        let mut counts = allocate::room(self.num_pieces() as usize).map_err(refused)?;
        let (file, mut buffer) = (self.open()?, self.room(CHUNK_BYTES.min(self.status.len))?);
        let (mut at, mut num_lines) = (0, 0);
        counts.push(0);
        for piece in 1..self.num_pieces() {
            // The first line feed from there on ends the last line before the piece.
            let end = piece * self.block_bytes - 1;
            while at < end {
                check_current()?;
                let num_bytes = (end - at).min(CHUNK_BYTES) as usize;
                self.read(&file, &mut buffer[..num_bytes], at)?;
                num_lines += memchr_iter(b'\n', &buffer[..num_bytes]).count() as u64;
                at += num_bytes as u64;
            }
            counts.push(num_lines + 1);
        }
        self.held_bytes.fetch_add(size_of_val(&*counts), Ordering::Relaxed);
        Ok(Arc::clone(kept.insert(counts.into())))
    }
}

impl Drop for Borders {
    fn drop(&mut self) {
        self.forget();
        let counts = self.counts.lock().take().map_or(0, |counts| size_of_val(&*counts));
        self.held_bytes.fetch_sub(counts, Ordering::Relaxed);
    }
}

/// Finds the first number from `first` on that meets a condition, or returns `end` if there is none
/// before it. All numbers after that one must meet the condition too.
fn first_from(first: u64, end: u64, holds: impl Fn(u64) -> Result<bool>) -> Result<u64> {
    let (mut first, mut end) = (first, end);
    while first < end {
        let middle = first + (end - first) / 2;
        match holds(middle)? {
            true => end = middle,
            false => first = middle + 1,
        }
    }
    Ok(first)
}

/// A piece without records.
struct Nothing(RecordPosition);

impl Scan for Nothing {
    fn position(&self) -> RecordPosition {
        self.0
    }

    fn next(&mut self, _charge: Charge) -> Result<Option<Block>> {
        Ok(None)
    }
}

#[cold]
fn refused(file: &FileProvenance) -> Error {
    Error::invalid_argument(format!(
        "shuffle: {}: splitting it into blocks needs an index, but the pipeline has options(index=\"off\"). Remove \
         that option, or use a window without block_bytes",
        file.name.text()
    ))
}
