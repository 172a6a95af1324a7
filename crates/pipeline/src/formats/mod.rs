//! File formats, which split files into blocks of records.

mod arrow;
mod chunks;
pub mod component;
mod csv;
mod fixed_length;
mod ipc;
mod json_array;
mod lines;
mod locate;
mod parquet;
mod tar;
mod text_start;
mod tfrecord;
mod tokens;
mod whole;

pub use arrow::reader::{ColumnKind, Constant, TableQuery};
pub use arrow::selection::{Condition, Op, Value};
pub use csv::{Columns, Csv};
pub(crate) use csv::{first_records, header_names};
pub use fixed_length::FixedLength;
pub use ipc::{Ipc, arrow_columns, arrow_counts};
pub use json_array::JsonArray;
pub use lines::Lines;
pub use locate::RecordLocator;
pub use parquet::{Parquet, parquet_columns, parquet_counts};
pub use tar::{Tar, infer_tar};
pub use tfrecord::{RecordCounts, TfRecords};
pub use tokens::{DocumentEnds, DocumentIndex, MegatronHead, TokenFile, Tokens, WindowSize, megatron_head};
pub use whole::{Labelled, Whole};
