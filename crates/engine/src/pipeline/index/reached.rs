//! The records of files by their numbers.

use super::super::block::{Block, FileOrigin};
use super::super::column::{Span, Text};
use super::super::formats::{Codec, MARK_BYTES, Place};
use super::super::nodes::sampled::Indexed;
use super::super::origin::{Gathered, Locate, RowOrigin};
use super::{Hops, RandomAccess, Scanned};
use crate::error::{Error, Result};
use crate::files::compression::Compression;
use crate::files::positioned::Positioned;
use crate::sync::Mutex;
use crate::tensor::allocate;
use bytes::Bytes;
use std::collections::HashMap;
use std::fs::Metadata;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

/// Files that stay open while their records are read. Others are opened for each read.
const MAX_OPEN: usize = 256;
/// What lies between two records is read too if it is not longer than this, or than the first of them.
const SMALL_GAP_BYTES: u64 = 512;

/// Where the records of one file begin.
#[derive(Debug)]
pub struct FileIndex {
    file: Arc<FileOrigin>,
    found: Scanned,
    size: u64,
    modified: Option<SystemTime>,
}

impl FileIndex {
    /// Scans a file, unless `known` is of the file as it is now. What lies behind damage is left out.
    pub fn of(access: &dyn RandomAccess, file: &Arc<FileOrigin>, known: Option<Arc<Self>>) -> Result<Arc<Self>> {
        let (input, metadata) = Positioned::open(&file.name)?;
        if let Some(known) = known.filter(|known| known.is_of(&metadata) && known.fits(access)) {
            return Ok(known);
        }
        let size = metadata.len();
        let mut hops = Hops::new(input, file, size)?;
        check_uncompressed(access.codec(), file, hops.at(0, MARK_BYTES)?)?;
        let found = access.scan(file, &mut hops)?;
        Ok(Arc::new(Self { file: Arc::clone(file), found, size, modified: metadata.modified().ok() }))
    }

    fn is_of(&self, metadata: &Metadata) -> bool {
        self.size == metadata.len() && self.modified.is_some() && self.modified == metadata.modified().ok()
    }

    fn fits(&self, access: &dyn RandomAccess) -> bool {
        self.found.layout.as_ref().is_none_or(|layout| access.fits(layout))
    }

    /// Where and why nothing more of the file can be read.
    pub fn fault(&self) -> Option<&(Place, Error)> {
        self.found.fault.as_ref()
    }

    /// How many bytes of memory it takes.
    pub fn memory_bytes(&self) -> usize {
        self.found.memory_bytes()
    }
}

impl Locate for FileIndex {
    fn offset(&self, _file: &Arc<FileOrigin>, record: u64) -> Option<u64> {
        let offsets = &self.found.offsets;
        self.found.numbers.find(record, offsets.len()).map(|index| offsets.range(index).start)
    }
}

