//! How files are cut into blocks of records.

mod chunks;
mod codec;
mod csv;
mod csv_inference;
mod csv_records;
mod fixed_length;
mod format;
mod json_inference;
mod lines;
mod located;
mod lz4;
mod source;
mod tar;
mod tar_index;
mod tar_input;
mod tar_samples;
mod text_start;
mod tfrecord;
mod whole;

pub use codec::{Codec, MARK_BYTES};
pub use csv::{Columns, Csv};
pub use csv_inference::{Inferred, infer_csv, is_flag};
pub use fixed_length::FixedLength;
pub use format::{Format, Place, Scan};
pub use json_inference::infer_json;
pub use lines::Lines;
pub use located::Located;
pub use source::{is_compressed, uncompressed};
pub use tar::{Tar, infer_tar};
pub use tfrecord::TfRecords;
pub use whole::{Labelled, Whole};
