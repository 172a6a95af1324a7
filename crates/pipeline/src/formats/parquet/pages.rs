//! The pages of a row group. Their headers are checked before the `parquet` crate allocates
//! memory for the pages.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::parquet::file::{OpenFile, Parsed, failed};
use crate::formats::parquet::footers::{chunk_range, window_bytes};
use crate::formats::parquet::page_header::{Claims, Expected, PageKind};
use crate::formats::parquet::thrift::Thrift;
use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::files::storage::{Coming, as_io};
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::allocate;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of bytes to read at a time for a header.
const HEADER_BYTES: usize = 256;
/// The maximum size of a header in bytes. It may contain texts in its statistics.
const MAX_HEADER_BYTES: usize = 16 << 20;
/// A page up to this size may be larger than its column according to the footer.
const SMALL_BYTES: u64 = 16 << 20;

/// The pages of a row group in an open file.
#[derive(Clone, Debug)]
pub struct Pages {
    file: Arc<FileProvenance>,
    open: OpenFile,
    /// The position of each column, and the footer's claims about its pages.
    chunks: Arc<[Chunk]>,
    /// The most recently read parts of a remote file, at most two per column.
    parts: Arc<Mutex<VecDeque<Part>>>,
    most_parts: usize,
    /// The number of column bytes to request at once.
    window_bytes: u64,
}

#[derive(Debug)]
struct Part {
    range: Range<u64>,
    bytes: Bytes,
}

#[derive(Debug)]
struct Chunk {
    range: Range<u64>,
    expected: Expected,
    /// The sizes of its dictionary and of the largest other page read so far.
    held_bytes: [AtomicU64; 2],
}

impl Pages {
    /// The pages of a row group, of which `num_columns` columns are requested.
    pub fn new(file: &Arc<FileProvenance>, open: &OpenFile, group: &RowGroupMetaData, num_columns: usize) -> Self {
        let chunk = |column: &ColumnChunkMetaData| Chunk {
            range: chunk_range(column),
            expected: Expected::of(column),
            held_bytes: Default::default(),
        };
        let chunks: Arc<[Chunk]> = group.columns().iter().map(chunk).collect();
        let (file, parts, most_parts) = (Arc::clone(file), Arc::default(), 2 * chunks.len());
        Self { file, open: open.clone(), chunks, parts, most_parts, window_bytes: window_bytes(num_columns) }
    }

    /// The same pages, after waiting for ranges that were requested.
    pub fn with(self, ranges: &[Range<u64>], coming: Box<dyn Coming>) -> Result<Self> {
        let name = self.file.name.text();
        let length = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let buffers = ranges.iter().map(|range| allocate::zeros::<u8>(length(range)));
        let mut buffers = buffers.collect::<std::result::Result<Vec<_>, _>>().map_err(|refusal| refusal.at(name))?;
        let mut slices: Vec<_> = buffers.iter_mut().map(|buffer| &mut buffer[..]).collect();
        coming.wait(&mut slices).map_err(|error| {
            failed(&self.file, "a row group cannot be read", &ParquetError::External(Box::new(error)))
        })?;
        let part = |(range, bytes): (&Range<u64>, Vec<u8>)| Part { range: range.clone(), bytes: bytes.into() };
        self.parts.lock().extend(ranges.iter().zip(buffers).map(part));
        Ok(self)
    }

    /// The memory that these pages use for parts of a remote file, and for a reader if `is_read`.
    pub fn held_bytes(&self, is_read: bool) -> usize {
        let parts = self.parts.lock().iter().map(|part| part.bytes.len() as u64).sum::<u64>();
        let read = self.chunks.iter().filter(|_| is_read).flat_map(|chunk| &chunk.held_bytes);
        let num_bytes = read.map(|num_bytes| num_bytes.load(Relaxed)).fold(parts, u64::saturating_add);
        usize::try_from(num_bytes).unwrap_or(usize::MAX)
    }

    /// Drops the parts of a remote file.
    pub fn forget(&self) {
        self.parts.lock().clear();
    }

