//! An element of a queue, either packed or as tensors.

use headrace_engine::tensor::Tensor;
use smallvec::SmallVec;

/// The elements that one dequeue has taken.
pub type Elements = SmallVec<[Element; 1]>;

/// An element of a queue. Only `packing` uses its representation.
#[derive(Clone, Debug)]
pub struct Element(pub(super) Packed);

#[derive(Clone, Debug)]
pub(super) enum Packed {
    /// A few bytes, stored inline.
    Short {
        layout: u8,
        length: u8,
        bytes: [u8; MAX_SHORT_BYTES],
    },
    Long {
        layout: u8,
        bytes: Box<[u8]>,
    },
    /// The components, if they are large or their shapes vary.
    Tensors(Box<[Tensor]>),
}

/// With this many bytes, an element has a size of 48 bytes.
pub(super) const MAX_SHORT_BYTES: usize = 45;

impl Element {
    /// The size of its numbers and strings in bytes. Deferred floats count as the bytes they are
    /// computed from.
    pub fn num_bytes(&self) -> usize {
        match &self.0 {
            Packed::Short { length, .. } => usize::from(*length),
            Packed::Long { bytes, .. } => bytes.len(),
            Packed::Tensors(components) => components.iter().map(Tensor::num_bytes).sum(),
        }
    }

    /// The priority, which is component 0, a scalar int64. Its dtype is checked before the element
    /// enters the queue.
    pub fn priority(&self) -> i64 {
        let packed = |bytes: &[u8]| bytes.first_chunk().copied().map(i64::from_ne_bytes);
        match &self.0 {
            Packed::Short { bytes, .. } => packed(bytes),
            Packed::Long { bytes, .. } => packed(bytes),
            Packed::Tensors(components) => components.first().and_then(|first| first.integer_scalar("priority").ok()),
        }
        .unwrap_or_default()
    }
}

#[cfg(test)]
impl Element {
    /// Creates a packed element from an int64 scalar.
    pub fn of_number(number: i64) -> Self {
        let mut bytes = [0; MAX_SHORT_BYTES];
        bytes[..8].copy_from_slice(&number.to_ne_bytes());
        Self(Packed::Short { layout: 0, length: 8, bytes })
    }

    /// Creates an element from tensors.
    pub fn of_tensors(components: impl Into<Box<[Tensor]>>) -> Self {
        Self(Packed::Tensors(components.into()))
    }

    /// Returns the components of an element that consists of tensors.
    pub fn into_tensors(self) -> Box<[Tensor]> {
        match self.0 {
            Packed::Tensors(components) => components,
            _ => panic!("a packed element"),
        }
    }
}
