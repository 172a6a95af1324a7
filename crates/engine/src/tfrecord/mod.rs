//! The TFRecord format: length, checksum of the length, data, checksum of the data.
//!
//! Source: `tensorflow/core/lib/io/record_reader.cc` and `record_writer.cc` of TensorFlow 1.15. The checksum is
//! CRC-32C, masked.

mod writer;

pub use crc32c::crc32c;
pub use writer::TfRecordWriter;

/// Length and its checksum.
pub(crate) const HEADER_BYTES: usize = 12;
/// The checksum of the data.
pub(crate) const FOOTER_BYTES: usize = 4;
/// Files are written in blocks of this size; a larger record is written by itself.
const BLOCK_BYTES: usize = 256 * 1024;

/// The masked checksum that files hold: CRC-32C, rotated and shifted, so that the CRC of data that contains CRCs is
/// safe.
pub(crate) fn masked_crc32c(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}
