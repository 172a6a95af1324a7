//! The borders of pieces of files: runs of whole records of about one size.
//!
//! Piece `k` has the records that begin from byte `k * block_bytes` up to byte
//! `(k + 1) * block_bytes`, so pieces depend on the size of the file and of a block alone. Where
//! lines end is searched for when a piece is read. Records of other formats are found by an index of
//! the file, which is made when its first piece is read.

use crate::error::{Error, Result};
use crate::files::compression::Compression;
use crate::files::positioned::Positioned;
use crate::files::ranged::{ComingBytes, Ranged};
use crate::files::storage::{self, Status};
use crate::pipeline::blocks::block::{Block, FileProvenance};
use crate::pipeline::blocks::file_provenance::{Before, Layout};
use crate::pipeline::execution::budget::Charge;
use crate::pipeline::formats::{Codec, FilePart, Format, MARK_BYTES, RecordPosition, Scan, Source};
use crate::pipeline::index::{FileIndex, IndexFiles};
use crate::run::check_current;
use crate::sync::Mutex;
use crate::tensor::allocate;
use bytes::Bytes;
use memchr::memchr_iter;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes read at a time to count lines, and at the beginning of a text.
const CHUNK_BYTES: u64 = 256 << 10;
/// The number of remote files that are asked for their sizes at the same time.
const NUM_ASKED: usize = 64;
/// Bytes read behind the end of a piece of a remote file for its last record, at first.
const REMOTE_BEHIND_BYTES: u64 = 64 << 10;
/// The least size of a block: a byte order mark and a byte more, so that it begins in piece 0.
const LEAST_BYTES: u64 = 4;
/// The position behind the last record.
const NO_RECORD: RecordPosition = RecordPosition { offset_bytes: u64::MAX, record: 0 };

/// The borders of the pieces of one file.
pub struct Borders {
    format: Arc<dyn Format>,
    file: Arc<FileProvenance>,
    status: Status,
    block_bytes: u64,
    /// The lock is held while the file is looked at, which happens once.
    found: Mutex<Option<Found>>,
    /// For lines: the number of lines before each piece. Counted when it is needed.
    counts: Mutex<Option<Arc<[u64]>>>,
    /// The memory that the borders of all files take.
    held_bytes: Arc<AtomicUsize>,
    /// The file, if it is remote.
    remote: Option<Arc<Positioned>>,
}

/// The way to find the borders.
#[derive(Clone)]
enum Found {
    /// Piece 0 is the whole file, and the others are empty: it is compressed or cannot be read.
    Whole,
    /// Records begin behind line feeds.
    Lines,
    /// The first record of each piece or of a later one, and the columns of a table. Faults count
    /// as records.
    Marks(Arc<[RecordPosition]>, Option<Arc<Layout>>),
}

