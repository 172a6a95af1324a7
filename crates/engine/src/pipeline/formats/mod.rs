//! How files are cut into blocks of records.

mod chunks;
mod fixed_length;
mod lines;
mod tfrecord;
mod whole;

pub use chunks::Codec;
pub use fixed_length::FixedLength;
pub use lines::Lines;
pub use tfrecord::TfRecords;
pub use whole::Whole;
