//! The interface for locating and reading single records.

use crate::blocks::block::{FileProvenance, Provenance};
use crate::blocks::column::{Column, Span, Text};
use crate::blocks::file_provenance::Layout;
use crate::records::{Codec, HeaderScan, RecordPosition, ScanResult};
use headrace_engine::error::Result;
use std::sync::Arc;

/// Locates the records of a format and reads single ones.
pub trait RandomAccess: Send + Sync {
    /// The compression of the files. Random access requires uncompressed files.
    fn codec(&self) -> Codec;

    /// Finds the offset and the number of each record in a file.
    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult>;

    /// Returns true if a scan for `layout` would find the same columns as this one.
    fn fits(&self, _layout: &Layout) -> bool {
        true
    }

    /// Identifies the format and everything else that affects the positions of records, as stored
    /// in an index file. `None` if the positions follow from the file size.
    fn kind(&self) -> Option<String> {
        None
    }

    /// Fails if a file must not have `len` records.
    fn check_len(&self, _file: &FileProvenance, _len: u64) -> Result<()> {
        Ok(())
    }

    /// For tables: reads the columns of the records from the beginning of the file.
    fn layout(&self, _file: &Arc<FileProvenance>) -> Result<Option<Arc<Layout>>> {
        Ok(None)
    }

    /// Returns true if the last record of an undamaged file ends with the file.
    fn ends_with_file(&self) -> bool {
        true
    }

    /// The possible offsets of the first record, if from there on all bytes belong to records
    /// numbered from 0.
    fn first_offsets(&self) -> Option<&'static [u64]> {
        None
    }

    /// Returns true if the byte before a record determines whether a record begins there.
    fn has_lead(&self) -> bool {
        false
    }

    /// Returns false if these bytes, located through an index file, cannot be the frame of a single
    /// record. `lead` is the preceding byte if it matters. `is_last` is true if the frame ends with
    /// the file.
    fn is_record(&self, _lead: &[u8], _frame: &[u8], _is_last: bool) -> bool {
        true
    }

    /// Locates the record within its frame, which extends from its beginning to the next record.
    /// `at` is the position of the frame, for error messages.
    fn unframe(&self, file: &Arc<FileProvenance>, frame: &[u8], at: RecordPosition) -> Result<Span>;

    /// Builds the columns of records whose frames begin at these offsets in their files.
    fn columns(&self, records: Text, _offsets: &[u64], _provenance: &Provenance) -> Result<Vec<Column>> {
        Ok(vec![Column::Text(records)])
    }
}
