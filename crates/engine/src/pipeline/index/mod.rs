//! Where the records of files begin: what a shuffle of all examples reaches them by.

mod hops;
mod offsets;
mod reached;
mod scanned;

pub use hops::Hops;
pub use offsets::Offsets;
pub use reached::{FileIndex, Kept, ReachedFiles};
pub use scanned::{Numbers, ScanFault, Scanned};

use super::block::{FileOrigin, Origins};
use super::column::{Column, Span, Text};
use super::file_origin::Layout;
use super::formats::{Codec, Place};
use crate::error::Result;
use std::sync::Arc;

/// How the records of a format are found, and read one by one.
pub trait RandomAccess: Send + Sync {
    /// How the files are compressed. Only records of uncompressed ones can be reached.
    fn codec(&self) -> Codec;

    /// Where each record of a file begins, and which number it has.
    fn scan(&self, file: &Arc<FileOrigin>, input: &mut Hops) -> Result<Scanned>;

    /// Whether an earlier scan looked for the same columns as this one would.
    fn fits(&self, _layout: &Layout) -> bool {
        true
    }

    /// Where the record is in its frame, the bytes from its beginning to that of the next one. `at` is the place of the
    /// frame, for errors.
    fn unframe(&self, file: &Arc<FileOrigin>, frame: &[u8], at: Place) -> Result<Span>;

    /// The columns of records, whose frames begin at these offsets of their files.
    fn columns(&self, records: Text, _offsets: &[u64], _origins: &Origins) -> Result<Vec<Column>> {
        Ok(vec![Column::Text(records)])
    }
}