impl Borders {
    fn new(
        format: &Arc<dyn Format>,
        file: &Arc<FileProvenance>,
        (remote, status): (Option<Arc<Positioned>>, Status),
        block_bytes: u64,
        held_bytes: &Arc<AtomicUsize>,
    ) -> Self {
        let (format, file, block_bytes) = (Arc::clone(format), Arc::clone(file), block_bytes.max(LEAST_BYTES));
        let (found, counts, held_bytes) = (Mutex::default(), Mutex::default(), Arc::clone(held_bytes));
        Self { format, file, status, block_bytes, found, counts, held_bytes, remote }
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

    /// The largest number of bytes of a piece, unless its last record is larger.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// True if the records of a piece are counted from its beginning.
    fn counts_pieces(&self) -> bool {
        self.format.is_of_lines()
    }

    fn is_same(&self, status: &Status) -> bool {
        self.status.len == status.len && self.status.version == status.version
    }

    /// Opens the file at a place, and checks that it is the same file.
    fn open_at(&self, offset_bytes: u64, coming: Option<ComingBytes>) -> Result<Source> {
        if let Some(remote) = &self.remote {
            return Ok(Source::of_remote(Ranged::new(remote, self.status.len, offset_bytes, coming)));
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
        let error = storage::changed("its size or time of change is another one");
        Error::new(error.code(), format!("{}: {}", self.file.name.text(), error.message()))
    }

    fn found(&self) -> Result<Found> {
        let mut known = self.found.lock();
        if let Some(found) = &*known {
            return Ok(found.clone());
        }
        let found = self.look()?;
        if let Found::Marks(marks, _) = &found {
            self.held_bytes.fetch_add(size_of_val(&**marks), Ordering::Relaxed);
        }
        Ok(known.insert(found).clone())
    }

    fn look(&self) -> Result<Found> {
        let Some(access) = Arc::clone(&self.format).random_access() else { return Ok(Found::Whole) };
        if self.num_pieces() == 1 {
            return Ok(Found::Whole);
        }
        let wanted = if self.format.is_of_lines() { CHUNK_BYTES } else { MARK_BYTES as u64 };
        let mut start = self.room(wanted.min(self.status.len))?;
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
            return Ok(Found::Whole);
        }
        if self.format.is_of_lines() {
            return Ok(Found::Lines);
        }
        let begun = self.file.begin_parts(Some(&self.status))?;
        let index = FileIndex::of(&*access, &self.file, begun, None, &Arc::new(IndexFiles::none()))?;
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
        Ok(Found::Marks(marks.into(), index.layout().cloned()))
    }

    fn room(&self, num_bytes: u64) -> Result<Vec<u8>> {
        allocate::zeros(num_bytes as usize).map_err(|refusal| refusal.at(self.file.name.text()))
    }

    fn read(&self, file: &Positioned, buffer: &mut [u8], offset_bytes: u64) -> Result<()> {
        file.read(buffer, offset_bytes).map_err(|error| Error::io(self.file.name.text(), &error))
    }

    /// Opens piece `number` of `file`, at a position that a scan of it has had, if there is one.
    pub fn open_piece(
        &self,
        file: &Arc<FileProvenance>,
        number: u64,
        from: Option<RecordPosition>,
        coming: Option<ComingBytes>,
    ) -> Result<Box<dyn Scan>> {
        let start = number * self.block_bytes;
        let (at, end, layout) = match self.found()? {
            Found::Whole if number == 0 => return self.format.open(file, from.unwrap_or_default()),
            Found::Whole => (NO_RECORD, 0, None),
            Found::Lines => {
                let end = if number + 1 == self.num_pieces() { u64::MAX } else { start + self.block_bytes };
                (RecordPosition { offset_bytes: start.saturating_sub(1), record: 0 }, end, None)
            }
            Found::Marks(marks, layout) => {
                let mark = |number: u64| marks.get(number as usize).copied().unwrap_or(NO_RECORD);
                (mark(number), mark(number + 1).offset_bytes, layout)
            }
        };
        let is_searched = self.format.is_of_lines() && number > 0 && from.is_none();
        let at = from.unwrap_or(at);
        if at.offset_bytes >= end {
            return Ok(Box::new(Nothing(at)));
        }
        let layout = layout.filter(|_| at.offset_bytes > 0);
        let input = self.open_at(at.offset_bytes, coming)?;
        self.format.open_part(file, FilePart { input, at, end, is_searched, layout })
    }

    /// Begins to read piece `number` of a remote file, up to `num_bytes` of it. Does not wait.
    pub fn begin(&self, number: u64, from: Option<RecordPosition>, num_bytes: u64) -> Option<ComingBytes> {
        let remote = self.remote.as_ref().filter(|_| self.num_pieces() > 1)?;
        let start = number * self.block_bytes;
        let end = start.saturating_add(self.block_bytes).saturating_add(REMOTE_BEHIND_BYTES).min(self.status.len);
        let start = from.map_or(start.saturating_sub(1), |from| from.offset_bytes);
        ComingBytes::begin(remote, start..end.min(start.saturating_add(num_bytes)))
    }

    /// The number of lines before each piece.
    fn counts(&self) -> Result<Arc<[u64]>> {
        let mut known = self.counts.lock();
        if let Some(counts) = &*known {
            return Ok(Arc::clone(counts));
        }
        let refused = |refusal: allocate::Refusal| refusal.at("the numbers of lines");
        let mut counts = allocate::room(self.num_pieces() as usize).map_err(refused)?;
        let (file, mut buffer) = (self.open()?, self.room(CHUNK_BYTES.min(self.status.len))?);
        let (mut at, mut num_lines) = (0, 0);
        counts.push(0);
        for piece in 1..self.num_pieces() {
            // The line feed from there on ends the line before the piece.
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
        Ok(Arc::clone(known.insert(counts.into())))
    }
}

impl Drop for Borders {
    fn drop(&mut self) {
        let marks = self.found.lock().take().map_or(0, |found| match found {
            Found::Marks(marks, _) => size_of_val(&*marks),
            _ => 0,
        });
        let counts = self.counts.lock().take().map_or(0, |counts| size_of_val(&*counts));
        self.held_bytes.fetch_sub(marks + counts, Ordering::Relaxed);
    }
}

/// The first number from `first` on for which a condition holds that then holds for all; `end` if
/// there is none before it.
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

    fn find(&mut self, _record: u64) -> Result<Option<u64>> {
        Ok(None)
    }
}

/// A piece of a file.
#[derive(Clone)]
pub struct FilePiece {
    /// The borders of the file's pieces.
    pub borders: Arc<Borders>,
    /// Its number in the file.
    pub number: u64,
}

impl FilePiece {
    /// True unless it is a whole file.
    pub fn is_of_several(&self) -> bool {
        self.borders.num_pieces() > 1
    }

