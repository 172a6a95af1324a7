//! A part of a file: the records that begin in a byte range.

use crate::blocks::file_provenance::Layout;
use crate::records::{RecordPosition, Source};
use std::sync::Arc;

/// A part of an uncompressed file, to be read.
pub struct FilePart {
    /// The bytes of the file from `at` on.
    pub input: Source,
    /// The position of its first record.
    pub at: RecordPosition,
    /// Records that begin at this offset or later are not in it.
    pub end: u64,
    /// True if its first record is the first one after a line feed at `at` or later.
    pub is_searched: bool,
    /// For a table: the columns of its records, unless it begins with the header.
    pub layout: Option<Arc<Layout>>,
}

impl FilePart {
    /// The records from one position on that begin before an offset.
    pub fn new(input: Source, at: RecordPosition, end: u64) -> Self {
        Self { input, at, end, is_searched: false, layout: None }
    }
}