fn check_uncompressed(codec: Codec, file: &FileOrigin, start: &[u8]) -> Result<()> {
    let codec = match codec {
        Codec::ByContent => Codec::of(start),
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

/// What is known of files that were scanned, for later passes and iterations.
#[derive(Default)]
pub struct Kept(Mutex<HashMap<(usize, Bytes), Arc<FileIndex>>>);

impl Kept {
    /// What is known of a file of part `part`.
    pub fn get(&self, part: usize, file: &FileOrigin) -> Option<Arc<FileIndex>> {
        self.0.lock().get(&(part, file.name.bytes().clone())).cloned()
    }

    /// Keeps what was found out of a file.
    pub fn put(&self, part: usize, index: &Arc<FileIndex>) {
        self.0.lock().insert((part, index.file.name.bytes().clone()), Arc::clone(index));
    }
}

/// The records of some files, one file after the other.
pub struct ReachedFiles {
    access: Arc<dyn RandomAccess>,
    files: Vec<Reached>,
    num_open: AtomicUsize,
    len: u64,
    row_bytes: usize,
}

struct Reached {
    file: Arc<FileOrigin>,
    index: Arc<FileIndex>,
    /// The number of its first record among those of all files.
    first: u64,
    handle: OnceLock<Positioned>,
}

/// A record that is wanted.
struct Wanted {
    /// Its place among those that are wanted.
    row: usize,
    file: usize,
    /// Its number in the file.
    record: u64,
    start: u64,
    end: u64,
    /// Where its frame is in the buffer.
    at: usize,
}

impl ReachedFiles {
    /// Each file with its index.
    pub fn new(access: Arc<dyn RandomAccess>, files: Vec<(Arc<FileOrigin>, Arc<FileIndex>)>) -> Self {
        let mut len = 0;
        let mut total_bytes = 0;
        let reached = |(file, index): (Arc<FileOrigin>, Arc<FileIndex>)| {
            let first = len;
            len += index.found.offsets.len();
            total_bytes += index.found.offsets.total_bytes();
            let file = match &index.found.layout {
                Some(layout) => file.laid_out(layout),
                None => file,
            };
            let file = file.located(Arc::<FileIndex>::clone(&index));
            Reached { file, index, first, handle: OnceLock::new() }
        };
        let files = files.into_iter().map(reached).collect();
        let row_bytes = usize::try_from(total_bytes / len.max(1)).unwrap_or(usize::MAX);
        Self { access, files, num_open: AtomicUsize::new(0), len, row_bytes }
    }

    /// The records of these numbers, in the order of their places.
    fn wanted(&self, numbers: &[u64]) -> Vec<Wanted> {
        let wanted = |(row, number): (usize, &u64)| {
            let file = self.files.partition_point(|file| file.first <= *number) - 1;
            let index = number - self.files[file].first;
            let range = self.files[file].index.found.offsets.range(index);
            let record = self.files[file].index.found.numbers.get(index);
            Wanted { row, file, record, start: range.start, end: range.end, at: 0 }
        };
        let mut wanted: Vec<_> = numbers.iter().enumerate().map(wanted).collect();
        wanted.sort_unstable_by_key(|wanted| (wanted.file, wanted.start));
        wanted
    }

    /// Reads what is wanted into one buffer.
    fn fetch(&self, wanted: &mut [Wanted]) -> Result<Vec<u8>> {
        let mut num_bytes = 0;
        for run in wanted.chunk_by_mut(is_near) {
            let start = run[0].start;
            run.iter_mut().for_each(|wanted| wanted.at = num_bytes + (wanted.start - start) as usize);
            num_bytes += (run[run.len() - 1].end - start) as usize;
        }
        let mut buffer = allocate::zeros(num_bytes).map_err(|refusal| refusal.at("records of files"))?;
        let mut rest = &mut buffer[..];
        for run in wanted.chunk_by(is_near) {
            let (first, last) = (&run[0], &run[run.len() - 1]);
            let (bytes, behind) = rest.split_at_mut((last.end - first.start) as usize);
            rest = behind;
            self.read_run(first, bytes)?;
        }
        Ok(buffer)
    }

    fn read_run(&self, first: &Wanted, bytes: &mut [u8]) -> Result<()> {
        let reached = &self.files[first.file];
        let name = reached.file.name.text();
        let read = self.with_handle(reached, |handle| handle.read(bytes, first.start))?;
        match read.map_err(|error| Error::io(name, &error))? {
            count if count == bytes.len() => Ok(()),
            _ => Err(Error::data_loss(format!(
                "{name}: {} at {} ends behind the end of the file, which became shorter while it was read. Write the \
                 files before they are read",
                reached.file.numbering.of(first.record),
                first.start
            ))),
        }
    }

    fn with_handle<T>(&self, reached: &Reached, work: impl FnOnce(&Positioned) -> T) -> Result<T> {
        if let Some(handle) = reached.handle.get() {
            return Ok(work(handle));
        }
        let (handle, _) = Positioned::open(&reached.file.name)?;
        if reached.index.found.offsets.len() <= 1 || self.num_open.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
            return Ok(work(&handle));
        }
        Ok(work(reached.handle.get_or_init(|| handle)))
    }
}

/// Whether two records, the first of which is before the second or the same, are read at once.
fn is_near(one: &Wanted, other: &Wanted) -> bool {
    let gap = other.start.saturating_sub(one.end);
    one.file == other.file && gap <= SMALL_GAP_BYTES.max(one.end - one.start)
}

impl Indexed for ReachedFiles {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let mut wanted = self.wanted(numbers);
        let buffer = self.fetch(&mut wanted)?;
        wanted.sort_unstable_by_key(|wanted| wanted.row);
        let mut spans = allocate::room(wanted.len()).map_err(|refusal| refusal.at("records of files"))?;
        let mut origins = Gathered::default();
        for wanted in &wanted {
            let file = &self.files[wanted.file].file;
            let frame = &buffer[wanted.at..][..(wanted.end - wanted.start) as usize];
            let at = Place { offset_bytes: wanted.start, record: wanted.record };
            let Span { start, length } = self.access.unframe(file, frame, at)?;
            spans.push(Span { start: wanted.at + start, length });
            origins.push_record(file, wanted.record);
        }
        let origins = origins.finish();
        let offsets: Vec<_> = wanted.iter().map(|wanted| wanted.start).collect();
        let columns = self.access.columns(Text::new(buffer.into(), spans), &offsets, &origins)?;
        Block::new(columns, numbers.len(), origins)
    }

    fn origin(&self, number: u64) -> Option<RowOrigin> {
        let file = self.files.partition_point(|file| file.first <= number).checked_sub(1)?;
        let Reached { file, index, first, .. } = &self.files[file];
        Some(RowOrigin { file: Arc::clone(file), record: index.found.numbers.get(number - first), sub: 0 })
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }
}
