//! Failures to read the strips and tiles of a TIFF.

use crate::tensor::allocate::Refusal;

/// Why strips or tiles could not be read.
pub enum Fault {
    Damage(String),
    Memory(Refusal),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Memory(refusal)
    }
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Damage(reason)
    }
}