    /// Reads a part of the file. If the file is remote, also reads the bytes that follow in the
    /// column.
    fn read(&self, start: u64, length: usize) -> io::Result<Bytes> {
        if !self.open.is_remote() {
            return self.open.read(start, length).map(Into::into);
        }
        let end = start.saturating_add(length as u64);
        let contains = |part: &Part| part.range.start <= start && end <= part.range.end;
        let bytes = self.parts.lock().iter().find(|part| contains(part)).map(|part| {
            let first = (start - part.range.start) as usize;
            part.bytes.slice(first..first + length)
        });
        if let Some(bytes) = bytes {
            return Ok(bytes);
        }
        let chunk = self.chunks.iter().find(|chunk| chunk.range.contains(&start));
        let last = chunk.map_or(end, |chunk| chunk.range.end.min(start.saturating_add(self.window_bytes)).max(end));
        let range = start..last.min(self.open.len().max(end));
        let bytes: Bytes = self.open.read(start, (range.end - range.start) as usize)?.into();
        let mut parts = self.parts.lock();
        parts.push_back(Part { range, bytes: bytes.clone() });
        if parts.len() > self.most_parts {
            parts.pop_front();
        }
        Ok(bytes.slice(..length))
    }

    /// Returns the first bytes of a column from `start` on, with at least one complete header.
    /// `rest` bytes are available.
    fn header(&self, start: u64, rest: usize) -> io::Result<Bytes> {
        let most = rest.min(MAX_HEADER_BYTES);
        let mut length = most.min(HEADER_BYTES);
        loop {
            let bytes = self.read(start, length)?;
            if Thrift::has_struct(&bytes) {
                return Ok(bytes);
            }
            if length == most {
                let text = "the header of a page extends past its column";
                return Err(io::Error::new(ErrorKind::InvalidData, text));
            }
            length = most.min(4 * length);
        }
    }

    /// Fails if the header at `offset` claims more than its column can have.
    fn check(&self, header: &[u8], offset: u64) -> io::Result<()> {
        // Headers that cannot be parsed are rejected when they are read.
        let Some(claims) = Claims::of(header) else { return Ok(()) };
        let Some(chunk) = self.chunks.iter().find(|chunk| chunk.range.contains(&offset)) else { return Ok(()) };
        if claims.num_bytes > chunk.expected.num_bytes.max(SMALL_BYTES) {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("a page claims {} bytes, but its column has {}", claims.num_bytes, chunk.expected.num_bytes),
            ));
        }
        let is_dictionary = claims.kind == PageKind::Dictionary;
        chunk.held_bytes[usize::from(!is_dictionary)].fetch_max(claims.num_bytes, Relaxed);
        let num_bytes = usize::try_from(claims.num_bytes).unwrap_or(usize::MAX);
        allocate::check(num_bytes).map_err(|refusal| as_io(refusal.at("a page of Parquet")))?;
        // Values in a dictionary take at least one byte each.
        let most = if is_dictionary { claims.num_bytes } else { chunk.expected.num_values };
        let text = match claims.num_values <= most {
            true => chunk.expected.difference(&claims),
            false => Some(format!("a page claims {} values, expected at most {most}", claims.num_values)),
        };
        text.map_or(Ok(()), |text| Err(io::Error::new(ErrorKind::InvalidData, text)))
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.open.len()
    }
}

impl ChunkReader for Pages {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> Parsed<Self::T> {
        Ok(HeaderReader { pages: self.clone(), offset: start, buffer: Bytes::new(), used: 0, is_checked: false })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Parsed<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.open.len()) {
            return Err(ParquetError::External(Box::new(io::Error::from(ErrorKind::UnexpectedEof))));
        }
        Ok(self.read(start, length)?)
    }
}

/// Reads the header of a page. The header is checked when its first byte is read.
pub struct HeaderReader {
    pages: Pages,
    /// The offset after `buffer`.
    offset: u64,
    buffer: Bytes,
    used: usize,
    is_checked: bool,
}

impl Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.buffer.len() {
            let start = self.offset;
            let chunk = self.pages.chunks.iter().find(|chunk| chunk.range.contains(&start));
            let end = chunk.map_or(u64::MAX, |chunk| chunk.range.end).min(self.pages.open.len());
            let rest = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
            let is_first = !std::mem::replace(&mut self.is_checked, true);
            self.buffer = match is_first && rest > 0 {
                true => self.pages.header(start, rest)?,
                false => self.pages.read(start, rest.min(HEADER_BYTES))?,
            };
            (self.used, self.offset) = (0, start + self.buffer.len() as u64);
            if is_first {
                self.pages.check(&self.buffer, start)?;
            }
        }
        let count = buffer.len().min(self.buffer.len() - self.used);
        buffer[..count].copy_from_slice(&self.buffer[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}
