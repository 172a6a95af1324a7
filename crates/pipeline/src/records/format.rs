//! The interface for file formats, which split files into blocks of records.

use crate::blocks::block::{Block, FileProvenance};
use crate::budget::Charge;
use crate::records::{FilePart, RandomAccess, RecordPosition};
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// A file format, which splits files into blocks.
pub trait Format: Send + Sync {
    /// Opens a file at a position where a block begins.
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>>;

    /// Starts opening a remote file and reading up to `num_bytes` of it, without waiting.
    fn begin(&self, file: &FileProvenance, num_bytes: usize) {
        file.begin(num_bytes);
    }

    /// The maximum size of a block in bytes, unless a single record is larger.
    fn block_bytes(&self) -> usize;

    /// The memory of an open file in bytes, not counting its blocks.
    fn open_bytes(&self, _file: &FileProvenance) -> usize {
        self.block_bytes()
    }

    /// The temporary memory needed to open a file, in bytes, in addition to [`Format::open_bytes`].
    fn opening_bytes(&self, _file: &FileProvenance) -> usize {
        0
    }

    /// The memory that the format keeps for all files as long as the plan exists, in bytes.
    fn held_bytes(&self) -> usize {
        0
    }

    /// The offset of a record, if it is known without reading the file.
    fn offset(&self, _file: &FileProvenance, _record: u64) -> Option<u64> {
        None
    }

    /// Returns true if files are read in parts, several of one file concurrently; see
    /// [`FileProvenance::in_part`].
    fn has_parts(&self) -> bool {
        false
    }

    /// Returns true if each file is a single record.
    fn is_one_record(&self) -> bool {
        false
    }

    /// Opens a part of an uncompressed file, if the format has random access.
    fn open_part(&self, _file: &Arc<FileProvenance>, _part: FilePart) -> Result<Box<dyn Scan>> {
        Err(Error::internal("this format has no parts"))
    }

    /// Returns true if a record begins after every line feed, whatever comes before it.
    fn is_of_lines(&self) -> bool {
        false
    }

    /// Returns false if a file that begins with these bytes cannot be read. `is_whole` is true if
    /// `start` is the whole file.
    fn is_readable(&self, _file: &FileProvenance, _start: &[u8], _is_whole: bool) -> bool {
        true
    }

    /// Returns random access to the records, or `None` if the format doesn't support it.
    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        None
    }
}

/// A file being read from start to end.
pub trait Scan: Send {
    /// The position of the next block or, after an error, of the faulty record.
    fn position(&self) -> RecordPosition;

    /// Returns the next records, or `None` after the last one. Records before a damaged one are
    /// returned first, and the next call returns the error. Later calls return `None` unless
    /// [`Scan::go_on`] is called.
    fn next(&mut self, charge: Charge) -> Result<Option<Block>>;

    /// True if it is known that nothing follows the last block.
    fn is_over(&self) -> bool {
        false
    }

    /// After an error, continues with the record after the faulty one. Returns false if that record
    /// cannot be located.
    fn go_on(&mut self) -> bool {
        false
    }

    /// The number of uncompressed bytes after [`Scan::position`], if the file's size reveals it.
    fn rest_bytes(&self) -> Option<u64> {
        None
    }

    /// The memory of the open file in bytes, not counting its blocks. `None` means
    /// [`Format::open_bytes`].
    fn held_bytes(&self) -> Option<usize> {
        None
    }

    /// Sets the target size of blocks, for formats that read files in parts.
    fn set_block_bytes(&mut self, _num_bytes: usize) {}

    /// Continues reading and returns the numbers and offsets of the next records, or an empty list
    /// at the end. For formats without [`Format::offset`].
    fn locate(&mut self) -> Result<Vec<(u64, u64)>> {
        Ok(Vec::new())
    }
}
