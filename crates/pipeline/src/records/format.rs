//! The interface for file formats, which split files into blocks of records.

use crate::blocks::block::{Block, FileProvenance};
use crate::budget::Charge;
use crate::records::{FilePart, RandomAccess, RecordPosition};
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// A file format: cuts files into blocks.
pub trait Format: Send + Sync {
    /// Opens a file at a position where a block begins.
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>>;

    /// Begins to open a remote file, and to read up to `num_bytes` of it. Does not wait.
    fn begin(&self, file: &FileProvenance, num_bytes: usize) {
        file.begin(num_bytes);
    }

    /// The largest size of a block in bytes, unless a single record is larger.
    fn block_bytes(&self) -> usize;

    /// The memory of an open file in bytes, besides its blocks.
    fn open_bytes(&self, _file: &FileProvenance) -> usize {
        self.block_bytes()
    }

    /// The memory that opening a file takes for a while besides [`Format::open_bytes`], in bytes.
    fn opening_bytes(&self, _file: &FileProvenance) -> usize {
        0
    }

    /// The memory that the format uses for all files during the lifetime of the plan, in bytes.
    fn held_bytes(&self) -> usize {
        0
    }

    /// The offset of a record, if it is known without reading the file.
    fn offset(&self, _file: &FileProvenance, _record: u64) -> Option<u64> {
        None
    }

    /// True if files are read in parts, several of one file at the same time; see
    /// [`FileProvenance::in_part`].
    fn has_parts(&self) -> bool {
        false
    }

    /// True if each file is one record.
    fn is_one_record(&self) -> bool {
        false
    }

    /// Opens a part of an uncompressed file, if the format has random access.
    fn open_part(&self, _file: &Arc<FileProvenance>, _part: FilePart) -> Result<Box<dyn Scan>> {
        Err(Error::internal("this format has no parts"))
    }

    /// True if a record begins after each line feed, whatever comes before it.
    fn is_of_lines(&self) -> bool {
        false
    }

    /// True unless a file that begins with these bytes cannot be read; `is_whole` if these are all
    /// its bytes.
    fn is_readable(&self, _file: &FileProvenance, _start: &[u8], _is_whole: bool) -> bool {
        true
    }

    /// Random access to the records; `None` if it is impossible.
    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        None
    }
}

/// A file that is read from its beginning to its end.
pub trait Scan: Send {
    /// The position of the next block; after an error, the position of the faulty record.
    fn position(&self) -> RecordPosition;

    /// The next records, `None` after the last one. Records before a damaged one come first. The
    /// next call returns the error, and later calls nothing, unless [`Scan::go_on`] is called.
    fn next(&mut self, charge: Charge) -> Result<Option<Block>>;

    /// After an error: continues after the faulty record. False if the next record cannot be found.
    fn go_on(&mut self) -> bool {
        false
    }

    /// The number of uncompressed bytes after [`Scan::position`], if the size of the file tells.
    fn rest_bytes(&self) -> Option<u64> {
        None
    }

    /// The memory of the open file besides its blocks, in bytes; `None` if it is as
    /// [`Format::open_bytes`] says.
    fn held_bytes(&self) -> Option<usize> {
        None
    }

    /// Sets the target size of blocks, for formats whose files are read in parts.
    fn set_block_bytes(&mut self, _num_bytes: usize) {}

    /// Continues reading: returns the numbers and the offsets of the next records, none at the end.
    /// For formats without [`Format::offset`].
    fn locate(&mut self) -> Result<Vec<(u64, u64)>> {
        Ok(Vec::new())
    }
}
