//! Record offsets: random access for the full shuffle.

mod borders;
mod header_scan;
mod offsets;
mod record_lookup;
mod scan_result;

pub use borders::{FilePiece, FilePieces, KeptBorders};
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

    /// The position of the record in its frame, the bytes from its beginning to the next record.
    /// `at` is the position of the frame, for errors.
    fn unframe(&self, file: &Arc<FileProvenance>, frame: &[u8], at: RecordPosition) -> Result<Span>;

    /// The columns of records whose frames begin at these offsets of their files.
    fn columns(&self, records: Text, _offsets: &[u64], _provenance: &Provenance) -> Result<Vec<Column>> {
        Ok(vec![Column::Text(records)])
    }
}