    /// Opens it, at a position that a scan of it has had, if there is one.
    pub fn open(
        &self,
        file: &Arc<FileProvenance>,
        from: Option<RecordPosition>,
        coming: Option<ComingBytes>,
    ) -> Result<Box<dyn Scan>> {
        self.borders.open_piece(file, self.number, from, coming)
    }

    /// Begins to read it, if the file is remote: up to `num_bytes`. Does not wait.
    pub fn begin(&self, from: Option<RecordPosition>, num_bytes: u64) -> Option<ComingBytes> {
        self.borders.begin(self.number, from, num_bytes)
    }

    /// The same file, with records as the piece numbers them.
    pub fn numbered(&self, file: Arc<FileProvenance>) -> Arc<FileProvenance> {
        match self.borders.counts_pieces() && self.number > 0 {
            true => file.counted_from(Arc::new(self.clone())),
            false => file,
        }
    }
}

impl Before for FilePiece {
    fn num_records(&self) -> Result<u64> {
        match self.borders.found()? {
            Found::Lines => Ok(self.borders.counts()?.get(self.number as usize).copied().unwrap_or(0)),
            Found::Whole | Found::Marks(..) => Ok(0),
        }
    }

    fn number(&self) -> u64 {
        self.number
    }
}

impl fmt::Debug for FilePiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilePiece {}", self.number)
    }
}

/// The pieces of the files of a source.
pub struct FilePieces {
    files: Vec<Arc<Borders>>,
    /// For each file, the number of pieces up to its last one.
    ends: Vec<u64>,
}

impl FilePieces {
    /// The number of pieces.
    pub fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of the file that has piece `number`, and the piece.
    pub fn get(&self, number: u64) -> Option<(usize, FilePiece)> {
        let file = self.ends.partition_point(|end| *end <= number);
        let first = file.checked_sub(1).map_or(0, |before| self.ends[before]);
        let borders = Arc::clone(self.files.get(file)?);
        Some((file, FilePiece { borders, number: number - first }))
    }
}

/// The borders of files, for later passes and iterations.
#[derive(Default)]
pub struct KeptBorders {
    files: Mutex<HashMap<(u64, Bytes), Arc<Borders>>>,
    held_bytes: Arc<AtomicUsize>,
}

impl KeptBorders {
    /// The pieces of files of a source, which has the number `source` among others. Fails if a file
    /// is missing.
    pub fn of(
        &self,
        source: u64,
        format: &Arc<dyn Format>,
        files: &[Arc<FileProvenance>],
        block_bytes: u64,
    ) -> Result<FilePieces> {
        let mut borders = Vec::new();
        for files in files.chunks(NUM_ASKED) {
            let statuses: Vec<_> = match files.iter().any(|file| file.name.url().is_some()) {
                false => files.iter().map(|file| Ok((None, file.name.status()?))).collect::<Result<_>>()?,
                true => {
                    let begun: Vec<_> = files.iter().map(|file| file.begin_parts(None)).collect::<Result<_>>()?;
                    let opened = |(remote, status)| (Some(Arc::new(remote)), status);
                    begun.into_iter().map(|begun| begun.wait().map(opened)).collect::<Result<_>>()?
                }
            };
            let mut kept = self.files.lock();
            for (file, (remote, status)) in files.iter().zip(statuses) {
                let key = (source, file.name.bytes().clone());
                let known = kept.get(&key).filter(|known| known.is_same(&status) && known.status.version.is_some());
                borders.push(match known {
                    Some(known) => Arc::clone(known),
                    None => {
                        let new = Arc::new(Borders::new(format, file, (remote, status), block_bytes, &self.held_bytes));
                        kept.insert(key, Arc::clone(&new));
                        new
                    }
                });
            }
        }
        let ends = borders.iter().scan(0_u64, |end, borders| {
            *end = end.saturating_add(borders.num_pieces());
            Some(*end)
        });
        let ends = ends.collect();
        Ok(FilePieces { files: borders, ends })
    }

    /// The memory that the borders take.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }
}
