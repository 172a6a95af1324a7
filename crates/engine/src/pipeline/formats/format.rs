//! What a format has to say: how its files are cut into blocks of records.

use crate::error::Result;
use crate::pipeline::blocks::block::{Block, FileProvenance};
use crate::pipeline::execution::budget::Charge;
use crate::pipeline::formats::RecordPosition;
use crate::pipeline::index::RandomAccess;
use std::sync::Arc;

/// How files of a kind are cut into blocks.
pub trait Format: Send + Sync {
    /// Opens a file at a place where a block begins.
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>>;

    /// How many bytes a block may have, unless one record has more.
    fn block_bytes(&self) -> usize;

    /// How many bytes an open file takes beside its blocks.
    fn open_bytes(&self) -> usize {
        self.block_bytes()
    }

    /// Whether each file is one record.
    fn is_one_record(&self) -> bool {
        false
    }

    /// How records are reached one by one; `None` if they are not.
    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        None
    }
}

/// A file that is read from its beginning to its end.
pub trait Scan: Send {
    /// Where the next block begins. After an error, where the record begins that is at fault.
    fn position(&self) -> RecordPosition;

    /// The next records, `None` after the last one. Records before a damaged one come first; the error comes with the
    /// next call, and nothing after it, unless [`Scan::go_on`] is called.
    fn next(&mut self, charge: Charge) -> Result<Option<Block>>;

    /// After an error: goes on behind the record at fault. False if nobody can tell where the next one begins.
    fn go_on(&mut self) -> bool {
        false
    }

    /// How many uncompressed bytes there are from [`Scan::position`] on, if the size of the file tells.
    fn rest_bytes(&self) -> Option<u64> {
        None
    }

    /// Reads on until record number `record`: where it begins, if it is there.
    fn find(&mut self, record: u64) -> Result<Option<u64>>;
}
