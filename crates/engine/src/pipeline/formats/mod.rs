//! File formats: cutting files into blocks of records.

mod arrow;
mod chunks;
mod codec;
mod csv;
mod fixed_length;
mod format;
mod json_inference;
mod lines;
mod locate;
mod lz4;
mod parquet;
mod part;
mod record_position;
mod source;
mod tar;
mod text_start;
mod tfrecord;
mod tokens;
mod whole;

pub use arrow::types::{Element, Lists, TableColumn};
pub use codec::{Codec, MARK_BYTES};
pub use csv::inference::{Inferred, infer_csv, is_flag};
pub use csv::{Columns, Csv};
pub use fixed_length::FixedLength;
pub use format::{Format, Scan};
pub use json_inference::infer_json;
pub use lines::Lines;
pub use locate::RecordLocator;
pub use parquet::{ColumnKind, Parquet, parquet_columns, parquet_counts};
pub use part::FilePart;
pub use record_position::RecordPosition;
pub use source::{Source, is_compressed, uncompressed};
pub use tar::{Tar, infer_tar};
pub use tfrecord::TfRecords;
pub use tokens::{DocumentIndex, MegatronHead, TokenFile, Tokens, megatron_head};
pub use whole::{Labelled, Whole};
