//! The checksum of TFRecords and of TensorFlow's checkpoints.

pub use crc32c::crc32c;

/// The masked checksum stored in files: CRC-32C, rotated and shifted, because the CRC of data that
/// contains its own CRC is weak.
pub fn masked_crc32c(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}
