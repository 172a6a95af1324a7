//! File formats: cutting files into blocks of records.

mod chunks;
mod codec;
mod csv;
mod fixed_length;
mod format;
mod json_inference;
mod lines;
mod locate;
mod lz4;
mod part;
mod record_position;
mod source;
mod tar;
mod text_start;
mod tfrecord;
mod whole;

pub use codec::{Codec, MARK_BYTES};
pub use csv::inference::{Inferred, infer_csv, is_flag};
pub use csv::{Columns, Csv};
pub use fixed_length::FixedLength;
pub use format::{Format, Scan};
pub use json_inference::infer_json;
pub use lines::Lines;
pub use locate::RecordLocator;
pub use part::FilePart;
pub use record_position::RecordPosition;
pub use source::{Source, is_compressed, uncompressed};
pub use tar::{Tar, infer_tar};
pub use tfrecord::TfRecords;
pub use whole::{Labelled, Whole};
