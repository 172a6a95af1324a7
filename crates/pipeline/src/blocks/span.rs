//! The position of a string in a buffer.

use std::ops::Range;

/// The position of a string in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub start: usize,
    /// The number of bytes.
    pub length: usize,
}

impl Span {
    /// The size of an encoded span in bytes; see [`Span::to_bytes`].
    pub(super) const NUM_BYTES: usize = 8;

    pub(super) fn range(self) -> Range<usize> {
        self.start..self.start + self.length
    }

    /// Encodes the span compactly. It must lie within the first 4 GiB of its buffer.
    #[inline]
    pub(super) fn to_bytes(self) -> [u8; Self::NUM_BYTES] {
        (self.start as u64 | (self.length as u64) << u32::BITS).to_le_bytes()
    }

    /// Decodes a span from [`Span::to_bytes`].
    #[inline]
    pub(super) fn of_bytes(bytes: [u8; Self::NUM_BYTES]) -> Self {
        let both = u64::from_le_bytes(bytes);
        Self { start: both as u32 as usize, length: (both >> u32::BITS) as usize }
    }
}
