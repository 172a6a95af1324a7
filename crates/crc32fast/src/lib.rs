//! Takes the place of the crate `crc32fast` (see `[patch.crates-io]` of the workspace).
//!
//! png computes its checksums with it. zlib-rs, which unpacks, computes the same one, and has the tables for it: a second set would take
//! a wheel 17 KB, as tables do not compress.

use zlib_rs::crc32::crc32;

/// A checksum of what was given so far.
#[derive(Clone, Debug, Default)]
pub struct Hasher(u32);

impl Hasher {
    /// Begins a checksum.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes up more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0 = crc32(self.0, bytes);
    }

    /// Returns the checksum of all bytes.
    pub fn finalize(self) -> u32 {
        self.0
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value that is usual for these nine bytes ("check" of CRC-32/ISO-HDLC in Greg Cook's catalogue of CRC algorithms).
    #[test]
    fn the_checksum_is_that_of_the_standard() {
        let mut hasher = Hasher::new();
        hasher.update(b"1234");
        hasher.update(b"56789");
        assert_eq!(hasher.clone().finalize(), 0xcbf4_3926);
        hasher.reset();
        assert_eq!(hasher.finalize(), 0);
    }
}
