//! How files are cut into blocks of records.

mod chunks;
mod csv;
mod csv_inference;
mod fixed_length;
mod lines;
mod tfrecord;
mod whole;

pub use chunks::{Codec, Place};
pub use csv::{Columns, Csv};
pub use csv_inference::{Inferred, infer};
pub use fixed_length::FixedLength;
pub use lines::Lines;
pub use tfrecord::TfRecords;
pub use whole::Whole;
