//! The checksum used by TFRecord files and TensorFlow checkpoints.

pub use crc32c::crc32c;

/// Returns the masked checksum that files store: CRC-32C, rotated and shifted. The mask is needed
/// because the CRC of data that contains its own CRC is weak.
pub fn masked_crc32c(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}
