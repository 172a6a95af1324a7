//! The memory of numeric tensors.

use crate::dtype::Numeric;
use bytes::Bytes;
use std::sync::Arc;

/// Shared, immutable bytes: a slice of something larger, or a vector of numbers.
#[derive(Clone)]
pub enum Memory {
    Bytes(Bytes),
    Numbers(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl Memory {
    /// Whether nobody else holds these bytes.
    pub fn is_unique(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_unique(),
            Self::Numbers(numbers) => Arc::strong_count(numbers) == 1,
        }
    }

    pub(crate) fn numbers<T: Numeric>(values: Vec<T>) -> Self {
        let length_bytes = size_of_val(&values[..]);
        Self::Numbers(Arc::new(Numbers { values, length_bytes }))
    }

    pub fn copied(bytes: &[u8]) -> Self {
        Self::Bytes(Bytes::copy_from_slice(bytes))
    }

    /// A copy that is aligned for every element type.
    pub(crate) fn aligned_copy(bytes: &[u8]) -> Self {
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self::Numbers(Arc::new(Numbers { values: words, length_bytes: bytes.len() }))
    }
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
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
