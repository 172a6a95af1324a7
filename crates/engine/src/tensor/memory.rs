//! The memory of numeric tensors.

use crate::tensor::aliasing::{MAX_BUFFERED_BYTES, is_worth_aliasing};
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::Numeric;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Shared, immutable bytes: a slice of something larger, or a vector of numbers.
#[derive(Clone)]
pub enum Memory {
    /// A slice of reference-counted bytes.
    Bytes(Bytes),
    /// Most of a larger buffer, or a short string that may be in the buffer of a batch. Parts of it
    /// are copied instead of aliased.
    Part(Bytes),
    /// A vector of numbers.
    Numbers(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl Memory {
    /// Returns true if nobody else holds these bytes.
    pub fn is_unique(&self) -> bool {
        match self {
            Self::Bytes(bytes) | Self::Part(bytes) => bytes.is_unique(),
            Self::Numbers(numbers) => Arc::strong_count(numbers) == 1,
        }
    }

    /// Returns the bytes at `position` without copying them, if they are most of this memory; see
    /// [`crate::tensor::aliasing`].
    pub(crate) fn shared_part(&self, position: Range<usize>) -> Option<Self> {
        match self {
            Self::Bytes(bytes) if is_worth_aliasing(position.len(), bytes.len()) => {
                Some(Self::Part(bytes.slice(position)))
            }
            _ => None,
        }
    }

    /// Returns true if [`Memory::unshare`] would copy these bytes.
    pub(crate) fn is_to_unshare(&self) -> bool {
        matches!(self, Self::Part(bytes) if bytes.len() <= MAX_BUFFERED_BYTES)
    }

    /// Copies these bytes if they may be in the buffer of a batch of strings.
    pub(crate) fn unshare(&mut self) {
        // If there is no memory to copy a kilobyte, they stay where they are, which isn't an error.
        if self.is_to_unshare()
            && let Ok(copy) = Self::aligned_copy(self.as_ref())
        {
            *self = copy;
        }
    }

    /// Wraps the bytes of a string; see [`crate::tensor::aliasing::unshare`].
    pub(crate) fn of_string(bytes: Bytes) -> Self {
        if bytes.len() <= MAX_BUFFERED_BYTES { Self::Part(bytes) } else { Self::Bytes(bytes) }
    }

    pub(crate) fn numbers<T: Numeric>(values: Vec<T>) -> Self {
        let length_bytes = size_of_val(&values[..]);
        Self::Numbers(Arc::new(Numbers { values, length_bytes }))
    }

    /// A copy of `bytes`.
    pub fn copied(bytes: &[u8]) -> Result<Self, Refusal> {
        allocate::copied(bytes).map(Self::Bytes)
    }

    /// Makes a copy that is aligned for every dtype.
    pub(crate) fn aligned_copy(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut words = allocate::zeros::<u64>(bytes.len().div_ceil(8))?;
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Ok(Self::Numbers(Arc::new(Numbers { values: words, length_bytes: bytes.len() })))
    }
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) | Self::Part(bytes) => bytes,
            Self::Numbers(numbers) => (**numbers).as_ref(),
        }
    }
}

/// The first bytes of a vector of numbers.
struct Numbers<T> {
    values: Vec<T>,
    length_bytes: usize,
}

impl<T: Numeric> AsRef<[u8]> for Numbers<T> {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.values)[..self.length_bytes]
    }
}
