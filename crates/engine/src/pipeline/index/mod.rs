//! Where the records of files begin: what a shuffle of all examples reaches them by.

mod header_scan;
mod offsets;
mod record_lookup;
mod scan_result;

pub use header_scan::HeaderScan;
pub use offsets::Offsets;
pub use record_lookup::{FileIndex, Kept, RecordLookup};
pub use scan_result::{Numbers, ScanFault, ScanResult};

use crate::error::Result;
use crate::pipeline::blocks::block::{FileProvenance, Provenance};
use crate::pipeline::blocks::column::{Column, Span, Text};
use crate::pipeline::blocks::file_provenance::Layout;
use crate::pipeline::formats::{Codec, RecordPosition};
use std::sync::Arc;

/// How the records of a format are found, and read one by one.
pub trait RandomAccess: Send + Sync {
    /// How the files are compressed. Only records of uncompressed ones can be reached.
    fn codec(&self) -> Codec;

    /// Where each record of a file begins, and which number it has.
    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult>;

    /// Whether an earlier scan looked for the same columns as this one would.
    fn fits(&self, _layout: &Layout) -> bool {
        true
    }

    /// Where the record is in its frame, the bytes from its beginning to that of the next one. `at` is the place of the
    /// frame, for errors.
    fn unframe(&self, file: &Arc<FileProvenance>, frame: &[u8], at: RecordPosition) -> Result<Span>;

    /// The columns of records, whose frames begin at these offsets of their files.
    fn columns(&self, records: Text, _offsets: &[u64], _provenance: &Provenance) -> Result<Vec<Column>> {
        Ok(vec![Column::Text(records)])
    }
}
