//! The TFRecord format: length, checksum of the length, data, checksum of the data.
//!
//! Source: `tensorflow/core/lib/io/record_reader.cc` and `record_writer.cc` in TensorFlow 1.15. The
//! checksums are masked CRC-32C.

mod writer;

pub use writer::TfRecordWriter;

/// The size of the length and its checksum.
pub const HEADER_BYTES: usize = 12;
/// The size of the checksum after the data.
pub const FOOTER_BYTES: usize = 4;
/// Files are written in blocks of this size. A larger record is written on its own.
const BLOCK_BYTES: usize = 256 * 1024;
