//! The interface for finding and reading single records.

use crate::blocks::block::{FileProvenance, Provenance};
use crate::blocks::column::{Column, Span, Text};
use crate::blocks::file_provenance::Layout;
use crate::records::{Codec, HeaderScan, RecordPosition, ScanResult};
use headrace_engine::error::Result;
use std::sync::Arc;

/// Finds the records of a format, and reads single ones.
pub trait RandomAccess: Send + Sync {
    /// The compression of the files. Random access needs uncompressed files.
    fn codec(&self) -> Codec;

    /// Finds the offset and the number of each record of a file.
    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult>;

    /// True if an earlier scan looked for the same columns as this one would.
    fn fits(&self, _layout: &Layout) -> bool {
        true
    }

    /// The format, with everything that the positions of records depend on, as recorded in an index
    /// file. `None` if positions follow from the size of a file.
    fn kind(&self) -> Option<String> {
        None
    }

    /// For a table: the columns of a file's records, from its beginning.
    fn layout(&self, _file: &Arc<FileProvenance>) -> Result<Option<Arc<Layout>>> {
        Ok(None)
    }

    /// True if the last record of a file without damage ends with the file.
    fn ends_with_file(&self) -> bool {
        true
    }

    /// The positions where the first record may begin, if all bytes from there belong to records
    /// numbered from 0.
    fn first_offsets(&self) -> Option<&'static [u64]> {
        None
    }

    /// True if the byte before a record decides whether a record begins there.
    fn has_lead(&self) -> bool {
        false
    }

    /// False if these bytes, found through an index file, cannot be the frame of one record. `lead`
    /// is the preceding byte, if it decides; `is_last` is true if it ends with the file.
    fn is_record(&self, _lead: &[u8], _frame: &[u8], _is_last: bool) -> bool {
        true
    }

    /// The position of the record in its frame, the bytes from its beginning to the next record.
    /// `at` is the position of the frame, for errors.
    fn unframe(&self, file: &Arc<FileProvenance>, frame: &[u8], at: RecordPosition) -> Result<Span>;

    /// The columns of records whose frames begin at these offsets of their files.
    fn columns(&self, records: Text, _offsets: &[u64], _provenance: &Provenance) -> Result<Vec<Column>> {
        Ok(vec![Column::Text(records)])
    }
}
