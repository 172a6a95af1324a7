//! Takes the place of the crate `crc-fast` (see `[patch.crates-io]` of the workspace).
//!
//! object_store computes one checksum with it, where a user asks for it: CRC-64/NVME of what is uploaded. The crate itself brings
//! tables for all checksums that there are, which do not compress: they would make each wheel half a megabyte larger.

use crc::{CRC_64_NVME, Crc, Digest as Running, Table};

static NVME: Crc<u64, Table<1>> = Crc::<u64, Table<1>>::new(&CRC_64_NVME);

/// Which checksum is computed.
#[derive(Clone, Copy, Debug)]
pub enum CrcAlgorithm {
    /// CRC-64/NVME, which S3 calls CRC64NVME.
    Crc64Nvme,
}

/// A checksum of what was given so far.
pub struct Digest(Running<'static, u64, Table<1>>);

impl Digest {
    /// Begins a checksum.
    pub fn new(algorithm: CrcAlgorithm) -> Digest {
        match algorithm {
            CrcAlgorithm::Crc64Nvme => Digest(NVME.digest()),
        }
    }

    /// Takes up more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the checksum of all bytes.
    pub fn finalize(self) -> u64 {
        self.0.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value that the NVM Express specification gives for these nine bytes.
    #[test]
    fn the_checksum_is_that_of_the_standard() {
        let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        digest.update(b"1234");
        digest.update(b"56789");
        assert_eq!(digest.finalize(), 0xae8b_1486_0a79_9888);
    }
}
