//! Texts that count as a missing value.

use std::sync::Arc;

/// Texts that count as a missing value, like an empty field.
#[derive(Clone, Debug, Default)]
pub struct Words(Arc<[Vec<u8>]>);

impl Words {
    /// These texts.
    pub fn new(words: Vec<Vec<u8>>) -> Self {
        Self(words.into())
    }

    /// True if it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a field is one of these texts.
    #[inline]
    pub fn has(&self, field: &[u8]) -> bool {
        self.0.iter().any(|word| word == field)
    }
}
