//! A part of a file: the records that begin within a byte range.

use crate::blocks::file_provenance::Layout;
use crate::records::{RecordPosition, Source};
use std::sync::Arc;

/// A part of an uncompressed file.
pub struct FilePart {
    /// The bytes of the file, starting at `at`.
    pub input: Source,
    /// The position of the first record.
    pub at: RecordPosition,
    /// Records that begin at or after this offset are not part of it.
    pub end: u64,
    /// True if the first record is the one after the next line feed.
    pub is_searched: bool,
    /// For tables: the columns of the records, unless the part begins with the header.
    pub layout: Option<Arc<Layout>>,
}

impl FilePart {
    /// The records from `at` on that begin before `end`.
    pub fn new(input: Source, at: RecordPosition, end: u64) -> Self {
        Self { input, at, end, is_searched: false, layout: None }
    }
}
