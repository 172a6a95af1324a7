//! The interface between formats and indexes: splitting files into blocks of records, and
//! locating single records.

mod codec;
mod format;
mod header_scan;
mod lz4;
mod offsets;
mod part;
mod random_access;
mod record_position;
mod rest;
mod scan_result;
mod source;

pub use codec::{Codec, MARK_BYTES, is_named_compressed};
pub use format::{Format, Scan};
pub use header_scan::HeaderScan;
pub use offsets::{EqualRecords, Offsets};
pub use part::FilePart;
pub use random_access::RandomAccess;
pub use record_position::RecordPosition;
pub use rest::Rest;
pub use scan_result::{Numbers, ScanFault, ScanResult};
pub use source::{Source, is_compressed, uncompressed};
